/* analysis.c - one decode feeds all engines, which then decide one by one */
#include "engines/analysis.h"
#include "base/alloc.h"
#include "engines/whole.h"
#include "order/memory.h"

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
    for (size_t i = 0; i < a->count; i++)
        race_table_release(&a->runs[i].result.races);
    free(a->runs);
    *a = (struct analysis){ 0 };
}

static void feed(struct analysis *a, const struct span *span)
{
    double start = now();

    for (size_t i = 0; i < a->count; i++) {
        struct engine_run *run = &a->runs[i];
        double end;

        if (!run->engine->steps)
            continue;
        run->engine->steps(run->state, span);
        end = now();
        run->seconds += end - start;
        start = end;
    }
}

/* 0 at the end of the trace, 1 when stopped, -1 on an error. */
static int pass(struct analysis *a, struct trace *t, const struct analysis_hooks *hooks,
                struct error *err)
{
    struct memory *m = memory_new();
    struct batch batch;
    struct span span;
    double start = now();
    int r;

    while ((r = trace_next(t, &batch, err)) > 0) {
        memory_steps(m, &batch, &span);
        a->decode_seconds += now() - start;
        feed(a, &span);
        start = now();
        if (hooks && hooks->progress && hooks->progress(hooks->arg, trace_info(t)))
            break;
    }
    a->decode_seconds += now() - start;
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

/* 0, 1 when stopped, -1 on an error. */
static int decide(struct analysis *a, struct trace *t, const struct engine_options *options,
                  const struct analysis_hooks *hooks, struct error *err)
{
    struct whole *w = whole_new(t, a, options, hooks);
    int r = 0;

    for (size_t i = 0; i < a->count && r == 0; i++) {
        struct engine_run *run = &a->runs[i];
        double start = now();

        if (!run->engine->decide)
            continue;
        whole_begin(w, run->engine);
        r = run->engine->decide(run->state, w, err);
        run->seconds += now() - start;
        if (r == 0 && hooks && hooks->deciding && hooks->deciding(hooks->arg, run->engine->name, 1))
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
    int r;

    if (!options)
        options = &defaults;
    *out = (struct analysis){ .runs = xcalloc(n, sizeof(*out->runs)), .count = n };
    open_engines(out, engines, options);
    r = pass(out, t, hooks, err);
    for (size_t i = 0; i < n && r >= 0; i++) {
        finish(&out->runs[i]);
        out->runs[i].result.complete &= !r;
    }
    if (r == 0)
        r = decide(out, t, options, hooks, err);
    for (size_t i = 0; i < n; i++)
        engines[i]->close(out->runs[i].state);
    out->interrupted = r > 0;
    if (r < 0)
        analysis_release(out);
    return r < 0 ? -1 : 0;
}
