/* caper.c - heddle caper: all pairs of sites that may have raced, over many runs
 *
 * docs/design/production.md. A run watches the sites of the statically possible pairs that have
 * not accessed an escaped object yet; those that do are added to the state. The state is read
 * before and merged after the run, and what commands that were killed left behind is merged first.
 *
 * Static pairs come from --static FILE, from the state if the program is the same, or from the
 * static analysis, in a process of its own. Without them every access is watched, and said so.
 * Which sites are in some pair is all that a run needs of them; how many pairs there are does not
 * matter to it.
 */
#include "base/alloc.h"
#include "base/plural.h"
#include "base/tempfile.h"
#include "base/place.h"
#include "cmd/production/caper_show.h"
#include "cmd/production/caper_source.h"
#include "cmd/production/caper_watch.h"
#include "cmd/commands.h"
#include "cmd/common.h"
#include "static/static.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
    const struct options *o;
    const char *state_path;
    struct linked linked;
    struct caper_state state;
    struct production p;
    struct caper_shares shares;
    uint32_t max_ppm;
    uint64_t most; /* pairs that are listed */
    bool locked;   /* another process holds the state */
};

/* ---- static pairs ---- */

/* Do they belong to these files? */
static bool is_current(const struct pairs *p, const struct linked *l)
{
    if (!l->count || p->nimages != l->count)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        bool found = false;

        for (size_t k = 0; k < p->nimages && !found; k++)
            found =
                *l->files[i].build_id && strcmp(p->images[k].build_id, l->files[i].build_id) == 0;
        if (!found)
            return false;
    }
    return true;
}

static bool has_sites(const struct linked *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->files[i].tables && site_tables_count(l->files[i].tables))
            return true;
    return false;
}

/* In a process of its own: it needs much memory for a while. */
static _Noreturn void analyse(const struct linked *l, const char *out)
{
    static const struct statics_options options = { .lockset = false };
    struct pairs p = { 0 };
    struct error err;
    struct statics *s = statics_open(l, &err);
    FILE *file = s ? private_fopen(out) : NULL;

    if (!s)
        warn("note", "%s", err.text);
    if (!file)
        _exit(1);
    statics_pairs(s, &options, &p);
    pairs_map_write(&p, file);
    _exit(fclose(file) == 0 ? 0 : 1);
}

static int compute_pairs(struct run *r, struct pairs *p)
{
    char *path = xasprintf("%s.static-%d", r->state_path, (int)getpid());
    int status = 1;
    struct error err;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        analyse(&r->linked, path);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (pid > 0 && status == 0)
        status = pairs_read(p, path, &err);
    unlink(path);
    free(path);
    return status == 0 ? 0 : -1;
}

struct news {
    const struct linked *linked;
    struct pairs *pairs; /* NULL: as they are */
    const char *program;
    size_t dropped;
};

/* Another module of the same source file is there now? */
static bool is_replaced(const struct caper_part *p, const struct linked *l)
{
    size_t file;

    if (!*p->source || linked_find(l, p->id, &file))
        return false;
    for (size_t f = 0; f < l->count; f++)
        for (size_t i = 0; i < site_tables_count(l->files[f].tables); i++) {
            const struct sites_header *h = site_tables_get(l->files[f].tables, i);

            if (strcmp(sites_string(h, h->source), p->source) == 0)
                return true;
        }
    return false;
}

static bool is_news(const struct caper_state *s, const struct news *n)
{
    for (size_t i = 0; i < s->count; i++)
        if (is_replaced(&s->parts[i], n->linked))
            return true;
    return n->pairs || !s->program || strcmp(s->program, n->program) != 0;
}

static enum caper_change take_news(struct caper_state *s, void *arg)
{
    struct news *n = arg;

    if (!is_news(s, n))
        return CAPER_SAME;

    for (size_t i = s->count; i-- > 0;)
        if (is_replaced(&s->parts[i], n->linked)) {
            caper_state_drop(s, i);
            n->dropped++;
        }
    if (n->pairs)
        caper_state_set_pairs(s, n->pairs);
    free(s->program);
    s->program = xstrndup(n->program, strlen(n->program));
    return CAPER_CHANGED;
}

/* The static pairs this run shall have, if the state has not the right ones. 1: new ones. */
static int new_pairs(struct run *r, const char *program, struct pairs *p)
{
    const char *file = r->o->texts[OPT_STATIC];
    struct error err;

    if (file && r->state.has_pairs && caper_source_is(r->state_path, file, r->state.pairs_id))
        return 0;
    if (file) {
        if (pairs_read(p, file, &err) == 0)
            return 1;
        bad_input("%s", err.text);
        return -1;
    }
    if (option_is(r->o, OPT_ALL_SITES) ||
        (r->state.has_pairs && is_current(&r->state.pairs, &r->linked)))
        return 0;
    if (r->state.has_pairs)
        warn("note", "'%s' was built anew: its static pairs are computed again", program);
    if (r->state.pairs_lost)
        warn("note", "the static pairs of '%s' are gone: they are computed again", r->state_path);
    if (compute_pairs(r, p) == 0)
        return 1;
    if (has_sites(&r->linked)) /* else nothing of it can be watched, which the run says */
        warn("", "static pairs of '%s' cannot be computed: all of its accesses are watched",
             program);
    return 0;
}

