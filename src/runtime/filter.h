/* filter.h - the slow half of the filter: looking up, marking and forgetting bytes
 *
 * The fast half is inline in instrumented code; abi.h describes both. A block
 * whose tag is not the current one's is as good as empty: its words are cleared
 * (one cache line) when it is next marked.
 */
#ifndef HEDDLE_RUNTIME_FILTER_H
#define HEDDLE_RUNTIME_FILTER_H

#include "runtime/rt.h"

/* A cache line of `seen`: the words of one block. */
struct filter_line {
    uint64_t part[8];
};
_Static_assert(sizeof(struct filter_line) == (2 << FILTER_BLOCK_SHIFT) / 8, "a block's words");

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
           ((write ? f->seen[word].written : f->seen[word].read) & bits) == bits;
}

static inline void filter_clear_block(struct heddle_filter *f, uintptr_t address)
{
    uint64_t word = address >> 3 & FILTER_WORD_MASK & ~(UINT64_C(31));

    *(struct filter_line *)(void *)&f->seen[word] = (struct filter_line){ { 0 } };
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
    if (((write ? f->seen[word].written : f->seen[word].read) & bits) == bits)
        return true;
    f->seen[word].read |= (uint8_t)bits;
    if (write)
        f->seen[word].written |= (uint8_t)bits;
    return false;
}

/* Nothing is known of the word that holds the address. */
static inline void filter_forget(uintptr_t address)
{
    struct heddle_filter *f = __heddle_tls.filter;
    uint64_t word = address >> 3 & FILTER_WORD_MASK;

    f->seen[word].read = f->seen[word].written = 0;
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
