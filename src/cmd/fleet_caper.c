/* fleet_caper.c - a run that looks for escaped sites for the store
 *
 * The state of the machine (SPOOL/PROGRAM.caper, program/caper_state.h) takes what the store knows
 * before the run and gives what is new after it. Runs that were killed leave their table beside
 * the state; the next run merges it, and so it comes into the store, too.
 */
#include "base/alloc.h"
#include "cmd/caper_watch.h"
#include "cmd/fleet.h"
#include "cmd/site_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct caper_run {
    struct fleet_job *job;
    char *path;                /* owned: the state's */
    struct fleet_result known; /* what the store has */
    struct intern names;       /* sites that escaped, by the store */
    struct caper_state state;
    struct production p;
};

/* ---- what the store knows, into the state ---- */

static const struct sites_header *module_of(const struct linked *l, uint32_t prefix)
{
    for (size_t f = 0; f < l->count; f++)
        for (size_t i = 0; i < site_tables_count(l->files[f].tables); i++) {
            const struct sites_header *h = site_tables_get(l->files[f].tables, i);

            if ((uint32_t)(h->id[0] >> 32) == prefix)
                return h;
        }
    return NULL;
}

static bool mark(struct caper_state *s, const struct linked *l, const char *name)
{
    const struct sites_header *h;
    struct caper_part *part;
    uint32_t prefix, index;

    if (sscanf(name, "%8" SCNx32 ":%" SCNu32, &prefix, &index) != 2)
        return false;
    h = module_of(l, prefix);
    if (!h || index >= h->nsites || caper_state_mark(s, h->id, index))
        return false;
    part = caper_state_module(s, h->id, h->nsites, sites_string(h, h->source));
    part->marks[index] |= CAPER_SEEN;
    return true;
}

static enum caper_change take_known(struct caper_state *s, void *arg)
{
    struct caper_run *r = arg;
    struct pairs pairs = { 0 };
    struct error err;
    bool changed = false;
    FILE *in;

    for (size_t i = 0; i < r->known.nescaped; i++)
        changed |= mark(s, &r->job->linked, r->known.escaped[i]);
    if (s->has_pairs || !r->known.pairs)
        return changed ? CAPER_CHANGED : CAPER_SAME;
    in = fmemopen((void *)(uintptr_t)r->known.pairs, strlen(r->known.pairs), "r");
    if (in && pairs_read_stream(&pairs, in, "store", &err) == 0) {
        caper_state_set_pairs(s, &pairs);
        changed = true;
    }
    if (in)
        fclose(in);
    return changed ? CAPER_CHANGED : CAPER_SAME;
}

static int prepare(struct caper_run *r)
{
    struct error err = { { 0 } };
    unsigned merged;

    if (store_load(r->job->store, r->job->result.program, &r->known, &err) < 0 ||
        (caper_control_collect(r->path, &merged),
         caper_state_change(r->path, take_known, r, &r->state, &err)) < 0) {
        fleet_say(r->job, "%s", err.text);
        return -1;
    }
    for (size_t i = 0; i < r->known.nescaped; i++)
        intern_put(&r->names, r->known.escaped[i], strlen(r->known.escaped[i]));
    return 0;
}

/* ---- the run ---- */

/* A module's pointer stores are no access; what they cost each machine finds out itself. */
static bool is_store_mark(const struct linked *l, const struct prod_site *s)
{
    const struct sites_header *h = linked_find(l, s->module, NULL);

    return h && s->index < h->nsites && sites_site(h, s->index)->kind == SITE_ENTRY;
}

/* What the store does not have yet: of this run, and of others here that were killed. */
static void add_new(struct caper_run *r)
{
    for (size_t i = 0; i < r->state.count; i++)
        for (uint32_t k = 0; k < r->state.parts[i].sites; k++) {
            const struct caper_part *part = &r->state.parts[i];
            struct prod_site site = { .module = { part->id[0], part->id[1] }, .index = k };
            struct buf name = { 0 };

            if (!part->marks[k] || is_store_mark(&r->job->linked, &site))
                continue;
            site_name_add(&name, &site);
            if (intern_find(&r->names, name.data, name.len) == INTERN_NONE)
                fleet_add_escaped(&r->job->result, name.data);
            buf_release(&name);
        }
}

static bool run(struct caper_run *r, int *code)
{
    struct fleet_job *j = r->job;
    struct fleet_watch w = { .job = j, .renew_at_ms = fleet_now_ms() + j->lease_ms / 3 };
    struct caper_watch c = { r->path, &r->state, &j->linked, j->max_ppm, false, false };
    uint64_t fresh;

    if (caper_watch_open(&r->p, &c) != 0)
        return false;
    *code = production_run(&r->p, j->argv, fleet_watch_tick, &w);
    if (*code == 0)
        *code = r->p.code;
    if (caper_control_merge(&r->p, r->path, &j->linked, &r->state, &fresh) == 0)
        add_new(r);
    if (!r->p.control->counter[CAPER_PROCESSES])
        j->result.note = "the program did not watch anything";
    return true;
}

bool fleet_caper(struct fleet_job *j, int *code)
{
    struct caper_run r = { .job = j, .p = { .fd = -1 } };
    bool ran;

    r.path = xasprintf("%s/%s.caper", j->place.spool, j->result.program);
    fleet_say(j, "caper");
    ran = prepare(&r) == 0 && run(&r, code);
    caper_control_close(&r.p);
    caper_state_release(&r.state);
    intern_release(&r.names);
    fleet_result_release(&r.known);
    free(r.path);
    return ran;
}
