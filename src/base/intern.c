/* intern.c - string table: open addressing over stored hashes */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/intern.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct intern_slot {
    uint64_t hash;
    uint32_t id; /* number + 1; 0 is an empty slot */
    uint32_t len;
};

void intern_release(struct intern *t)
{
    arena_release(&t->text);
    free(t->strings);
    free(t->slots);
    *t = (struct intern){ 0 };
}

/* The slot that holds s, or the empty one where it belongs. Needs nslots > 0. */
static struct intern_slot *probe(const struct intern *t, const char *s, size_t n, uint64_t hash)
{
    size_t mask = t->nslots - 1;
    size_t i = hash & mask;

    for (;; i = (i + 1) & mask) {
        struct intern_slot *slot = &t->slots[i];

        if (!slot->id)
            return slot;
        if (slot->hash == hash && slot->len == n && !memcmp(t->strings[slot->id - 1], s, n))
            return slot;
    }
}

static void rehash(struct intern *t)
{
    size_t n = t->nslots ? t->nslots * 2 : 64;
    struct intern_slot *old = t->slots;
    size_t nold = t->nslots;

    t->slots = xcalloc(n, sizeof(*t->slots));
    t->nslots = n;
    for (size_t i = 0; i < nold; i++) {
        size_t j = old[i].hash & (n - 1);

        if (!old[i].id)
            continue;
        while (t->slots[j].id)
            j = (j + 1) & (n - 1);
        t->slots[j] = old[i];
    }
    free(old);
}

uint32_t intern_find(const struct intern *t, const char *s, size_t n)
{
    struct intern_slot *slot;

    if (!t->nslots)
        return INTERN_NONE;
    slot = probe(t, s, n, XXH3_64bits(s, n));
    return slot->id ? slot->id - 1 : INTERN_NONE;
}

static uint32_t add_string(struct intern *t, const char *s, size_t n)
{
    GROW(t->strings, t->strings_cap, (size_t)t->count + 1);
    t->strings[t->count] = arena_strndup(&t->text, s, n);
    return t->count++;
}

uint32_t intern_put(struct intern *t, const char *s, size_t n)
{
    uint64_t hash = XXH3_64bits(s, n);
    struct intern_slot *slot;

    if ((size_t)t->count * 2 >= t->nslots)
        rehash(t);
    slot = probe(t, s, n, hash);
    if (!slot->id)
        *slot = (struct intern_slot){ hash, add_string(t, s, n) + 1, (uint32_t)n };
    return slot->id - 1;
}

uint32_t intern_append(struct intern *t, const char *s, size_t n)
{
    uint32_t id = intern_find(t, s, n);

    return id == INTERN_NONE ? intern_put(t, s, n) : add_string(t, s, n);
}
