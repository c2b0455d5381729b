/* steer.h - a controlled run: threads are held up so that two of them meet (heddle confirm)
 *
 * docs/design/confirm.md; abi/rt_steer.h is the plan. The program is recorded as always. Besides,
 * a thread that comes to one of the two accesses of the race stops before it until another one
 * comes to the other access, to the same memory: then both stand before their accesses, which is
 * what a race is. On the way there a thread may wait at a synchronisation or an atomic operation
 * until another one has done one of its own ("gate").
 *
 * Every wait ends: by a time limit, when all threads wait for each other, by a signal (and is then
 * taken up again), or because the time for the whole run is over. What is held up is only ever
 * longer on its way, never sent another one.
 *
 * Concurrency: any thread, not busy, holding no lock of the runtime (steer_count(): busy).
 */
#ifndef HEDDLE_RUNTIME_STEER_STEER_H
#define HEDDLE_RUNTIME_STEER_STEER_H

#include <signal.h>

#include "abi/rt_steer.h"
#include "runtime/core/state.h"

/* The run is controlled, and the race has not been met yet. */
extern HIDDEN bool steer_on;

HIDDEN void steer_start(const char *path);                  /* of the control file */
HIDDEN void steer_module(const struct heddle_module *m);    /* it has its base */
HIDDEN void steer_forked(void);                             /* in a child process */
HIDDEN void steer_thread(uint32_t creator, uint32_t child); /* a fork event */

/* An event is done, or (releases, frees) about to be; busy. */
HIDDEN void steer_count_slow(unsigned op, uint64_t where);
static inline void steer_count(unsigned op, uint64_t where)
{
    if (unlikely(steer_on))
        steer_count_slow(op, where);
}
/* The allocation that was counted last returned this. */
HIDDEN void steer_allocated(uintptr_t a, uint64_t bytes);

/* Ahead of an operation: wait for what the plan puts before it. */
HIDDEN void steer_before_slow(unsigned op, uint64_t where);
static inline void steer_before(unsigned op, uint64_t where)
{
    if (unlikely(steer_on))
        steer_before_slow(op, where);
}

/* Ahead of whatever may order what the thread did before what another one does: a release, a fence,
 * the thread's end, a call of untraced code. Not busy. */
extern HIDDEN _Thread_local bool steer_lingers __attribute__((tls_model("initial-exec")));
HIDDEN void steer_leaves_slow(void);
static inline void steer_leaves(void)
{
    if (unlikely(steer_lingers))
        steer_leaves_slow();
}
/* The same for one on an object of the C library's: what it orders begins with whoever gets the
 * object next, and everybody tells of that. */
HIDDEN void steer_releases_slow(unsigned op, uint64_t object);
static inline void steer_releases(unsigned op, uint64_t object)
{
    if (unlikely(steer_lingers))
        steer_releases_slow(op, object);
}
extern HIDDEN uint32_t steer_released; /* threads that have released something while they linger */
HIDDEN void steer_acquires_slow(unsigned op, uint64_t object);
static inline void steer_acquires(unsigned op, uint64_t object)
{
    if (unlikely(__atomic_load_n(&steer_released, __ATOMIC_SEQ_CST)))
        steer_acquires_slow(op, object);
}
/* Something orders what all threads did so far (membarrier). */
HIDDEN void steer_ordered_all(void);
/* A free orders what comes before it for who gets the memory next: any allocation, to be simple. */
HIDDEN void steer_frees_slow(void);
static inline void steer_frees(void)
{
    if (unlikely(steer_lingers))
        steer_frees_slow();
}
extern HIDDEN uint32_t steer_freed; /* threads that have freed something while they linger */
HIDDEN void steer_allocates_slow(void);
static inline void steer_allocates(void)
{
    if (unlikely(__atomic_load_n(&steer_freed, __ATOMIC_SEQ_CST)))
        steer_allocates_slow();
}
static inline bool steer_op_releases(unsigned op)
{
    return op == OP_RELEASE || op == OP_RELEASE_SHARED || op == OP_FORK || op == OP_END ||
           op == OP_BARRIER_ENTER || op == OP_SEM_POST || op == OP_ONCE || op == OP_BEFORE;
}

struct steer_access {
    uintptr_t address;
    uint64_t bytes;
    uint64_t where;
    uint8_t op;  /* OP_READ, OP_WRITE, OP_FREE or an atomic's */
    bool update; /* it reads and writes at once, and has done neither */
};
/* This thread tells of both halves of an update, and has done neither. */
extern HIDDEN _Thread_local bool steer_updates __attribute__((tls_model("initial-exec")));
/* Ahead of an access: stop, if it is one of the race's. */
HIDDEN void steer_access_slow(struct steer_access a);
static inline void steer_access(const void *p, uint64_t bytes, unsigned op, uint64_t where)
{
    if (unlikely(steer_on))
        steer_access_slow((struct steer_access){ (uintptr_t)p, bytes, where, (uint8_t)op, false });
}
static inline void steer_update(const void *p, uint64_t bytes, unsigned op, uint64_t where)
{
    if (unlikely(steer_on))
        steer_access_slow((struct steer_access){ (uintptr_t)p, bytes, where, (uint8_t)op, true });
}

/* The filter must not drop accesses there: the race may be. */
HIDDEN bool steer_watches_slow(uintptr_t a, uint64_t bytes);
static inline bool steer_watches(uintptr_t a, uint64_t bytes)
{
    return unlikely(steer_on) && steer_watches_slow(a, bytes);
}

/* ---- between steer.c, steer_wait.c and steer_order.c ---- */

extern HIDDEN struct steer_plan *steer_plan;
HIDDEN uint64_t steer_now_ns(void);
HIDDEN bool steer_gate_is_open(uint32_t gate);
HIDDEN void steer_gate_wait(uint32_t gate);
/* Stand at these sides of the race (bits), until somebody comes to the other. */
HIDDEN void steer_stand(const struct steer_access *a, unsigned sides);
HIDDEN void steer_wake(void); /* something was counted */
HIDDEN void steer_wait_forked(void);
HIDDEN bool steer_is_write(const struct steer_access *a);

/* Outcomes (steer_order.c): two have met, and are let go in a given order; steer_on stays, so that
 * the first of them comes here again. */
extern HIDDEN bool steer_met;
static inline bool steer_searches(void)
{
    return steer_on && !steer_met;
}
/* With park_lock, at the meeting; a[] and tid[] by side. False: no order is asked for, or `made`
 * (the side of the one that has already made its access; -1: neither) does not allow it. */
HIDDEN bool steer_order_begin(const struct steer_access *const a[2], const uint32_t tid[2],
                              int made);
/* Of the two: before it leaves for its access. */
HIDDEN void steer_order_go(unsigned side);
HIDDEN void steer_order_again(void);  /* any thread comes to an access or a synchronisation */
HIDDEN void steer_order_passes(void); /* busy: it has come to an event */
/* Where the signal would end the process: tell `note` first, once (signal.c). */
HIDDEN void signal_note_once(int sig, void (*note)(int sig, siginfo_t *info, void *context));

#endif
