/* state.h - what the runtime knows: the process, its threads, and how records are appended
 *
 * Only the core includes this; interposers see rt.h.
 *
 * A thread's records go to its current chunk. `room()` makes sure that a
 * record fits, then words are written and `commit()` moves the cursor, which is
 * in shared memory: whatever happens to the process, a record is there as a
 * whole or not at all.
 *
 * Locks: start_lock (start.c) protects starting and the list of modules; a
 * stripe's lock bit protects one atomic operation. Neither is held while a
 * thread waits for chunks, and no other lock is taken while one is held.
 */
#ifndef HEDDLE_RUNTIME_CORE_STATE_H
#define HEDDLE_RUNTIME_CORE_STATE_H

#include "runtime/core/rt.h"

#include <sched.h>
#include <x86intrin.h>

enum rt_phase {
    MODE_EARLY,   /* the constructor did not run yet */
    MODE_OFF,     /* not recording, for good */
    MODE_RESTART, /* a forked child that has not recorded yet */
    MODE_ON
};

enum {
    LOADS_FIRST = 64,     /* atomic loads remembered by a thread, direct-mapped: at first, */
    LOADS_MOST = 1 << 14, /* and at most */
    STAMP_EVERY = 16,     /* accesses between stamps: 0.6 ns each instead of 10 */
    RUN_CACHE = 64,
    HANDLERS_A_CHUNK = 32,
    ANNOTATED_MAX = 5,
    CALLEES = 64, /* functions of untraced code, direct-mapped */
    SUSPECTS = 128,
    OPEN_CALLS = 8,          /* inside each other; what deeper ones call back is part of them */
    QUIET = 256,             /* blocks in which stores need not be noted, direct-mapped */
    RUN_BYTES_MAX = 1 << 16, /* a run is one event: longer ones would blur the order too much */
    STEP_BYTES = 128,        /* accesses of one record are at most so far from each other */
    RECORD_WORDS = 32        /* no record but R_CALL is longer; RING_SLACK in words */
};

/* An atomic load that the thread recorded: while the stripe's version and the thread's epoch are
 * the same, the next one adds nothing. */
struct load_seen {
    uint64_t key; /* address, order */
    uint64_t version, epoch;
    uint64_t value; /* 16 bytes as one word */
};

/* A site's last record. While nothing was synchronised since, and the stack is the same, an access
 * of the same site lengthens the record instead of adding one: if its bytes touch those of the
 * record, or if it is as far from the last one as that was from the one before. */
struct run {
    uint64_t *record;
    uint64_t key;   /* site, epoch, and runs_forget() */
    uint64_t stack; /* frames.c */
    uintptr_t from; /* an access that lengthens it is at most `span` bytes behind this */
    uint32_t span;
    int32_t step; /* 0: the bytes are consecutive, or it is a single access */
};

/* What the trace knows of the shadow stack, and a hash of the frames up to each. */
struct told_frame {
    struct heddle_frame frame;
    uint64_t stack;
};

/* Bytes in which stores of pointers change nothing, as long as no piece of their region of memory
 * becomes logged (reach_log.c). */
struct quiet {
    uintptr_t low, high;
    uint64_t generation;
};

/* What the called function of untraced code may do. `does` 0 and no pieces: nothing. */
struct callee {
    const struct effects *table; /* NULL: there is none */
    uint32_t does;               /* enum effects_does */
    uint32_t set, count;         /* pieces */
};

/* A call of untraced code that has been recorded (callback.h). */
struct open_call {
    uintptr_t sp; /* an address in its caller's frame */
    uint32_t site;
    uint32_t depth, edge; /* the shadow stack's, and what tls.edge was before */
    bool away;            /* it has called traced code */
    struct passed {
        const char *name; /* NULL: by pointer */
        struct callee callee;
        uint32_t pairs;
        uint64_t words[2 * (CALL_POINTERS_MAX + ANNOTATED_MAX)];
    } passed;
};

/* What a function may do, by its name's address or its own (effects_lookup.c). */
struct callee_seen {
    uint64_t key;
    const struct effects *table;
    uint32_t set;
};

