/* filter.h - the slow half of the filter: looking up and marking bytes
 *
 * The fast half is inline in instrumented code (abi.h); this is the same
 * formula for callers inside the runtime. An entry covers one aligned word of 8
 * bytes: tag (address and epoch), bits 8-15 bytes written, bits 0-7 bytes read
 * or written.
 */
#ifndef HEDDLE_RUNTIME_FILTER_H
#define HEDDLE_RUNTIME_FILTER_H

#include "runtime/rt.h"

static inline uint64_t *filter_entry(uintptr_t address)
{
    return &__heddle_tls.filter[address >> 3 & FILTER_MASK];
}

static inline uint64_t filter_key(uintptr_t address)
{
    return (uint64_t)(address >> (3 + FILTER_BITS)) << FILTER_TAG_SHIFT | __heddle_tls.epoch;
}

/* Are these bytes of one word covered? `bits`: bytes of the word, for a write shifted by 8. */
static inline bool filter_covers(uintptr_t address, uint64_t bits)
{
    return ((*filter_entry(address) ^ filter_key(address) ^ bits) & (FILTER_TAG | bits)) == 0;
}

/* Mark them. True if they were covered before. */
static inline bool filter_mark(uintptr_t address, uint64_t bits, bool write)
{
    uint64_t *e = filter_entry(address), key = filter_key(address);

    if ((*e ^ key) & FILTER_TAG)
        *e = key;
    if (write)
        bits |= bits << 8;
    if ((*e & bits) == bits)
        return true;
    *e |= bits;
    return false;
}

/* For accesses within one word; others are never covered here. */
static inline bool filter_hit(const void *p, unsigned bytes, bool write)
{
    uintptr_t a = (uintptr_t)p;
    uint64_t bits = (((uint64_t)1 << bytes) - 1) << (a & 7);

    return (a & 7) + bytes <= 8 && filter_covers(a, write ? bits << 8 : bits);
}
static inline bool filter_hit_read(const void *p, unsigned bytes)
{
    return filter_hit(p, bytes, false);
}
static inline bool filter_hit_write(const void *p, unsigned bytes)
{
    return filter_hit(p, bytes, true);
}

#endif
