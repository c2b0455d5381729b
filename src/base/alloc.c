/* alloc.c - allocation that exits instead of failing */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One exit for all of them; 128 is "our own failure" in the command line contract. */
static _Noreturn void out_of_memory(void)
{
    fputs("heddle: out of memory\n", stderr);
    exit(128);
}

static void *checked(void *p)
{
    if (!p)
        out_of_memory();
    return p;
}

void *xmalloc(size_t bytes)
{
    return checked(malloc(bytes ? bytes : 1));
}

void *xcalloc(size_t count, size_t bytes)
{
    return checked(calloc(count ? count : 1, bytes ? bytes : 1));
}

void *xaligned(size_t alignment, size_t bytes)
{
    void *p = NULL;

    return checked(posix_memalign(&p, alignment, bytes) == 0 ? p : NULL);
}

void *xrealloc(void *old, size_t count, size_t bytes)
{
    return checked(reallocarray(old, count ? count : 1, bytes ? bytes : 1));
}

char *xstrndup(const char *s, size_t n)
{
    char *copy = xmalloc(n + 1);

    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

char *xasprintf(const char *fmt, ...)
{
    char *s;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0)
        out_of_memory();
    va_end(ap);
    return s;
}

void *grow_array(void *array, size_t *cap, size_t need, size_t bytes)
{
    size_t n = *cap ? *cap : 16;

    if (need <= *cap)
        return array;
    while (n < need)
        n = n < SIZE_MAX / 2 ? n * 2 : need;
    array = xrealloc(array, n, bytes);
    memset((char *)array + *cap * bytes, 0, (n - *cap) * bytes);
    *cap = n;
    return array;
}

void *grow_large_array(void *array, size_t *cap, size_t need, size_t bytes)
{
    size_t n = *cap + *cap / 2;

    if (need <= *cap)
        return array;
    if (n < need + 16)
        n = need + 16;
    *cap = n;
    return xrealloc(array, n, bytes);
}
