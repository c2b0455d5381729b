/* map.c - hash map from 64-bit keys to 32-bit values */
#include "base/map.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void map_release(struct map *m)
{
    free(m->slots);
    *m = (struct map){ 0 };
}

void map_clear(struct map *m)
{
    if (m->slots)
        memset(m->slots, 0, m->nslots * sizeof(*m->slots));
    m->count = 0;
}

static struct map_slot *empty_slot(struct map *m, uint64_t key)
{
    size_t mask = m->nslots - 1;
    size_t i = map_hash(key) & mask;

    while (m->slots[i].used)
        i = (i + 1) & mask;
    return &m->slots[i];
}

static void double_size(struct map *m)
{
    struct map_slot *old = m->slots;
    size_t nold = m->nslots;

    m->nslots = nold ? nold * 2 : 64;
    m->slots = xcalloc(m->nslots, sizeof(*m->slots));
    for (size_t i = 0; i < nold; i++)
        if (old[i].used)
            *empty_slot(m, old[i].key) = old[i];
    free(old);
}

uint32_t *map_put(struct map *m, uint64_t key, uint32_t initial)
{
    uint32_t *value = map_get(m, key);
    struct map_slot *slot;

    if (value)
        return value;
    if (m->count * 2 >= m->nslots)
        double_size(m);
    slot = empty_slot(m, key);
    *slot = (struct map_slot){ key, initial, 1 };
    m->count++;
    return &slot->value;
}
