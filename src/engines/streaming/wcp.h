/* wcp.h - inside of the wcp engine: threads with two clocks, locks, variables
 *
 * H is happens-before, P is "weakly causally precedes": P of a thread holds
 * what is before its next event in WCP. Every P is a sum of H snapshots, so
 * what a P knows of a snapshot (slot, time) it knows wholly (clock.h). A
 * thread ticks after every snapshot of its H.
 *
 * P has no own entry in the struct: that a thread's own earlier event is in
 * its P means that a chain of WCP leads through another thread back to it,
 * which is more than program order.
 *
 * Slots are handed over as in hb.h, but the creator has to know the end of the
 * old thread in P: H would let two threads share an entry that only a lock
 * puts in order.
 *
 * Files: wcp.c steps and threads, wcp_edges.c hard edges, wcp_locks.c
 * sections and the rules (a') and (b'), wcp_queue.c the queues of rule (b'),
 * wcp_pairs.c the comparison of accesses.
 */
#ifndef HEDDLE_ENGINES_STREAMING_WCP_H
#define HEDDLE_ENGINES_STREAMING_WCP_H

#include "base/map.h"
#include "engines/engine.h"
#include "order/clock.h"
#include "order/tokens.h"

/* What an access does, or what a section did with a variable. */
enum { WCP_READ = 1, WCP_WRITE = 2, WCP_ATOMIC = 4, WCP_SHARED = 8 };

/* ---- hard edges ---- */

/* Where edges come from: the latest snapshot of each slot. */
struct wcp_source {
    struct clock h;
    uint32_t thread;
};
struct wcp_sources {
    struct wcp_source *list;
    size_t count, cap;
};

/* ---- rule (a'): what the sections on a lock did with a variable ---- */

/* Sections of one slot that are over: the H of the last one's release. */
struct wcp_past {
    struct clock h;
    uint32_t what; /* of all of them: WCP_READ | WCP_WRITE, WCP_SHARED */
};

/* A lock and a variable that was accessed under it. */
struct wcp_guard {
    uint32_t lock;
    uint32_t next;       /* guard of the same variable, 0 none; in a row of free ones likewise */
    uint32_t generation; /* another one when the guard is used again */
    uint32_t serial;     /* the open section that touched it last */
    uint32_t place;      /* in that section's list */
    uint32_t count, cap;
    struct wcp_past *past;
};

struct wcp_touch {
    uint32_t guard, generation;
    uint32_t what;
};

/* A section that is open. */
struct wcp_section {
    uint32_t lock;
    bool shared;
    uint32_t time;   /* of the acquire */
    uint32_t serial; /* numbers sections */
    struct wcp_touch *touched;
    size_t count, cap;
};

/* ---- rule (b'): sections that are over, by lock and slot, oldest first ---- */

struct wcp_closed {
    uint32_t from;    /* who knows this time knows the acquire, or that of one left out before it */
    uint32_t acquire; /* time */
    struct clock h;   /* of the release */
};

struct wcp_queue {
    uint32_t slot;
    bool shared;
    struct wcp_closed *list;
    size_t first, count, cap; /* list[first .. count - 1] */
};

struct wcp_lock {
    struct clock h, p;               /* of the last exclusive release */
    struct clock shared_h, shared_p; /* sums of the shared ones since */
    uint32_t owner;                  /* thread + 1, 0 nobody */
    bool disturbed;                  /* handed over by somebody else since the last acquire */
    uint32_t *readers;               /* threads */
    size_t nreaders, readers_cap;
    struct wcp_queue *queues;
    size_t nqueues, queues_cap;
};

/* A synchronisation object: a lock or something with hard edges. */
struct wcp_object {
    struct wcp_lock *lock;
    struct wcp_sources sources; /* annotation, once */
    struct wcp_barrier *barrier;
};

/* ---- variables ---- */

struct wcp_access {
    uint64_t position;
    struct clock h; /* at the access; with options.all only slot and time */
    uint32_t site;
    uint32_t what;
};

/* Accesses to a variable that later ones are compared with. */
enum { WCP_FEW = 2 }; /* mostly a write and a read */
struct wcp_set {
    uint32_t count, cap; /* cap 0: they are in `few` */
    union {
        struct wcp_access few[WCP_FEW];
        struct wcp_access *many;
    };
};

struct wcp_variable {
    struct wcp_set last;
    struct wcp_all *all; /* options.all: in place of `last` */
    uint32_t guards;     /* first in a row, 0 none */
    uint32_t nguards;    /* above GUARDS_IN_ROW they are found by `guard_key` */
    uint32_t guard_key;
    uint32_t atomic; /* index into atomics, 0 none */
};

/* A block of memory; freed: the write that variables which come to light later start with. */
struct wcp_block {
    struct wcp_variable variable;
    bool freed;
};

struct wcp_thread {
    struct clock h; /* slot == SLOT_NONE: has none; the tree is what it knew at its join */
    struct clock p;
    struct clock fence;   /* H of the last release fence */
    struct clock pending; /* what relaxed loads have read, for an acquire fence */
    uint64_t steps;       /* of this thread; who is idle is told by it */
    uint64_t steps_then;  /* as of the last look */
    bool over;            /* ended or joined */
    struct wcp_section *open;
    size_t nopen, open_cap;
};

