/* allocation.c - where the memory of a race was allocated */
#include "report/allocation.h"

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

/* The last allocation before the access is the one: an address that is used again was freed. */
static void answer(struct findings *f, const struct allocation_query *q, const struct event *ev,
                   uint64_t position, const struct tables *t)
{
    struct allocation *a = q->race->allocation;

    if (position >= q->position)
        return;
    if (!a)
        a = q->race->allocation = arena_alloc(&f->memory, sizeof(*a));
    *a = (struct allocation){
        .thread = findings_string(f, intern_get(&t->threads, ev->thread)),
        .location = findings_string(f, tables_location(t, ev->site)),
        .event = position,
        .bytes = ev->value,
        .offset = q->address - ev->target,
    };
}

static void feed_batch(struct findings *f, const struct allocation_query *queries, size_t n,
                       const struct batch *b, const struct tables *t)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct event *ev = &b->events[i];

        if (ev->op != OP_ALLOC || (ev->flags & EV_IGNORED))
            continue;
        for (size_t k = lower_bound(queries, n, ev->target);
             k < n && queries[k].address - ev->target < ev->value; k++)
            answer(f, &queries[k], ev, b->first + i, t);
    }
}

int allocations_find(struct findings *f, struct allocation_query *queries, size_t n,
                     struct trace *t, struct error *err)
{
    uint64_t last = 0;
    struct batch b;
    int r;

    for (size_t i = 0; i < n; i++)
        last = queries[i].position > last ? queries[i].position : last;
    if (n)
        qsort(queries, n, sizeof(*queries), compare_queries);
    r = trace_rewind(t, err);
    while (r >= 0 && (r = trace_next(t, &b, err)) > 0 && b.first < last) {
        feed_batch(f, queries, n, &b, trace_tables(t));
        if (f->progress)
            f->progress(f->progress_arg, trace_info(t));
    }
    return r < 0 ? -1 : 0;
}
