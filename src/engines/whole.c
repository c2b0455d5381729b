/* whole.c - the whole trace at hand, for what engines do after the pass over it */
#include "engines/whole.h"
#include "base/alloc.h"
#include "base/seconds.h"
#include "engines/analysis.h"
#include "order/view.h"
#include "engines/certain.h"
#include "engines/sieve.h"
#include "order/memory.h"
#include "program/execution.h"
#include "program/flip.h"
#include "witness/witness.h"

#include <pthread.h>
#include <stdlib.h>

struct whole {
    struct trace *trace;
    struct sieve *sieve;   /* or NULL */
    struct memory *memory; /* of whole_next(), or NULL */
    const struct analysis *analysis;
    const struct engine_options *options;
    const struct analysis_hooks *hooks;
    const struct engine *engine; /* that decides now */
    double deadline;
    double done; /* as whole_stop() was told */
    bool stopped;
    bool loaded;
    struct trace_mem events;
    struct view *views[BARRIERS_SIMPLE + 1]; /* by enum barriers */
    struct witness_trace *checker;
    struct execution *execution; /* once asked for; may be NULL all the same */
    bool execution_sought;
    struct error no_execution; /* why */
    struct certain *certain;   /* made for traces whose plain accesses are not in exact order */
    pthread_mutex_t checking;  /* one check at a time: it uses the checker's scratch memory */
    uint64_t accepted, refused, uncertain; /* of this engine; guarded by `checking` */
};

struct whole *whole_new(struct trace *t, const struct analysis *a, struct sieve *sieve,
                        const struct engine_options *options, const struct analysis_hooks *hooks)
{
    struct whole *w = xcalloc(1, sizeof(*w));

    w->trace = t;
    w->analysis = a;
    w->sieve = sieve;
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
    certain_free(w->certain);
    execution_free(w->execution);
    memory_free(w->memory);
    for (size_t i = 0; i <= BARRIERS_SIMPLE; i++)
        view_free(w->views[i]);
    if (w->loaded)
        trace_mem_release(&w->events);
    pthread_mutex_destroy(&w->checking);
    free(w);
}

void whole_begin(struct whole *w, const struct engine *engine, double seconds)
{
    w->engine = engine;
    w->deadline = seconds_now() + seconds;
    w->stopped = false;
    w->done = 0;
    w->accepted = w->refused = w->uncertain = 0;
}

/* The value a read saw, where the trace tells. */
static bool value_read(const struct event *e, uint64_t *value)
{
    *value = e->op == OP_RMW ? e->old : e->value;
    return op_table[e->op].reads && e->flags & (e->op == OP_RMW ? EV_OLD : EV_VALUE);
}

/* Does a read contradict the last write to its word, a plain match of address and size? */
static bool contradicts(const struct trace_mem *trace, const struct event *e, const uint32_t *last)
{
    const struct event *w = last && *last ? &trace->events[*last - 1] : NULL;
    uint64_t value;

    if (!value_read(e, &value))
        return false;
    if (!w)
        return is_named(e->target) && value != 0;
    return w->target == e->target && w->size == e->size && w->flags & EV_VALUE && w->value != value;
}

/* Some recorded value is not what the recorded order says: then no schedule in that order need
 * be right. */
static bool values_contradict_order(const struct trace_mem *trace)
{
    struct map last = { 0 }; /* word -> last write + 1 */
    bool found = false;

    for (size_t i = 0; i < trace->count && !found; i++) {
        const struct event *e = &trace->events[i];
        uint64_t bytes = op_is_access(e->op) ? e->size : e->value;

        if (!op_is_access(e->op) && e->op != OP_ALLOC && e->op != OP_FREE)
            continue;
        found = op_is_access(e->op) && contradicts(trace, e, map_get(&last, e->target / 8));
        if (!op_table[e->op].writes && e->op != OP_ALLOC)
            continue;
        for (uint64_t w = e->target / 8; w <= (e->target + bytes - 1) / 8 && bytes; w++)
            *map_put(&last, w, 0) = (uint32_t)i + 1;
    }
    map_release(&last);
    return found;
}

void whole_end(struct whole *w, struct engine_result *result)
{
    if (w->accepted)
        engine_count(result, "witnessed", w->accepted);
    if (w->uncertain)
        engine_count(result, "witness_uncertain", w->uncertain);
    if (w->refused)
        engine_count(result,
                     values_contradict_order(&w->events) ? "witness_contradicted"
                                                         : "witness_refused",
                     w->refused);
}

bool whole_stop(struct whole *w, double done)
{
    const struct analysis_hooks *h = w->hooks;

    w->done = done;
    if (!w->stopped)
        w->stopped = seconds_now() > w->deadline;
    if (!w->stopped && h && h->deciding)
        w->stopped = h->deciding(h->arg, w->engine->name, done);
    return w->stopped;
}

bool whole_poll(struct whole *w)
{
    return whole_stop(w, w->done);
}

