/* sorted.h - arrays of numbers in ascending order */
#ifndef HEDDLE_BASE_SORTED_H
#define HEDDLE_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* For qsort(). */
static inline int sorted_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Index of the first one that is not below the number; n: all are. */
#define SORTED_FIRST_FROM(name, type)                                                              \
    static inline size_t name(const type *list, size_t n, uint64_t number)                         \
    {                                                                                              \
        size_t low = 0, high = n;                                                                  \
                                                                                                   \
        while (low < high) {                                                                       \
            size_t middle = low + (high - low) / 2;                                                \
                                                                                                   \
            if (list[middle] < number)                                                             \
                low = middle + 1;                                                                  \
            else                                                                                   \
                high = middle;                                                                     \
        }                                                                                          \
        return low;                                                                                \
    }
SORTED_FIRST_FROM(sorted_first_from, uint64_t)
SORTED_FIRST_FROM(sorted_first_from_32, uint32_t)
#undef SORTED_FIRST_FROM

#endif
