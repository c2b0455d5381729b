/* libc_number.c - strings that become numbers, and sorting
 *
 * A number is read up to the first byte that does not belong to it, which the
 * end pointer tells.
 */
#include "runtime/libc/libc.h"

/* The bytes looked at, and the end pointer if the caller wants it. */
static inline void reads_number(const char *s, const char *end, char **out, uint64_t where)
{
    rt_read(s, (size_t)(end - s) + 1, where);
    if (out) {
        rt_write(out, sizeof(*out), where);
        *out = (char *)end;
    }
}

/* An invalid base leaves glibc's end pointer unset. */
#define STRTO_INTEGER(type, name, call)                                                            \
    LIBC(type, name, (const char *s, char **out, int base), (s, out, base))                        \
    {                                                                                              \
        char *end = NULL;                                                                          \
        type value = CALL(call)(s, &end, base);                                                    \
                                                                                                   \
        if (end)                                                                                   \
            reads_number(s, end, out, where);                                                      \
        return value;                                                                              \
    }

STRTO_INTEGER(long, strtol, strtol)
STRTO_INTEGER(unsigned long, strtoul, strtoul)
STRTO_INTEGER(long long, strtoll, strtoll)
STRTO_INTEGER(unsigned long long, strtoull, strtoull)
STRTO_INTEGER(intmax_t, strtoimax, strtoimax)
STRTO_INTEGER(uintmax_t, strtoumax, strtoumax)
STRTO_INTEGER(long, __isoc23_strtol, __isoc23_strtol)
STRTO_INTEGER(unsigned long, __isoc23_strtoul, __isoc23_strtoul)
STRTO_INTEGER(long long, __isoc23_strtoll, __isoc23_strtoll)
STRTO_INTEGER(unsigned long long, __isoc23_strtoull, __isoc23_strtoull)

#define STRTO_FLOAT(type, name)                                                                    \
    LIBC(type, name, (const char *s, char **out), (s, out))                                        \
    {                                                                                              \
        char *end;                                                                                 \
        type value = CALL(name)(s, &end);                                                          \
                                                                                                   \
        reads_number(s, end, out, where);                                                          \
        return value;                                                                              \
    }

STRTO_FLOAT(double, strtod)
STRTO_FLOAT(float, strtof)
STRTO_FLOAT(long double, strtold)

LIBC(int, atoi, (const char *s), (s))
{
    return (int)at_strtol(s, NULL, 10, where);
}

LIBC(long, atol, (const char *s), (s))
{
    return at_strtol(s, NULL, 10, where);
}

LIBC(long long, atoll, (const char *s), (s))
{
    return at_strtoll(s, NULL, 10, where);
}

LIBC(double, atof, (const char *s), (s))
{
    return at_strtod(s, NULL, where);
}

LIBC(int, rand_r, (unsigned *seed), (seed))
{
    rt_read(seed, sizeof(*seed), where);
    rt_write(seed, sizeof(*seed), where);
    return CALL(rand_r)(seed);
}

/* The comparison function is the program's, and records for itself. */
LIBC(void, qsort, (void *base, size_t n, size_t size, int (*compare)(const void *, const void *)),
     (base, n, size, compare))
{
    if (n > 1)
        rt_read(base, n * size, where);
    CALL(qsort)(base, n, size, compare);
    if (n > 1)
        rt_write(base, n * size, where);
}

LIBC(void, qsort_r,
     (void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
      void *with),
     (base, n, size, compare, with))
{
    if (n > 1)
        rt_read(base, n * size, where);
    CALL(qsort_r)(base, n, size, compare, with);
    if (n > 1)
        rt_write(base, n * size, where);
}

/* ---- two results ---- */

LIBC(double, frexp, (double x, int *exponent), (x, exponent))
{
    rt_write(exponent, sizeof(*exponent), where);
    return CALL(frexp)(x, exponent);
}

LIBC(double, modf, (double x, double *whole), (x, whole))
{
    rt_write(whole, sizeof(*whole), where);
    return CALL(modf)(x, whole);
}