static int reload(struct run *r)
{
    struct error err;

    caper_state_release(&r->state);
    return caper_state_read(&r->state, r->state_path, &err) < 0 ? bad_input("%s", err.text) : 0;
}

/* Into the file; where another process has locked it, into what we have of it alone. */
static int use_news(struct run *r, struct news *n)
{
    int patience = r->locked ? 0 : CAPER_START_MS, status;
    struct error err;

    status = caper_state_change(r->state_path, take_news, n, patience, &r->state, &err);
    if (status == CAPER_LOCKED) {
        r->locked = true;
        take_news(&r->state, n);
    } else if (status < 0) {
        return bad_input("%s", err.text);
    }
    return 0;
}

static int prepare_state(struct run *r, const char *program)
{
    struct pairs p = { 0 };
    struct news n = { .linked = &r->linked, .program = program };
    unsigned merged;
    int found;

    r->locked = caper_control_collect(r->state_path, &merged) == CAPER_LOCKED;
    if (merged)
        warn("note", "%u run%s cut off %s merged into '%s'", merged,
             merged == 1 ? " that was" : "s that were", merged == 1 ? "is" : "are", r->state_path);
    if (reload(r))
        return EXIT_BAD_INPUT;
    found = new_pairs(r, program, &p);
    if (found < 0)
        return EXIT_BAD_INPUT;
    n.pairs = found ? &p : NULL;
    if (!is_news(&r->state, &n))
        return 0;
    if (use_news(r, &n))
        return EXIT_BAD_INPUT;
    if (found && !r->locked && r->o->texts[OPT_STATIC])
        caper_source_keep(r->state_path, r->o->texts[OPT_STATIC], r->state.pairs_id);
    if (n.dropped)
        warn("note", "%zu module%s of '%s' built anew: what was seen of the old code is dropped",
             n.dropped, plural(n.dropped), program);
    return 0;
}

/* ---- the run ---- */

/* Sums over the counts of the run, by the state after it. */
static void add_shares(struct run *r)
{
    const struct caper_table *t = table_of(&r->p);

    for (uint32_t i = 0; i < t->modules; i++) {
        const struct caper_module *m = &t->module[i];
        const uint64_t *counts = (const uint64_t *)(const void *)((const char *)t + m->counts);

        for (uint32_t k = 0; m->counts && k < m->sites; k++) {
            uint32_t site = pairs_find(&r->state.pairs, m->id, k);

            r->shares.all += counts[k];
            if (site == PAIRS_NONE)
                continue;
            r->shares.in_static += counts[k];
            if (caper_state_mark(&r->state, m->id, k))
                r->shares.in_dp += counts[k];
        }
    }
}

static void say(const struct run *r, uint64_t fresh)
{
    const struct prod_control *c = r->p.control;
    struct caper_sizes z;

    caper_state_sizes(&r->state, &z);
    if (table_of(&r->p)->modules_lost)
        warn("", "%" PRIu32 " module%s found no room: nothing is known of the sites there",
             table_of(&r->p)->modules_lost, plural(table_of(&r->p)->modules_lost));
    if (c->counter[CAPER_NO_LINKS])
        warn("", "stores of pointers could not be watched: everything counts as escaped");
    else if (c->counter[CAPER_WEAK_STORE])
        warn("note",
             "an object was published by an atomic store that orders nothing: from then on, "
             "and in later runs, everything counts as escaped");
    else if (c->counter[CAPER_GAVE_UP])
        warn("note", "too many stores of pointers: from some time on everything counted as escaped "
                     "(--max-overhead)");
    if (option_is(r->o, OPT_QUIET))
        return;
    if (table_of(&r->p)->flags & CAPER_WEAKLY)
        warn("note", "in an earlier run an object was published by an atomic store that orders "
                     "nothing: everything counts as escaped");
    else if (table_of(&r->p)->flags & CAPER_NO_STORES)
        warn("note", "stores of pointers cost too much in earlier runs: everything counts as "
                     "escaped (--max-overhead)");
    if (r->state.has_pairs)
        warn("caper",
             "%" PRIu64 " new site%s; %" PRIu64 " of %" PRIu64 " pair%s dynamically possible",
             fresh, plural(fresh), z.dp, z.all, z.all == 1 ? " is" : "s are");
    else
        warn("caper", "%" PRIu64 " new site%s; %" PRIu64 " accessed escaped objects", fresh,
             plural(fresh), z.seen + z.assumed);
    if (z.assumed)
        warn("caper", "%" PRIu64 " of these only assumed to: not watched (--max-overhead)",
             z.assumed);
    warn("caper",
         "about %" PRIu64 " accesses and %" PRIu64 " stores of pointers were watched; %" PRIu64
         " objects escaped, of %" PRIu64 " KiB",
         c->counter[CAPER_HITS], c->counter[CAPER_LINKS], c->counter[CAPER_ESCAPES],
         c->counter[CAPER_SCANNED] >> 10);
    if (r->shares.all)
        warn("caper",
             "of %" PRIu64 " accesses %.1f %% are in static pairs, %.1f %% in dynamic ones",
             r->shares.all, 100.0 * (double)r->shares.in_static / (double)r->shares.all,
             100.0 * (double)r->shares.in_dp / (double)r->shares.all);
}

