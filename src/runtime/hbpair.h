/* hbpair.h - inside of litehb and fullhb: clocks, objects, and the accesses that are kept
 *
 * Happens-before for one pair of sites (RaceMob's analysis, as the paper behind chase compares with
 * it). Every thread has a slot and a vector clock; an entry counts the thread's epochs, of which a
 * new one begins with the first access of the pair after a release. Synchronisation objects hold
 * the clocks that were released into them. An access is kept with its thread's epoch until it is
 * replaced by a later one of the same thread and site; another thread's access races with it where
 * that thread's clock does not know the epoch.
 *
 * Errors on one side only: where an edge cannot be exact (below) it is there rather than not, and
 * where memory runs out reporting stops. So no pair is reported that synchronisation orders; some
 * race may be missed, and is then counted as such.
 * - Atomics: the runtime is told right before the operation. A release is added to what the object
 *   holds (never replaced); an acquire is done when the thread next comes here, so it finds every
 *   release whose value it may have read.
 * - Barriers and semaphores: who leaves knows all who came before, also of another round.
 *
 * Memory: fixed arrays of pages that are touched when used; nothing from malloc.
 * Locks: stripes of objects and of cells, one for threads; never two at a time.
 */
#ifndef HEDDLE_RUNTIME_HBPAIR_H
#define HEDDLE_RUNTIME_HBPAIR_H

#include "runtime/chase_pair.h"

enum {
    HB_SLOTS = 1024,      /* threads at a time; slots of ended ones are used again */
    HB_BUCKETS = 1 << 16, /* of objects, and of cells: two million of each stay fast */
    HB_STRIPES = 256
};

/* ---- clocks (hbpair_clock.c) ---- */

struct hb_clock {
    uint32_t n;    /* entries behind it are 0 */
    uint32_t room; /* of an object's: entries there are */
    uint32_t *at;  /* owned: HB_SLOTS of a thread's, as many as needed of an object's */
};

static inline uint32_t hb_clock_get(const struct hb_clock *c, uint32_t slot)
{
    return slot < c->n ? c->at[slot] : 0;
}
/* to := max(to, from); true if that changed it. There is room in `to`. */
HIDDEN bool hb_clock_learn(struct hb_clock *to, const struct hb_clock *from);

enum hb_kind {
    HB_LOCK,
    HB_READERS,
    HB_COND,
    HB_BARRIER,
    HB_SEM,
    HB_ONCE,
    HB_NOTE,
    HB_ATOMIC,
    HB_FORK,
    HB_END
};
/* The clock of an object: learn what it holds (true: something new), add to it (false: no memory),
 * forget it. What the holder of a lock adds has what was there in it. */
HIDDEN bool hb_object_learn(enum hb_kind kind, uint64_t object, struct hb_clock *to);
HIDDEN bool hb_object_add(enum hb_kind kind, uint64_t object, const struct hb_clock *from);
HIDDEN void hb_object_drop(enum hb_kind kind, uint64_t object);
HIDDEN bool hb_objects_init(void); /* also empties them; nobody may use them meanwhile */

/* ---- accesses (hbpair_cells.c) ---- */

struct hb_access {
    struct chase_span {
        uint64_t address;
        uint32_t bytes;
        bool write, atomic;
    } span;
    uint8_t op;
    struct pair_role role;
    uint32_t site;
    uint32_t slot, epoch;
    uint32_t thread, tid;
    uint32_t stack; /* number, 0: only the pc */
    uint64_t pc;
};

/* Is such an access of this epoch kept already? Then one more says nothing new. */
HIDDEN bool hb_cells_has(const struct hb_access *a);
/* Keep an access. */
HIDDEN void hb_cells_keep(const struct hb_access *a);
/* Call f for each kept access of another slot that touches bytes of this one. */
HIDDEN void hb_cells_meet(const struct hb_access *a,
                          void (*f)(const struct hb_access *kept, void *arg), void *arg);
/* The memory is another thing from now on. */
HIDDEN void hb_cells_forget(uint64_t address, uint64_t bytes);
HIDDEN bool hb_cells_init(void); /* also empties them */

/* Call stacks, each kept once. */
HIDDEN uint32_t hb_stack_put(const uint64_t *frames, uint32_t n);
HIDDEN uint32_t hb_stack_get(uint32_t stack, uint64_t *frames, uint32_t room);

/* Pages of zeroes, touched when used; NULL: none. */
HIDDEN void *hb_pages(size_t bytes);
HIDDEN void hb_pages_clear(void *at, size_t bytes);

static inline uint64_t hb_hash(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

#endif
