/* caper_show.c - the state of caper as text and JSON */
#include "cmd/production/caper_show.h"
#include "base/plural.h"
#include "base/alloc.h"
#include "abi/rt_sites.h"
#include "cmd/site_name.h"
#include "report/json_emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- pairs ---- */

struct each {
    const struct caper_state *state;
    bool dp;       /* those with both sites marked; else the others */
    uint64_t left; /* to be shown */
    uint64_t rest; /* were not */
    void (*show)(const struct prod_site pair[2], void *arg);
    void *arg;
};

static bool show_pair(struct each *e, const struct prod_site *a, const struct prod_site *b)
{
    struct prod_site pair[2] = { *a, *b };

    if (!e->left)
        return false;
    e->left--;
    e->show(pair, e->arg);
    return true;
}

static bool is_marked(const struct caper_state *s, const struct prod_site *site)
{
    return caper_state_mark(s, site->module, site->index) != 0;
}

static bool each_unseen(void *arg, uint32_t i, uint32_t j)
{
    struct each *e = arg;
    const struct pairs_site *a = &e->state->pairs.sites[i], *b = &e->state->pairs.sites[j];

    return (is_marked(e->state, &a->id) && is_marked(e->state, &b->id)) ||
           show_pair(e, &a->id, &b->id);
}

/* The static pairs of the marked sites alone. */
static void each_seen(struct each *e)
{
    const struct pairs *all = &e->state->pairs;
    struct pairs few = { .ngroups = all->ngroups, .pairs = all->pairs, .npairs = all->npairs };

    for (size_t i = 0; i < all->nsites; i++)
        if (is_marked(e->state, &all->sites[i].id)) {
            GROW(few.sites, few.sites_cap, few.nsites + 1);
            few.sites[few.nsites++] = all->sites[i];
        }
    pairs_list_members(&few);
    for (size_t k = 0; k < few.npairs && e->left; k++) {
        struct pairs_groups g = few.pairs[k];

        for (uint32_t i = few.start[g.a]; i < few.start[g.a + 1] && e->left; i++)
            for (uint32_t j = g.a == g.b ? i : few.start[g.b]; j < few.start[g.b + 1]; j++) {
                uint32_t x = few.members[i], y = few.members[j];

                if (!show_pair(e, &few.sites[x < y ? x : y].id, &few.sites[x < y ? y : x].id))
                    break;
            }
    }
    free(few.sites);
    free(few.start);
    free(few.members);
}

/* What is said of pointer stores (abi/rt_caper.h) is no site of an access. */
static bool is_listed(const struct linked *l, const struct caper_part *p, uint32_t k)
{
    size_t file;
    const struct sites_header *h = p->marks[k] ? linked_find(l, p->id, &file) : NULL;

    return p->marks[k] && !(h && k < h->nsites && sites_site(h, k)->kind == SITE_ENTRY);
}

/* Without static pairs: all marked sites, if they are accesses. */
static size_t marked_sites(const struct caper_state *s, const struct linked *l,
                           struct prod_site **out)
{
    size_t n = 0, cap = 0, file;

    *out = NULL;
    for (size_t i = 0; i < s->count; i++) {
        const struct caper_part *p = &s->parts[i];
        const struct sites_header *h = linked_find(l, p->id, &file);

        for (uint32_t k = 0; k < p->sites; k++) {
            struct prod_site site = { { p->id[0], p->id[1] }, k, SITE_WRITE };

            if (!is_listed(l, p, k))
                continue;
            if (h && k < h->nsites)
                site.flags = sites_site(h, k)->kind;
            GROW(*out, cap, n + 1);
            (*out)[n++] = site;
        }
    }
    return n;
}

static void each_marked(struct each *e, const struct linked *l)
{
    struct prod_site *sites;
    size_t n = marked_sites(e->state, l, &sites);

    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            if (caper_kinds_conflict(sites[i].flags, sites[k].flags) &&
                !show_pair(e, &sites[i], &sites[k]))
                e->rest++;
    free(sites);
}

