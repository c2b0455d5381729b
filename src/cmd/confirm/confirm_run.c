/* confirm_run.c - one controlled run of the program
 *
 * It is recorded like any other, into a folder that is removed afterwards, since the runtime's
 * interposers and filter are what the scheduler hangs on.
 */
#include "cmd/confirm/confirm.h"
#include "base/alloc.h"
#include "base/seconds.h"
#include "cmd/common.h"
#include "cmd/production/production.h"
#include "cmd/production/production_findings.h"
#include "cmd/recording.h"
#include "cmd/repeated.h"
#include "symbol/linked.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what it leaves ---- */

static void remove_traces(const struct recording *r)
{
    for (size_t i = 0; i < r->traces.count; i++)
        unlink(r->traces.files[i].path);
}

/* The meeting as a race of the program, with names and stacks. */
static void explain(struct findings *f, const struct prod_control *control,
                    const struct confirm_run *run)
{
    char *path = program_find(run->argv[0]);
    struct linked files = { 0 };
    struct error unused;
    struct sighting_report about = { .program = run->argv[0],
                                     .engine = "confirm",
                                     .strength = STRENGTH_CONFIRMED,
                                     .complete = true,
                                     .files = &files };

    if (path)
        (void)linked_open(&files, path, true, &unused);
    production_findings(f, control, &about);
    linked_release(&files);
    free(path);
}

static void keep_sighting(struct confirmation *c, const struct production *p,
                          const struct confirm_run *run)
{
    findings_release(&c->seen);
    explain(&c->seen, p->control, run);
}

/* The function at which a signal ended the program, and the first place that has a line. */
static char *crash_text(const struct stack *s, bool in_library)
{
    const struct frame *top = s->count ? &s->frames[0] : NULL, *at = NULL;
    const char *name;
    uint32_t line, column;
    size_t n;

    for (size_t i = in_library; i < s->count && !at; i++)
        if (s->frames[i].location && location_split(s->frames[i].location, &n, &line, &column))
            at = &s->frames[i];
    if (!top)
        return NULL;
    name = top->function ? top->function : top->location;
    if (strncmp(name, "__GI_", 5) == 0) /* glibc's own name of what it exports */
        name += 5;
    return xasprintf("%s%s%s", name, at ? " at " : "", at ? at->location : "");
}

static bool is_of_library(const struct prod_control *c, uint64_t pc)
{
    static const char *const names[] = { "/libc.so", "/ld-linux", "/libpthread", "/libasan",
                                         "/libubsan" };

    for (uint32_t i = 0; i < c->images && i < PROD_IMAGES_MAX; i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
            if (c->image[i].start <= pc && pc < c->image[i].end &&
                strstr(c->image[i].path, names[k]))
                return true;
    return false;
}

/* How free() came to raise a signal is of no interest: the function that the program called stays.
 */
static bool leave_out_library(const struct prod_control *c, struct prod_side *s)
{
    uint16_t n = 0;

    while (n < s->frames && is_of_library(c, s->frame[n]))
        n++;
    if (n == s->frames) /* at a thread's end, say: no place of the program's */
        s->frames = 0;
    if (n < 2 || !s->frames)
        return n;
    memmove(s->frame, s->frame + n - 1, (size_t)(s->frames - n + 1) * sizeof(*s->frame));
    s->frames = (uint16_t)(s->frames - n + 1);
    s->frame[0]--; /* the call, not behind it */
    return true;
}

/* It is told as a sighting is (runtime/steer/steer_order.c), with one side. */
static void keep_crash(struct confirmation *c, const struct production *p,
                       const struct confirm_run *run)
{
    struct prod_control *only = xcalloc(1, sizeof(*only));
    struct findings f = { 0 };

    *only = *p->control;
    only->sightings = 1;
    only->sighting[0] = p->control->sighting[1];
    only->sighting[0].ready = only->sighting[0].count != 0;
    free(c->crash);
    c->crash = NULL;
    if (only->sighting[0].ready) {
        bool library = leave_out_library(only, &only->sighting[0].side[0]);

        only->sighting[0].side[1] = only->sighting[0].side[0];
        explain(&f, only, run);
        c->crash = f.count ? crash_text(&f.races[0].sides[0].stack, library) : NULL;
        findings_release(&f);
    }
    free(only);
}

static int run_program(const struct confirm_run *run, const char *control, struct recording *r,
                       bool *timed_out)
{
    struct options o = *run->options;
    /* a later run removes what an earlier one left in its folder */
    char *data = xasprintf("%s/%s", run->scratch, control ? "data" : "free");
    char *output = xasprintf("%s/output", run->scratch);
    struct streams streams = { { -1, -1, -1 } };
    struct watchdog dog = { .limit_ns = run->limit_ns, .recording = r };
    int code;

    o.arguments = run->argv;
    streams_divert(&streams, output);
    watchdog_start(&dog);
    code = recording_run_steered(r, &o, data, control);
    watchdog_stop(&dog);
    streams_restore(&streams);
    *timed_out = dog.bit;
    if (code)
        own_failure("cannot run '%s' again", run->argv[0]);
    free(output);
    free(data);
    return code;
}

static int run_steered(const struct confirm_run *run, struct production *p, struct confirmation *c)
{
    struct recording r = { 0 };
    double start = seconds_now();
    int code = run_program(run, p->path, &r, &c->timed_out);

    c->seconds += seconds_now() - start;
    c->code = r.code;
    remove_traces(&r);
    recording_release(&r);
    return code;
}

int confirm_record(const struct confirm_run *run, struct tracedir *traces, uint64_t *ns)
{
    struct recording r = { 0 };
    bool timed_out;
    int code = run_program(run, NULL, &r, &timed_out);

    *ns = (uint64_t)(r.seconds * 1e9);
    if (code == 0 && !recording_says(&r, run->argv[0]))
        code = EXIT_BAD_INPUT;
    if (code == 0) {
        *traces = r.traces;
        r.traces = (struct tracedir){ 0 };
        r.late = true; /* the traces stay */
    }
    recording_release(&r);
    return code;
}

int confirm_run_once(const struct confirm_run *run, const struct steer_plan *plan,
                     struct confirmation *c)
{
    struct production p = { 0 };
    struct steer_plan *shared;
    int code = production_open(&p, PROD_OFF, sizeof(*plan));

    if (code)
        return code;
    shared = (struct steer_plan *)(p.control + 1);
    *shared = *plan;
    shared->patience_ns = run->patience_ns;
    shared->budget_ns = run->budget_ns;
    p.control->disposable = 1;
    code = run_steered(run, &p, c);
    if (code == 0 && (c->tries == 0 || shared->done.met))
        c->done = shared->done;
    if (code == 0 && shared->done.met)
        keep_sighting(c, &p, run);
    if (code == 0)
        keep_crash(c, &p, run);
    production_close(&p);
    return code;
}
