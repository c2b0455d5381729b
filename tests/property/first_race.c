/* first_race.c - what the theorems of cp and wcp speak about
 *
 * "The first race of a trace is possible, or a deadlock is." The papers know
 * neither atomics nor allocations, so a trace with certain ones is none of
 * theirs.
 */
#include "properties.h"

#include "naive_deadlock.h"

bool first_race(const struct pair_set *found, size_t *a, size_t *b)
{
    for (*b = 0; *b < found->has.n; ++*b)
        for (*a = *b; (*a)-- > 0;)
            if (pair_set_has(found, *a, *b))
                return true;
    return false;
}

static bool atomics_conflict(const struct event *e, const struct event *f)
{
    return op_is_atomic(e->op) && op_is_atomic(f->op) &&
           (op_table[e->op].writes || op_table[f->op].writes) && e->target < f->target + f->size &&
           f->target < e->target + e->size;
}

bool is_ordinary(const struct subject *s, const struct relation *order, size_t b)
{
    for (size_t x = 0; x < b; x++) {
        for (size_t y = x + 1; y <= b; y++) {
            const struct event *e = &s->mem.events[x], *f = &s->mem.events[y];
            bool block = e->op == OP_ALLOC && relation_has(&s->must, x, y);

            if ((atomics_conflict(e, f) || block) && e->thread != f->thread &&
                !relation_has(order, x, y))
                return false;
        }
    }
    return true;
}

bool can_deadlock(const struct subject *s)
{
    struct naive_deadlocks d;
    bool some;

    naive_deadlocks(&s->mem, false, 1000000, &d);
    some = d.count || !d.complete;
    naive_deadlocks_release(&d);
    return some;
}
