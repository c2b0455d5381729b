/* number_set.h - a set of small numbers that can be asked for neighbours
 *
 * A bitmap with bitmaps above it: a bit of a higher level says that the word
 * below is not empty. Cost: one word per level, four levels for 16 million
 * numbers; 1.02 bits a number.
 * Concurrency: none.
 */
#ifndef HEDDLE_ORDER_NUMBER_SET_H
#define HEDDLE_ORDER_NUMBER_SET_H

#include <stdbool.h>
#include <stdint.h>

#define MARKS_NONE UINT32_MAX

enum { MARKS_LEVELS = 6 };

struct marks {
    uint64_t *level[MARKS_LEVELS]; /* owned */
    uint32_t count;                /* numbers are below this */
    unsigned nlevels;
};

/* An empty set of numbers below count. */
void marks_init(struct marks *m, uint32_t count);
void marks_release(struct marks *m);

static inline bool marks_has(const struct marks *m, uint32_t i)
{
    return m->level[0][i / 64] >> (i % 64) & 1;
}

/* The least member that is i or more, the greatest that is i or less; MARKS_NONE. */
uint32_t marks_next(const struct marks *m, uint32_t i);
uint32_t marks_previous(const struct marks *m, uint32_t i);

void marks_add(struct marks *m, uint32_t i);
void marks_remove(struct marks *m, uint32_t i);

#endif
