/* sorted.h - arrays in ascending order, of numbers or of what begins with one */
#ifndef HEDDLE_BASE_SORTED_H
#define HEDDLE_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* For qsort(): by the number each begins with. */
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

/* Entries of `bytes` each, whose first member is a uint64_t by which they are sorted: how many are
 * at or below the number. */
static inline size_t sorted_up_to(const void *list, size_t n, size_t bytes, uint64_t number)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (*(const uint64_t *)(const void *)((const char *)list + middle * bytes) <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
