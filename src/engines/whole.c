/* whole.c - the whole trace at hand, for what engines do after the pass over it */
#include "engines/whole_inside.h"
#include "base/alloc.h"
#include "engines/analysis.h"
#include "engines/certain.h"
#include "engines/cut.h"
#include "engines/sieve.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_code.h"
#include "engines/whole_parts.h"
#include "engines/whole_run.h"
#include "order/memory.h"
#include "execution/execution.h"
#include "execution/flip.h"
#include "witness/witness.h"

#include <stdlib.h>

/* Up to its thread's next branch a read may see anything, unless an address depends on it. Of a
 * recording that is for the program to say (relax_judge.h): where that is not followed, all reads
 * must be right. */
static bool branches_count(struct whole *w)
{
    if (trace_info(w->trace)->order == TRACE_EXACT)
        return true;
    if (!w->code_sought)
        w->has_code = !trace_excluded(w->trace) && execution_has_code(trace_tables(w->trace));
    w->code_sought = true;
    return w->has_code && !w->part;
}

static void learn_info(struct whole *w)
{
    w->info = *trace_info(w->trace);
    /* With branches values count in another way, whether those are known or not; and what is left
     * out may have been given what a loose read saw. */
    w->info.loose = w->info.loose && !w->info.branches && !trace_excluded(w->trace);
    w->info.branches = w->info.branches && branches_count(w);
}

struct whole *whole_new(struct trace *t, const struct analysis *a, struct sieve *sieve,
                        const struct engine_options *options, const struct analysis_hooks *hooks)
{
    struct whole *w = xcalloc(1, sizeof(*w));

    w->trace = t;
    w->analysis = a;
    w->sieve = sieve;
    w->options = options;
    w->hooks = hooks;
    learn_info(w);
    pthread_mutex_init(&w->checking, NULL);
    return w;
}

void whole_set_certain(struct whole *w, struct certain *c)
{
    certain_free(w->certain);
    w->certain = c;
}

/* All that was made of the events at hand, and these. */
static void forget_events(struct whole *w)
{
    witness_trace_free(w->checker);
    w->checker = NULL;
    for (size_t i = 0; i <= CALL_RULE_SIMPLE; i++) {
        view_free(w->views[i]);
        w->views[i] = NULL;
    }
    if (w->loaded && !w->part)
        trace_mem_release(&w->events);
    w->events = (struct trace_mem){ 0 };
    w->loaded = w->partial = false;
}

void whole_free(struct whole *w)
{
    if (!w)
        return;
    whole_end_parts(w);
    certain_free(w->certain);
    execution_free(w->execution);
    memory_free(w->memory);
    pthread_mutex_destroy(&w->checking);
    free(w);
}

void whole_begin(struct whole *w, const struct engine *engine, uint64_t units)
{
    w->engine = engine;
    w->allowance = units;
    w->spent = 0;
    w->stopped = w->interrupted = false;
    w->done = 0;
    learn_info(w);
    w->accepted = w->refused = w->uncertain = 0;
    w->kept = w->checked = w->held = w->not_kept = w->over_budget = 0;
    w->holds = false;
    w->followed = 0;
}

void whole_spend(struct whole *w, uint64_t units)
{
    w->spent = w->spent > UINT64_MAX - units ? UINT64_MAX : w->spent + units;
}

uint64_t whole_left(const struct whole *w)
{
    if (w->allowance == UINT64_MAX)
        return UINT64_MAX;
    return w->spent < w->allowance ? w->allowance - w->spent : 0;
}

uint64_t whole_spent(const struct whole *w)
{
    return w->spent + UNITS_A_STEP * w->checked;
}

bool whole_stop(struct whole *w, double done)
{
    const struct analysis_hooks *h = w->hooks;

    w->done = done;
    w->stopped |= !whole_left(w);
    if (!w->stopped && h && h->deciding)
        w->stopped = w->interrupted = h->deciding(h->arg, w->engine->name, done);
    return w->stopped;
}

bool whole_poll(struct whole *w)
{
    return whole_stop(w, w->done);
}

bool whole_interrupted(const struct whole *w)
{
    const struct analysis_hooks *h = w->hooks;

    return h && h->deciding && h->deciding(h->arg, w->engine->name, 1);
}

