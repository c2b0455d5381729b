/* deadlocks.c - deadlocks in the model: merging by set of locations
 *
 * Two deadlocks are one when their requests, each with the place where its
 * thread took the lock it holds, have the same locations.
 */
#include "report/findings.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

const struct waiter *deadlock_holder(const struct deadlock_finding *d, size_t waiter)
{
    return &d->waiters[(waiter + 1) % d->nwaiters];
}

static struct waiter *make_waiters(struct findings *f, const struct deadlock *from,
                                   const struct tables *t)
{
    struct waiter *w = arena_alloc(&f->memory, from->nwaits * sizeof(*w));

    for (size_t i = 0; i < from->nwaits; i++) {
        const struct lock_wait *x = &from->waits[i];

        w[i] = (struct waiter){
            .request = { .event = x->request.position,
                         .location = findings_string(f, tables_location(t, x->request.site)) },
            .hold_event = x->hold.position,
            .hold_location = findings_string(f, tables_location(t, x->hold.site)),
        };
    }
    return w;
}

/* Strings of one home are equal when their pointers are. */
static bool same_place(const struct waiter *a, const struct waiter *b)
{
    return a->request.location == b->request.location && a->hold_location == b->hold_location;
}

static size_t count_place(const struct waiter *list, size_t n, const struct waiter *w)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += same_place(&list[i], w);
    return count;
}

static bool same_places(const struct deadlock_finding *d, const struct waiter *list, size_t n)
{
    for (size_t i = 0; i < n && d->nwaiters == n; i++)
        if (count_place(list, n, &list[i]) != count_place(d->waiters, n, &list[i]))
            return false;
    return d->nwaiters == n;
}

/* The finding of these places, a new one where there is none. */
static struct deadlock_finding *deadlocks_find_slot(struct findings *f, const struct waiter *list,
                                                    size_t n)
{
    for (size_t i = 0; i < f->ndeadlocks; i++)
        if (same_places(&f->deadlocks[i], list, n))
            return &f->deadlocks[i];
    GROW(f->deadlocks, f->deadlocks_cap, f->ndeadlocks + 1);
    f->deadlocks[f->ndeadlocks] = (struct deadlock_finding){ .strength = STRENGTH_COUNT };
    return &f->deadlocks[f->ndeadlocks++];
}

static void take_instance(struct deadlock_finding *to, struct waiter *waiters,
                          struct deadlock *from)
{
    free(to->witness);
    to->strength = from->strength;
    to->waiters = waiters;
    to->nwaiters = from->nwaits;
    to->witness = from->witness;
    to->nwitness = from->nwitness;
    to->long_witness = from->long_witness;
    from->witness = NULL;
    from->nwitness = 0;
}

void findings_add_deadlocks(struct findings *f, size_t engine, struct deadlock_table *deadlocks,
                            const struct tables *t)
{
    for (size_t i = 0; i < deadlocks->count; i++) {
        struct deadlock *d = &deadlocks->deadlocks[i];
        struct waiter *waiters = make_waiters(f, d, t);
        struct deadlock_finding *to = deadlocks_find_slot(f, waiters, d->nwaits);

        if (d->strength < to->strength)
            take_instance(to, waiters, d);
        f->engines[engine].deadlocks += !(to->engines >> engine & 1);
        to->engines |= (uint64_t)1 << engine;
        to->count += d->count;
    }
}

static int compare_deadlocks(const void *a, const void *b)
{
    const struct deadlock_finding *x = a, *y = b;
    uint64_t p = x->waiters[0].request.event, q = y->waiters[0].request.event;

    if (x->strength != y->strength)
        return x->strength < y->strength ? -1 : 1;
    if (p == q && x->nwaiters > 1 && y->nwaiters > 1) {
        p = x->waiters[1].request.event;
        q = y->waiters[1].request.event;
    }
    return p < q ? -1 : p > q;
}

void findings_sort_deadlocks(struct findings *f)
{
    if (f->ndeadlocks)
        qsort(f->deadlocks, f->ndeadlocks, sizeof(*f->deadlocks), compare_deadlocks);
}

const char *deadlock_meaning(enum strength s)
{
    if (s == STRENGTH_CONFIRMED)
        return "it happened: the threads were waiting for each other when the recording ended";
    if (s == STRENGTH_WITNESSED)
        return "a reordering of the recorded events ends where each of the threads waits for a "
               "lock "
               "of the next one, and the independent checker accepted it";
    return "the order of the recorded critical sections allows it, but no schedule shows it: it "
           "lies too far behind in the trace, or what a read in it saw is not known for sure";
}
