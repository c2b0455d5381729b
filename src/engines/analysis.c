/* analysis.c - one decode feeds all engines, which then decide one by one */
#include "engines/analysis.h"
#include "base/alloc.h"
#include "engines/feed.h"
#include "engines/sieve.h"
#include "engines/whole.h"
#include "order/memory.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void analysis_release(struct analysis *a)
{
    for (size_t i = 0; i < a->count; i++) {
        race_table_release(&a->runs[i].result.races);
        deadlock_table_release(&a->runs[i].result.deadlocks);
    }
    free(a->runs);
    *a = (struct analysis){ 0 };
}

static bool stop_asked(const struct analysis_hooks *hooks, const struct trace *t)
{
    return hooks && hooks->progress && hooks->progress(hooks->arg, trace_info(t));
}

/* A pass for the sieve. 0 at the end of the trace, 1 when stopped, -1 on an error. */
static int learn_sieve(struct sieve *s, struct trace *t, const struct analysis_hooks *hooks,
                       struct error *err)
{
    struct batch batch;
    int r;

    while ((r = trace_next(t, &batch, err)) > 0) {
        sieve_learn(s, &batch);
        if (stop_asked(hooks, t))
            break;
    }
    sieve_ready(s);
    return r ? r : trace_rewind(t, err);
}

/* Only at its end is it known that a trace has no values. */
static int make_sieve(struct sieve **out, struct trace *t, const struct analysis_hooks *hooks,
                      struct error *err)
{
    bool handovers = !trace_info(t)->values;
    int r;

    *out = sieve_new(handovers);
    r = learn_sieve(*out, t, hooks, err);
    if (r || !handovers || !trace_info(t)->values)
        return r;
    sieve_free(*out);
    *out = sieve_new(false);
    return learn_sieve(*out, t, hooks, err);
}

/* The pass for the engines; the result is as above. */
static int feed_engines(struct analysis *a, struct trace *t, struct sieve *sieve, unsigned jobs,
                        const struct analysis_hooks *hooks, struct error *err)
{
    struct memory *m = memory_new();
    struct feed *f = feed_new(a->runs, a->count, jobs);
    struct batch batch;
    struct span span;
    double start = now();
    int r;

    while ((r = trace_next(t, &batch, err)) > 0) {
        if (sieve)
            sieve_mark(sieve, &batch);
        memory_steps(m, &batch, &span);
        a->decode_seconds += now() - start;
        feed_put(f, &span);
        start = now();
        if (stop_asked(hooks, t))
            break;
    }
    a->decode_seconds += now() - start;
    feed_free(f);
    memory_free(m);
    return r;
}

static void finish(struct engine_run *run)
{
    struct engine_result *result = &run->result;
    double start = now();

    if (run->engine->finish)
        run->engine->finish(run->state);
    run->seconds += now() - start;
    if (result->races.dropped)
        engine_count(result, "instances_dropped", result->races.dropped);
    result->complete &= !result->races.dropped;
}

static bool is_shown(void *arg, const struct race *r)
{
    (void)arg;
    return r->strength <= STRENGTH_WITNESSED;
}

/* Where the order of plain accesses is not exact, a predicted race without a schedule may rest on
 * a read that saw something else: the cascade only counts it. */
static void leave_out_unshown(struct engine_run *run)
{
    struct race_table *races = &run->result.races;
    size_t before = races->count;

    race_table_keep(races, is_shown, NULL);
    if (races->count < before)
        engine_count(&run->result, "not_shown", before - races->count);
}

static size_t deciders(const struct analysis *a, size_t from)
{
    size_t n = 0;

    for (size_t i = from; i < a->count; i++)
        n += a->runs[i].engine->decide != NULL;
    return n;
}

/* The engine's share of the budget: what is left, divided among those still to come. */
static int decide_one(struct analysis *a, size_t i, struct whole *w, double *left,
                      struct error *err)
{
    struct engine_run *run = &a->runs[i];
    double start = now(), used;
    int r;

    whole_begin(w, run->engine, *left / (double)deciders(a, i));
    r = run->engine->decide(run->state, w, err);
    whole_end(w, &run->result);
    if (whole_options(w)->cascade && run->engine->predicts && whole_info(w)->order != TRACE_EXACT &&
        !whole_options(w)->no_witness)
        leave_out_unshown(run);
    used = now() - start;
    run->seconds += used;
    *left = used < *left ? *left - used : 0;
    return r;
}

/* 0, 1 when stopped, -1 on an error. */
static int decide(struct analysis *a, struct trace *t, struct sieve *sieve,
                  const struct engine_options *options, const struct analysis_hooks *hooks,
                  struct error *err)
{
    struct whole *w = whole_new(t, a, sieve, options, hooks);
    double left = options->seconds > 0 ? options->seconds : INFINITY;
    int r = 0;

    for (size_t i = 0; i < a->count && r == 0; i++) {
        if (!a->runs[i].engine->decide)
            continue;
        r = decide_one(a, i, w, &left, err);
        if (r == 0 && hooks && hooks->deciding &&
            hooks->deciding(hooks->arg, a->runs[i].engine->name, 1))
            r = 1;
    }
    whole_free(w);
    return r;
}

static void open_engines(struct analysis *a, const struct engine *const *engines,
                         const struct engine_options *options)
{
    for (size_t i = 0; i < a->count; i++) {
        struct engine_run *run = &a->runs[i];

        run->engine = engines[i];
        run->result.complete = true;
        race_table_init(&run->result.races);
        run->state = engines[i]->open(&run->result, options);
    }
}

int analysis_run(struct trace *t, const struct engine *const *engines, size_t n,
                 const struct engine_options *options, const struct analysis_hooks *hooks,
                 struct analysis *out, struct error *err)
{
    static const struct engine_options defaults;
    struct sieve *sieve = NULL;
    int r = 0;

    if (!options)
        options = &defaults;
    *out = (struct analysis){ .runs = xcalloc(n, sizeof(*out->runs)), .count = n };
    open_engines(out, engines, options);
    if (options->sieve)
        r = make_sieve(&sieve, t, hooks, err);
    if (r == 0)
        r = feed_engines(out, t, sieve, options->jobs, hooks, err);
    for (size_t i = 0; i < n && r >= 0; i++) {
        finish(&out->runs[i]);
        out->runs[i].result.complete &= !r;
    }
    if (r == 0)
        r = decide(out, t, sieve, options, hooks, err);
    for (size_t i = 0; i < n; i++)
        engines[i]->close(out->runs[i].state);
    sieve_free(sieve);
    out->interrupted = r > 0;
    if (r < 0)
        analysis_release(out);
    return r < 0 ? -1 : 0;
}
