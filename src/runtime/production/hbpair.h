/* hbpair.h - inside of litehb and fullhb: threads, clocks, objects, and the accesses that are kept
 *
 * For comparison with chase only, as in the paper: users want chase.
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
 * - Barriers and semaphores: who leaves knows all who came before, also of another round. (Which
 *   round an arrival belongs to cannot be told from outside where more threads than the barrier's
 *   count use it, and a wrong guess would be a false alarm.)
 *
 *     hbpair_mode.c          the two modes: what the runtime calls
 *     hbpair_sync.c     the program synchronises: edges
 *     hbpair_access.c   the program accesses the pair: keep it, look who is unordered, report
 *     hbpair_thread.c   the program's threads; litehb: whether anything is to be followed
 *     hbpair_clock.c, hbpair_cells.c, hbpair_stack.c   clocks, accesses and stacks that are kept
 *
 * Memory: fixed arrays of pages that are touched when used; nothing from malloc.
 * Locks: stripes of objects and of cells, one for threads, one for stacks; never two at a time, but
 * for the pool inside a stripe.
 */
#ifndef HEDDLE_RUNTIME_PRODUCTION_HBPAIR_H
#define HEDDLE_RUNTIME_PRODUCTION_HBPAIR_H

#include "runtime/production/chase_pair.h"

enum {
    HB_SLOTS = 1024,      /* threads at a time; slots of ended ones are used again */
    HB_BUCKETS = 1 << 16, /* of objects */
    HB_STRIPES = 256,
    HB_RECENT = 512 /* accesses that a thread remembers to have kept: 16 KB */
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

/* ---- threads (hbpair_thread.c) ---- */

/* An access that its thread made and kept in this epoch. */
struct hb_recent {
    uint64_t address;
    uint32_t bytes, site, epoch;
    uint32_t version; /* of the cells: it is there as long as none was forgotten since */
    bool write;
};

struct hb_thread {
    struct hb_clock clock;   /* [slot] is its own epoch */
    struct hb_clock fence;   /* as its last release fence left it; n 0: there was none */
    struct hb_clock relaxed; /* what its relaxed loads may have seen: for an acquire fence */
    uint32_t clock_at[HB_SLOTS], fence_at[HB_SLOTS], relaxed_at[HB_SLOTS];
    uint32_t slot;
    bool released;    /* since its last access of the pair: the next one has a new epoch */
    bool alive;       /* with the lock of threads */
    uint32_t phase;   /* of its last access */
    uint32_t past;    /* litehb: the s1's that it knows all of, as a version */
    uint64_t pending; /* an atomic it was about to read, 0: none */
    bool pending_acquires;
    struct hb_recent recent[HB_RECENT];
};

extern HIDDEN bool hb_lite;         /* the mode is litehb */
extern HIDDEN bool hb_broken;       /* memory ran out: nothing is reported any more */
extern HIDDEN uint32_t hb_tracking; /* synchronisation is followed; fullhb: always */

static inline bool hb_is_tracking(void)
{
    return __atomic_load_n(&hb_tracking, __ATOMIC_ACQUIRE);
}

static inline void hb_count(enum prod_hb_counter which)
{
    __atomic_fetch_add(&rt_control->counter[which], 1, __ATOMIC_RELAXED);
}

/* An edge could not be kept: from now on pairs may look unordered that are not. */
HIDDEN void hb_give_up(void);
/* The calling thread's state; NULL: it is not tracked. */
HIDDEN struct hb_thread *hb_own(void);
HIDDEN bool hb_threads_init(void);     /* also: one thread is left, and all that was is before it */
HIDDEN bool hb_threads_are_kept(void); /* false: there was no memory, and nothing happens */
HIDDEN void hb_thread_fork(uint32_t child);
HIDDEN void hb_thread_begin(uint32_t thread, uint64_t stack, uint64_t bytes);
HIDDEN void hb_thread_end(void);
HIDDEN void hb_thread_join(uint32_t child);

/* litehb: s1 is about to be executed; the thread did so; it has learned something. */
HIDDEN void hb_start_tracking(void);
/* No other thread exists: those that come are created after whatever the caller does. */
HIDDEN bool hb_is_alone(void);
HIDDEN void hb_note_s1(struct hb_thread *t);
HIDDEN void hb_look_if_over(struct hb_thread *t);
/* A new epoch, if one is due: before an access of the pair. */
HIDDEN void hb_new_epoch(struct hb_thread *t);
HIDDEN void hb_tracking_ends(void); /* with the program: what was not over yet is counted */

/* ---- synchronisation (hbpair_sync.c) ---- */

HIDDEN void hb_release(struct hb_thread *t, enum hb_kind kind, uint64_t object);
HIDDEN void hb_learn(struct hb_thread *t, enum hb_kind kind, uint64_t object);
/* The atomic load that was announced has been done by now. */
HIDDEN void hb_settle(struct hb_thread *t);
HIDDEN void hb_flush_counts(void);      /* to the control file */
HIDDEN void hb_forget_early_load(void); /* of a thread that begins */
HIDDEN void hb_synchronised(enum op op, uint64_t object);
HIDDEN void hb_atomic(const struct prod_hit *h);

/* ---- accesses of the pair (hbpair_access.c) ---- */

HIDDEN void hb_accessed(const struct prod_hit *h, const struct pair_role *role);
HIDDEN void hb_flush_hits(void);
HIDDEN void hb_access_forked(void);

/* ---- accesses that are kept (hbpair_cells.c) ---- */

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

/* How often kept accesses were forgotten. */
extern HIDDEN uint32_t hb_cells_version;
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

/* ---- call stacks, each kept once (hbpair_stack.c) ---- */

/* The number of the stack of a hit, by the calling thread; 0: no room. */
HIDDEN uint32_t hb_stack_of(const struct prod_hit *h);
HIDDEN uint32_t hb_stack_get(uint32_t stack, uint64_t *frames, uint32_t room);
HIDDEN bool hb_stacks_init(void); /* those that are there stay */

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
