/* kind_sparse.c - a clock is a sorted vector of the threads it has heard of
 *
 * The owner's entry is kept beside the vector, so that a tick is O(1).
 */
#include "clock_kinds.h"
#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    uint32_t thread, time;
};

struct sparse_clock {
    struct entry own; /* time 0: nothing published yet */
    struct entry *others;
    size_t count, cap;
};

struct sparse {
    uint32_t threads, clocks;
    struct entry *merged; /* scratch */
    size_t merged_cap;
    struct sparse_clock clock[];
};

static void *sparse_open(uint32_t threads, uint32_t objects)
{
    uint32_t clocks = threads + objects;
    struct sparse *s = xcalloc(1, sizeof(*s) + clocks * sizeof(s->clock[0]));

    s->threads = threads;
    s->clocks = clocks;
    for (uint32_t t = 0; t < threads; t++)
        s->clock[t].own = (struct entry){ t, 1 };
    return s;
}

/* Index of the first entry that is not below the thread. */
static size_t lower_bound(const struct sparse_clock *c, uint32_t thread)
{
    size_t low = 0, high = c->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (c->others[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t time_of(const struct sparse_clock *c, uint32_t thread)
{
    size_t i;

    if (c->own.time && c->own.thread == thread)
        return c->own.time;
    i = lower_bound(c, thread);
    return i < c->count && c->others[i].thread == thread ? c->others[i].time : 0;
}

static void insert(struct sparse_clock *c, struct entry e)
{
    size_t i = lower_bound(c, e.thread);

    if (i == c->count || c->others[i].thread != e.thread) {
        GROW(c->others, c->cap, c->count + 1);
        memmove(c->others + i + 1, c->others + i, (c->count - i) * sizeof(e));
        c->count++;
    }
    c->others[i] = e;
}

static struct entry newer(struct entry a, struct entry b)
{
    return a.time > b.time ? a : b;
}

/* Both vectors into the scratch space; the destination's own thread stays out. */
static size_t merge(struct sparse *s, const struct sparse_clock *a, const struct sparse_clock *b)
{
    struct entry *out;
    size_t i = 0, k = 0, n = 0;

    GROW(s->merged, s->merged_cap, a->count + b->count);
    out = s->merged;
    while (i < a->count && k < b->count) {
        struct entry x = a->others[i], y = b->others[k];

        if (y.thread == a->own.thread)
            k++;
        else if (x.thread == y.thread)
            out[n++] = newer(x, y), i++, k++;
        else
            out[n++] = x.thread < y.thread ? (i++, x) : (k++, y);
    }
    while (i < a->count)
        out[n++] = a->others[i++];
    for (; k < b->count; k++)
        if (b->others[k].thread != a->own.thread)
            out[n++] = b->others[k];
    return n;
}

static void sparse_learn(void *state, uint32_t thread, uint32_t object)
{
    struct sparse *s = state;
    struct sparse_clock *to = &s->clock[thread], *from = &s->clock[s->threads + object];
    size_t n;

    if (time_of(to, from->own.thread) >= from->own.time)
        return;
    n = merge(s, to, from);
    GROW(to->others, to->cap, n);
    if (n)
        memcpy(to->others, s->merged, n * sizeof(struct entry));
    to->count = n;
    insert(to, from->own);
}

static void sparse_publish(void *state, uint32_t thread, uint32_t object)
{
    struct sparse *s = state;
    struct sparse_clock *from = &s->clock[thread], *to = &s->clock[s->threads + object];

    GROW(to->others, to->cap, from->count);
    if (from->count)
        memcpy(to->others, from->others, from->count * sizeof(struct entry));
    to->count = from->count;
    to->own = from->own;
    from->own.time++;
}

static uint32_t sparse_get(const void *state, uint32_t clock, uint32_t of_thread)
{
    const struct sparse *s = state;

    return time_of(&s->clock[clock], of_thread);
}

static void sparse_close(void *state)
{
    struct sparse *s = state;

    for (uint32_t i = 0; i < s->clocks; i++)
        free(s->clock[i].others);
    free(s->merged);
    free(s);
}

const struct clock_kind kind_sparse = {
    .name = "sparse",
    .open = sparse_open,
    .learn = sparse_learn,
    .publish = sparse_publish,
    .replace = sparse_publish,
    .get = sparse_get,
    .close = sparse_close,
};
