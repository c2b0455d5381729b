/* whole.c - the whole trace at hand, for what engines do after the pass over it */
#include "engines/whole.h"
#include "base/alloc.h"
#include "engines/analysis.h"
#include "witness/witness.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct whole {
    struct trace *trace;
    const struct analysis *analysis;
    const struct engine_options *options;
    const struct analysis_hooks *hooks;
    const struct engine *engine; /* that decides now */
    double started;
    bool stopped;
    bool loaded;
    struct trace_mem events;
    struct witness_trace *checker;
    pthread_mutex_t checking; /* one check at a time: it uses the checker's scratch memory */
};

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

struct whole *whole_new(struct trace *t, const struct analysis *a,
                        const struct engine_options *options, const struct analysis_hooks *hooks)
{
    struct whole *w = xcalloc(1, sizeof(*w));

    w->trace = t;
    w->analysis = a;
    w->options = options;
    w->hooks = hooks;
    pthread_mutex_init(&w->checking, NULL);
    return w;
}

void whole_free(struct whole *w)
{
    if (!w)
        return;
    if (w->checker)
        witness_trace_free(w->checker);
    if (w->loaded)
        trace_mem_release(&w->events);
    pthread_mutex_destroy(&w->checking);
    free(w);
}

void whole_begin(struct whole *w, const struct engine *engine)
{
    w->engine = engine;
    w->started = now();
    w->stopped = false;
}

bool whole_stop(struct whole *w, double done)
{
    const struct analysis_hooks *h = w->hooks;

    if (!w->stopped && w->options->seconds > 0)
        w->stopped = now() - w->started > w->options->seconds;
    if (!w->stopped && h && h->deciding)
        w->stopped = h->deciding(h->arg, w->engine->name, done);
    return w->stopped;
}

const struct engine_options *whole_options(const struct whole *w)
{
    return w->options;
}

const struct trace_info *whole_info(const struct whole *w)
{
    return trace_info(w->trace);
}

struct trace *whole_stream(struct whole *w, struct error *err)
{
    return trace_rewind(w->trace, err) < 0 ? NULL : w->trace;
}

const struct trace_mem *whole_events(struct whole *w, struct error *err)
{
    if (w->loaded)
        return &w->events;
    if (trace_rewind(w->trace, err) < 0 ||
        trace_load_first(w->trace, WHOLE_EVENTS_MAX, &w->events, err) < 0)
        return NULL;
    w->loaded = true;
    return &w->events;
}

int whole_check(struct whole *w, const uint64_t *order, size_t n, struct error *err)
{
    int verdict;

    pthread_mutex_lock(&w->checking);
    if (!w->checker)
        w->checker = witness_trace_new(&w->events, trace_info(w->trace));
    verdict = witness_check(w->checker, order, n, err);
    pthread_mutex_unlock(&w->checking);
    return verdict;
}

int whole_show(struct whole *w, struct race *r, uint64_t *list, size_t n, struct error *err)
{
    if (whole_check(w, list, n, err) != 1) {
        free(list);
        return 0;
    }
    free(r->witness);
    r->strength = STRENGTH_WITNESSED;
    r->witness = list;
    r->nwitness = n;
    return 1;
}

bool whole_is_shown(const struct whole *w, uint32_t site, uint32_t other)
{
    const struct analysis *a = w->analysis;

    for (size_t i = 0; w->options->cascade && i < a->count && a->runs[i].engine != w->engine; i++) {
        const struct race *r = race_table_find(&a->runs[i].result.races, site, other);

        if (r && r->strength <= STRENGTH_WITNESSED)
            return true;
    }
    return false;
}
