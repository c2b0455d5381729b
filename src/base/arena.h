/* arena.h - memory that is freed all at once
 *
 * Allocation is a pointer bump in blocks of 64 KiB (larger requests get a
 * block of their own). Nothing is freed before arena_release().
 * A zeroed struct is an empty arena.
 */
#ifndef HEDDLE_BASE_ARENA_H
#define HEDDLE_BASE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_block *blocks;
    char *next;
    char *end;
};

void arena_release(struct arena *a);
void *arena_alloc(struct arena *a, size_t bytes); /* 16-byte aligned, not zeroed */
char *arena_strndup(struct arena *a, const char *s, size_t n);

#endif
