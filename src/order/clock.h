/* clock.h - what a thread or an object knows of every thread: vector clocks
 *
 * A clock maps slot -> time; absent entries are 0. A slot is a chain of
 * threads that follow each other (hb.h), usually one thread.
 *
 * Representation. The owner's own entry (slot, time) is in the struct, the
 * rest is a persistent radix tree with 16 children a node, leaves of 64
 * times, NULL for all zero. Trees are shared between clocks by reference
 * count and copied where they are changed while shared. Therefore:
 *   - a tick touches one word; a snapshot (what a release does) is O(1);
 *   - a join skips every subtree that both sides share, so its cost follows
 *     what is new, not the number of threads;
 *   - with up to 64 threads a tree is one leaf: a plain vector.
 * docs/design/clocks.md has the measurements against plain vectors, sparse
 * vectors and tree clocks that led here.
 *
 * Invariants: a thread ticks right after each snapshot, so a pair (slot,
 * time) names one snapshot: who knows it knows all that the snapshot holds.
 * clock_join() relies on this to skip known snapshots in O(1).
 * Ownership: a clock owns one reference to its tree; copy with clock_copy()
 * only. All clocks of one pool die with the pool.
 * Concurrency: none; a pool belongs to one engine instance.
 */
#ifndef HEDDLE_ORDER_CLOCK_H
#define HEDDLE_ORDER_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define SLOT_NONE UINT32_MAX

enum {
    LEAF_BITS = 6, /* 64 times a leaf, one for most programs: 256 bytes to copy when it changes.
                      (32: 15 % slower at 64 threads and more, no faster at 8.) */
    LEAF_SIZE = 1 << LEAF_BITS,
    FAN_BITS = 4,
    FAN = 1 << FAN_BITS
};

struct clock_node {
    uint32_t refs;
    uint32_t height; /* 0: leaf */
    union {
        uint32_t time[LEAF_SIZE];
        struct clock_node *child[FAN];
    };
};

struct clock {
    uint32_t slot; /* SLOT_NONE: a sum of several threads' clocks, no own entry */
    uint32_t time;
    struct clock_node *tree;
};

struct clock_pool {
    struct arena memory;
    struct clock_node *free_leaves, *free_inner; /* linked through child[0] */
    size_t bytes;                                /* of all nodes, free ones included */
};

void clock_pool_release(struct clock_pool *p); /* a zeroed struct is an empty pool */

#define CLOCK_EMPTY ((struct clock){ SLOT_NONE, 0, NULL })

/* The general case of clock_tree_get(). */
uint32_t clock_tall_get(const struct clock_node *n, uint32_t slot);

/* Time known of a slot other than the owner's. */
static inline uint32_t clock_tree_get(const struct clock_node *n, uint32_t slot)
{
    if (!n)
        return 0;
    if (__builtin_expect(!n->height, 1))
        return slot < LEAF_SIZE ? n->time[slot] : 0;
    return clock_tall_get(n, slot);
}

static inline bool clock_knows(const struct clock *c, uint32_t slot, uint32_t time)
{
    return (slot == c->slot ? c->time : clock_tree_get(c->tree, slot)) >= time;
}

void clock_clear(struct clock_pool *p, struct clock *c);

/* dst becomes equal to src (a snapshot). dst must be initialised. O(1). */
void clock_copy(struct clock_pool *p, struct clock *dst, const struct clock *src);

/* dst learns all that src knows; either may be a sum. True where it learned something. */
bool clock_join(struct clock_pool *p, struct clock *dst, const struct clock *src);

#endif
