/* live_words.h - who accessed which bytes last
 *
 * The state of happens-before detection by address. Most memory is used by one
 * thread at a time, and is handed on in order. So a block of 64 bytes has an owner, a
 * stamp of its last access, and the bytes that were touched and written: all of that was
 * done by the owner's thread, or happened before what it did last. As long as each next
 * access comes from the owner or is ordered after it, nothing more is needed.
 *
 * A block that two threads use without order becomes fine: from then on the last
 * accesses are kept for each piece of it (8 bytes, or 4 once it is accessed so): one write and one
 * read stamp where the piece is always accessed as a whole, else a list of stamps, each with the
 * bytes it is about. Kept are the accesses that no later one covers: an access covers an
 * earlier one of the same bytes if it is ordered after it, and conflicts with whatever the
 * earlier one conflicts with.
 *
 * What a block was before it became fine is known by its bytes and its last write alone. An
 * access that conflicts with these bytes, and is not ordered after the owner, races with the
 * last write if that is of its bytes and not ordered before it. Else it may or may not be a
 * race: such blocks are suspect, and another look at the trace tells.
 */
#ifndef HEDDLE_ENGINES_LIVE_LIVE_WORDS_H
#define HEDDLE_ENGINES_LIVE_LIVE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "engines/live/live_stacks.h"
#include "order/clock.h"

/* slot << 52 | time << 24 | context; 0: none, since no context is 0. */
typedef uint64_t live_stamp;
enum { LIVE_SLOTS = 1 << 12, LIVE_TIME_BITS = 28 };

static inline live_stamp live_stamp_make(uint32_t slot, uint32_t time, uint32_t context)
{
    return (uint64_t)slot << 52 | (uint64_t)time << CONTEXT_BITS | context;
}

static inline uint32_t live_stamp_slot(live_stamp s)
{
    return (uint32_t)(s >> 52);
}

static inline uint32_t live_stamp_time(live_stamp s)
{
    return (uint32_t)(s >> CONTEXT_BITS) & ((1u << LIVE_TIME_BITS) - 1);
}

static inline uint32_t live_stamp_context(live_stamp s)
{
    return (uint32_t)s & CONTEXTS_MAX;
}

/* What sort of access. */
enum { LIVE_WRITE = 1, LIVE_ATOMIC = 2 };

struct live_entry {
    uint32_t stamp[2]; /* halves of a live_stamp: 12 bytes an entry */
    uint8_t mask;      /* bytes of the piece; 0: the entry is free */
    uint8_t kind;
    uint16_t unused;
};

struct live_list {
    uint32_t count, cap;
    struct live_entry entries[];
};

struct live_piece {
    union {
        live_stamp write;
        struct live_list *list; /* of a piece whose mask is LIVE_LISTED */
    };
    live_stamp read;
};

enum {
    LIVE_PAGE_BITS = 12,
    LIVE_BLOCK_BITS = 6,
    LIVE_BLOCKS = 1 << (LIVE_PAGE_BITS - LIVE_BLOCK_BITS), /* of a page */
    LIVE_BLOCK = 1 << LIVE_BLOCK_BITS,
    LIVE_CACHE = 8192, /* pages, direct-mapped: 32 MiB of memory in reach without a hash */
    LIVE_LIST_MAX = 256
};
#define LIVE_LISTED 0xff00u /* as mask: there is a list */

struct live_fine {
    uint32_t shift;     /* log2 of the bytes of a piece: 3 or 2 */
    uint16_t masks[16]; /* of each piece: its bytes that are accessed together; 0: none were */
    struct live_piece pieces[];
};

struct live_block {
    live_stamp owner;          /* 0: none */
    uint64_t touched, written; /* bytes, a bit for each: by the owner, or before it */
    live_stamp writer;         /* the last write, */
    uint64_t last_written;     /* and its bytes */
    struct live_fine *fine;    /* NULL: the owner is all there is to know */
};

struct live_page {
    uint64_t number;
    struct live_block blocks[LIVE_BLOCKS];
};

/* An access under way. */
struct live_access {
    const struct clock *clock; /* what its thread knows */
    live_stamp stamp;
    unsigned kind;
    uint64_t block;   /* at which it is, its address; set where it may race */
    uint64_t address; /* of the first byte of the race */
};

struct live_words {
    struct map page_index; /* page number -> index + 1 */
    struct live_page **pages;
    size_t npages, pages_cap;
    struct live_page *cache[LIVE_CACHE];
    size_t bytes;     /* of all of it, roughly */
    uint64_t evicted; /* entries of lists that were too long */

    /* Called for each pair of accesses that race. */
    void (*race)(void *arg, live_stamp earlier, unsigned kind, const struct live_access *later);
    /* Called for each access that may race with what its block was before it became fine. */
    void (*suspect)(void *arg, uint64_t block); /* its address */
    void *arg;
};

void live_words_release(struct live_words *w); /* a zeroed struct is empty */
/* Forget all accesses. */
void live_words_clear(struct live_words *w);

void live_words_access(struct live_words *w, struct live_access *a, uint64_t address,
                       uint64_t size);
/* The address will be accessed soon. */
static inline void live_words_prefetch(const struct live_words *w, uint64_t address)
{
    uint64_t number = address >> LIVE_PAGE_BITS;
    const struct live_page *p = w->cache[number % LIVE_CACHE];

    if (p && p->number == number)
        __builtin_prefetch(&p->blocks[address >> LIVE_BLOCK_BITS & (LIVE_BLOCKS - 1)]);
}
/* A block is freed: a write to what was accessed of it. */
void live_words_free(struct live_words *w, struct live_access *a, uint64_t address, uint64_t size);
/* A block is new: nobody has accessed it. */
void live_words_forget(struct live_words *w, uint64_t address, uint64_t size);
/* Calls f() with stamps that everything which was done to these bytes was done at, or before in
 * order, but for what was evicted. */
void live_words_touchers(struct live_words *w, uint64_t address, uint64_t size,
                         void (*f)(void *arg, live_stamp stamp), void *arg);

#endif
