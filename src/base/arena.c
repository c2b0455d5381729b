/* arena.c - bump allocation in blocks */
#include "base/arena.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)65536)

struct arena_block {
    struct arena_block *next;
    _Alignas(16) char data[];
};

void arena_release(struct arena *a)
{
    struct arena_block *b = a->blocks;

    while (b) {
        struct arena_block *next = b->next;

        free(b);
        b = next;
    }
    *a = (struct arena){ 0 };
}

static char *new_block(struct arena *a, size_t bytes)
{
    struct arena_block *b = xmalloc(sizeof(*b) + bytes);

    b->next = a->blocks;
    a->blocks = b;
    return b->data;
}

/* `bytes` from the current block, from a new one, or from a block of its own. */
static char *carve(struct arena *a, size_t bytes)
{
    char *p;

    if (bytes > BLOCK_BYTES / 4)
        return new_block(a, bytes);
    if (!a->next || (size_t)(a->end - a->next) < bytes) {
        a->next = new_block(a, BLOCK_BYTES);
        a->end = a->next + BLOCK_BYTES;
    }
    p = a->next;
    a->next += bytes;
    return p;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    size_t skew = (size_t)((16 - ((size_t)a->next & 15)) & 15);

    if (a->next && (size_t)(a->end - a->next) >= skew)
        a->next += skew; /* a string may have left it unaligned */
    return carve(a, (bytes + 15) & ~(size_t)15);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *copy = carve(a, n + 1);

    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}
