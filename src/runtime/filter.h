/* filter.h - the slow half of the filter: looking up, marking and forgetting bytes
 *
 * The fast half is inline in instrumented code; abi.h describes both. A block
 * whose tag is not the current one's is as good as empty: its line is cleared when it
 * is next marked.
 */
#ifndef HEDDLE_RUNTIME_FILTER_H
#define HEDDLE_RUNTIME_FILTER_H

#include "runtime/rt.h"

static inline uint64_t filter_tag(uintptr_t address)
{
    return address >> FILTER_BLOCK_SHIFT ^ __heddle_tls.epoch;
}

static inline struct heddle_filter_line *filter_line(uintptr_t address)
{
    return &__heddle_tls.filter->lines[address >> FILTER_BLOCK_SHIFT & FILTER_LINE_MASK];
}

static inline unsigned filter_word(uintptr_t address)
{
    return address >> 3 & (FILTER_WORDS - 1);
}

/* Are these bytes of one word covered? `bits`: one per byte of the word. */
static inline bool filter_covers(uintptr_t address, unsigned bits, bool write)
{
    const struct heddle_filter_line *l = filter_line(address);
    unsigned word = filter_word(address);

    return l->tag == filter_tag(address) &&
           ((write ? l->written[word] : l->read[word]) & bits) == bits;
}

/* What a line knows of another block, or of an epoch that is over, is forgotten. */
static inline void filter_freshen(struct heddle_filter_line *l, uintptr_t address)
{
    if (unlikely(l->tag != filter_tag(address)))
        *l = (struct heddle_filter_line){ .tag = filter_tag(address) };
}

/* Mark them. True if they were covered before. */
static inline bool filter_mark(uintptr_t address, unsigned bits, bool write)
{
    struct heddle_filter_line *l = filter_line(address);
    unsigned word = filter_word(address);

    filter_freshen(l, address);
    if (((write ? l->written[word] : l->read[word]) & bits) == bits)
        return true;
    l->read[word] |= (uint8_t)bits;
    if (write)
        l->written[word] |= (uint8_t)bits;
    return false;
}

/* The words [from, to) of a block, all of their bytes: the same for many at once. */
static inline bool filter_mark_words(struct heddle_filter_line *l, unsigned from, unsigned to,
                                     bool write)
{
    unsigned __int128 mask = ~(unsigned __int128)0 >> (128 - 8 * (to - from)) << 8 * from, seen,
                      read;

    __builtin_memcpy(&read, l->read, sizeof(read));
    __builtin_memcpy(&seen, write ? l->written : l->read, sizeof(seen));
    if ((seen & mask) == mask)
        return true;
    read |= mask;
    __builtin_memcpy(l->read, &read, sizeof(read));
    if (write) {
        seen |= mask;
        __builtin_memcpy(l->written, &seen, sizeof(seen));
    }
    return false;
}

/* ---- aligned accesses of 4 bytes and more ---- */

static inline struct heddle_filter_units *filter_units(uintptr_t address)
{
    return &__heddle_tls.filter->units[address >> FILTER_BLOCK_SHIFT & FILTER_BLOCK_MASK];
}

/* The bits of `bytes` bytes, a multiple of 4 within the block. */
static inline uint32_t filter_unit_bits(uintptr_t address, unsigned bytes)
{
    return (uint32_t)(((UINT64_C(1) << bytes / 4) - 1) << (address >> 2 & 31));
}

/* Mark them. True if they were covered before. */
static inline bool filter_mark_units(uintptr_t address, uint32_t bits, bool write)
{
    struct heddle_filter_units *u = filter_units(address);

    if (unlikely(u->tag != filter_tag(address)))
        *u = (struct heddle_filter_units){ .tag = filter_tag(address) };
    if (((write ? u->written : u->read) & bits) == bits)
        return true;
    u->read |= bits;
    if (write)
        u->written |= bits;
    return false;
}

/* ---- forgetting ---- */

static inline void filter_forget_units(uintptr_t a, uint32_t bits)
{
    struct heddle_filter_units *u = filter_units(a);

    if (u->tag != filter_tag(a))
        return;
    u->read &= ~bits;
    u->written &= ~bits;
}

/* Nothing is known of the words that hold the bytes; lines that know nothing of them are only
 * looked at. */
static inline void filter_forget(uintptr_t a, uint64_t bytes)
{
    uintptr_t end = a + bytes, next;

    for (; a < end; a = next) {
        struct heddle_filter_line *l = filter_line(a);
        unsigned from = filter_word(a), to;

        next = (a | ((1u << FILTER_BLOCK_SHIFT) - 1)) + 1;
        to = end < next ? filter_word(end - 1) + 1 : FILTER_WORDS;
        filter_forget_units(a, filter_unit_bits(a & ~(uintptr_t)7, 8 * (to - from)));
        if (l->tag != filter_tag(a))
            continue;
        __builtin_memset(l->read + from, 0, to - from);
        __builtin_memset(l->written + from, 0, to - from);
    }
}

/* For accesses within one word; others are never covered here. */
static inline bool filter_hit(const void *p, unsigned bytes, bool write)
{
    uintptr_t a = (uintptr_t)p;

    return (a & 7) + bytes <= 8 && filter_covers(a, ((1u << bytes) - 1) << (a & 7), write);
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