/* One per thread (and fiber) of the trace; recycled, never given back to the system. */
struct rt_thread {
    struct heddle_tls saved; /* while another fiber runs on the system thread */
    struct rt_thread *next;  /* in the list of spare ones */
    struct heddle_filter *filter;
    struct heddle_frame *shadow;   /* frames there are */
    struct told_frame *told;       /* those that the trace knows of */
    uint64_t stack;                /* the hash of all of them */
    uint64_t *moves;               /* hashes of those told of, 0: none (frames.c) */
    uint64_t epoch;                /* goes on when recycled, so that old entries never match */
    uint32_t unit_mask, line_mask; /* go on, too */
    uintptr_t stack_low;           /* of a thread that was created under our eyes; else 0 bytes */
    uint64_t stack_bytes;
    uintptr_t own_low; /* thread-local variables of the system's thread, of a fiber that is */
    uint64_t own_bytes;
    uint64_t own; /* not yet in that one's order (rt_fiber_own); else 0 */
    uint32_t number;
    uint32_t serial;   /* of the next chunk */
    uint32_t recorded; /* how many the trace knows of */
    uint32_t since_stamp;
    bool ignore_told; /* full builds: the writer leaves accesses out */
    uint64_t stamp;   /* the last one written */
    uint64_t lost;    /* accesses, not yet said in a record */
    uint64_t held;    /* stripe + 1 whose lock the thread holds */
    bool fiber;
    bool too_deep; /* deeper than its shadow stack, once */
    struct load_seen *loads;
    uint32_t load_mask, loads_gone; /* how many of them pushed out another one of the epoch */
    uint32_t loads_known;           /* since one was sampled */
    const struct load_seen *load_sampled;
    struct run runs[RUN_CACHE]; /* of the current chunk, by site */
    uint64_t run_salt;
    uint64_t call_cursor; /* behind the last call of untraced code, in chunk call_serial */
    uint32_t call_serial;
    struct ring_chunk *idle; /* of the last handler that ended, in full builds */
    uint32_t handlers;       /* chunks that they took */
    uint32_t nannotated;     /* HEDDLE_GLOBAL, for the next call */
    uintptr_t annotated[ANNOTATED_MAX];
    struct quiet quiet[QUIET];
    uint32_t nopen;
    struct open_call open[OPEN_CALLS + 1]; /* innermost last; one more: not followed */
    struct callee_seen callees[CALLEES];
    uint32_t nsuspects; /* objects in which calls under way may store pointers (reach_log.c) */
    uintptr_t suspects[SUSPECTS];
};

struct rt_process {
    /* access.c asks for these at once: all but the mode are 0 where accesses are as usual */
    int mode; /* enum rt_phase */
    bool full;
    bool picky;  /* not all accesses count alike: only some sites, benign ranges, no filter */
    bool paused; /* accesses are not recorded for now (heddle ctl) */
    bool unused;
    bool forked; /* this process has the memory of one that was recorded before it */
    struct ring_header *ring;
    char *ring_base;
};
extern HIDDEN struct rt_process rt;

#define tls __heddle_tls