bool whole_was_interrupted(const struct whole *w)
{
    return w->interrupted;
}

uint64_t whole_unseen(const struct whole *w)
{
    return w->unseen.unknown;
}

enum call_rule whole_call_rule(const struct whole *w)
{
    return w->engine->call_rule;
}

const struct engine_options *whole_options(const struct whole *w)
{
    return w->options;
}

const struct trace_info *whole_info(const struct whole *w)
{
    return &w->info;
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
    return !w->options->find_only &&
           (trace_info(w->trace)->order != TRACE_UNKNOWN || trace_info(w->trace)->values);
}

static bool is_sure(void *whole, size_t event)
{
    const struct whole *w = whole;

    return w->certain && event >= whole_base(w) && certain_is(w->certain, whole_position(w, event));
}

/* What was read that nobody wrote. */
static void mark_unseen(struct whole *w)
{
    struct unseen_input in = { .beginning = !w->part, .sure = is_sure, .arg = w };

    w->unseen = unseen_mark(&w->events, trace_info(w->trace), &in);
}

/* The first `count` events of the trace. */
static const struct trace_mem *whole_load(struct whole *w, uint64_t count, struct error *err)
{
    if (trace_rewind(w->trace, err) < 0 || trace_load_first(w->trace, count, &w->events, err) < 0)
        return NULL;
    w->loaded = true;
    w->partial = count < whole_limit(w);
    whole_spend(w, UNITS_AN_EVENT * w->events.count);
    mark_unseen(w);
    return &w->events;
}

const struct trace_mem *whole_events(struct whole *w, struct error *err)
{
    if (w->loaded && !w->partial)
        return &w->events;
    forget_events(w);
    if (trace_info(w->trace)->order != TRACE_EXACT && !w->certain) {
        w->certain = certain_new(w->trace, trace_info(w->trace)->events, err);
        if (!w->certain)
            return NULL;
        whole_spend(w, 2 * UNITS_AN_EVENT * trace_info(w->trace)->events);
    }
    return whole_load(w, whole_limit(w), err);
}

/* In other traces what comes later counts, too: an access may be repeated up to the end of its
 * quiet period, a call may have had an effect. */
const struct trace_mem *whole_events_before(struct whole *w, uint64_t end, struct error *err)
{
    const struct trace_info *info = trace_info(w->trace);

    if (w->loaded || w->options->cascade || info->order != TRACE_EXACT || info->calls ||
        info->branches || end >= whole_limit(w))
        return whole_events(w, err);
    return whole_load(w, end, err);
}

/* ---- parts ---- */

/* Half of the memory is for what the passes need. */
static uint64_t within_memory(const struct whole *w, uint64_t events)
{
    uint64_t memory = w->options->memory, fit = memory / 2 / WHOLE_EVENT_BYTES;

    if (!memory || fit > events)
        return events;
    return fit > WHOLE_EVENTS_MIN ? fit : WHOLE_EVENTS_MIN;
}

uint64_t whole_limit(const struct whole *w)
{
    uint64_t part = w->options->part;
    uint64_t limit = !part ? within_memory(w, WHOLE_EVENTS_MAX) : part < 2 ? 2 : part;

    return w->beginning && w->beginning < limit ? w->beginning : limit;
}

void whole_set_beginning(struct whole *w, uint64_t events)
{
    w->beginning = events;
}

uint64_t whole_listed(const struct whole *w)
{
    return whole_limit(w) > WHOLE_EVENTS_MAX ? whole_limit(w) : WHOLE_EVENTS_MAX;
}

static size_t part_length(const struct whole *w)
{
    return w->options->part ? (size_t)whole_limit(w) : within_memory(w, WHOLE_PART_EVENTS);
}

bool whole_has_parts(const struct whole *w)
{
    return !w->beginning && trace_info(w->trace)->events > whole_limit(w);
}

static void begin_parts(struct whole *w, struct error *err)
{
    struct parts_watcher watcher = { NULL, NULL };

    if (w->certain) {
        w->cut = cut_new(w->certain);
        watcher = (struct parts_watcher){ cut_add, w->cut };
    }
    w->parts = parts_new(w->trace, whole_limit(w), part_length(w), &watcher, err);
}

