/* util.c - see util.h */
#include "pass/util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *there(void *memory)
{
    if (!memory) {
        fputs("heddle-pass: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void *zeroed(size_t bytes)
{
    return there(calloc(1, bytes ? bytes : 1));
}

void *grow(void *array, size_t *room, size_t count, size_t element_bytes)
{
    if (count <= *room)
        return array;
    *room = count > 2 * *room ? count + 8 : 2 * *room;
    return there(realloc(array, *room * element_bytes));
}

static size_t hash(const void *key)
{
    uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h >> 20);
}

static struct map_slot *util_find(const struct map *m, const void *key)
{
    size_t i = hash(key) & m->mask;
    while (m->slots[i].key && m->slots[i].key != key)
        i = (i + 1) & m->mask;
    return &m->slots[i];
}

uint64_t map_get(const struct map *m, const void *key)
{
    return m->mask ? util_find(m, key)->value : 0;
}

static void rehash(struct map *m)
{
    struct map old = *m;
    m->mask = old.mask ? 2 * old.mask + 1 : 63;
    m->slots = zeroed((m->mask + 1) * sizeof *m->slots);
    for (size_t i = 0; old.mask && i <= old.mask; i++)
        if (old.slots[i].key)
            *util_find(m, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

void map_set(struct map *m, const void *key, uint64_t value)
{
    if (2 * m->count >= m->mask)
        rehash(m);
    struct map_slot *slot = util_find(m, key);
    m->count += !slot->key;
    *slot = (struct map_slot){ key, value };
}

void map_release(struct map *m)
{
    free(m->slots);
    *m = (struct map){ 0 };
}

void bytes_add(struct bytes *b, const void *data, size_t n)
{
    b->at = grow(b->at, &b->room, b->count + n, 1);
    memcpy(b->at + b->count, data, n);
    b->count += n;
}

void bytes_pad(struct bytes *b, size_t multiple)
{
    while (b->count % multiple)
        bytes_add(b, "", 1);
}

void text_line(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->count += (size_t)vsnprintf(t->at + t->count, sizeof t->at - t->count, format, args);
    va_end(args);
    t->at[t->count++] = '\n';
}
