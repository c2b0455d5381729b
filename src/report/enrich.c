/* enrich.c - one more pass over the trace, for all that a report shows
 *
 * Engines keep two positions per race. This pass walks the trace once more up
 * to the last of them, follows locks and call stacks (history.h), and notes
 * the state of a thread when one of its accesses is reported. The readable
 * tail of each witness comes from the same pass.
 * Memory: what the findings themselves need, not the trace.
 */
#include "report/findings.h"
#include "base/alloc.h"
#include "report/allocation.h"
#include "report/history.h"
#include "report/schedule.h"
#include "report/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames a report keeps of a stack; deeper recursion is counted (side.stack_omitted). */
enum { STACK_KEEP = 64 };

/* A side of a finding that is looked for, and the memory it turned out to touch. */
struct wanted {
    uint64_t position;
    uint64_t address, bytes;
    size_t race;
    unsigned side;
};

struct enricher {
    struct findings *f;
    const struct tables *tables;
    struct wanted *wanted; /* by position */
    size_t count, next;
    bool allocations; /* there are some */
    struct history history;
    struct steps steps;
};

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    return x->position < y->position ? -1 : x->position > y->position;
}

static void enricher_init(struct enricher *e, struct findings *f, const struct tables *tables)
{
    *e = (struct enricher){ .f = f, .tables = tables };
    e->wanted = xcalloc(2 * f->count + 1, sizeof(*e->wanted));
    steps_init(&e->steps, f);
    for (size_t i = 0; i < f->count; i++) {
        for (unsigned k = 0; k < 2; k++)
            e->wanted[e->count++] =
                (struct wanted){ .position = f->races[i].sides[k].event, .race = i, .side = k };
        schedule_want(&f->races[i], &e->steps);
    }
    qsort(e->wanted, e->count, sizeof(*e->wanted), compare_wanted);
    steps_seal(&e->steps);
}

static void enricher_release(struct enricher *e)
{
    free(e->wanted);
    history_release(&e->history);
    steps_release(&e->steps);
}

static const char *location_of(struct enricher *e, uint32_t site)
{
    return site == SITE_NONE ? NULL : findings_string(e->f, tables_location(e->tables, site));
}

static const char *thread_name(struct enricher *e, uint32_t thread)
{
    return findings_string(e->f, intern_get(&e->tables->threads, thread));
}

static const char *number_text(struct enricher *e, uint64_t value, bool is_signed)
{
    char text[24];

    if (is_signed)
        snprintf(text, sizeof(text), "%" PRId64, (int64_t)value);
    else
        snprintf(text, sizeof(text), "%" PRIu64, value);
    return findings_string(e->f, text);
}

static void fill_locks(struct enricher *e, struct side *to, const struct history_thread *t)
{
    struct held_lock *locks = arena_alloc(&e->f->memory, t->nlocks * sizeof(*locks) + 1);

    for (size_t i = 0; i < t->nlocks; i++) {
        struct buf name = { 0 };

        tables_name_object(e->tables, t->locks[i].target, &name);
        buf_addch(&name, 0);
        locks[i] = (struct held_lock){
            .name = findings_string(e->f, name.data),
            .location = location_of(e, t->locks[i].site),
            .event = t->locks[i].position,
            .shared = t->locks[i].shared,
        };
        buf_release(&name);
    }
    to->locks = locks;
    to->nlocks = t->nlocks;
}

static const char *function_name(struct enricher *e, uint32_t function)
{
    return findings_string(e->f, intern_get(&e->tables->functions, function));
}

/* Where the call i was made: the location of its enter event, unless that lies in the callee
 * (some recorders name the first line of the function entered). */
static const char *call_location(struct enricher *e, const struct history_call *call)
{
    const char *in = findings_string(e->f, tables_site_function(e->tables, call->site));

    return in && in == function_name(e, call->function) ? NULL : location_of(e, call->site);
}

/* The innermost frame is the access itself. Its function is the site's own where that is known:
 * then an inlined function shows as a frame above the one that was entered. */
static void fill_stack(struct enricher *e, struct side *to, const struct event *ev,
                       const struct history_thread *t)
{
    struct frame frames[STACK_KEEP + 2];
    const char *inner = findings_string(e->f, tables_site_function(e->tables, ev->site));
    const char *at = to->location;
    size_t n = 0, i = t->ncalls;

    if (inner && !(i > 0 && inner == function_name(e, t->calls[i - 1].function))) {
        frames[n++] = (struct frame){ inner, at };
        at = NULL;
    }
    for (; i > 0 && n < STACK_KEEP; i--) {
        const struct history_call *call = &t->calls[i - 1];

        frames[n++] = (struct frame){ function_name(e, call->function), at };
        at = call_location(e, call);
    }
    if (n == 0)
        frames[n++] = (struct frame){ NULL, at };
    to->stack =
        memcpy(arena_alloc(&e->f->memory, n * sizeof(*frames)), frames, n * sizeof(*frames));
    to->nstack = n;
    to->stack_omitted = i + t->deeper;
    to->function = frames[0].function;
}

