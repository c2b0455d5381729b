/* fleet_run.c - heddle fleet run: ask the store what to do, do it, put the result back
 *
 * The program is what matters: its streams and exit code are its own, it starts even where the
 * store is away or anything of ours fails, and then runs plain. It never waits for the store:
 * fleet_beside.c.
 */
#include "base/alloc.h"
#include "base/seconds.h"
#include "cmd/production/fleet_beside.h"
#include "fleet/spool.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

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

/* The program has ended, and its exit code is ours: nobody may end us within this second. */
static void fleet_run_put(struct fleet_job *j, int code)
{
    struct error err = { { 0 } };
    sigset_t all, old;
    int r;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    j->result.ended_ms = fleet_now_ms();
    j->result.exit = code;
    if (j->result.note && j->result.kind != FLEET_PLAIN)
        fleet_say(j, "%s", j->result.note);
    r = spool_keep(j->place.spool, &j->result, &err);
    spool_end(j->place.spool, j->result.run, j->live);
    if (r < 0)
        fleet_say(j, "the result is lost: %s", err.text);
    if (!fleet_beside_end(j) && r == 0)
        fleet_say(j, "the result waits in '%s'", j->place.spool);
    sigprocmask(SIG_SETMASK, &old, NULL);
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
    if (!parse_duration(o->texts[OPT_WAIT], &j->wait_ns))
        return usage_error(o->command, "option '--wait' takes a time like '700ms', not '%s'",
                           o->texts[OPT_WAIT]);
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
    if (spool_make(j->place.spool, &err) < 0)
        fleet_say(j, "%s", err.text);
    fleet_beside_start(j);
    if (!fleet_beside_ask(j) && j->result.note)
        fleet_say(j, "%s: running plain", j->result.note);
    code = run_program(j);
    fleet_run_put(j, code);
    return code;
}

int cmd_fleet_run(const struct options *o)
{
    struct fleet_job j = { .o = o,
                           .argv = o->arguments + 1,
                           .began = seconds_now(),
                           .beside = { .fd = -1, .shared = -1 },
                           .talk = -1,
                           .live = -1 };
    int code;

    if (o->narguments < 2)
        return usage_error(o->command, "a program is missing");
    if (!launch_can_start())
        return launch_without_us(j.argv);
    code = take_numbers(&j);
    if (code)
        return code;
    fleet_place_init(&j.place, o);
    code = run_job(&j);
    linked_release(&j.linked);
    fleet_result_release(&j.result);
    fleet_result_release(&j.known);
    fleet_place_release(&j.place);
    free(j.path);
    return code;
}
