/* interpose.h - what the interposers share with each other
 *
 * Everything here is about glibc's own objects: whether an operation on them
 * will count (mutex_is_mine() ...) must be known before the operation, since a
 * release is recorded first. The fields read are those of <pthread.h>'s public
 * unions, whose layout is part of glibc's ABI.
 *
 * Locks of the interposers: struct rt_lock, held while busy, for a few
 * instructions and system calls, never while the host's code runs and never two
 * at a time. fork.c takes them all around a fork, in the order of fork_locks[].
 */
#ifndef HEDDLE_RUNTIME_INTERPOSE_INTERPOSE_H
#define HEDDLE_RUNTIME_INTERPOSE_INTERPOSE_H

#include "runtime/core/rt.h"
#include "runtime/steer/explore_steps.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* ---- provided by the core ---- */

/* Gives back what the runtime holds for this thread: its code was left in the middle. */
HIDDEN void rt_release_all(void);
/* What that would be; and to take it again when the instruction is tried again. */
HIDDEN uint64_t rt_held(void);
HIDDEN void rt_hold_again(uint64_t held);
/* Around a signal handler: a shadow frame, and in full builds a chunk, of its own. */
HIDDEN void *rt_handler_begin(void);
HIDDEN void rt_handler_entered(uint64_t return_address, uint64_t where);
HIDDEN void rt_handler_end(void *saved);
HIDDEN void rt_handler_left(void *saved); /* the same, and it does not return to the code around */
HIDDEN void rt_atomic_store_1(uint8_t *p, uint8_t value, unsigned order, uint64_t where);

/* A function that takes the place of libc's, which is never called. */
#ifdef HEDDLE_STATIC
#define REPLACE(type, name, ...)                                                                   \
    EXPORT type __wrap_##name(__VA_ARGS__);                                                        \
    EXPORT type __wrap_##name(__VA_ARGS__)
#else
#define REPLACE(type, name, ...)                                                                   \
    EXPORT __attribute__((weak)) type name(__VA_ARGS__);                                           \
    EXPORT __attribute__((weak)) type name(__VA_ARGS__)
#endif

/* The start of a function, as a place: code addresses are taken for return addresses. */
static inline uint64_t where_inside(const void *function)
{
    return WHERE_PC | ((uint64_t)(uintptr_t)function + 1);
}

/* Memory that never comes from malloc; NULL if there is none. */
static inline void *rt_pages(size_t bytes)
{
    void *m = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1L, 0L);

    return m == MAP_FAILED ? NULL : m;
}

/* ---- a lock ---- */

struct rt_lock {
    uint32_t taken;
};

static inline void rt_lock_take(struct rt_lock *l)
{
    rt_busy_begin();
    for (unsigned spins = 0; __atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE); spins++)
        if (spins > 100)
            sched_yield();
}

static inline void rt_lock_drop(struct rt_lock *l)
{
    __atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
    rt_busy_end();
}

extern HIDDEN struct rt_lock threads_lock;  /* pthread_thread.c: the table of threads */
extern HIDDEN struct rt_lock actions_lock;  /* signal.c, notify.c: the program's handlers */
extern HIDDEN struct rt_lock contexts_lock; /* context.c: the table of stacks */

/* ---- locks ---- */

/* What the interposed `lock` does to `object`. It is tried first, so that only who has to wait says
 * so; `busy` is what a try then returns. */
#define LOCK_OR_WAIT(lock, try, object, op, busy)                                                  \
    ({                                                                                             \
        bool tries = !rt_deaf_to_sync && rt_recording();                                           \
        if (tries)                                                                                 \
            rt_steer(op, WHERE_CALLER());                                                          \
        int result = !tries ? REAL(lock)(object)                                                   \
                     : unlikely(explore_on)                                                        \
                         ? EXPLORE_TRY((op) == OP_ACQUIRE ? EX_LOCK : EX_LOCK_SHARED,              \
                                       REAL(try)(object), object, busy, false)                     \
                         : REAL(try)(object);                                                      \
        if (tries && unlikely(result == (busy))) {                                                 \
            rt_wait_begin(op, (const void *)(object), WHERE_CALLER());                             \
            rt_asleep_begin();                                                                     \
            result = REAL(lock)(object);                                                           \
            rt_asleep_end();                                                                       \
            rt_wait_end();                                                                         \
        }                                                                                          \
        result;                                                                                    \
    })