static void fill_side(struct enricher *e, struct wanted *w, const struct event *ev)
{
    struct side *to = &e->f->races[w->race].sides[w->side];
    const struct history_thread *t = history_of(&e->history, ev->thread);
    bool is_signed = ev->flags & EV_SIGNED;

    w->address = ev->target;
    w->bytes = op_is_access(ev->op) ? ev->size : ev->value; /* a free's value is its size */
    to->thread = thread_name(e, ev->thread);
    to->op = findings_string(e->f, op_table[ev->op].name);
    to->order = ev->order ? findings_string(e->f, order_names[ev->order]) : NULL;
    if (op_is_access(ev->op) && (ev->flags & EV_VALUE))
        to->value = number_text(e, ev->value, is_signed);
    if (op_is_access(ev->op) && (ev->flags & EV_OLD))
        to->old = number_text(e, ev->old, is_signed);
    fill_locks(e, to, t);
    fill_stack(e, to, ev, t);
    if (t->forked) {
        to->creator = thread_name(e, t->fork_thread);
        to->created_at = findings_string(e->f, tables_location(e->tables, t->fork_site));
        to->created_event = t->fork_position;
    }
}

static void feed_batch(struct enricher *e, const struct batch *b)
{
    for (size_t i = 0; i < b->count && e->next < e->count; i++) {
        const struct event *ev = &b->events[i];

        history_event(&e->history, ev, b->first + i);
        e->allocations |= ev->op == OP_ALLOC;
        for (; e->next < e->count && e->wanted[e->next].position == b->first + i; e->next++)
            fill_side(e, &e->wanted[e->next], ev);
    }
    steps_feed(&e->steps, b, e->tables);
}

static int read_trace(struct enricher *e, struct trace *t, struct error *err)
{
    struct batch b;
    int r = trace_rewind(t, err);

    while (r >= 0 && (e->next < e->count || !steps_done(&e->steps))) {
        r = trace_next(t, &b, err);
        if (r == 0)
            return error_set(err, "the trace changed while it was read: event %" PRIu64 " is gone",
                             e->wanted[e->count - 1].position);
        if (r > 0)
            feed_batch(e, &b);
        if (e->f->progress)
            e->f->progress(e->f->progress_arg, trace_info(t));
    }
    return r < 0 ? -1 : 0;
}

/* The first byte that both accesses touch. */
static uint64_t race_address(const struct wanted *a, const struct wanted *b)
{
    return a->address > b->address ? a->address : b->address;
}

/* A race is about the bytes that both accesses touch. */
static void name_variable(struct enricher *e, struct finding *r, const struct wanted *a,
                          const struct wanted *b)
{
    uint64_t start = race_address(a, b);
    uint64_t end_a = a->address + a->bytes, end_b = b->address + b->bytes;
    uint64_t end = end_a < end_b ? end_a : end_b;
    struct buf name = { 0 };

    tables_name_variable(e->tables, start, end > start ? end - start : 0, &name);
    buf_addch(&name, 0);
    r->variable = findings_string(e->f, name.data);
    r->variable_named = is_named(start);
    buf_release(&name);
}

/* Name what the races are about; addresses are questions for allocations_find(). */
static size_t name_variables(struct enricher *e, struct allocation_query *queries)
{
    const struct wanted **first = xcalloc(e->f->count + 1, sizeof(*first));
    size_t n = 0;

    for (size_t i = 0; i < e->count; i++) {
        const struct wanted *a = first[e->wanted[i].race], *b = &e->wanted[i];
        struct finding *r = &e->f->races[b->race];

        first[b->race] = b;
        if (!a)
            continue; /* the second side of the race comes later */
        name_variable(e, r, a, b);
        if (!r->variable_named)
            queries[n++] = (struct allocation_query){ race_address(a, b), a->position, r };
    }
    free(first);
    return n;
}

static int name_all(struct enricher *e, struct trace *t, struct error *err)
{
    struct allocation_query *queries = xcalloc(e->f->count + 1, sizeof(*queries));
    size_t n = name_variables(e, queries);
    int r = 0;

    if (n && e->allocations)
        r = allocations_find(e->f, queries, n, t, err);
    free(queries);
    return r;
}

int findings_enrich(struct findings *f, struct trace *t, struct error *err)
{
    struct enricher e;
    int r;

    if (f->count == 0)
        return 0;
    enricher_init(&e, f, trace_tables(t));
    r = read_trace(&e, t, err);
    if (r == 0)
        r = name_all(&e, t, err);
    for (size_t i = 0; i < f->count && r == 0; i++)
        schedule_choose(f, &f->races[i], &e.steps);
    enricher_release(&e);
    return r;
}
