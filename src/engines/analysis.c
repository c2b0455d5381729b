/* analysis.c - one decode feeds all engines */
#include "engines/analysis.h"
#include "base/alloc.h"
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

static void feed(struct analysis *a, void *const *states, const struct span *span)
{
    double start = now();

    for (size_t i = 0; i < a->count; i++) {
        double end;

        a->runs[i].engine->steps(states[i], span);
        end = now();
        a->runs[i].seconds += end - start;
        start = end;
    }
}

/* 0 at the end of the trace, 1 when stopped, -1 on an error. */
static int run_engines(struct analysis *a, struct trace *t, void *const *states,
                       const struct analysis_hooks *hooks, struct error *err)
{
    struct memory *m = memory_new();
    struct batch batch;
    struct span span;
    double start = now();
    int r;

    while ((r = trace_next(t, &batch, err)) > 0) {
        memory_steps(m, &batch, &span);
        a->decode_seconds += now() - start;
        feed(a, states, &span);
        start = now();
        if (hooks && hooks->progress && hooks->progress(hooks->arg, trace_info(t)))
            break;
    }
    a->decode_seconds += now() - start;
    memory_free(m);
    return r;
}

int analysis_run(struct trace *t, const struct engine *const *engines, size_t n,
                 const struct analysis_hooks *hooks, struct analysis *out, struct error *err)
{
    void **states = xcalloc(n, sizeof(*states));
    int r;

    *out = (struct analysis){ .runs = xcalloc(n, sizeof(*out->runs)), .count = n };
    for (size_t i = 0; i < n; i++) {
        out->runs[i].engine = engines[i];
        race_table_init(&out->runs[i].result.races);
        states[i] = engines[i]->open(&out->runs[i].result);
    }
    r = run_engines(out, t, states, hooks, err);
    for (size_t i = 0; i < n; i++) {
        if (r >= 0) {
            double start = now();

            engines[i]->finish(states[i]);
            out->runs[i].seconds += now() - start;
            out->runs[i].result.complete = !r && !out->runs[i].result.races.dropped;
            if (out->runs[i].result.races.dropped)
                engine_count(&out->runs[i].result, "instances_dropped",
                             out->runs[i].result.races.dropped);
        }
        engines[i]->close(states[i]);
    }
    out->interrupted = r > 0;
    free(states);
    if (r < 0)
        analysis_release(out);
    return r < 0 ? -1 : 0;
}
