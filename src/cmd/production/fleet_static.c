/* fleet_static.c - the pairs of a build, for the store
 *
 * The analysis runs in a process of its own: it needs the compiler's library and much memory for a
 * while, and if it dies nothing else does.
 */
#include "base/alloc.h"
#include "cmd/production/fleet.h"
#include "cmd/site_name.h"
#include "fleet/spool.h"
#include "static/static.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct analysis {
    FILE *sound, *refined, *why; /* temporary files */
    struct pairs pairs[2];       /* [1]: refined */
};

/* ---- in the other process ---- */

static _Noreturn void analyse(const struct linked *l, struct analysis *a)
{
    static const struct statics_options options[2] = { { .lockset = false }, { .lockset = true } };
    struct error err = { { 0 } };
    struct statics *s;
    bool failed;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    s = statics_open(l, &err);
    failed = !s;

    for (int i = 0; i < 2 && s; i++) {
        FILE *out = i ? a->refined : a->sound;
        struct pairs p = { 0 };

        statics_pairs(s, &options[i], &p);
        pairs_write(&p, out);
        failed |= fflush(out) != 0;
    }
    if (!s)
        fputs(err.text, a->why);
    fflush(a->why);
    _exit(failed ? 1 : 0);
}

/* ---- in ours ---- */

static int fleet_static_wait_for(pid_t pid)
{
    int status = 1;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

static const char *reason(struct analysis *a, struct fleet_result *r)
{
    char text[512] = { 0 };

    rewind(a->why);
    return fgets(text, sizeof(text), a->why) ? fleet_string(r, text) : "the analysis died";
}

static int read_pairs(struct analysis *a, struct fleet_result *r)
{
    struct error err;

    for (int i = 0; i < 2; i++) {
        FILE *in = i ? a->refined : a->sound;

        rewind(in);
        if (pairs_read_stream(&a->pairs[i], in, "static", &err) < 0) {
            r->note = fleet_string(r, err.text);
            return -1;
        }
    }
    return 0;
}

static const char *file_text(FILE *f, struct fleet_result *r)
{
    struct buf b = { 0 };
    char piece[4096];
    const char *text;
    size_t n;

    rewind(f);
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        buf_add(&b, piece, n);
    buf_addch(&b, 0);
    text = fleet_string(r, b.data);
    buf_release(&b);
    return text;
}

static void fleet_static_add_site(struct fleet_result *r, const struct linked *l,
                                  const struct pairs_site *s, int64_t lockgroup)
{
    const struct sites_header *h = linked_find(l, s->id.module, NULL);
    const struct sites_site *t = h && s->id.index < h->nsites ? sites_site(h, s->id.index) : NULL;
    struct buf name = { 0 }, place = { 0 };

    site_name_add(&name, &s->id);
    if (t && t->line) {
        sites_file(h, t->file, &place);
        buf_add_line(&place, t->line, t->column);
    }
    fleet_add_site(
        r, (struct fleet_site){ .name = name.data,
                                .location = place.data,
                                .function = t && t->function ? sites_string(h, t->function) : NULL,
                                .access = site_kind_word(s->id.flags & ~PAIRS_HIDDEN),
                                .group = s->group,
                                .lockgroup = lockgroup });
    buf_release(&name);
    buf_release(&place);
}

static void add_all(struct fleet_result *r, const struct linked *l, const struct analysis *a)
{
    const struct pairs *sound = &a->pairs[0], *refined = &a->pairs[1];

    for (size_t i = 0; i < sound->nsites; i++) {
        const struct pairs_site *s = &sound->sites[i];
        uint32_t k = pairs_find(refined, s->id.module, s->id.index);

        fleet_static_add_site(r, l, s, k == PAIRS_NONE ? -1 : (int64_t)refined->sites[k].group);
    }
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < a->pairs[i].npairs; k++)
            fleet_add_groups(
                r, (struct fleet_groups){ a->pairs[i].pairs[k].a, a->pairs[i].pairs[k].b, i == 1 });
}

void fleet_static(const struct linked *l, struct fleet_result *r)
{
    struct analysis a = { tmpfile(), tmpfile(), tmpfile(), { { 0 } } };
    pid_t pid = -1;

    r->kind = FLEET_STATIC;
    fflush(NULL);
    if (a.sound && a.refined && a.why)
        pid = fork();
    if (pid == 0)
        analyse(l, &a);
    if (pid < 0)
        r->note = fleet_string(r, strerror(errno));
    else if (fleet_static_wait_for(pid) != 0)
        r->note = reason(&a, r);
    else if (read_pairs(&a, r) == 0) {
        add_all(r, l, &a);
        r->pairs = file_text(a.sound, r);
        if (!r->ngroups)
            r->note = "no two accesses can race";
    }
    for (int i = 0; i < 3; i++)
        if ((FILE *[]){ a.sound, a.refined, a.why }[i])
            fclose((FILE *[]){ a.sound, a.refined, a.why }[i]);
    pairs_release(&a.pairs[0]);
    pairs_release(&a.pairs[1]);
}

int fleet_analyse(struct fleet_job *j)
{
    struct error err = { { 0 } };
    int put;

    fleet_say(j, "static analysis of '%s'", j->path);
    fleet_static(&j->linked, &j->result);
    j->result.ended_ms = fleet_now_ms();
    if (j->result.note)
        fleet_say(j, "no pairs: %s", j->result.note);
    put = spool_put(j->place.spool, j->store, &j->result, &err);
    if (put <= 0)
        fleet_say(j, "%s", err.text);
    return put > 0 ? 0 : -1;
}
