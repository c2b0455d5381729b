/* libc_format.h - what the formats of printf and scanf say about their arguments
 *
 * A format is parsed into a table of arguments: their types, by position, so
 * that both "%s" and "%2$s" can be walked. Formats with more than
 * FORMAT_ARGUMENTS arguments are followed that far.
 */
#ifndef HEDDLE_RUNTIME_LIBC_LIBC_FORMAT_H
#define HEDDLE_RUNTIME_LIBC_LIBC_FORMAT_H

#include "runtime/libc/libc.h"

enum { FORMAT_ARGUMENTS = 64 };

enum format_type {
    FORMAT_NONE, /* a position that nothing uses: an int */
    FORMAT_INT,
    FORMAT_LONG,
    FORMAT_DOUBLE,
    FORMAT_LONG_DOUBLE,
    FORMAT_POINTER, /* nothing behind it is touched */
    FORMAT_STRING,
    FORMAT_WIDE_STRING,
    FORMAT_COUNT,      /* %n, size in `bytes` */
    FORMAT_VALUE,      /* scanf: `bytes` are written */
    FORMAT_CHARACTERS, /* scanf: %c, `bytes` are written, no NUL */
    FORMAT_NEW_STRING  /* scanf: %ms: a pointer, and the string */
};

struct format_argument {
    uint8_t type;     /* enum format_type */
    uint8_t order;    /* scanf: number of conversions before it that count */
    int16_t limit_at; /* argument that holds the precision, -1: none */
    int32_t bytes;    /* precision or width, -1: none; or a size */
};

struct format {
    unsigned n;         /* arguments */
    unsigned converted; /* scanf: conversions that count */
    struct format_argument arg[FORMAT_ARGUMENTS];
};

/* One conversion "%5$-*.*lld", taken apart. */
struct conversion {
    int position; /* 1 ..; 0: the next */
    bool suppressed, allocates;
    int width, precision;       /* -1: none */
    int width_at, precision_at; /* `*`: argument; -1: none */
    char length;                /* 0 h H(hh) l L(ll, q) D(long double) j z t */
    char letter;                /* 0: the format ended */
};

/* Parse the conversion behind a '%'; returns what follows it. `f` gives positions to `*`. */
static inline const char *conversion_parse(const char *p, struct conversion *c, struct format *f,
                                           bool scanning);

static inline void format_add(struct format *f, int position, struct format_argument a)
{
    unsigned at = position > 0 ? (unsigned)position - 1 : f->n;

    if (at >= FORMAT_ARGUMENTS)
        return;
    while (f->n <= at)
        f->arg[f->n++] = (struct format_argument){ .limit_at = -1, .bytes = -1 };
    f->arg[at] = a;
}

static inline const char *format_digits(const char *p, int *value)
{
    int v = 0;

    while (*p >= '0' && *p <= '9')
        v = v < 100000000 ? v * 10 + (*p - '0') : v, p++;
    *value = v;
    return p;
}

/* "*" or "*5$": the argument's index. */
static inline const char *format_star(const char *p, int *at, struct format *f)
{
    const char *q = format_digits(p, at);

    if (*q == '$' && q > p) {
        p = q + 1;
        *at -= 1;
    } else {
        *at = (int)f->n;
    }
    format_add(f, *at + 1, (struct format_argument){ FORMAT_INT, 0, -1, -1 });
    return p;
}

static inline const char *format_length(const char *p, char *length)
{
    *length = 0;
    switch (*p) {
    case 'h':
        *length = p[1] == 'h' ? 'H' : 'h';
        return p + (p[1] == 'h' ? 2 : 1);
    case 'l':
        *length = p[1] == 'l' ? 'L' : 'l';
        return p + (p[1] == 'l' ? 2 : 1);
    case 'q':
    case 'L':
        *length = 'L';
        return p + 1;
    case 'j':
    case 'z':
    case 'Z':
    case 't':
        *length = 'j';
        return p + 1;
    }
    return p;
}

static inline const char *conversion_parse(const char *p, struct conversion *c, struct format *f,
                                           bool scanning)
{
    const char *q;
    int v;

    *c = (struct conversion){ 0, false, false, -1, -1, -1, -1, 0, 0 };
    q = format_digits(p, &v);
    if (*q == '$' && v > 0) {
        c->position = v;
        p = q + 1;
    }
    if (scanning) {
        for (; *p == '*' || *p == '\'' || *p == 'I'; p++)
            c->suppressed |= *p == '*';
    } else {
        while (*p == '-' || *p == '+' || *p == ' ' || *p == '#' || *p == '0' || *p == '\'' ||
               *p == 'I')
            p++;
        if (*p == '*')
            p = format_star(p + 1, &c->width_at, f);
    }
    if (*p >= '0' && *p <= '9')
        p = format_digits(p, &c->width);
    if (!scanning && *p == '.') {
        if (p[1] == '*')
            p = format_star(p + 2, &c->precision_at, f);
        else
            p = format_digits(p + (p[1] == '-') + 1, &c->precision);
    }
    if (scanning && *p == 'm') {
        c->allocates = true;
        p++;
    }
    p = format_length(p, &c->length);
    c->letter = *p;
    return *p ? p + 1 : p;
}

/* Bytes of an integer of that length. */
static inline int format_integer_bytes(char length)
{
    return length == 'H' ? 1 : length == 'h' ? 2 : length ? 8 : 4;
}

#endif
