/* number_set.c - a set of small numbers that can be asked for neighbours */
#include "order/number_set.h"
#include "base/alloc.h"

#include <stdlib.h>

void marks_init(struct marks *m, uint32_t count)
{
    uint64_t words = count;

    *m = (struct marks){ .count = count };
    do {
        words = words / 64 + 1;
        m->level[m->nlevels++] = xcalloc(words, sizeof(uint64_t));
    } while (words > 1);
}

void marks_release(struct marks *m)
{
    for (unsigned l = 0; l < m->nlevels; l++)
        free(m->level[l]);
    *m = (struct marks){ 0 };
}

void marks_add(struct marks *m, uint32_t i)
{
    for (unsigned l = 0; l < m->nlevels; l++, i /= 64)
        m->level[l][i / 64] |= (uint64_t)1 << (i % 64);
}

void marks_remove(struct marks *m, uint32_t i)
{
    for (unsigned l = 0; l < m->nlevels; l++, i /= 64) {
        m->level[l][i / 64] &= ~((uint64_t)1 << (i % 64));
        if (m->level[l][i / 64])
            return;
    }
}

/* Down from a member of level l to the least or greatest number below it. */
static uint32_t least_below(const struct marks *m, unsigned l, uint32_t i)
{
    while (l-- > 0)
        i = i * 64 + (uint32_t)__builtin_ctzll(m->level[l][i]);
    return i;
}

static uint32_t greatest_below(const struct marks *m, unsigned l, uint32_t i)
{
    while (l-- > 0)
        i = i * 64 + 63 - (uint32_t)__builtin_clzll(m->level[l][i]);
    return i;
}

uint32_t marks_next(const struct marks *m, uint32_t i)
{
    if (i >= m->count)
        return MARKS_NONE;
    for (unsigned l = 0; l < m->nlevels; l++) {
        uint64_t word = m->level[l][i / 64] >> (i % 64);

        if (word)
            return least_below(m, l, i + (uint32_t)__builtin_ctzll(word));
        i = i / 64 + 1; /* every level has room for one word more than the level below */
    }
    return MARKS_NONE;
}

uint32_t marks_previous(const struct marks *m, uint32_t i)
{
    for (unsigned l = 0; l < m->nlevels; l++) {
        uint64_t word = m->level[l][i / 64] << (63 - i % 64);

        if (word)
            return greatest_below(m, l, i - (uint32_t)__builtin_clzll(word));
        if (i < 64)
            return MARKS_NONE;
        i = i / 64 - 1;
    }
    return MARKS_NONE;
}
