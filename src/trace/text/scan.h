/* scan.h - scanning text traces fast: bytes of a line, names, numbers
 *
 * A line of a text trace has about 18 bytes, and the whole reader has about
 * 40 ns for it. Two things make that possible: the delimiters of a line come
 * out of vector compares as bit masks (no loop whose end the processor must
 * guess), and a name of up to 16 bytes is two words, looked up in a
 * direct-mapped cache in front of its intern table.
 * All loads may touch INPUT_PADDING bytes behind the text (input.h).
 */
#ifndef HEDDLE_TRACE_TEXT_SCAN_H
#define HEDDLE_TRACE_TEXT_SCAN_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__) && !defined(HEDDLE_SCAN_PORTABLE)
#include <emmintrin.h>
#endif

#include "base/alloc.h"
#include "base/intern.h"
#include "trace/event.h"

/* Where the bytes of interest are among the next 64: bit i is byte i. */
struct scan {
    uint64_t bars;   /* '|' */
    uint64_t opens;  /* '(' */
    uint64_t equals; /* '=' */
    uint64_t stops;  /* blanks and control characters: 0-32 and 127 */
};

#if defined(__SSE2__) && !defined(HEDDLE_SCAN_PORTABLE)
static inline uint64_t scan_mask(__m128i v, char c)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c)));
}

static inline void scan_16(struct scan *s, const char *p, unsigned at)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + at));
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x20)), v);

    s->bars |= scan_mask(v, '|') << at;
    s->opens |= scan_mask(v, '(') << at;
    s->equals |= scan_mask(v, '=') << at;
    s->stops |= ((unsigned)_mm_movemask_epi8(low) | scan_mask(v, 0x7f)) << at;
}
#else
static inline void scan_16(struct scan *s, const char *p, unsigned at)
{
    for (unsigned i = at; i < at + 16; i++) {
        s->bars |= (uint64_t)(p[i] == '|') << i;
        s->opens |= (uint64_t)(p[i] == '(') << i;
        s->equals |= (uint64_t)(p[i] == '=') << i;
        s->stops |= (uint64_t)((unsigned char)p[i] <= 0x20 || p[i] == 0x7f) << i;
    }
}
#endif

/* Scan 32 bytes, and 32 more where no line ends in the first. */
static inline struct scan scan_line(const char *p)
{
    struct scan s = { 0, 0, 0, 0 };

    scan_16(&s, p, 0);
    scan_16(&s, p, 16);
    if (!s.stops) {
        scan_16(&s, p, 32);
        scan_16(&s, p, 48);
    }
    return s;
}

static inline uint64_t load_word(const char *p)
{
    uint64_t w;

    memcpy(&w, p, 8);
    return le64toh(w);
}

/* The names met lately and their numbers in an intern table. */
struct name_cache {
    struct name_entry {
        uint64_t a, b; /* the bytes: the first 8, the last 8 */
        uint32_t len;  /* 0: empty */
        uint32_t id;
    } *entries;
    unsigned bits;
    /* Numbers below this occurred since name_cache_init() or _clear(): on a second pass the
     * table already holds every name, and "known here" must mean the same as on the first. */
    uint32_t seen;
};

static inline void name_cache_init(struct name_cache *c, unsigned bits)
{
    c->entries = xcalloc((size_t)1 << bits, sizeof(*c->entries));
    c->bits = bits;
    c->seen = 0;
}

static inline void name_cache_release(struct name_cache *c)
{
    free(c->entries);
    c->entries = NULL;
}

static inline void name_cache_clear(struct name_cache *c)
{
    memset(c->entries, 0, sizeof(*c->entries) << c->bits);
    c->seen = 0;
}

