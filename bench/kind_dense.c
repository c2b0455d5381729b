/* kind_dense.c - a clock is an array with a time for every thread
 *
 * The number of threads is known beforehand, so nothing is ever resized: the
 * best case of this representation. Arrays of objects are made on first use.
 */
#include "clock_kinds.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct dense_clock {
    uint32_t *times; /* NULL: all zero */
    uint32_t owner;  /* whose snapshot this is */
};

struct dense {
    uint32_t threads, clocks;
    struct dense_clock clock[];
};

static void *dense_open(uint32_t threads, uint32_t objects)
{
    uint32_t clocks = threads + objects;
    struct dense *d = xcalloc(1, sizeof(*d) + clocks * sizeof(d->clock[0]));

    d->threads = threads;
    d->clocks = clocks;
    for (uint32_t t = 0; t < threads; t++) {
        d->clock[t].owner = t;
        d->clock[t].times = xcalloc(threads, sizeof(uint32_t));
        d->clock[t].times[t] = 1;
    }
    return d;
}

/* The same help from the compiler as src/order/clock.c has. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx2", "default")))
#endif
static void
join_times(uint32_t *restrict to, const uint32_t *restrict times, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = to[i] > times[i] ? to[i] : times[i];
}

static void dense_learn(void *state, uint32_t thread, uint32_t object)
{
    struct dense *d = state;
    struct dense_clock *from = &d->clock[d->threads + object];
    uint32_t *to = d->clock[thread].times;

    if (from->times && to[from->owner] < from->times[from->owner])
        join_times(to, from->times, d->threads);
}

static void dense_publish(void *state, uint32_t thread, uint32_t object)
{
    struct dense *d = state;
    struct dense_clock *to = &d->clock[d->threads + object];

    if (!to->times)
        to->times = xmalloc(d->threads * sizeof(uint32_t));
    memcpy(to->times, d->clock[thread].times, d->threads * sizeof(uint32_t));
    to->owner = thread;
    d->clock[thread].times[thread]++;
}

static uint32_t dense_get(const void *state, uint32_t clock, uint32_t of_thread)
{
    const struct dense *d = state;

    return d->clock[clock].times ? d->clock[clock].times[of_thread] : 0;
}

static void dense_close(void *state)
{
    struct dense *d = state;

    for (uint32_t i = 0; i < d->clocks; i++)
        free(d->clock[i].times);
    free(d);
}

const struct clock_kind kind_dense = {
    .name = "dense",
    .open = dense_open,
    .learn = dense_learn,
    .publish = dense_publish,
    .replace = dense_publish,
    .get = dense_get,
    .close = dense_close,
};
