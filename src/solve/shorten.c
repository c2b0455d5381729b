/* shorten.c - leave out of a schedule what the two accesses do not need
 *
 * The search and a frozen prefix execute more than necessary. With the order
 * of the schedule taken as if it were observed, the closure of as_observed.c
 * says what is needed: the writers that reads saw in it, and of the sections
 * on a lock all but the latest closed. What is left, in the same order, is a
 * schedule too.
 */
#include "base/alloc.h"
#include "solve/solver_inside.h"

#include <stdlib.h>

/* Who wrote what the reads see. */
static void shorten_run(struct solver *s)
{
    const struct problem *p = s->p;
    uint32_t *last = xcalloc((size_t)p->ncells + 1, sizeof(*last));

    for (size_t i = 0; i < s->order.count; i++) {
        uint32_t n = s->order.items[i];

        s->when[n] = (uint32_t)i;
        for (uint32_t k = p->touch_first[n]; k < p->touch_first[n + 1]; k++)
            if (p->touches[k].flags & TOUCH_READS)
                s->saw[k] = last[p->touches[k].cell];
        for (uint32_t k = p->touch_first[n]; k < p->touch_first[n + 1]; k++)
            if (p->touches[k].flags & TOUCH_WRITES)
                last[p->touches[k].cell] = k + 1;
    }
    free(last);
}

/* With shared sections the closure may take too little. */
static bool sections_are_fine(const struct solver *s)
{
    struct list open = { 0 };
    bool fine = true;

    for (size_t i = 0; i < s->order.count && fine; i++)
        if (is_in(s, s->order.items[i]))
            fine = sections_execute(s->p, &open, s->order.items[i]);
    free(open.items);
    return fine;
}

static void filter(struct solver *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->order.count; i++)
        if (is_in(s, s->order.items[i]))
            s->order.items[kept++] = s->order.items[i];
    s->order.count = kept;
}

/* Called with the chains as the question began. */
void shorten_order(struct solver *s, uint32_t a, uint32_t b)
{
    if (!s->when) {
        s->when = xcalloc((size_t)s->p->nnodes + 1, sizeof(*s->when));
        s->saw = xcalloc((size_t)s->p->touch_first[s->p->nnodes] + 1, sizeof(*s->saw));
    }
    shorten_run(s);
    if (solver_need(s, a, b) && observed_close(s, true) && sections_are_fine(s))
        filter(s);
}