/* ---- mutexes (mutex.c) ---- */

/* The system's number of this thread; the same as the one glibc writes into its locks. */
HIDDEN pid_t own_tid(void);
HIDDEN void own_tid_forget(void); /* in a forked child */

enum {
    KIND_TYPE = 3, /* bits of __kind: PTHREAD_MUTEX_NORMAL, _RECURSIVE, _ERRORCHECK, _ADAPTIVE */
    KIND_ROBUST = 16,
    LOCK_TID = 0x3fffffff /* FUTEX_TID_MASK: the owner, in the lock word of robust mutexes */
};

/* Types whose owner glibc checks, so that operations on them can fail. */
ALWAYS_INLINE bool mutex_is_checked(const pthread_mutex_t *m)
{
    int type = m->__data.__kind & KIND_TYPE;

    return type == PTHREAD_MUTEX_RECURSIVE_NP || type == PTHREAD_MUTEX_ERRORCHECK_NP ||
           m->__data.__kind & KIND_ROBUST;
}

/* The thread is inside the mutex, for the first time only: inner levels of a recursive mutex
 * are no events. */
ALWAYS_INLINE bool mutex_is_outermost(const pthread_mutex_t *m)
{
    return (m->__data.__kind & KIND_TYPE) != PTHREAD_MUTEX_RECURSIVE_NP || m->__data.__count == 1;
}

/* To be asked before an unlock: will it let go of the mutex? */
ALWAYS_INLINE bool mutex_will_be_free(const pthread_mutex_t *m)
{
    int owner = m->__data.__owner;

    if (likely(!mutex_is_checked(m)))
        return true;
    if (m->__data.__kind & KIND_ROBUST) /* __owner is not set while the mutex is inconsistent */
        owner = m->__data.__lock & LOCK_TID;
    return owner == own_tid() && mutex_is_outermost(m);
}

ALWAYS_INLINE void mutex_acquired(const pthread_mutex_t *m, int result, uint64_t where)
{
    if (!rt_deaf_to_sync && (result == 0 || result == EOWNERDEAD) && mutex_is_outermost(m))
        rt_sync(OP_ACQUIRE, m, where);
}

/* By trylock, or with a time limit. */
ALWAYS_INLINE void mutex_tried(const pthread_mutex_t *m, int result, uint64_t where)
{
    if (!rt_deaf_to_sync && (result == 0 || result == EOWNERDEAD) && mutex_is_outermost(m))
        rt_sync_tried(OP_ACQUIRE, m, where);
}

ALWAYS_INLINE void mutex_releases(const pthread_mutex_t *m, uint64_t where)
{
    if (!rt_deaf_to_sync && mutex_will_be_free(m))
        rt_sync(OP_RELEASE, m, where);
}

/* The real functions, unseen. */
HIDDEN int mutex_try(pthread_mutex_t *m);
HIDDEN int mutex_wait(pthread_mutex_t *m);
HIDDEN int mutex_give(pthread_mutex_t *m);
HIDDEN void mutex_release_robust(void); /* those that the ending thread leaves to others */

/* ---- condition variables (cond.c) ---- */

struct cond_wait {
    pthread_mutex_t *mutex;
    uint64_t where;
    bool recorded; /* the release was */
};
/* The whole of a wait where one thread goes at a time. */
HIDDEN int cond_wait_explored(const void *c, pthread_mutex_t *m, bool timed, uint64_t where);
HIDDEN struct cond_wait cond_wait_begin(pthread_mutex_t *m, uint64_t where);
HIDDEN void cond_wait_end(const struct cond_wait *w, const void *cond, int result);
HIDDEN void cond_wait_cancelled(void *wait); /* a cleanup handler */

/* ---- threads (pthread_thread.c) ---- */

/* An interposed function has left a result in the caller's memory (NULL: has not). It counts where
 * the caller is in a traced image: how others guard their memory is not seen. */
