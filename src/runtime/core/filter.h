/* filter.h - the slow half of the filter: looking up, marking and forgetting bytes
 *
 * The fast half is inline in instrumented code; abi.h describes both. A block
 * whose tag is not the current one's is as good as empty: its line is cleared when it
 * is next marked.
 */
#ifndef HEDDLE_RUNTIME_CORE_FILTER_H
#define HEDDLE_RUNTIME_CORE_FILTER_H

#include "runtime/core/rt.h"

static inline uint64_t filter_tag(uintptr_t address)
{
    return address >> FILTER_BLOCK_SHIFT ^ __heddle_tls.epoch;
}

static inline struct heddle_filter_line *filter_line(uintptr_t address)
{
    uint64_t at = address >> (FILTER_BLOCK_SHIFT - FILTER_LINES_SHIFT) & __heddle_tls.line_mask;

    return (struct heddle_filter_line *)((char *)__heddle_tls.filter->lines + at);
}

/* ---- how large the tables are ----
 *
 * A table that is too small forgets what will be asked again; one that is larger than needed takes
 * memory and the cache. So of the blocks that another one pushes out within an epoch every 64th,
 * by a hash of its address, is noted; when many of those come back in a short time, the table is
 * doubled. What goes through memory once never comes back, however large it is.
 */

/* The block of tag `old` makes room for that of `now`. They keep all registers: who calls them does
 * so now and then. */
#ifdef __clang__
#define PUSHES_OUT HIDDEN __attribute__((preserve_most))
#else
#define PUSHES_OUT HIDDEN /* in tests */
#endif
PUSHES_OUT void filter_push_out_units(uint64_t old, uint64_t now);
PUSHES_OUT void filter_push_out_lines(uint64_t old, uint64_t now);

/* Called when a table has been doubled, to `bytes`. thread.c: one of 2 MiB and more is entered all
 * over, and comes to stand in huge pages. */
HIDDEN void filter_has_grown(void *table, size_t bytes);

/* What is known of an epoch that is over is nothing to lose. */
static inline bool filter_is_current(uint64_t tag)
{
    return !((tag ^ __heddle_tls.epoch) >> FILTER_EPOCH_SHIFT);
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
    uint64_t tag = filter_tag(address), old = l->tag;

    if (likely(old == tag))
        return;
    *l = (struct heddle_filter_line){ .tag = tag };
    if (filter_is_current(old))
        filter_push_out_lines(old, tag);
}

/* Mark them, and those of the next word if there are more than 8; true if they were covered
 * before. All are in one block. Two bytes of which one has just been stored are slow to load, so
 * that is done only where both are needed. */
static inline bool filter_mark(uintptr_t address, unsigned bits, bool write)
{
    struct heddle_filter_line *l = filter_line(address);
    uint8_t *at_read = l->read + filter_word(address),
            *at_written = l->written + filter_word(address);
    uint16_t read, written;

    filter_freshen(l, address);
    if (likely(bits < 256)) {
        if (((write ? *at_written : *at_read) & bits) == bits)
            return true;
        *at_read |= (uint8_t)bits;
        if (write)
            *at_written |= (uint8_t)bits;
        return false;
    }
    __builtin_memcpy(&read, at_read, sizeof(read));
    __builtin_memcpy(&written, at_written, sizeof(written));
    if (((write ? written : read) & bits) == bits)
        return true;
    read |= (uint16_t)bits;
    __builtin_memcpy(at_read, &read, sizeof(read));
    if (write) {
        written |= (uint16_t)bits;
        __builtin_memcpy(at_written, &written, sizeof(written));
    }
    return false;
}

/* ---- aligned accesses of 4 bytes and more ---- */

static inline struct heddle_filter_units *filter_units(uintptr_t address)
{
    uint64_t at = address >> (FILTER_BLOCK_SHIFT - FILTER_UNITS_SHIFT) & __heddle_tls.unit_mask;

    return (struct heddle_filter_units *)((char *)__heddle_tls.filter->units + at);
}

/* The bits of `bytes` bytes, a multiple of 4 within the block. */
static inline uint32_t filter_unit_bits(uintptr_t address, unsigned bytes)
{
    return (uint32_t)(((UINT64_C(1) << bytes / 4) - 1) << (address >> 2 & 31));
}

static inline void filter_freshen_units(struct heddle_filter_units *u, uintptr_t address)
{
    uint64_t tag = filter_tag(address), old = u->tag;

    if (likely(old == tag))
        return;
    *u = (struct heddle_filter_units){ .tag = tag };
    if (filter_is_current(old))
        filter_push_out_units(old, tag);
}

/* Mark them. True if they were covered before. */
static inline bool filter_mark_units(uintptr_t address, uint32_t bits, bool write)
{
    struct heddle_filter_units *u = filter_units(address);

    filter_freshen_units(u, address);
    if (((write ? u->written : u->read) & bits) == bits)
        return true;
    u->read |= bits;
    if (write)
        u->written |= bits;
    return false;
}

