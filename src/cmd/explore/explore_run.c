/* explore_run.c - one run under a schedule, and what came of it
 *
 * The program is recorded like any other, since the runtime's interposers are what the scheduler
 * hangs on; its trace says which images it had loaded where, and is removed.
 */
#include "cmd/explore/explore.h"
#include "base/alloc.h"
#include "base/seconds.h"
#include "cmd/common.h"
#include "cmd/production/production.h"
#include "cmd/recording.h"
#include "cmd/repeated.h"
#include "trace/trace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUTPUT_KEPT = 1 << 16 };

/* ---- what it leaves ---- */

/* The end of its output. */
static char *read_output(const char *path)
{
    char *text = xcalloc(OUTPUT_KEPT + 1, 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n = 0;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        if (st.st_size > OUTPUT_KEPT)
            (void)lseek(fd, -OUTPUT_KEPT, SEEK_END);
        n = read(fd, text, OUTPUT_KEPT);
    }
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return text;
}

/* Which images were where: of the program's own process. */
static struct symbolizer *read_images(const struct recording *r)
{
    struct symbolizer *symbols = NULL;
    struct error unused;

    for (size_t i = 0; i < r->traces.count; i++) {
        struct trace *t;

        if (r->traces.files[i].pid != r->pid || symbols)
            continue;
        t = trace_open(r->traces.files[i].path, &unused);
        for (size_t k = 0; t && k < trace_tables(t)->nimages; k++) {
            const struct image *m = &trace_tables(t)->images[k];

            if (!symbols)
                symbols = symbolizer_new();
            symbolizer_add_image(symbols, m->path, m->base, m->low, m->high, m->build_id,
                                 m->build_id_bytes);
        }
        trace_close(t);
    }
    return symbols;
}

static bool is_sanitized(const char *output)
{
    return strstr(output, ": runtime error: ") || strstr(output, "ERROR: AddressSanitizer") ||
           strstr(output, "ERROR: LeakSanitizer") || strstr(output, "WARNING: ThreadSanitizer");
}

static void judge(const struct explore_job *job, struct explored *e, int code, bool hung)
{
    e->code = code;
    e->outcome = PASSED;
    if (e->done->failure == EXPLORE_DEADLOCK)
        e->outcome = DEADLOCKED;
    else if (e->done->failure == EXPLORE_LIVELOCK)
        e->outcome = LIVELOCKED;
    else if (hung)
        e->outcome = HUNG;
    else if (is_sanitized(e->output))
        e->outcome = SANITIZED;
    else if (code > 128) {
        e->outcome = SIGNALLED;
        e->code = code - 128;
    } else if (code && (job->any_code || job->codes[code & 255]))
        e->outcome = EXITED;
}

static void take(struct explored *e, const struct explore_plan *p)
{
    e->done = xcalloc(1, sizeof(*e->done));
    *e->done = p->done;
    e->nsteps = p->done.nsteps < EXPLORE_STEPS_MAX ? (size_t)p->done.nsteps : EXPLORE_STEPS_MAX;
    e->steps = xcalloc(e->nsteps + 1, sizeof(*e->steps));
    memcpy(e->steps, p->step, e->nsteps * sizeof(*e->steps));
}

void explored_release(struct explored *e)
{
    free(e->done);
    free(e->steps);
    free(e->output);
    symbolizer_free(e->symbols);
    *e = (struct explored){ 0 };
}

void explored_schedule(const struct explored *e, struct schedule *s)
{
    *s = (struct schedule){ 0 };
    for (size_t k = 0; k < e->nsteps; k++)
        if (e->steps[k].flags & EX_CHOSEN && s->count < EXPLORE_SEGMENTS_MAX)
            schedule_add(s, e->done->thread[e->steps[k].thread].path, 1);
}

/* ---- the run ---- */

static int run_program(const struct explore_job *job, struct production *p, struct explored *e)
{
    struct options o = *job->options;
    char *data = xasprintf("%s/data", job->scratch), *output = xasprintf("%s/output", job->scratch);
    struct recording r = { 0 };
    struct streams streams = { { -1, -1, -1 } };
    int code;
    struct watchdog dog = { .limit_ns = job->limit_ns, .recording = &r };
    double start = seconds_now();

    o.arguments = job->argv;
    streams_divert(&streams, output);
    watchdog_start(&dog);
    code = recording_run_steered(&r, &o, data, p->path);
    watchdog_stop(&dog);
    streams_restore(&streams);
    e->seconds = seconds_now() - start;
    e->output = read_output(output);
    if (code == 0) {
        take(e, (struct explore_plan *)(p->control + 1));
        judge(job, e, r.code, dog.bit);
        if (e->outcome != PASSED)
            e->symbols = read_images(&r);
    } else {
        own_failure("cannot run '%s'", job->argv[0]);
    }
    for (size_t i = 0; i < r.traces.count; i++)
        unlink(r.traces.files[i].path);
    recording_release(&r);
    free(output);
    free(data);
    return code;
}

int explore_run_once(const struct explore_job *job, const struct schedule *s, struct explored *e)
{
    struct production p = { 0 };
    struct explore_plan *plan;
    int code = production_open(&p, PROD_OFF, sizeof(*plan));

    *e = (struct explored){ 0 };
    if (code)
        return code;
    plan = (struct explore_plan *)(p.control + 1);
    memcpy(plan->magic, EXPLORE_MAGIC, sizeof(plan->magic));
    plan->version = EXPLORE_VERSION;
    plan->policy = s->policy;
    plan->seed = s->seed;
    plan->depth = s->depth;
    plan->length = s->length;
    plan->nsegments = (uint32_t)s->count;
    if (s->count)
        memcpy(plan->segment, s->segments, s->count * sizeof(*s->segments));
    memcpy(plan->quiet, job->quiet, sizeof(plan->quiet));
    p.control->disposable = 1;
    code = run_program(job, &p, e);
    production_close(&p);
    return code;
}
