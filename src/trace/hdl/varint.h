/* varint.h - numbers of varying length in the small chunks of a .hdl file (names, processes) */
#ifndef HEDDLE_TRACE_HDL_VARINT_H
#define HEDDLE_TRACE_HDL_VARINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

static inline void add_varint(struct buf *b, uint64_t v)
{
    while (v >= 0x80) {
        buf_addch(b, (char)(v | 0x80));
        v >>= 7;
    }
    buf_addch(b, (char)v);
}

/* False: it does not end before `end`, or has more than 10 bytes. */
static inline bool take_varint(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
    *v = 0;
    for (unsigned shift = 0; shift < 64 && *p < end; shift += 7) {
        *v |= (uint64_t)(**p & 0x7f) << shift;
        if (*(*p)++ < 0x80)
            return true;
    }
    return false;
}

/* A length and so many bytes. */
static inline bool take_bytes(const uint8_t **p, const uint8_t *end, const uint8_t **bytes,
                              uint64_t *n)
{
    if (!take_varint(p, end, n) || *n > (uint64_t)(end - *p))
        return false;
    *bytes = *p;
    *p += *n;
    return true;
}

#endif