/* A lock of ours: held for a few instructions, by a thread that is busy. */
static inline void spin_lock(uint32_t *lock)
{
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static inline void spin_unlock(uint32_t *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* ---- start.c ---- */
HIDDEN void rt_constructor(void); /* with the first traced image: read the options */
/* Protects starting, and the list of modules (image.c). Nothing else is taken inside. */
extern HIDDEN uint32_t rt_start_lock;
HIDDEN bool rt_start(void);           /* from MODE_RESTART; true when recording */
HIDDEN void rt_stop(const char *why); /* NULL: the user is told by others */

/* ---- chunks.c ---- */
HIDDEN bool ring_open(void);  /* map, start the writer */
HIDDEN void ring_close(void); /* in a forked child */
/* Has the writer said what the code of so many images may do, within `tenths` of a second? */
HIDDEN bool ring_ask_effects(uint32_t number, unsigned tenths);
HIDDEN void ring_reset_thread(void); /* tls.chunk is the one that nobody reads */
/* The next chunk for the calling thread; false: none to be had, the thread's chunk is full.
 * `must`: wait even where accesses are to be lost. */
HIDDEN bool ring_next_chunk(struct rt_thread *t, bool must);
HIDDEN void ring_hand_over(struct ring_chunk *c);
HIDDEN struct ring_chunk *ring_take_chunk(struct rt_thread *t, bool must);
HIDDEN void ring_log(uint32_t kind, const void *head, size_t head_bytes, const char *text,
                     size_t text_bytes);
static inline struct ring_thread *ring_thread_at(uint32_t number)
{
    struct ring_thread *all = (struct ring_thread *)(rt.ring_base + RING_THREADS_OFFSET);
    uint32_t n = RING_THREADS_MAX;

    return &all[number < n ? number : n - 1];
}

static inline uint64_t clock_stamp(void)
{
    return __rdtsc() >> RING_STAMP_SHIFT;
}

/* The newest stamp of any thread's synchronisation or allocation. Those publish theirs, accesses
 * only look: an access that follows such an event of another thread, by whatever data flow, has a
 * later stamp, without reading the time itself. In a cache line of its own. */
extern EXPORT struct newest_stamp {
    uint64_t stamp;
    char rest[56];
} __heddle_newest;

static inline uint64_t clock_publish(void)
{
    uint64_t now = clock_stamp();

    if (now > __atomic_load_n(&__heddle_newest.stamp, __ATOMIC_RELAXED))
        __atomic_store_n(&__heddle_newest.stamp, now, __ATOMIC_RELEASE);
    tls.seen_stamp = now;
    return now;
}

/* Every STAMP_EVERY-th record starts with the time, and one that comes after an event of another
 * thread that was stamped later. */
static inline unsigned stamp_now_and_then(struct rt_thread *t, uint64_t *w)
{
    uint64_t newest = __atomic_load_n(&__heddle_newest.stamp, __ATOMIC_ACQUIRE);

    if (likely(++t->since_stamp < STAMP_EVERY && newest < t->stamp))
        return 0;
    t->stamp = t->since_stamp < STAMP_EVERY ? newest + 1 : clock_stamp();
    t->since_stamp = 0;
    w[0] = RING_WORD(R_STAMP, 0, t->stamp);
    return 1;
}

/* ---- thread.c ---- */
HIDDEN void thread_attached(void); /* pthread_thread.c: watch for its end */
HIDDEN bool thread_attach(void);   /* a state for the calling thread */
HIDDEN void thread_reset_tls(bool keep_frames);
HIDDEN void threads_forget(void); /* in a forked child */

/* ---- openmp_logical.c ---- */
HIDDEN void openmp_thread_ends(void);

/* ---- signal.c ---- */
HIDDEN bool handlers_run(void); /* on this thread */

/* ---- event.c ---- */
HIDDEN void event_thread(unsigned op, uint32_t thread, uint64_t where);
HIDDEN void event_own(struct rt_thread *t, uint64_t where); /* busy */
HIDDEN void event_memory(unsigned op, uintptr_t a, uint64_t bytes, uint64_t where);

/* ---- call.c ---- */
HIDDEN void calls_read_globals(const char *path);

/* ---- image.c ---- */
HIDDEN void images_log_all(void);      /* when a recording starts */
HIDDEN bool images_known(uintptr_t a); /* the image there was logged */
HIDDEN bool images_local(uintptr_t *low, uintptr_t *high);
HIDDEN bool images_tell_calls(void);         /* all traced code tells of calls of untraced code */
HIDDEN bool images_traced(uintptr_t a);      /* the image there is of -fsanitize=thread */
HIDDEN bool images_stay(uintptr_t a);        /* the image there is never unmapped */
HIDDEN void images_tell_missing_calls(void); /* with it, and when images come */

/* ---- appending ---- */

/* Frames that have recorded anything lie above tls.lowest, which is the complement of an address:
 * so that it begins with 0. */
static inline void stack_note(void)
{
    uintptr_t sp;

    __asm__("mov %%rsp, %0" : "=r"(sp));
    if (unlikely(~sp > tls.lowest))
        tls.lowest = ~sp;
}

/* Where the next record goes; NULL if there is no room to be had. */
static inline uint64_t *room(struct rt_thread *t, bool must)
{
    struct ring_chunk *c = tls.chunk;

    stack_note();
    if (unlikely(c->cursor >= c->limit)) {
        if (!ring_next_chunk(t, must))
            return NULL;
        c = tls.chunk;
    }
    return (uint64_t *)((char *)c + c->cursor);
}

static inline void commit(unsigned words)
{
    struct ring_chunk *c = tls.chunk;

    __atomic_store_n(&c->cursor, c->cursor + 8 * words, __ATOMIC_RELEASE);
}

HIDDEN void frames_forget_moves(void); /* addresses have changed their meaning */
HIDDEN void frames_flush_slow(struct rt_thread *t);
/* The hash of the stack as it is, whatever the trace knows of it. */
HIDDEN uint64_t frames_stack_now(struct rt_thread *t);
static inline bool frames_are_told(const struct rt_thread *t)
{
    return likely(tls.depth == t->recorded && tls.low >= t->recorded);
}

/* Write the calls and returns since the last event. */
static inline void frames_flush(struct rt_thread *t)
{
    if (!frames_are_told(t) && !rt.full)
        frames_flush_slow(t);
}

/* No record that stands may be made longer any more. */
static inline void runs_forget(struct rt_thread *t)
{
    const uint64_t one = UINT64_C(1) << 32, most = UINT64_C(0xff) << 32;

    t->run_salt = (t->run_salt + one) & most;
    if (unlikely(!t->run_salt))
        __builtin_memset(t->runs, 0, sizeof(t->runs));
}

/* Nothing the filter knows holds any longer. */
HIDDEN void epoch_wrap(struct rt_thread *t);
/* Accesses are not recorded for now: what the filter knows holds until they are again, so that they
 * cost little. No record is made longer beyond here. False: they are recorded again. */
HIDDEN bool epoch_paused(struct rt_thread *t);
static inline void epoch_next(struct rt_thread *t)
{
    if (unlikely(rt.paused || (rt.ring && rt.ring->paused)) && epoch_paused(t))
        return;
    tls.epoch += UINT64_C(1) << FILTER_EPOCH_SHIFT;
    if (unlikely(!tls.epoch))
        epoch_wrap(t);
}

#endif