/* At most e->left of them; e->rest: how many there are besides. */
static void each_pair(struct each *e, const struct linked *l)
{
    uint64_t most = e->left, all;
    struct caper_sizes z;

    if (!e->state->has_pairs) {
        if (e->dp)
            each_marked(e, l);
        return;
    }
    if (e->dp)
        each_seen(e);
    else
        pairs_each(&e->state->pairs, each_unseen, e);
    caper_state_sizes(e->state, &z);
    all = e->dp ? z.dp : z.all - z.dp;
    e->rest = all - (most - e->left);
}

/* ---- text ---- */

void caper_pair_text(const struct linked *l, const struct prod_site pair[2], FILE *out)
{
    struct buf b = { 0 };

    for (int i = 0; i < 2; i++) {
        buf_addstr(&b, i ? "    " : "  ");
        site_name_add(&b, &pair[i]);
        buf_addch(&b, ' ');
        site_phrase_add(&b, l, &pair[i]);
        buf_addch(&b, '\n');
    }
    fputs(b.data, out);
    buf_release(&b);
}

struct text {
    const struct linked *linked;
    FILE *out;
};

static void pair_line(const struct prod_site pair[2], void *arg)
{
    const struct text *t = arg;

    caper_pair_text(t->linked, pair, t->out);
}

static void text_sites(const struct caper_state *s, const struct linked *l, FILE *out)
{
    for (size_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < s->parts[i].sites; k++) {
            struct prod_site site = { { s->parts[i].id[0], s->parts[i].id[1] }, k, 0 };
            struct buf b = { 0 };

            if (!is_listed(l, &s->parts[i], k))
                continue;
            site_name_add(&b, &site);
            buf_addch(&b, ' ');
            site_phrase_add(&b, l, &site);
            fprintf(out, "  %s%s\n", b.data,
                    s->parts[i].marks[k] & CAPER_SEEN ? "" : " (assumed: not watched)");
            buf_release(&b);
        }
}

static void text_numbers(const struct caper_state *s, const struct caper_sizes *z, FILE *out)
{
    fprintf(out, "%" PRIu64 " run%s", s->runs, s->runs == 1 ? "" : "s");
    if (s->has_pairs)
        fprintf(out,
                "; %" PRIu64 " statically possible pair%s of %" PRIu64 " site%s: %" PRIu64
                " dynamically possible, %" PRIu64 " not seen",
                z->all, plural(z->all), z->sites, plural(z->sites), z->dp, z->all - z->dp);
    else
        fprintf(out, "; static pairs are not known");
    fprintf(out, "\n%" PRIu64 " site%s accessed escaped objects", z->seen, plural(z->seen));
    if (z->assumed)
        fprintf(out, ", %" PRIu64 " assumed to", z->assumed);
    fputs("\n", out);
}

static void text_pairs(struct each *e, const struct linked *l, FILE *out)
{
    each_pair(e, l);
    if (e->rest)
        fprintf(out, "  and %" PRIu64 " more (--list)\n", e->rest);
}

void caper_show_text(const struct caper_state *s, const struct linked *l,
                     const struct caper_what *what, FILE *out)
{
    struct text t = { l, out };
    struct each seen = { s, true, what->most, 0, pair_line, &t };
    struct each unseen = { s, false, what->most, 0, pair_line, &t };
    struct caper_sizes z;

    caper_state_sizes(s, &z);
    text_numbers(s, &z, out);
    if (z.seen + z.assumed)
        fputs("\nsites:\n", out);
    text_sites(s, l, out);
    fputs("\ndynamically possible pairs:\n", out);
    text_pairs(&seen, l, out);
    if (!what->unseen || !s->has_pairs)
        return;
    fputs("\nstatically possible pairs that were not seen:\n", out);
    text_pairs(&unseen, l, out);
}

/* ---- JSON ---- */