/* ---- ranges ---- */

static inline uintptr_t filter_block_end(uintptr_t a, uintptr_t end)
{
    uintptr_t next = (a | ((1u << FILTER_BLOCK_SHIFT) - 1)) + 1;

    return next < end ? next : end;
}

/* Are all these units covered? The address and the number are multiples of 4. */
static inline bool filter_covers_units(uintptr_t a, uint64_t bytes, bool write)
{
    for (uintptr_t end = a + bytes, next; a < end; a = next) {
        const struct heddle_filter_units *u = filter_units(a);
        uint32_t bits;

        next = filter_block_end(a, end);
        bits = filter_unit_bits(a, (unsigned)(next - a));
        if (u->tag != filter_tag(a) || ((write ? u->written : u->read) & bits) != bits)
            return false;
    }
    return true;
}

/* A bit for each byte of the block. */
static inline unsigned __int128 filter_byte_bits(uintptr_t a, unsigned bytes)
{
    return ~(unsigned __int128)0 >> (128 - bytes) << (a & ((1u << FILTER_BLOCK_SHIFT) - 1));
}

/* Are all these bytes covered? */
static inline bool filter_covers_bytes(uintptr_t a, uint64_t bytes, bool write)
{
    for (uintptr_t end = a + bytes, next; a < end; a = next) {
        const struct heddle_filter_line *l = filter_line(a);
        unsigned __int128 mask, seen;

        next = filter_block_end(a, end);
        mask = filter_byte_bits(a, (unsigned)(next - a));
        __builtin_memcpy(&seen, write ? l->written : l->read, sizeof(seen));
        if (l->tag != filter_tag(a) || (seen & mask) != mask)
            return false;
    }
    return true;
}

/* Bytes of one block, in the table of bytes. True if they were covered before. */
static inline bool filter_mark_bytes(uintptr_t a, unsigned bytes, bool write)
{
    struct heddle_filter_line *l = filter_line(a);
    unsigned __int128 mask = filter_byte_bits(a, bytes), seen, read;

    filter_freshen(l, a);
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

/* The same in both tables. */
static inline bool filter_mark_block(uintptr_t a, unsigned bytes, bool write)
{
    unsigned at = a & ((1u << FILTER_BLOCK_SHIFT) - 1), unit = (at + 3) / 4, end = (at + bytes) / 4;

    if (unit < end)
        filter_mark_units(a, (uint32_t)(((UINT64_C(1) << (end - unit)) - 1) << unit), write);
    return filter_mark_bytes(a, bytes, write);
}

/* ---- loose accesses (docs/design/marks.md) ---- */

/* What is known of some bytes. A byte is in both tables, in one of them or in none. */
struct filter_known {
    bool all, written; /* each was accessed; each was written */
    bool some_read;    /* what one holds was read, or written, by an access that is not loose */
};

/* Bytes [a, end) of one word: their units, as bits. */
static inline uint32_t filter_units_around(uintptr_t a, uintptr_t end)
{
    unsigned from = a >> 2 & 31, to = (end - 1) >> 2 & 31;

    return (uint32_t)((UINT64_C(2) << to) - (UINT64_C(1) << from));
}

static inline struct filter_known filter_look(uintptr_t a, unsigned bytes)
{
    struct filter_known known = { true, true, false };

    for (uintptr_t end = a + bytes, next; a < end; a = next) {
        const struct heddle_filter_line *l = filter_line(a);
        const struct heddle_filter_units *u = filter_units(a);
        bool line = l->tag == filter_tag(a), unit = u->tag == filter_tag(a);
        uint32_t around;
        unsigned bits, read, written;

        next = (a | 7) + 1 < end ? (a | 7) + 1 : end;
        bits = ((1u << (next - a)) - 1) << (a & 7);
        around = filter_units_around(a, next);
        read = line ? l->read[filter_word(a)] & bits : 0;
        written = line ? l->written[filter_word(a)] & bits : 0;
        known.some_read |= read || (unit && u->read & around);
        if (unit && (u->written & around) == around)
            written = bits;
        if (unit && (u->read & around) == around)
            read = bits;
        known.written &= written == bits;
        known.all &= (read | written) == bits;
    }
    return known;
}

/* A loose write: what was read of these bytes, or written, may not be what they hold. */
static inline void filter_mark_loose(uintptr_t a, unsigned bytes)
{
    for (uintptr_t end = a + bytes, next; a < end; a = next) {
        struct heddle_filter_line *l = filter_line(a);
        struct heddle_filter_units *u = filter_units(a);
        unsigned bits;

        next = (a | 7) + 1 < end ? (a | 7) + 1 : end;
        bits = ((1u << (next - a)) - 1) << (a & 7);
        filter_freshen(l, a);
        l->read[filter_word(a)] &= (uint8_t)~bits;
        l->written[filter_word(a)] |= (uint8_t)bits;
        if (u->tag == filter_tag(a))
            u->read &= ~filter_units_around(a, next);
    }
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