/* Where a name of 1 to 16 bytes belongs, with its words filled in. */
static inline struct name_entry *name_cache_slot(const struct name_cache *c, const char *p,
                                                 size_t n, struct name_entry *key)
{
    uint64_t h;

    key->len = (uint32_t)n;
    if (n <= 8) {
        key->a = load_word(p) << (64 - 8 * n); /* little endian: the bytes of the name */
        key->b = 0;
    } else {
        key->a = load_word(p);
        key->b = load_word(p + n - 8);
    }
    h = (key->a ^ (key->b >> 29 | key->b << 35)) * 0x9e3779b97f4a7c15u;
    return &c->entries[h >> (64 - c->bits)];
}

static inline bool name_entry_is(const struct name_entry *e, const struct name_entry *key)
{
    return e->a == key->a && e->b == key->b && e->len == key->len;
}

static inline uint32_t name_number_slow(struct name_cache *c, struct intern *t, const char *p,
                                        size_t n)
{
    uint32_t id = intern_put(t, p, n);

    if (id >= c->seen)
        c->seen = id + 1;
    return id;
}

/* The number of a name in the table, added where it is new. n > 0. */
static inline uint32_t name_number(struct name_cache *c, struct intern *t, const char *p, size_t n)
{
    struct name_entry key, *e;

    if (n > 16)
        return name_number_slow(c, t, p, n);
    e = name_cache_slot(c, p, n, &key);
    if (__builtin_expect(!name_entry_is(e, &key), 0)) {
        key.id = name_number_slow(c, t, p, n);
        *e = key;
    }
    return e->id;
}

/* True where the name occurred in this pass. */
static inline bool name_is_known(const struct name_cache *c, const struct intern *t, const char *p,
                                 size_t n, uint32_t *id)
{
    *id = intern_find(t, p, n);
    return *id != INTERN_NONE && *id < c->seen;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* A canonical decimal number (no leading zeros) that fits 64 bits; the whole of [p, p + n). */
static inline bool scan_decimal(const char *p, size_t n, uint64_t *out)
{
    uint64_t v = 0;

    if (!n || n > 20 || (n > 1 && p[0] == '0'))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(p[i]) || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(p[i] - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

/* The same with a minus sign; negative numbers fit int64_t. "-0" is not canonical. */
static inline bool scan_integer(const char *p, size_t n, uint64_t *out, bool *negative)
{
    *negative = n && p[0] == '-';
    if (!scan_decimal(p + *negative, n - *negative, out))
        return false;
    if (*negative) {
        if (!*out || *out > (uint64_t)1 << 63)
            return false;
        *out = -*out;
    }
    return true;
}

/* Canonical "0x1f": lower case, no leading zeros, fits 64 bits; the whole of [p, p + n). */
static inline bool scan_hex(const char *p, size_t n, uint64_t *out)
{
    uint64_t v = 0;

    if (n < 3 || n > 18 || p[0] != '0' || p[1] != 'x' || (n > 3 && p[2] == '0'))
        return false;
    for (size_t i = 2; i < n; i++) {
        if (is_digit(p[i]))
            v = v << 4 | (uint64_t)(p[i] - '0');
        else if (p[i] >= 'a' && p[i] <= 'f')
            v = v << 4 | (uint64_t)(p[i] - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

/* Canonical "0x1f:4": an address and a size, below ADDRESS_LIMIT. */
static inline bool scan_range(const char *p, size_t n, uint64_t *address, uint64_t *size)
{
    const char *colon = n > 2 && p[0] == '0' && p[1] == 'x' ? memchr(p, ':', n) : NULL;

    return colon && scan_hex(p, (size_t)(colon - p), address) &&
           scan_decimal(colon + 1, (size_t)(p + n - colon - 1), size) && *address < ADDRESS_LIMIT &&
           *size && *size <= ADDRESS_LIMIT - *address;
}

/* free(0xHEX:0): nobody knows how large the block was. */
static inline bool scan_unsized(const char *p, size_t n, uint64_t *address)
{
    return n > 4 && p[0] == '0' && p[1] == 'x' && p[n - 2] == ':' && p[n - 1] == '0' &&
           scan_hex(p, n - 2, address) && *address < ADDRESS_LIMIT;
}

#endif
