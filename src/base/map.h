/* map.h - hash map from 64-bit keys to 32-bit values
 *
 * Open addressing with linear probing; no removal (callers that retire a key
 * overwrite its value). A zeroed struct is an empty map. Key 0 is allowed.
 * Cost: one multiplication and usually one probe; 16 bytes an entry at half load.
 */
#ifndef HEDDLE_BASE_MAP_H
#define HEDDLE_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map {
    struct map_slot {
        uint64_t key;
        uint32_t value;
        uint32_t used;
    } *slots;
    size_t nslots;
    size_t count;
};

void map_release(struct map *m);

static inline uint64_t map_hash(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    return key ^ (key >> 32);
}

/* The value of a key, or NULL. The pointer is valid until the next map_put(). */
static inline uint32_t *map_get(const struct map *m, uint64_t key)
{
    size_t mask = m->nslots - 1;

    if (!m->nslots)
        return NULL;
    for (size_t i = map_hash(key) & mask;; i = (i + 1) & mask) {
        if (!m->slots[i].used)
            return NULL;
        if (m->slots[i].key == key)
            return &m->slots[i].value;
    }
}

/* The value of a key; a new key starts with `initial`. */
uint32_t *map_put(struct map *m, uint64_t key, uint32_t initial);

/* Forget all entries, keep the memory. */
void map_clear(struct map *m);

#endif