enum barriers whole_barriers(const struct whole *w)
{
    return w->engine->barriers;
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

int whole_restart(struct whole *w, struct error *err)
{
    memory_free(w->memory);
    w->memory = memory_new();
    return trace_rewind(w->trace, err);
}

int whole_next(struct whole *w, struct batch *events, struct span *steps, struct error *err)
{
    int r = trace_next(w->trace, events, err);

    if (r <= 0)
        return r;
    if (w->sieve)
        sieve_mark(w->sieve, events);
    memory_steps(w->memory, events, steps);
    return 1;
}

bool whole_can_show(const struct whole *w)
{
    return trace_info(w->trace)->order != TRACE_UNKNOWN || trace_info(w->trace)->values;
}

const struct trace_mem *whole_events(struct whole *w, struct error *err)
{
    if (w->loaded)
        return &w->events;
    if (trace_info(w->trace)->order != TRACE_EXACT) {
        w->certain = certain_new(w->trace, WHOLE_EVENTS_MAX, err);
        if (!w->certain)
            return NULL;
    }
    if (trace_rewind(w->trace, err) < 0 ||
        trace_load_first(w->trace, WHOLE_EVENTS_MAX, &w->events, err) < 0)
        return NULL;
    w->loaded = true;
    return &w->events;
}

/* The last two, which race, need not see what they saw. */
static bool reads_are_known(const struct whole *w, const uint64_t *order, size_t n,
                            struct error *err)
{
    for (size_t i = 0; w->certain && i + 2 < n; i++) {
        const struct event *e = &w->events.events[order[i]];

        if (op_table[e->op].reads && !(e->flags & (e->op == OP_RMW ? EV_OLD : EV_VALUE)) &&
            !certain_is(w->certain, order[i])) {
            error_set(err, "event %llu: which write it read is not known for sure",
                      (unsigned long long)order[i]);
            return false;
        }
    }
    return true;
}

static int ask(const struct whole *w, const uint64_t *order, size_t n, size_t requests,
               struct error *err)
{
    return requests ? witness_check_deadlock(w->checker, order, n, requests, err)
                    : witness_check(w->checker, order, n, err);
}

/* The same rule in the checker's words. */
static enum witness_calls calls_rule(enum barriers b)
{
    return b == BARRIERS_NONE ? CALLS_IGNORED : b == BARRIERS_PAIRS ? CALLS_PAIRS : CALLS_SIMPLE;
}

/* Was the schedule refused only because accesses may be missing in the recording? */
static bool lacks_repetitions(struct whole *w, const uint64_t *order, size_t n, size_t requests)
{
    struct error unused;
    bool accepted;

    if (!witness_trace_set_stretches(w->checker, false))
        return false;
    accepted = ask(w, order, n, requests, &unused) == 1;
    witness_trace_set_stretches(w->checker, true);
    return accepted;
}

/* With the lock held. A race, or a deadlock of so many requests; -1: not known for sure. */
static int check(struct whole *w, const uint64_t *order, size_t n, size_t requests,
                 struct error *err)
{
    int verdict;

    if (!reads_are_known(w, order, n, err)) {
        w->uncertain++;
        return -1;
    }
    if (!w->checker)
        w->checker = witness_trace_new(&w->events, trace_info(w->trace));
    witness_trace_set_calls(w->checker, calls_rule(w->engine->barriers), trace_tables(w->trace));
    verdict = ask(w, order, n, requests, err);
    if (verdict != 1 && lacks_repetitions(w, order, n, requests)) {
        w->uncertain++;
        return -1;
    }
    w->accepted += verdict == 1;
    w->refused += verdict != 1;
    return verdict;
}

const struct view *whole_view(struct whole *w, struct error *err)
{
    const struct trace_mem *events = whole_events(w, err);
    enum barriers barriers = w->engine->barriers;

    if (events && !w->views[barriers])
        w->views[barriers] = view_new_named(events, barriers, trace_tables(w->trace));
    return w->views[barriers];
}

const struct execution *whole_execution(struct whole *w, struct error *why)
{
    const struct trace_mem *events;

    if (!w->execution_sought && !trace_excluded(w->trace)) {
        events = whole_events(w, &w->no_execution);
        if (events)
            w->execution = execution_new(events, trace_tables(w->trace), &w->no_execution);
    } else if (!w->execution_sought) {
        error_set(&w->no_execution, "code was left out of the trace");
    }
    w->execution_sought = true;
    if (why)
        *why = w->no_execution;
    return w->execution;
}

int whole_check(struct whole *w, const uint64_t *order, size_t n, struct error *err)
{
    int verdict;

    pthread_mutex_lock(&w->checking);
    verdict = check(w, order, n, 0, err);
    pthread_mutex_unlock(&w->checking);
    return verdict == 1;
}

int whole_check_deadlock(struct whole *w, const uint64_t *order, size_t n, size_t requests,
                         struct error *err)
{
    int verdict;