HIDDEN void rt_result(const void *p, size_t bytes, uint64_t where);
/* The same ahead of the call: nothing says what it will be. */
HIDDEN void rt_result_ahead(const void *p, size_t bytes, uint64_t where);

struct thread_entry;
/* Before a thread is created; NULL: it will not be recorded. Afterwards thread_created() or
 * thread_failed(); in between signals are blocked. `thread` is where libc wrote the name. */
HIDDEN struct thread_entry *thread_prepare(void *start, void *arg, const pthread_attr_t *attr,
                                           uint64_t where);
HIDDEN void thread_created(struct thread_entry *e, const pthread_t *thread);
HIDDEN void thread_failed(struct thread_entry *e);
/* In the child, before its function runs; returns the function and its argument. */
HIDDEN void *thread_enter(struct thread_entry *e, void **arg);
/* A thread that was not created under our eyes has begun to record: watch for its end. */
HIDDEN void thread_attached(void);
/* The number of a thread, to be asked before a join: afterwards the name may be another's.
 * THREAD_NONE: not known. thread_joined() is for joins that succeeded. */
HIDDEN uint32_t thread_number_of(pthread_t thread);
HIDDEN void thread_joined(pthread_t thread, uint32_t number, uint64_t where);
HIDDEN void thread_detaches(pthread_t thread); /* before it is done */
HIDDEN void threads_forked(void);              /* in the child: the others are gone */

/* ---- signals (signal.c) ---- */

/* A handler is under way; they form a list from the innermost outwards. */
struct handler_frame {
    struct handler_frame *outer;
    void *saved; /* by rt_handler_begin() */
};
extern HIDDEN _Thread_local struct handler_frame *handler_innermost
    __attribute__((tls_model("initial-exec")));
/* The thread goes on at stack address `sp`: which handlers has it left? (jump.c) */
HIDDEN void handlers_leave(uintptr_t sp);
HIDDEN void handlers_leave_all(void);

/* The thread is about to go on at `sp`, which may be on the stack of another fiber. */
HIDDEN void contexts_jump(uintptr_t sp, uint64_t where);
HIDDEN void signals_forked(void); /* in the child, before it stops being busy */

/* The objects of their edges. 1 to 64, the signal's number: who installed a handler, and who sent
 * a signal to nobody knows whom; 65 to 128: who sent one to the process; then one for all timers,
 * one for requests (aio.c). Who sent one to a thread: its pthread_t, a multiple of 64, and the
 * number. */
enum { SIGNALS = 65, TO_PROCESS = 64, OBJECT_TIMERS = 129, OBJECT_REQUESTS };
#define TO_THREADS (UINT64_C(1) << 47)
ALWAYS_INLINE uint64_t signal_of_thread(pthread_t thread, int sig)
{
    return TO_THREADS | ((uint64_t)thread & ~UINT64_C(63)) | ((uint64_t)sig & 63);
}
ALWAYS_INLINE void signal_edge(enum op op, int sig, uint64_t object, uint64_t where)
{
    if (sig > 0 && sig < SIGNALS)
        rt_sync_number(op, object, where);
}
ALWAYS_INLINE void signal_to_all(int sig, uint64_t where)
{
    signal_edge(OP_BEFORE, sig, (uint64_t)sig, where);
}
ALWAYS_INLINE void signal_to_process(int sig, uint64_t where)
{
    signal_edge(OP_BEFORE, sig, TO_PROCESS + (uint64_t)sig, where);
}
ALWAYS_INLINE void signal_to_thread(pthread_t thread, int sig, uint64_t where)
{
    signal_edge(OP_BEFORE, sig, signal_of_thread(thread, sig), where);
}
/* This thread has got it; `code`: its si_code, SI_QUEUE if that is not known. */
HIDDEN void signal_taken(int sig, int code, uint64_t where);
extern HIDDEN bool signal_codes_lost; /* a signal was sent again without its si_code */

/* ---- contexts (context.c) ---- */

HIDDEN void contexts_forked(void); /* in the child: fibers have no state here */

#endif
