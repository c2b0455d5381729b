/* fleet_caper.c - a run that looks for escaped sites for the store
 *
 * The state of the machine (SPOOL/PROGRAM.caper, static/caper_state.h) takes what the store knows
 * before the run and gives what is new after it. Runs that were killed leave their table beside
 * the state; the next run merges it, and so it comes into the store, too.
 */
#include "base/alloc.h"
#include "cmd/production/caper_watch.h"
#include "cmd/production/fleet.h"
#include "cmd/site_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct caper_run {
    struct fleet_job *job;
    char *path;          /* owned: the state's */
    struct intern names; /* sites that escaped, by the store */
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

static bool fleet_caper_mark(struct caper_state *s, const struct linked *l, const char *name)
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

struct taking {
    const struct linked *linked;
    const struct fleet_result *known;
};

static enum caper_change take_known(struct caper_state *s, void *arg)
{
    const struct taking *t = arg;
    struct pairs pairs = { 0 };
    struct error err;
    bool changed = false;
    FILE *in;

    for (size_t i = 0; i < t->known->nescaped; i++)
        changed |= fleet_caper_mark(s, t->linked, t->known->escaped[i]);
    if (s->has_pairs || !t->known->pairs)
        return changed ? CAPER_CHANGED : CAPER_SAME;
    in = fmemopen((void *)(uintptr_t)t->known->pairs, strlen(t->known->pairs), "r");
    if (in && pairs_read_stream(&pairs, in, "store", &err) == 0) {
        caper_state_set_pairs(s, &pairs);
        changed = true;
    }
    if (in)
        fclose(in);
    return changed ? CAPER_CHANGED : CAPER_SAME;
}

static char *state_path(const struct fleet_job *j)
{
    return xasprintf("%s/%s.caper", j->place.spool, j->result.program);
}

int fleet_caper_prepare(struct fleet_job *j, struct fleet_result *known)
{
    struct taking t = { &j->linked, known };
    char *path = state_path(j);
    struct error err = { { 0 } };
    unsigned merged;
    int code = store_load(j->store, j->result.program, known, &err);

    if (code == 0)
        caper_control_collect(path, &merged);
    if (code == 0)
        code = caper_state_change(path, take_known, &t, CAPER_END_MS, NULL, &err);
    if (code < 0)
        fleet_say(j, "%s", err.text);
    free(path);
    return code < 0 ? -1 : 0;
}

/* The process beside has brought it up to date. */
static int read_state(struct caper_run *r)
{
    const struct fleet_result *known = &r->job->known;
    struct error err = { { 0 } };

    if (caper_state_read(&r->state, r->path, &err) < 0) {
        fleet_say(r->job, "%s", err.text);
        return -1;
    }
    for (size_t i = 0; i < known->nescaped; i++)
        intern_put(&r->names, known->escaped[i], strlen(known->escaped[i]));
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

/* A run whose sites wait in the control file has brought none yet: it must not count as one that
 * found nothing new. */
static void leave_behind(struct caper_run *r)
{
    r->p.made = false;
    r->job->result.kind = FLEET_PLAIN;
    r->job->result.note = "the state of caper was locked: the next run brings its sites";
}

static bool fleet_caper_run(struct caper_run *r, int *code)
{
    struct fleet_job *j = r->job;
    struct caper_watch c = { r->path, &r->state, &j->linked, j->max_ppm, false, false };
    uint64_t fresh;
    int merged;

    if (caper_watch_open(&r->p, &c) != 0)
        return false;
    *code = production_run(&r->p, j->argv, NULL, NULL);
    if (*code == 0)
        *code = r->p.code;
    if (!r->p.control->counter[CAPER_PROCESSES])
        j->result.note = "the program did not watch anything";
    merged = caper_control_merge(&r->p, r->path, &j->linked, CAPER_END_MS / 2, &r->state, &fresh);
    if (merged == 0)
        add_new(r);
    else if (merged == CAPER_LOCKED)
        leave_behind(r);
    return true;
}

bool fleet_caper(struct fleet_job *j, int *code)
{
    struct caper_run r = { .job = j, .p = { .fd = -1 } };
    bool ran;

    r.path = state_path(j);
    fleet_say(j, "caper");
    ran = read_state(&r) == 0 && fleet_caper_run(&r, code);
    caper_control_close(&r.p);
    caper_state_release(&r.state);
    intern_release(&r.names);
    free(r.path);
    return ran;
}