int whole_next_part(struct whole *w, struct error *err)
{
    int r;

    if (trace_info(w->trace)->order != TRACE_EXACT && !w->certain && !whole_events(w, err))
        return -1; /* which makes it, in a pass of its own */
    forget_events(w);
    w->part = NULL;
    if (!w->parts)
        begin_parts(w, err);
    r = w->parts ? parts_next(w->parts, err) : -1;
    if (r <= 0) {
        whole_end_parts(w);
        return r;
    }
    w->part = parts_now(w->parts);
    w->events = w->part->mem;
    w->loaded = true;
    mark_unseen(w);
    w->clean =
        w->part->complete && (!w->cut || cut_is_clean(w->cut, w->events.events + w->part->kept,
                                                      w->events.count - w->part->kept));
    return 1;
}

void whole_end_parts(struct whole *w)
{
    forget_events(w);
    w->part = NULL;
    parts_free(w->parts);
    w->parts = NULL;
    cut_free(w->cut);
    w->cut = NULL;
}

uint64_t whole_base(const struct whole *w)
{
    return w->part ? w->part->kept : 0;
}

uint64_t whole_fresh(const struct whole *w)
{
    return w->part ? part_event(w->part, w->part->new) : 0;
}

uint64_t whole_part_step(const struct whole *w)
{
    return part_length(w) / 2;
}

bool whole_in_part(const struct whole *w)
{
    return w->part;
}

uint64_t whole_position(const struct whole *w, uint64_t event)
{
    return w->part ? part_position(w->part, event) : event;
}

uint64_t whole_event(const struct whole *w, uint64_t position)
{
    if (w->part)
        return part_event(w->part, position);
    return position < w->events.count ? position : UINT64_MAX;
}

uint64_t whole_view_units(const struct whole *w, const struct engine *engine, uint64_t events)
{
    bool calls = w->info.calls && engine->call_rule >= CALL_RULE_PAIRS;

    return (UNITS_A_VIEWED_EVENT + (calls ? UNITS_A_CALL_EVENT : 0)) * events;
}

static enum call_rule kind_of_view(const struct whole *w)
{
    enum call_rule rule = w->engine->call_rule;

    /* Without such reads the same, and others have it too. */
    return rule == CALL_RULE_UNSEEN && !w->unseen.by_call ? CALL_RULE_NONE : rule;
}

bool whole_affords_view(const struct whole *w)
{
    uint64_t events = w->info.events < whole_limit(w) ? w->info.events : whole_limit(w);

    if (w->loaded && w->views[kind_of_view(w)])
        return true;
    return whole_left(w) > whole_view_units(w, w->engine, w->loaded ? w->events.count : events) / 4;
}

/* An eighth of the memory is for the rows of must.h: it is a third of what a search takes where
 * there are 60 threads. */
static uint64_t rows_max(const struct whole *w)
{
    return w->options->memory / 8 / sizeof(uint32_t);
}

const struct view *whole_view(struct whole *w, struct error *err)
{
    const struct trace_mem *events = whole_events(w, err);
    enum call_rule rule = kind_of_view(w);

    if (events && !w->views[rule]) {
        w->views[rule] = view_new_named(events, rule, trace_tables(w->trace));
        w->views[rule]->rows_max = rows_max(w);
        whole_spend(w, whole_view_units(w, w->engine, events->count));
    }
    return w->views[rule];
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
    return view_new_named(events, w->engine->call_rule, trace_tables(w->trace));
}

bool whole_is_shown(const struct whole *w, uint32_t site, uint32_t other)
{
    const struct analysis *a = w->analysis;

    for (size_t i = 0; w->options->cascade && i < a->count && a->runs[i].engine != w->engine; i++) {
        const struct race *r = race_table_find(&a->runs[i].result.races, site, other);

        if (r && r->strength <= STRENGTH_WITNESSED &&
            (!trace_info(w->trace)->calls || w->engine->call_rule < CALL_RULE_PAIRS ||
             a->runs[i].engine->call_rule >= w->engine->call_rule))
            return true;
    }
    return false;
}