static int show_in_caper(const struct run *r, FILE *otherwise)
{
    struct caper_what what = { .unseen = option_is(r->o, OPT_ALL), .most = r->most };
    struct outfile out;
    struct error err;
    int code;

    if (caper_state_load(&r->state, r->state_path, &err) < 0)
        return bad_input("%s", err.text);
    code = outfile_open(&out, r->o->texts[OPT_OUTPUT], otherwise);
    if (code)
        return code;
    if (strcmp(r->o->texts[OPT_FORMAT], "json") == 0)
        caper_show_json(&r->state, &r->linked, &what, r->shares.all ? &r->shares : NULL, out.file);
    else
        caper_show_text(&r->state, &r->linked, &what, out.file);
    return outfile_close(&out, true);
}

/* A program that was killed has said nothing else. */
static bool was_watched(const struct run *r)
{
    const struct prod_control *c = r->p.control;

    return (c->counter[CAPER_PROCESSES] && !c->patch_errno) ||
           production_says(&r->p, r->o->arguments[0]);
}

/* The control file stays: the next command that can lock the state takes what is in it. */
static int leave_behind(struct run *r)
{
    r->p.made = false;
    warn("note", "'%s' is locked by another process: what was seen waits in '%s'", r->state_path,
         r->p.path);
    return r->p.code;
}

static int watch_in_caper(struct run *r)
{
    struct caper_watch w = { r->state_path,
                             &r->state,
                             &r->linked,
                             r->max_ppm,
                             option_is(r->o, OPT_ALL_SITES),
                             option_is(r->o, OPT_COUNT_ALL) };
    uint64_t fresh = 0;
    int code = caper_watch_open(&r->p, &w);

    if (code)
        return code;
    if (r->locked)
        warn("note", "'%s' is locked by another process: this run goes by what it holds now",
             r->state_path);
    code = production_run(&r->p, r->o->arguments, NULL, NULL);
    if (code == 0)
        code =
            caper_control_merge(&r->p, r->state_path, &r->linked, CAPER_END_MS, &r->state, &fresh);
    if (code == CAPER_LOCKED)
        return leave_behind(r);
    if (code)
        return code;
    if (w.count)
        add_shares(r);
    if (was_watched(r))
        say(r, fresh);
    if (option_is(r->o, OPT_OUTPUT))
        code = show_in_caper(r, stderr);
    return code ? code : r->p.code;
}

static int run_program(struct run *r)
{
    char *program = program_find(r->o->arguments[0]);
    struct error err;
    int code;

    if (!program) {
        bad_input("cannot find '%s'", r->o->arguments[0]);
        return EXIT_NOT_FOUND;
    }
    if (linked_open(&r->linked, program, true, &err) < 0) {
        free(program);
        return bad_input("%s", err.text);
    }
    code = prepare_state(r, program);
    if (code == 0)
        code = watch_in_caper(r);
    free(program);
    return code;
}

/* ---- without a run ---- */

static int show_state(struct run *r)
{
    unsigned merged;
    struct error err;

    caper_control_collect(r->state_path, &merged);
    if (reload(r))
        return EXIT_BAD_INPUT;
    if (access(r->state_path, F_OK) != 0)
        return bad_input("cannot read '%s': %s", r->state_path, strerror(errno));
    if (r->state.pairs_lost)
        warn("note", "the static pairs of '%s' are gone", r->state_path);
    if (r->state.program && linked_open(&r->linked, r->state.program, true, &err) < 0)
        warn("note", "sites have no names: %s", err.text);
    return show_in_caper(r, stdout);
}

int cmd_caper(const struct options *o)
{
    struct run r = { .o = o, .state_path = o->texts[OPT_STATE], .p = { .fd = -1 } };
    int code;

    if (!r.state_path)
        return usage_error(o->command, "option '--state' is missing");
    if (option_is(o, OPT_SHOW) == (o->narguments > 0))
        return usage_error(o->command, "either a program or '--show'");
    code = take_max_overhead(o, &r.max_ppm);
    if (code)
        return code;
    r.most = o->numbers[OPT_LIST];
    code = option_is(o, OPT_SHOW) ? show_state(&r) : run_program(&r);
    caper_control_close(&r.p);
    linked_release(&r.linked);
    caper_state_release(&r.state);
    return code;
}
