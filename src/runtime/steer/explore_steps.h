/* explore_steps.h - a run in which one thread goes at a time (heddle explore;
 * docs/design/explore.md)
 *
 * Every thread stops ahead of each step that others can see, and the scheduler lets one of them go
 * on: as the plan says (abi/rt_explore.h), then by its policy. Locks, conditions, semaphores,
 * barriers and joins do not wait in the kernel: a thread that cannot go on is not chosen until
 * somebody has changed that. So it is known at once when nobody can go on.
 *
 * A thread that sleeps in the kernel all the same (read(), a library's own futex) is noticed after
 * a moment, and the others go on without it until it comes back.
 *
 * Concurrency: any thread, not busy, holding no lock of the runtime, unless it says otherwise.
 */
#ifndef HEDDLE_RUNTIME_STEER_EXPLORE_STEPS_H
#define HEDDLE_RUNTIME_STEER_EXPLORE_STEPS_H

#include "abi/rt_explore.h"
#include "runtime/core/rt.h"

struct heddle_module;
struct steer_access;

extern HIDDEN bool explore_on;

/* False: the control file is not one of ours. */
HIDDEN bool explore_start(const char *path);
HIDDEN void explore_module(const struct heddle_module *m);
HIDDEN void explore_forked(void); /* in a child process: it runs free */
HIDDEN void explore_thread(uint32_t creator, uint32_t child,
                           uint64_t where); /* a fork event; busy */
HIDDEN void explore_thread_failed(uint32_t child);
HIDDEN void explore_begin(void); /* the thread's first act, */
HIDDEN void explore_end(void);   /* and its last */
HIDDEN void explore_exit(void);  /* main() has returned */

/* Ahead of an access. */
HIDDEN void explore_access(const struct steer_access *a);
/* A release, post, signal ... of rt_sync(), ahead of it. */
HIDDEN void explore_sync(enum op op, uint64_t object, uint64_t where);

/* An operation that may have to wait:
 *
 *     explore_wants(EX_LOCK, m, where);
 *     while ((r = try(m)) == EBUSY && explore_blocked(until))
 *         ;
 *     explore_did(r != 0);
 *
 * `timed`: the wait may time out. explore_blocked() is false where it did, or the run is free by
 * now. */
HIDDEN void explore_wants(enum explore_op op, const void *object, uint64_t where);
HIDDEN bool explore_blocked(bool timed);
HIDDEN void explore_did(bool failed);

/* For the interposers, which have asked explore_is_ours(). */
static inline bool explore_is_ours(void)
{
    return unlikely(explore_on) && rt_recording();
}
#define EXPLORE_TRY(op, try, object, busy, timed)                                                  \
    ({                                                                                             \
        int explored;                                                                              \
        explore_wants(op, (const void *)(uintptr_t)(object), WHERE_CALLER());                      \
        while ((explored = (try)) == (busy) && explore_blocked(timed))                             \
            ;                                                                                      \
        explore_did(explored == (busy));                                                           \
        explored;                                                                                  \
    })
/* Once: a try that does not wait. A controlled run of `heddle confirm` may hold it up, too. */
#define TRIED(op, ex, try, object, busy)                                                           \
    ({                                                                                             \
        int tried_;                                                                                \
        if (explore_is_ours()) {                                                                   \
            explore_wants(ex, (const void *)(uintptr_t)(object), WHERE_CALLER());                  \
            tried_ = (try);                                                                        \
            explore_did(tried_ == (busy));                                                         \
        } else {                                                                                   \
            rt_steer(op, WHERE_CALLER());                                                          \
            tried_ = (try);                                                                        \
        }                                                                                          \
        tried_;                                                                                    \
    })
/* Asleep on a condition: false after a time-out. `mutex` is free meanwhile: between the two. */
HIDDEN void explore_waits(const void *cond, uint64_t where);
HIDDEN bool explore_asleep(const void *cond, bool timed, uint64_t where);
HIDDEN int explore_barrier(const void *barrier, unsigned count, uint64_t where);
HIDDEN void explore_join(uint32_t thread, uint64_t where);
/* Give way; true: nobody else could go on. */
HIDDEN bool explore_yield(uint64_t where);

/* ---- between explore_steps.c and explore_turn.c ---- */

enum explore_state { EXPLORE_NONE, EXPLORE_READY, EXPLORE_BLOCKED, EXPLORE_OUTSIDE, EXPLORE_OVER };

enum { EXPLORE_RECENT = 8, NOBODY = -1 };

struct turn_thread {
    uint64_t path;
    uint32_t children;
    uint32_t turn;  /* futex: bumped when it is to look */
    uint8_t state;  /* enum explore_state */
    uint8_t op;     /* what it is about to do */
    uint8_t kind;   /* BLOCKED: the operation it waits in */
    bool yields;    /* others first */
    bool timed;     /* BLOCKED, but may be chosen: its wait is over then */
    bool timed_out; /* it was */
    bool others;    /* when it was chosen another one could have gone */
    bool by_plan;   /* a segment chose it */
    bool keeps;     /* no other until it has stored (an update's second half) */
    uint8_t keep_bytes;
    uint64_t object; /* it waits for */
    uint64_t address, where;
    uint64_t ticket;
    uint64_t priority;
    uint64_t recent[EXPLORE_RECENT]; /* what it has read lately, */
    uint32_t nrecent, stale;         /* and how often in a row that was nothing new */
    uint64_t update_site, update_address, update_bytes, update_value, keep_address, keep_value;
    int32_t tid;
    struct explore_step *open; /* a write whose value is not known yet */
};

extern HIDDEN struct explore_plan *explore_plan;
extern HIDDEN struct turn_thread *turn_threads; /* EXPLORE_THREADS_MAX */
extern HIDDEN uint32_t turn_count;              /* slots in use */
extern HIDDEN int32_t turn_current;             /* whose turn it is, or NOBODY */
extern HIDDEN uint64_t turn_progress;           /* steps done */
extern HIDDEN uint64_t turn_idle;               /* reads in a row that were nothing new */
extern HIDDEN _Thread_local int32_t turn_self __attribute__((tls_model("initial-exec")));

HIDDEN void turn_lock(void); /* busy from here to turn_unlock() */
HIDDEN void turn_unlock(void);
/* With the lock: someone else's turn, as plan and policy say; `me` is NOBODY or who runs. */
HIDDEN void turn_pass(int32_t me);
/* Busy, without the lock: until it is the thread's turn. */
HIDDEN void turn_await(int32_t me);
HIDDEN void turn_forked(void);
/* It did not do the step that it was chosen for: it has to wait. With the lock. */
HIDDEN void turn_unplan(int32_t me);

#endif
