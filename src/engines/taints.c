/* taints.c - which marked accesses are needed to tell that a thread is tainted
 *
 * Why what is left out cannot matter. Let R be left out, and R* be the read of the same thread that
 * demanded as much before it. A schedule with R has R*, so none of the first n chances of the
 * writer was bad, and n is no less than the number of all that could have tainted W. (R* itself
 * demands no more than `before`: chances of a quiet period that come after its write may come after
 * R*, too.)
 *
 * A unit knows its last loose write; what is left of those before is OLDER, and who reads that
 * needs all accesses to the word.
 */
#include "engines/taints.h"
#include "base/alloc.h"

#include <stdlib.h>

enum { BYTES = (1 << TAINT_BYTES) - 1, OLDER = 1 << TAINT_BYTES, MOMENT_SHIFT = TAINT_BYTES + 1 };

/* Each is 24 bytes; beyond, what is written loosely is all needed. */
enum { MOMENTS_MAX = 1 << 21 };

void taints_release(struct taints *t)
{
    free(t->moments);
    free(t->threads);
    free(t->needed);
    map_release(&t->demanded);
    *t = (struct taints){ 0 };
}

static struct taint_thread *taints_thread(struct taints *t, uint32_t thread)
{
    GROW(t->threads, t->threads_cap, (size_t)thread + 1);
    return &t->threads[thread];
}

/* The present one of the thread; 0: there are too many. */
static uint32_t present_moment(struct taints *t, uint32_t thread, uint64_t position)
{
    struct taint_thread *x = taints_thread(t, thread);

    if (x->moment && position - t->moments[x->moment].begin <= UINT32_MAX)
        return x->moment;
    if (t->count == MOMENTS_MAX)
        return 0;
    t->count += !t->count;
    GROW_LARGE(t->moments, t->cap, t->count + 1);
    t->moments[t->count] = (struct moment){ position, thread, x->chances, UINT32_MAX, x->first };
    x->moment = x->first = (uint32_t)t->count++;
    return x->moment;
}

bool taints_write(struct taints *t, struct taint_unit *u, unsigned bytes, uint32_t thread,
                  uint64_t position)
{
    uint32_t moment = present_moment(t, thread, position);
    uint32_t left = bytes == BYTES ? 0 : u->last & (OLDER | (BYTES & ~bytes));

    if (!moment || (left && t->moments[u->last >> MOMENT_SHIFT].thread != thread))
        return true;
    u->last = moment << MOMENT_SHIFT | (left ? OLDER : 0) | bytes;
    u->after = (uint32_t)(position - t->moments[moment].begin);
    return false;
}

void taints_overwrite(struct taint_unit *u, unsigned bytes)
{
    u->last &= ~bytes;
    if (bytes == BYTES || !(u->last & (OLDER | BYTES)))
        u->last = 0;
}

/* What the reader has demanded of the writer. */
static uint32_t *demanded_of(struct taints *t, uint32_t reader, uint32_t writer)
{
    if (reader == writer)
        return &taints_thread(t, reader)->demanded;
    return map_put(&t->demanded, (uint64_t)reader << 32 | writer, 0);
}

static void need(struct taints *t, uint64_t position)
{
    GROW_LARGE(t->needed, t->needed_cap, t->nneeded + 1);
    t->needed[t->nneeded++] = position;
}

bool taints_read(struct taints *t, const struct taint_unit *u, unsigned bytes, uint32_t thread,
                 uint64_t position)
{
    uint32_t *demanded, most;
    struct moment m;

    if (!(u->last & (bytes | OLDER)))
        return false;
    m = t->moments[u->last >> MOMENT_SHIFT];
    most = u->last & OLDER || m.until == UINT32_MAX ? taints_thread(t, m.thread)->chances : m.until;
    demanded = demanded_of(t, thread, m.thread);
    if (most <= *demanded)
        return false;
    if (u->last & OLDER)
        return true;
    if (m.before > *demanded)
        *demanded = m.before;
    need(t, m.begin + u->after);
    need(t, position);
    return false;
}

bool taints_is_foreign(const struct taints *t, const struct taint_unit *u, unsigned bytes,
                       uint32_t thread)
{
    return u->last & (bytes | OLDER) && t->moments[u->last >> MOMENT_SHIFT].thread != thread;
}

void taints_chance(struct taints *t, uint32_t thread)
{
    struct taint_thread *x = taints_thread(t, thread);

    x->chances++;
    x->moment = 0;
}

void taints_quiet(struct taints *t, uint32_t thread)
{
    struct taint_thread *x;

    if (thread >= t->threads_cap)
        return;
    x = &t->threads[thread];
    for (uint32_t i = x->first; i; i = t->moments[i].next)
        t->moments[i].until = x->chances;
    x->moment = x->first = 0;
}

void taints_give_up(struct taints *t, uint32_t thread)
{
    taints_thread(t, thread)->gave_up = true;
    t->gave_up = true;
}

bool taints_gave_up(const struct taints *t, uint32_t thread)
{
    return thread < t->threads_cap && t->threads[thread].gave_up;
}

static int compare_positions(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

void taints_finish(struct taints *t)
{
    size_t n = 0;

    if (t->nneeded)
        qsort(t->needed, t->nneeded, sizeof(*t->needed), compare_positions);
    for (size_t i = 0; i < t->nneeded; i++)
        if (!n || t->needed[n - 1] != t->needed[i])
            t->needed[n++] = t->needed[i];
    t->nneeded = n;
}
