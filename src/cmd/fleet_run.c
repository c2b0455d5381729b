/* fleet_run.c - heddle fleet run: ask the store what to do, do it, put the result back
 *
 * The program is what matters: its streams and exit code are its own, it starts even where the
 * store is away or anything of ours fails, and then runs plain.
 */
#include "base/alloc.h"
#include "cmd/fleet.h"
#include "fleet/spool.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* How long the program waits for a store that does not answer. */
enum { PATIENCE_MS = 2000 };

void fleet_build_id(const struct linked *l, char id[FLEET_ID_CHARS + 1])
{
    XXH3_state_t *state = XXH3_createState();
    XXH128_hash_t h;

    XXH3_128bits_reset(state);
    for (size_t f = 0; f < l->count; f++) {
        const struct linked_file *file = &l->files[f];

        XXH3_128bits_update(state, file->build_id, strlen(file->build_id) + 1);
        for (size_t i = 0; i < site_tables_count(file->tables); i++)
            XXH3_128bits_update(state, site_tables_get(file->tables, i)->id,
                                sizeof(site_tables_get(file->tables, i)->id));
    }
    h = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    snprintf(id, FLEET_ID_CHARS + 1, "%016" PRIx64 "%016" PRIx64, h.high64, h.low64);
}

void fleet_new_result(struct fleet_job *j)
{
    const char *slash = strrchr(j->path, '/');
    char host[HOST_NAME_MAX + 1] = "?", id[FLEET_ID_CHARS + 1], *full = realpath(j->path, NULL);
    struct fleet_result *r = &j->result;

    fleet_result_release(r);
    gethostname(host, sizeof(host) - 1);
    fleet_build_id(&j->linked, id);
    fleet_new_id(r->run);
    r->program = fleet_string(r, id);
    r->name = fleet_string(r, slash ? slash + 1 : j->path);
    r->path = fleet_string(r, full ? full : j->path);
    r->host = fleet_string(r, host);
    r->pid = getpid();
    r->started_ms = fleet_now_ms();
    free(full);
}

/* ---- asking ---- */

static void flush_spool(struct fleet_job *j)
{
    struct spool_counts counts;
    struct error err;

    fleet_adopt_orphans(j);
    if (!j->store)
        return;
    spool_flush(j->place.spool, j->store, &counts, &err);
    if (counts.put)
        fleet_say(j, "%" PRIu64 " results of earlier runs are put", counts.put);
    if (counts.bad)
        fleet_say(j, "%" PRIu64 " files in '%s' are no results", counts.bad, j->place.spool);
}

static void connect_store(struct fleet_job *j)
{
    struct error err;

    if (spool_make(j->place.spool, &err) < 0)
        fleet_say(j, "%s", err.text);
    j->store = store_open(j->place.where, SQL_CREATE, PATIENCE_MS, &err);
    if (!j->store)
        fleet_say(j, "%s", err.text);
}

/* The analysis, where it falls to us, comes first; then the store is asked again. */
static void ask(struct fleet_job *j)
{
    for (int round = 0; j->store && round < 2; round++) {
        struct store_claim c;
        struct error err;

        fleet_new_result(j);
        if (store_claim(j->store, &j->result, j->lease_ms, &c, &err) < 0) {
            fleet_say(j, "%s", err.text);
            return;
        }
        j->result.kind = c.kind;
        j->result.s1 = fleet_string(&j->result, c.s1);
        j->result.s2 = fleet_string(&j->result, c.s2);
        j->tries = c.tries;
        store_claim_release(&c);
        if (j->result.kind != FLEET_STATIC)
            return;
        fleet_analyse(j);
        fleet_new_result(j);
    }
}

/* ---- running ---- */

/* A change to the environment is how the child learns that it may go. */
static int run_plain(const struct fleet_job *j)
{
    char *const changes[] = { (char *)"HEDDLE_RT=record=0\n", NULL };
    struct launch l;
    int code = launch_fork(&l, j->argv);

    if (code == 0)
        code = launch_go(&l, changes);
    return code ? code : launch_wait(&l);
}

static int run_program(struct fleet_job *j)
{
    int code = 0;
    bool ran = false;

    if (j->result.kind == FLEET_CHASE)
        ran = fleet_chase(j, &code);
    else if (j->result.kind == FLEET_CAPER)
        ran = fleet_caper(j, &code);
    if (ran)
        return code;
    if (j->result.kind != FLEET_PLAIN) { /* it was assigned, and could not be done */
        j->result.note = "could not be done";
        fleet_say(j, "running plain");
    }
    return run_plain(j);
}

static void put(struct fleet_job *j, int code)
{
    struct error err = { { 0 } };
    int r;

    j->result.ended_ms = fleet_now_ms();
    j->result.exit = code;
    if (j->result.note && j->result.kind != FLEET_PLAIN)
        fleet_say(j, "%s", j->result.note);
    r = spool_put(j->place.spool, j->store, &j->result, &err);
    if (r == 0)
        fleet_say(j, "the result waits in '%s'", j->place.spool);
    else if (r < 0)
        fleet_say(j, "the result is lost: %s", err.text);
}

/* "10ms,30ms" */
static bool parse_delays(struct fleet_job *j, const char *text)
{
    char *copy = xstrndup(text, strlen(text)), *rest = copy, *one;
    bool good = true;

    while (good && (one = strsep(&rest, ","))) {
        uint64_t *to = &j->delay_ns[j->ndelays];

        good = j->ndelays < FLEET_DELAYS && parse_duration(one, to) && *to;
        j->ndelays++;
    }
    free(copy);
    return good;
}

static int take_numbers(struct fleet_job *j)
{
    const struct options *o = j->o;
    int code = take_max_overhead(o, &j->max_ppm);

    if (code)
        return code;
    if (!parse_delays(j, o->texts[OPT_DELAY]))
        return usage_error(o->command,
                           "option '--delay' takes up to %d times like '10ms,30ms', not '%s'",
                           FLEET_DELAYS, o->texts[OPT_DELAY]);
    j->lease_ms = (int64_t)o->numbers[OPT_LEASE] * 1000;
    return take_min_time(o, &j->least_ns);
}

static int run_job(struct fleet_job *j)
{
    struct error err;
    int code;

    j->path = program_find(j->argv[0]);
    if (!j->path || linked_open(&j->linked, j->path, true, &err) < 0) {
        fleet_say(j, "%s", j->path ? err.text : "not found");
        return run_plain(j); /* says what is wrong with it */
    }
    fleet_new_result(j);
    connect_store(j);
    flush_spool(j);
    ask(j);
    code = run_program(j);
    put(j, code);
    return code;
}

int cmd_fleet_run(const struct options *o)
{
    struct fleet_job j = { .o = o, .argv = o->arguments + 1 };
    int code;

    if (o->narguments < 2)
        return usage_error(o->command, "a program is missing");
    code = take_numbers(&j);
    if (code)
        return code;
    fleet_place_init(&j.place, o);
    code = run_job(&j);
    store_close(j.store);
    linked_release(&j.linked);
    fleet_result_release(&j.result);
    fleet_place_release(&j.place);
    free(j.path);
    return code;
}
