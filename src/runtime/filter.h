/* filter.h - the slow half of the filter: looking up, marking and forgetting bytes
 *
 * The fast half is inline in instrumented code; abi.h describes both. A block
 * whose tag is not the current one's is as good as empty: its words are cleared
 * (twice 32 bytes) when it is next marked.
 */
#ifndef HEDDLE_RUNTIME_FILTER_H
#define HEDDLE_RUNTIME_FILTER_H

#include "runtime/rt.h"

static inline uint64_t filter_tag(uintptr_t address)
{
    return address >> FILTER_BLOCK_SHIFT ^ __heddle_tls.epoch;
}

/* Are these bytes of one word covered? `bits`: one per byte of the word. */
static inline bool filter_covers(uintptr_t address, unsigned bits, bool write)
{
    const struct heddle_filter *f = __heddle_tls.filter;
    uint64_t word = address >> 3 & FILTER_WORD_MASK;

    return f->tags[address >> FILTER_BLOCK_SHIFT & FILTER_BLOCK_MASK] == filter_tag(address) &&
           ((write ? f->written[word] : f->read[word]) & bits) == bits;
}

static inline void filter_clear_block(struct heddle_filter *f, uintptr_t address)
{
    enum { WORDS = (1 << FILTER_BLOCK_SHIFT) / 8 };
    uint64_t word = address >> 3 & FILTER_WORD_MASK & ~(uint64_t)(WORDS - 1);

    __builtin_memset(&f->read[word], 0, WORDS);
    __builtin_memset(&f->written[word], 0, WORDS);
}

/* Mark them. True if they were covered before. */
static inline bool filter_mark(uintptr_t address, unsigned bits, bool write)
{
    struct heddle_filter *f = __heddle_tls.filter;
    uint64_t *tag = &f->tags[address >> FILTER_BLOCK_SHIFT & FILTER_BLOCK_MASK],
             word = address >> 3 & FILTER_WORD_MASK;

    if (unlikely(*tag != filter_tag(address))) {
        *tag = filter_tag(address);
        filter_clear_block(f, address);
    }
    if (((write ? f->written[word] : f->read[word]) & bits) == bits)
        return true;
    f->read[word] |= (uint8_t)bits;
    if (write)
        f->written[word] |= (uint8_t)bits;
    return false;
}

/* Nothing is known of the word that holds the address. */
static inline void filter_forget(uintptr_t address)
{
    struct heddle_filter *f = __heddle_tls.filter;
    uint64_t word = address >> 3 & FILTER_WORD_MASK;

    f->read[word] = f->written[word] = 0;
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