    pthread_mutex_lock(&w->checking);
    verdict = check(w, order, n, requests, err);
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

/* With the lock held: as check(). */
static int check_values(struct whole *w, const uint64_t *order, size_t n,
                        const struct witness_change *changes, size_t nchanges, struct error *err)
{
    int verdict;

    if (!reads_are_known(w, order, n, err)) {
        w->uncertain++;
        return -1;
    }
    if (!w->checker)
        w->checker = witness_trace_new(&w->events, trace_info(w->trace));
    witness_trace_set_calls(w->checker, calls_rule(w->engine->barriers), trace_tables(w->trace));
    witness_trace_set_execution(w->checker, w->execution);
    verdict = witness_check_values(w->checker, order, n, changes, nchanges, err);
    w->accepted += verdict == 1;
    w->refused += verdict != 1;
    return verdict;
}

int whole_show_values(struct whole *w, struct race *r, uint64_t *list, size_t n,
                      struct value_change *changes, size_t nchanges, struct error *err)
{
    struct witness_change *words = xcalloc(nchanges + 1, sizeof(*words));
    int verdict;

    for (size_t i = 0; i < nchanges; i++)
        words[i] = (struct witness_change){ changes[i].read, changes[i].writer, changes[i].value,
                                            changes[i].has_value };
    pthread_mutex_lock(&w->checking);
    verdict = check_values(w, list, n, words, nchanges, err);
    pthread_mutex_unlock(&w->checking);
    free(words);
    if (verdict != 1) {
        free(list);
        free(changes);
        return 0;
    }
    free(r->witness);
    free(r->changes);
    r->strength = STRENGTH_WITNESSED;
    r->witness = list;
    r->nwitness = n;
    r->changes = changes;
    r->nchanges = nchanges;
    r->by_values = true;
    return 1;
}

/* ---- executions with new events ---- */

struct execution *whole_flips(struct whole *w, struct flips **flips)
{
    struct error why;
    const struct trace_mem *events = trace_excluded(w->trace) ? NULL : whole_events(w, &why);

    *flips = NULL;
    if (!events)
        return NULL;
    /* The tables are the trace's; sites are only added. */
    return execution_with_flips(events, (struct tables *)(uintptr_t)trace_tables(w->trace), flips,
                                &why);
}

struct view *whole_view_of(const struct whole *w, const struct trace_mem *events)
{
    return view_new_named(events, w->engine->barriers, trace_tables(w->trace));
}

static int check_flip(struct whole *w, const struct execution *e, const uint64_t *order, size_t n,
                      const struct value_change *changes, size_t nchanges, struct error *err)
{
    struct witness_trace *checker = witness_trace_new(e->trace, trace_info(w->trace));
    struct witness_change *words = xcalloc(nchanges + 1, sizeof(*words));
    int verdict;

    for (size_t i = 0; i < nchanges; i++)
        words[i] = (struct witness_change){ changes[i].read, changes[i].writer, changes[i].value,
                                            changes[i].has_value };
    witness_trace_set_calls(checker, calls_rule(w->engine->barriers), trace_tables(w->trace));
    witness_trace_set_execution(checker, e);
    verdict = witness_check_values(checker, order, n, words, nchanges, err);
    witness_trace_free(checker);
    free(words);
    return verdict;
}

int whole_check_flip(struct whole *w, const struct execution *e, const uint64_t *order,
                     const uint64_t *original, size_t n, const struct value_change *changes,
                     size_t nchanges, struct error *err)
{
    int verdict = 1;

    for (size_t i = 0; i + 2 < n && verdict == 1; i++)
        if (original[i] < w->events.count) {
            const uint64_t one[3] = { original[i], original[i], original[i] };

            verdict = reads_are_known(w, one, 3, err) ? 1 : -1;
        }
    if (verdict == 1)
        verdict = check_flip(w, e, order, n, changes, nchanges, err);
    pthread_mutex_lock(&w->checking);
    w->accepted += verdict == 1;
    w->refused += verdict == 0;
    w->uncertain += verdict == -1;
    pthread_mutex_unlock(&w->checking);
    return verdict;
}

int whole_show_again(struct whole *w, struct race *r, uint64_t *list, size_t n,
                     struct value_change *changes, size_t nchanges, struct error *err)
{
    uint64_t accepted = w->accepted, refused = w->refused, uncertain = w->uncertain;
    int verdict = whole_show_values(w, r, list, n, changes, nchanges, err);

    w->accepted = accepted;
    w->refused = refused;
    w->uncertain = uncertain;
    return verdict;
}

bool whole_is_shown(const struct whole *w, uint32_t site, uint32_t other)
{
    const struct analysis *a = w->analysis;

    for (size_t i = 0; w->options->cascade && i < a->count && a->runs[i].engine != w->engine; i++) {
        const struct race *r = race_table_find(&a->runs[i].result.races, site, other);

        if (r && r->strength <= STRENGTH_WITNESSED &&
            (!trace_info(w->trace)->calls || a->runs[i].engine->barriers >= w->engine->barriers))
            return true;
    }
    return false;
}