static void site_json(struct emitter *e, const char *key, const struct linked *l,
                      const struct prod_site *site)
{
    size_t file;
    const struct sites_header *h = linked_find(l, site->module, &file);
    const struct sites_site *s = h && site->index < h->nsites ? sites_site(h, site->index) : NULL;
    struct buf name = { 0 }, path = { 0 };

    site_name_add(&name, site);
    emit_open(e, key, '{', true);
    emit_string(e, "site", name.data);
    if (s) {
        sites_file(h, s->file, &path);
        emit_string(e, "op", site_kind_word(s->kind));
        emit_string(e, "function", sites_string(h, s->function));
        emit_string(e, "file", path.data ? path.data : "");
        emit_number(e, "line", s->line);
        emit_number(e, "column", s->column);
    }
    emit_close(e);
    buf_release(&name);
    buf_release(&path);
}

void caper_pair_json(const struct linked *l, const struct prod_site pair[2], struct emitter *e)
{
    emit_open(e, NULL, '[', false);
    site_json(e, NULL, l, &pair[0]);
    site_json(e, NULL, l, &pair[1]);
    emit_close(e);
}

struct json {
    const struct linked *linked;
    struct emitter *e;
};

static void pair_object(const struct prod_site pair[2], void *arg)
{
    const struct json *j = arg;

    caper_pair_json(j->linked, pair, j->e);
}

static void json_pairs(const struct caper_state *s, bool dp, uint64_t most, struct json *j)
{
    struct each e = { s, dp, most, 0, pair_object, j };

    emit_open(j->e, dp ? "dpPairs" : "spPairs", '[', false);
    each_pair(&e, j->linked);
    emit_close(j->e);
    if (e.rest)
        emit_number(j->e, dp ? "dpPairs_left_out" : "spPairs_left_out", e.rest);
}

static void json_sites(const struct caper_state *s, struct json *j)
{
    emit_open(j->e, "deSites", '[', false);
    for (size_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < s->parts[i].sites; k++) {
            struct prod_site site = { { s->parts[i].id[0], s->parts[i].id[1] }, k, 0 };

            if (!is_listed(j->linked, &s->parts[i], k))
                continue;
            emit_open(j->e, NULL, '{', false);
            site_json(j->e, "at", j->linked, &site);
            emit_bool(j->e, "assumed", !(s->parts[i].marks[k] & CAPER_SEEN));
            emit_close(j->e);
        }
    emit_close(j->e);
}

static void json_numbers(const struct caper_state *s, struct emitter *e)
{
    struct caper_sizes z;

    caper_state_sizes(s, &z);
    emit_number(e, "runs", s->runs);
    emit_bool(e, "static", s->has_pairs);
    emit_open(e, "counts", '{', true);
    if (s->has_pairs) {
        emit_number(e, "static_pairs", z.all);
        emit_number(e, "static_sites", z.sites);
        emit_number(e, "dpPairs", z.dp);
        emit_number(e, "spPairs", z.all - z.dp);
    }
    emit_number(e, "deSites", z.seen + z.assumed);
    emit_number(e, "assumed", z.assumed);
    emit_close(e);
}

void caper_show_json(const struct caper_state *s, const struct linked *l,
                     const struct caper_what *what, const struct caper_shares *shares, FILE *out)
{
    struct emitter e = { .out = out };
    struct json j = { l, &e };

    emit_open(&e, NULL, '{', false);
    emit_number(&e, "schema", 1);
    emit_string_if(&e, "program", s->program);
    json_numbers(s, &e);
    if (shares) {
        emit_open(&e, "accesses", '{', true);
        emit_number(&e, "all", shares->all);
        emit_number(&e, "static", shares->in_static);
        emit_number(&e, "dp", shares->in_dp);
        emit_close(&e);
    }
    json_sites(s, &j);
    json_pairs(s, true, what->most, &j);
    if (what->unseen && s->has_pairs)
        json_pairs(s, false, what->most, &j);
    emit_close(&e);
    fputc('\n', out);
}
