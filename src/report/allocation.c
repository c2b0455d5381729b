/* allocation.c - where the memory of a race was allocated */
#include "report/allocation.h"
#include "base/alloc.h"
#include "report/history.h"
#include "report/stacks.h"

#include <stdlib.h>

static int compare_queries(const void *a, const void *b)
{
    const struct allocation_query *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

/* The first query at or above an address. */
static size_t lower_bound(const struct allocation_query *queries, size_t n, uint64_t address)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (queries[middle].address < address)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* The last allocation of an address before the access. */
struct allocation_seen {
    uint32_t thread, site;
    uint64_t event, start, bytes;
    bool is_stack;
    struct history_calls calls;
};

struct finder {
    struct naming *naming;
    struct allocation_query *queries; /* by address */
    size_t count;
    struct locklives *lives;
    bool recorded;
    struct history history;
    bool *begins; /* per thread: its last event was its begin */
    size_t begins_cap;
};

/* The last allocation before the access is the one: an address that is used again was freed. */
static void allocation_note(struct finder *f, struct allocation_query *q, const struct event *ev,
                            uint64_t position, bool is_stack)
{
    if (position >= q->position)
        return;
    if (!q->seen)
        q->seen = xcalloc(1, sizeof(*q->seen));
    q->seen->thread = ev->thread;
    q->seen->site = ev->site;
    q->seen->event = position;
    q->seen->start = ev->target;
    q->seen->bytes = ev->value;
    q->seen->is_stack = is_stack;
    if (f->recorded)
        history_copy(&q->seen->calls, history_of(&f->history, ev->thread), STACK_KEEP);
}

/* True for the event that follows the begin of its thread, and where no place allocates: the part
 * of a stack that an OpenMP task begins with. */
static bool makes_stack(struct finder *f, const struct event *ev)
{
    bool was;

    GROW(f->begins, f->begins_cap, (size_t)ev->thread + 1);
    was = f->begins[ev->thread];
    f->begins[ev->thread] = ev->op == OP_BEGIN;
    return was || (ev->op == OP_ALLOC && ev->site == SITE_NONE);
}

static void feed_batch(struct finder *f, const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct event *ev = &b->events[i];
        bool is_first;

        if (f->recorded || f->lives->count)
            history_event(&f->history, ev, b->first + i);
        is_first = f->recorded && makes_stack(f, ev);
        if (!(ev->flags & EV_IGNORED))
            locklives_event(f->lives, &f->history, ev, b->first + i, is_first);
        if (ev->op != OP_ALLOC || (ev->flags & EV_IGNORED))
            continue;
        for (size_t k = lower_bound(f->queries, f->count, ev->target);
             k < f->count && f->queries[k].address - ev->target < ev->value; k++)
            allocation_note(f, &f->queries[k], ev, b->first + i, is_first);
    }
}

static void allocation_answer(struct finder *f, struct allocation_query *q)
{
    struct findings *home = f->naming->home;
    const struct tables *t = f->naming->tables;
    const struct allocation_seen *seen = q->seen;
    struct allocation *a;

    if (!seen)
        return;
    a = q->race->allocation = arena_alloc(&home->memory, sizeof(*a));
    *a = (struct allocation){
        .thread = findings_string(home, intern_get(&t->threads, seen->thread)),
        .location = findings_string(home, tables_location(t, seen->site)),
        .event = seen->event,
        .bytes = seen->bytes,
        .offset = q->address - seen->start,
        .is_stack = seen->is_stack,
    };
    if (f->recorded && !seen->is_stack)
        a->stack = stack_make(f->naming, seen->site, seen->calls.calls, seen->calls.count,
                              seen->calls.missing);
}

static int allocation_read_trace(struct finder *f, uint64_t last, struct trace *t,
                                 struct error *err)
{
    struct findings *home = f->naming->home;
    struct batch b;
    int r;

    for (size_t i = 0; i < f->count; i++)
        last = f->queries[i].position > last ? f->queries[i].position : last;
    r = trace_rewind(t, err);
    while (r >= 0 && !home->stopped && (r = trace_next(t, &b, err)) > 0 && b.first < last) {
        feed_batch(f, &b);
        home->stopped = home->progress && home->progress(home->progress_arg, trace_info(t));
    }
    return r < 0 ? -1 : 0;
}

int allocations_find(struct naming *naming, struct allocation_query *queries, size_t n,
                     struct locklives *lives, uint64_t last, struct trace *t, struct error *err)
{
    struct finder f = { .naming = naming,
                        .queries = queries,
                        .count = n,
                        .lives = lives,
                        .recorded = naming->tables->process.known };
    int r;

    if (n)
        qsort(queries, n, sizeof(*queries), compare_queries);
    r = allocation_read_trace(&f, last, t, err);
    for (size_t i = 0; i < n; i++) {
        if (r == 0 && !naming->home->stopped) /* else the last one may come yet */
            allocation_answer(&f, &queries[i]);
        if (queries[i].seen)
            free(queries[i].seen->calls.calls);
        free(queries[i].seen);
    }
    history_release(&f.history);
    free(f.begins);
    return r;
}
