/* alloc.h - memory that is there, or the process ends
 *
 * The analyser cannot do anything useful without memory, so these never
 * return NULL: they print "heddle: out of memory" and exit with code 128.
 * The runtime that lives in other people's processes must not use them.
 */
#ifndef HEDDLE_BASE_ALLOC_H
#define HEDDLE_BASE_ALLOC_H

#include <stddef.h>

void *xmalloc(size_t bytes);
void *xcalloc(size_t count, size_t bytes); /* zeroed; checks the product for overflow */
void *xaligned(size_t alignment, size_t bytes);
void *xrealloc(void *old, size_t count, size_t bytes);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Make room for `need` elements in a growing array: the capacity at least doubles. */
#define GROW(array, cap, need)                                                                     \
    do {                                                                                           \
        size_t need_ = (need);                                                                     \
                                                                                                   \
        if (__builtin_expect(need_ > (cap), 0))                                                    \
            (array) = grow_array((array), &(cap), need_, sizeof(*(array)));                        \
    } while (0)

/* The same where the array is large and its new elements are written before they are read: the
 * capacity grows by half, and what is not in use takes no memory. */
#define GROW_LARGE(array, cap, need)                                                               \
    do {                                                                                           \
        size_t need_ = (need);                                                                     \
                                                                                                   \
        if (__builtin_expect(need_ > (cap), 0))                                                    \
            (array) = grow_large_array((array), &(cap), need_, sizeof(*(array)));                  \
    } while (0)

/* The functions behind GROW and GROW_LARGE; the first one's new memory is zeroed. `cap` is a
 * size_t. */
void *grow_array(void *array, size_t *cap, size_t need, size_t bytes);
void *grow_large_array(void *array, size_t *cap, size_t need, size_t bytes);

#endif
