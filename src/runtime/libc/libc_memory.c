/* libc_memory.c - memcpy and its relatives */
#include "runtime/libc/libc.h"
#include "runtime/libc/libc_at.h"

/* Eight bytes at any address, in any type. */
struct word {
    uint64_t value;
} __attribute__((packed, may_alias));

/* Bytes up to and with the first that differ; n if none does. */
static inline size_t bytes_compared(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    size_t i = 0;

    while (i + 8 <= n &&
           ((const struct word *)(x + i))->value == ((const struct word *)(y + i))->value)
        i += 8;
    while (i < n && x[i] == y[i])
        i++;
    return i < n ? i + 1 : n;
}

static inline void copies(void *d, const void *s, size_t n, uint64_t where)
{
    rt_read(s, n, where);
    rt_write(d, n, where);
}

LIBC(void *, memcpy, (void *d, const void *s, size_t n), (d, s, n))
{
    copies(d, s, n, where);
    return CALL(memcpy)(d, s, n);
}

LIBC(void *, memmove, (void *d, const void *s, size_t n), (d, s, n))
{
    copies(d, s, n, where);
    return CALL(memmove)(d, s, n);
}

LIBC(void *, mempcpy, (void *d, const void *s, size_t n), (d, s, n))
{
    copies(d, s, n, where);
    return CALL(mempcpy)(d, s, n);
}

LIBC(void *, __mempcpy, (void *d, const void *s, size_t n), (d, s, n))
{
    copies(d, s, n, where);
    return CALL(mempcpy)(d, s, n);
}

LIBC(void, bcopy, (const void *s, void *d, size_t n), (s, d, n))
{
    copies(d, s, n, where);
    CALL(memmove)(d, s, n);
}

LIBC(void *, memccpy, (void *d, const void *s, int c, size_t n), (d, s, c, n))
{
    char *end = CALL(memccpy)(d, s, c, n);

    copies(d, s, end ? (size_t)(end - (char *)d) : n, where);
    return end;
}

LIBC(void *, memset, (void *d, int c, size_t n), (d, c, n))
{
    rt_write(d, n, where);
    return CALL(memset)(d, c, n);
}

LIBC(void, bzero, (void *d, size_t n), (d, n))
{
    rt_write(d, n, where);
    CALL(memset)(d, 0, n);
}

LIBC(void, explicit_bzero, (void *d, size_t n), (d, n))
{
    rt_write(d, n, where);
    CALL(explicit_bzero)(d, n);
}

static inline void compares(const void *a, const void *b, size_t n, uint64_t where)
{
    if (n && rt_recording()) {
        n = bytes_compared(a, b, n);
        rt_read(a, n, where);
        rt_read(b, n, where);
    }
}

LIBC(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n))
{
    compares(a, b, n, where);
    return CALL(memcmp)(a, b, n);
}

LIBC(int, bcmp, (const void *a, const void *b, size_t n), (a, b, n))
{
    compares(a, b, n, where);
    return CALL(memcmp)(a, b, n);
}

LIBC(void *, memchr, (const void *s, int c, size_t n), (s, c, n))
{
    char *found = CALL(memchr)(s, c, n);

    rt_read(s, found ? (size_t)(found - (char *)s) + 1 : n, where);
    return found;
}

LIBC(void *, rawmemchr, (const void *s, int c), (s, c))
{
    char *found = CALL(rawmemchr)(s, c);

    rt_read(s, (size_t)(found - (char *)s) + 1, where);
    return found;
}

LIBC(void *, memrchr, (const void *s, int c, size_t n), (s, c, n))
{
    char *found = CALL(memrchr)(s, c, n);

    if (found)
        rt_read(found, (size_t)((char *)s + n - found), where);
    else
        rt_read(s, n, where);
    return found;
}

LIBC(void *, memmem, (const void *s, size_t n, const void *needle, size_t m), (s, n, needle, m))
{
    char *found = CALL(memmem)(s, n, needle, m);

    rt_read(needle, m, where);
    rt_read(s, found ? (size_t)(found - (char *)s) + m : n, where);
    return found;
}

/* ---- wide characters ---- */

LIBC(wchar_t *, wmemcpy, (wchar_t * d, const wchar_t *s, size_t n), (d, s, n))
{
    copies(d, s, n * sizeof(*d), where);
    return CALL(wmemcpy)(d, s, n);
}

LIBC(wchar_t *, wmemmove, (wchar_t * d, const wchar_t *s, size_t n), (d, s, n))
{
    copies(d, s, n * sizeof(*d), where);
    return CALL(wmemmove)(d, s, n);
}

LIBC(wchar_t *, wmemset, (wchar_t * d, wchar_t c, size_t n), (d, c, n))
{
    rt_write(d, n * sizeof(*d), where);
    return CALL(wmemset)(d, c, n);
}

LIBC(size_t, wcslen, (const wchar_t *s), (s))
{
    size_t n = CALL(wcslen)(s);

    rt_read(s, (n + 1) * sizeof(*s), where);
    return n;
}

LIBC(wchar_t *, wcscpy, (wchar_t * d, const wchar_t *s), (d, s))
{
    if (rt_recording())
        copies(d, s, (CALL(wcslen)(s) + 1) * sizeof(*d), where);
    return CALL(wcscpy)(d, s);
}

/* ---- fortified: when there is too little room they end the program ---- */

LIBC(void *, __memcpy_chk, (void *d, const void *s, size_t n, size_t room), (d, s, n, room))
{
    if (n <= room)
        copies(d, s, n, where);
    return CALL(__memcpy_chk)(d, s, n, room);
}

LIBC(void *, __memmove_chk, (void *d, const void *s, size_t n, size_t room), (d, s, n, room))
{
    if (n <= room)
        copies(d, s, n, where);
    return CALL(__memmove_chk)(d, s, n, room);
}

LIBC(void *, __mempcpy_chk, (void *d, const void *s, size_t n, size_t room), (d, s, n, room))
{
    if (n <= room)
        copies(d, s, n, where);
    return CALL(__mempcpy_chk)(d, s, n, room);
}

LIBC(void *, __memset_chk, (void *d, int c, size_t n, size_t room), (d, c, n, room))
{
    if (n <= room)
        rt_write(d, n, where);
    return CALL(__memset_chk)(d, c, n, room);
}

LIBC(void, __explicit_bzero_chk, (void *d, size_t n, size_t room), (d, n, room))
{
    if (n <= room)
        rt_write(d, n, where);
    CALL(__explicit_bzero_chk)(d, n, room);
}

/* ---- for tsan.c ---- */

#ifndef LIBC_NAMES
void *libc_at_memcpy(void *d, const void *s, size_t n, uint64_t where)
{
    return at_memcpy(d, s, n, where);
}

void *libc_at_memmove(void *d, const void *s, size_t n, uint64_t where)
{
    return at_memmove(d, s, n, where);
}

void *libc_at_memset(void *d, int c, size_t n, uint64_t where)
{
    return at_memset(d, c, n, where);
}
#endif
