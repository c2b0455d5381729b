/* kind_shared.c - the clocks of src/order/clock.h */
#include "clock_kinds.h"
#include "base/alloc.h"
#include "order/clock.h"

#include <stdlib.h>

struct shared {
    uint32_t threads;
    struct clock_pool pool;
    struct clock clock[];
};

static void *shared_open(uint32_t threads, uint32_t objects)
{
    uint32_t clocks = threads + objects;
    struct shared *s = xcalloc(1, sizeof(*s) + clocks * sizeof(s->clock[0]));

    s->threads = threads;
    for (uint32_t i = 0; i < clocks; i++)
        s->clock[i] = i < threads ? (struct clock){ i, 1, NULL } : CLOCK_EMPTY;
    return s;
}

static void shared_learn(void *state, uint32_t thread, uint32_t object)
{
    struct shared *s = state;

    clock_join(&s->pool, &s->clock[thread], &s->clock[s->threads + object]);
}

static void shared_publish(void *state, uint32_t thread, uint32_t object)
{
    struct shared *s = state;

    clock_copy(&s->pool, &s->clock[s->threads + object], &s->clock[thread]);
    s->clock[thread].time++;
}

static uint32_t shared_get(const void *state, uint32_t clock, uint32_t of_thread)
{
    const struct shared *s = state;
    const struct clock *c = &s->clock[clock];

    return of_thread == c->slot ? c->time : clock_tree_get(c->tree, of_thread);
}

static void shared_close(void *state)
{
    struct shared *s = state;

    clock_pool_release(&s->pool);
    free(s);
}

const struct clock_kind kind_shared = {
    .name = "shared",
    .open = shared_open,
    .learn = shared_learn,
    .publish = shared_publish,
    .replace = shared_publish,
    .get = shared_get,
    .close = shared_close,
};