struct wcp {
    struct engine_result *result;
    bool all;
    struct clock_pool pool;

    struct wcp_thread *threads;
    size_t threads_cap, nthreads;
    uint32_t nslots;
    struct wcp_free_slot {
        uint32_t slot, time;
    } *free_slots;
    size_t nfree, free_cap;

    struct wcp_object *objects;
    size_t objects_cap;
    struct tokens posts;  /* of semaphores, that are left, */
    struct clock *posted; /* and what they know, by token */
    size_t posted_cap;
    struct wcp_variable *vars;
    size_t vars_cap;
    struct wcp_block *blocks;
    size_t blocks_cap;

    struct wcp_atomic *atomics; /* [0] unused */
    size_t natomics, atomics_cap;
    uint32_t *free_atomics;
    size_t nfree_atomics, free_atomics_cap;

    struct wcp_guard *guards; /* [0] unused */
    size_t nguards, guards_cap;
    uint32_t free_guard; /* first in a row */
    uint32_t guard_keys; /* handed out */
    struct map guard_index;
    uint32_t serials; /* of sections */

    size_t queued, prune_at, queue_budget; /* entries of all queues */
    uint32_t *floor;                       /* scratch of the queues */
    size_t floor_cap;
    struct wcp_access *unordered; /* scratch of one comparison */
    size_t nunordered, unordered_cap;
    uint64_t accesses, comparisons, queued_most, approximated;
};

struct wcp *wcp_new(struct engine_result *result, const struct engine_options *options);
void wcp_steps(void *state, const struct span *span);
void wcp_finish(void *state);
void wcp_free(void *state);

/* ---- wcp.c ---- */
void wcp_start_thread(struct wcp *w, uint32_t thread, const struct clock *creator);
static inline struct wcp_thread *wcp_thread(struct wcp *w, uint32_t thread)
{
    struct wcp_thread *t = &w->threads[thread];

    if (__builtin_expect(t->h.slot == SLOT_NONE, 0))
        wcp_start_thread(w, thread, NULL);
    return t;
}

/* Is the access at (slot, time) before the thread's next event, by program order or WCP? */
static inline bool wcp_knows(const struct wcp_thread *t, uint32_t slot, uint32_t time)
{
    return slot == t->h.slot || clock_tree_get(t->p.tree, slot) >= time;
}

/* A hard edge from a snapshot, or from a sum of some, to the thread's next event. */
void wcp_learn(struct wcp *w, struct wcp_thread *t, const struct clock *h);

/* ---- wcp_edges.c ---- */
/* Steps that are no plain accesses, locks, forks and joins. An atomic access learns before it is
 * compared and publishes after; the latter returns true where the thread has to tick. */
void wcp_sync(struct wcp *w, const struct step *s);
void wcp_atomic_before(struct wcp *w, const struct step *s);
bool wcp_atomic_after(struct wcp *w, const struct step *s);
void wcp_plain_write(struct wcp *w, struct wcp_variable *v);
void wcp_atomic_forget(struct wcp *w, struct wcp_variable *v);
void wcp_atomic_copy(struct wcp *w, struct wcp_variable *to, const struct wcp_variable *from);
void wcp_edges_free(struct wcp *w);

/* ---- wcp_locks.c ---- */
void wcp_lock_step(struct wcp *w, const struct step *s);
/* The thread ends or was joined: its sections end. */
void wcp_close_all(struct wcp *w, uint32_t thread);
/* An access inside sections: rule (a'). */
void wcp_touch_slow(struct wcp *w, struct wcp_thread *t, struct wcp_variable *v, unsigned what);
static inline void wcp_touch(struct wcp *w, struct wcp_thread *t, struct wcp_variable *v,
                             unsigned what)
{
    if (t->nopen)
        wcp_touch_slow(w, t, v, what);
}
void wcp_guards_forget(struct wcp *w, struct wcp_variable *v);
void wcp_guards_copy(struct wcp *w, struct wcp_variable *to, const struct wcp_variable *from);
void wcp_locks_free(struct wcp *w);

/* ---- wcp_queue.c ---- */
/* Rule (b'): a section on the lock ends. */
void wcp_queue_apply(struct wcp *w, struct wcp_thread *t, struct wcp_lock *l, bool shared);
void wcp_queue_add(struct wcp *w, const struct wcp_thread *t, struct wcp_lock *l,
                   const struct wcp_section *s);
void wcp_queues_free(struct wcp_lock *l);

/* ---- wcp_pairs.c ---- */
void wcp_compare(struct wcp *w, struct wcp_thread *t, const struct wcp_variable *v,
                 const struct step *s, unsigned what);
/* Report what wcp_compare() has found for the event. */
void wcp_report(struct wcp *w, struct wcp_thread *t, const struct step *s);
void wcp_record(struct wcp *w, const struct wcp_thread *t, struct wcp_variable *v,
                const struct step *s, unsigned what);
void wcp_set_forget(struct wcp *w, struct wcp_variable *v);
void wcp_set_copy(struct wcp *w, struct wcp_variable *to, const struct wcp_variable *from);

#endif
