/* hard.c - what must come before an event by program order and needs alone
 *
 * A thread has another clock from each event on that needs others; slots are
 * threads, times are ranks + 1, so a time names what its thread knew then, as
 * clock.h wants it.
 */
#include "order/hard.h"
#include "base/alloc.h"
#include "order/clock.h"

#include <stdlib.h>

struct hard {
    const struct view *v;
    struct clock_pool pool;
    struct clock *clocks; /* [0] knows nothing */
    size_t count, cap;
    uint32_t *clock_of; /* event -> that of its thread */
};

uint32_t hard_needs(const struct hard *h, uint32_t event, uint32_t thread)
{
    if (h->v->events[event].thread == thread)
        return h->v->rank[event];
    return clock_tree_get(h->clocks[h->clock_of[event]].tree, thread);
}

/* What an event that must come before knows, itself included. */
static struct clock clock_at(const struct hard *h, uint32_t need)
{
    return (struct clock){ h->v->events[need].thread, h->v->rank[need] + 1,
                           h->clocks[h->clock_of[need]].tree };
}

static void add_clock(struct hard *h, uint32_t event)
{
    const struct view *v = h->v;
    struct clock c = CLOCK_EMPTY;

    clock_copy(&h->pool, &c, &h->clocks[h->clock_of[event]]);
    c.slot = v->events[event].thread;
    c.time = v->rank[event];
    for (uint32_t k = v->need_first[event]; k < v->need_first[event + 1]; k++) {
        struct clock other = clock_at(h, v->need[k]);

        clock_join(&h->pool, &c, &other);
    }
    GROW(h->clocks, h->cap, h->count + 1);
    h->clock_of[event] = (uint32_t)h->count;
    h->clocks[h->count++] = c;
}

static void add_event(struct hard *h, uint32_t i, uint32_t *last)
{
    const struct view *v = h->v;

    h->clock_of[i] = *last;
    if (v->need_first[i] < v->need_first[i + 1])
        add_clock(h, i);
    *last = h->clock_of[i];
}

struct hard *hard_new(const struct view *v, uint64_t most)
{
    struct hard *h = xcalloc(1, sizeof(*h));
    uint32_t *last = xcalloc((size_t)v->nthreads + 1, sizeof(*last));
    uint32_t i = 0;

    h->v = v;
    h->clock_of = xcalloc((size_t)v->count + 1, sizeof(*h->clock_of));
    GROW(h->clocks, h->cap, 1);
    h->clocks[h->count++] = CLOCK_EMPTY;
    for (; i < v->count && h->pool.bytes <= most; i++)
        if (v->rank[i] != VIEW_NONE)
            add_event(h, i, &last[v->events[i].thread]);
    free(last);
    if (i == v->count)
        return h;
    hard_free(h);
    return NULL;
}

void hard_free(struct hard *h)
{
    if (!h)
        return;
    clock_pool_release(&h->pool);
    free(h->clock_of);
    free(h->clocks);
    free(h);
}
