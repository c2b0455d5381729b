/* deadlock_table.c - the table of deadlocks, one per set of sites */
#include "engines/deadlock.h"
#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>

void deadlock_table_release(struct deadlock_table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->deadlocks[i].waits);
        free(t->deadlocks[i].witness);
    }
    free(t->deadlocks);
    map_release(&t->by_sites);
    *t = (struct deadlock_table){ 0 };
}

static uint64_t wait_sites(const struct lock_wait *w)
{
    return (uint64_t)w->request.site << 32 | w->hold.site;
}

/* A sum, so that the order does not matter. */
static uint64_t hash_sites(const struct lock_wait *waits, size_t n)
{
    uint64_t hash = n;

    for (size_t i = 0; i < n; i++)
        hash += map_hash(wait_sites(&waits[i]) + 1);
    return hash;
}

static size_t count_sites(const struct lock_wait *waits, size_t n, uint64_t sites)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += wait_sites(&waits[i]) == sites;
    return count;
}

/* Each pair of sites is there as often in both. */
static bool same_sites(const struct deadlock *d, const struct lock_wait *waits, size_t n)
{
    if (d->nwaits != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (count_sites(waits, n, wait_sites(&waits[i])) !=
            count_sites(d->waits, n, wait_sites(&waits[i])))
            return false;
    return true;
}

struct deadlock *deadlock_table_find(struct deadlock_table *t, const struct lock_wait *waits,
                                     size_t n)
{
    uint32_t *index;

    for (uint64_t hash = hash_sites(waits, n); (index = map_get(&t->by_sites, hash)); hash++)
        if (same_sites(&t->deadlocks[*index], waits, n))
            return &t->deadlocks[*index];
    return NULL;
}

void deadlock_table_add(struct deadlock_table *t, const struct deadlock *d)
{
    uint64_t hash = hash_sites(d->waits, d->nwaits);

    while (map_get(&t->by_sites, hash))
        hash++;
    map_put(&t->by_sites, hash, (uint32_t)t->count);
    GROW(t->deadlocks, t->cap, t->count + 1);
    t->deadlocks[t->count++] = *d;
}
