/* caper_watch.c - the table of a run of caper */
#include "cmd/production/caper_watch.h"

#include <string.h>

/* Of the bound from the second run on: the first has everything to find out, the others watch
 * what was private so far, for as long as the program is used. With 5%, 1.7% and twice that for
 * pointer stores; start and unpatched sites come on top, and 9% is the bar. */
enum { LATER_SHARE = 3 };

/* ---- which sites ---- */

struct cursor {
    const struct caper_watch *watch;
    uint64_t id[2]; /* of the module that was asked for last */
    const struct caper_part *part;
    const struct sites_header *table;
    size_t site; /* the next one of the module in the pairs */
};

static void go_to(struct cursor *c, const uint64_t id[2], uint32_t index)
{
    size_t file;

    memcpy(c->id, id, sizeof(c->id));
    c->part = caper_state_find(c->watch->state, id);
    c->table = linked_find(c->watch->linked, id, &file);
    c->site = pairs_from(&c->watch->state->pairs, id, index);
}

static bool is_access(const struct sites_header *h, uint32_t index)
{
    uint32_t kind = h && index < h->nsites ? sites_site(h, index)->kind : SITE_WRITE;

    return kind == SITE_READ || kind == SITE_WRITE || kind == SITE_ATOMIC || kind == SITE_LIBC;
}

/* What its byte shall say. */
static uint8_t byte_in_pair(struct cursor *c, uint32_t index)
{
    const struct pairs *p = &c->watch->state->pairs;
    const struct prod_site *s = c->site < p->nsites ? &p->sites[c->site].id : NULL;

    if (!s || s->index != index || memcmp(s->module, c->id, sizeof(c->id)) != 0)
        return 0;
    c->site++;
    return s->flags & PAIRS_HIDDEN ? CAPER_WANTED | CAPER_HIDDEN : CAPER_WANTED;
}

/* Sites come module by module, in order. */
static uint8_t wanted_byte(const uint64_t id[2], uint32_t index, void *arg)
{
    struct cursor *c = arg;
    const struct caper_watch *w = c->watch;
    bool known = w->state->has_pairs && !w->all_sites;
    uint8_t byte;

    if (index == 0)
        go_to(c, id, index);
    byte = known ? byte_in_pair(c, index) : is_access(c->table, index) ? CAPER_WANTED : 0;
    return c->part && index < c->part->sites && c->part->marks[index] ? 0 : byte;
}

/* ---- the bound ---- */

static uint32_t bound(const struct caper_watch *w)
{
    uint32_t later = w->max_ppm / LATER_SHARE;

    return w->state->runs && w->max_ppm ? later ? later : 1 : w->max_ppm;
}

/* What earlier runs say of pointer stores (abi/rt_caper.h). */
static void take_store_marks(struct caper_table *t, const struct caper_watch *w)
{
    size_t file;

    for (uint32_t i = 0; i < t->modules; i++) {
        const struct caper_module *m = &t->module[i];
        const struct caper_part *part = caper_state_find(w->state, m->id);
        const struct sites_header *h = part ? linked_find(w->linked, m->id, &file) : NULL;

        for (uint32_t k = 0; h && k < m->sites && k < part->sites && k < h->nsites; k++) {
            uint8_t mark = part->marks[k];

            if (!mark || sites_site(h, k)->kind != SITE_ENTRY)
                continue;
            ((uint8_t *)t + m->at)[k] |= mark;
            if (mark & CAPER_WEAK)
                t->flags |= CAPER_NO_STORES | CAPER_WEAKLY;
            else if (mark & CAPER_SEEN && w->max_ppm)
                t->flags |= CAPER_NO_STORES;
        }
    }
}

int caper_watch_open(struct production *p, const struct caper_watch *w)
{
    struct cursor c = { .watch = w };
    uint32_t flags = w->count ? CAPER_COUNT : 0;
    size_t bytes = caper_table_bytes(w->linked, flags, false);
    int code = production_open_at(p, PROD_CAPER, bytes, w->path);

    if (code)
        return code;
    caper_table_fill(table_of(p), bytes, w->linked, flags, false, wanted_byte, &c);
    table_of(p)->max_ppm = bound(w);
    take_store_marks(table_of(p), w);
    return 0;
}
