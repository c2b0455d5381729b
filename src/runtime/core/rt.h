/* rt.h - the runtime's inner interface: what interposers and modes build on
 *
 * Rules of this folder (docs/design/recording.md):
 * - Never hurt the host: no abort, no output, errno kept, no malloc on an event path, no call of
 *   a function that we interpose (use REAL(f) or a system call).
 * - Every symbol that leaves the library is `__heddle_*`, `__tsan_*`, or the name of a libc
 *   function we interpose (weak, so that a program's own definition wins).
 * - Release before the operation, acquire after it. Failed tries record nothing.
 *
 * Signals: while tls.busy is not 0 handlers are put off (signal.c). Everything that holds a lock
 * of ours or is in the middle of a record is busy. Blocking calls of the host are made while not
 * busy.
 *
 * Concurrency: all functions may be called by any thread at any time, also before the runtime's
 * constructor ran and after exit() began, and in signal handlers.
 */
#ifndef HEDDLE_RUNTIME_CORE_RT_H
#define HEDDLE_RUNTIME_CORE_RT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/rt_ring.h"
#include "abi/abi.h"
#include "runtime/core/system.h"
#include "trace/event.h"

#define HIDDEN      __attribute__((visibility("hidden")))
#define EXPORT      __attribute__((visibility("default")))
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

extern _Thread_local struct heddle_tls __heddle_tls
    __attribute__((tls_model("initial-exec"))) EXPORT;

/* ---- where: a place in the program ---- */

/* Of the call of the function this stands in. */
#define WHERE_CALLER() (WHERE_PC | (uint64_t)(uintptr_t)__builtin_return_address(0))
static inline uint64_t where_site(uint32_t site)
{
    return site;
}

/* ---- events (event.c); all do nothing when not recording ---- */

/* True while this thread records: options say so, and it is not inside the runtime. Starts the
 * runtime, and the thread's state, if need be. */
HIDDEN bool rt_recording(void);

/* True if somebody wants to know what this thread does: it records, or a production mode is in
 * force. For interposers that have work to do before they can say what happens. */
HIDDEN bool rt_watching(void);

/* Nobody will ever want to know of memory, of synchronisation: the process does not record, and has
 * no production mode that listens. Interposers that are called very often ask first. */
extern HIDDEN bool rt_deaf_to_memory, rt_deaf_to_sync;

/* An operation on a synchronisation object (OP_ACQUIRE .. OP_AFTER but fork, join, begin, end):
 * takes the sequence number and the stamp, and forgets what the filter knows. */
HIDDEN void rt_sync(enum op op, const void *object, uint64_t where);
/* The same for an acquire that would not have waited for ever: no part of a deadlock. */
HIDDEN void rt_sync_tried(enum op op, const void *object, uint64_t where);
/* The same for an object that is not an address: any number below 2^47. */
HIDDEN void rt_sync_number(enum op op, uint64_t object, uint64_t where);
/* A semaphore was initialised; a larger value than this counts as this. */
enum { SEMAPHORE_VALUE_MAX = 64 };
HIDDEN void rt_semaphore_begins(const void *semaphore, unsigned value, uint64_t where);

/* Ahead of an acquire of any kind: a controlled run may hold the thread up (steer.h). */
HIDDEN void rt_steer(enum op op, uint64_t where);

/* fork.c: this is vfork()'s child, with our memory. */
HIDDEN bool fork_is_other_process(void);

/* Memory of ours that stands for a thing: it begins, and ends. */
HIDDEN void rt_begins(const void *thing, uint64_t bytes, uint64_t where);
HIDDEN void rt_ends(const void *thing, uint64_t bytes, uint64_t where);

/* Around an acquire that has to wait: where the wait never ends, the trace tells of it. */
HIDDEN void rt_wait_begin(enum op op, const void *lock, uint64_t where);
HIDDEN void rt_wait_end(void);

/* Plain accesses of the thread; ranges of any size, 0 too. */
HIDDEN void rt_read(const void *address, uint64_t bytes, uint64_t where);
HIDDEN void rt_write(const void *address, uint64_t bytes, uint64_t where);
/* The same after it was written: full builds record the values, of results that are not large. */
HIDDEN void rt_wrote(const void *address, uint64_t bytes, uint64_t where);

/* Code of a library that is told of by other means: what it does to memory is not recorded. */
extern HIDDEN uintptr_t rt_library_low, rt_library_bytes;
static inline bool rt_is_library(uint64_t where)
{
    return unlikely((where & ~WHERE_PC) - rt_library_low < rt_library_bytes);
}

/* Memory: alloc after it was got, free before it is given back. */
HIDDEN void rt_alloc(const void *address, uint64_t bytes, uint64_t where);
HIDDEN void rt_malloced(const void *address, uint64_t bytes, uint64_t where); /* by malloc */
HIDDEN void rt_free(const void *address, uint64_t bytes_or_0, uint64_t where);

/* Part of the stack that the thread runs on, below all frames: what stood there is over, whoever's
 * it was. */
HIDDEN void rt_stack_fresh(uintptr_t low, uintptr_t high);

/* Atomics done elsewhere (fibers, fences). */
HIDDEN void rt_fence(unsigned order, uint64_t where);

/* Stack frames of code that was not compiled by the plugin. */
HIDDEN void rt_enter(uint64_t return_address, uint64_t where);
HIDDEN void rt_exit(void);

/* Inside: nothing the thread does is recorded, signals wait. Pairs, may nest. */
static inline void rt_busy_begin(void)
{
    __heddle_tls.busy++;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
HIDDEN void rt_signals_run_pending(void);
extern HIDDEN _Thread_local uint32_t rt_signals_pending __attribute__((tls_model("initial-exec")));
static inline void rt_busy_end(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (--__heddle_tls.busy == 0 && unlikely(rt_signals_pending))
        rt_signals_run_pending();
}

/* ---- threads (thread.c) ---- */

/* A number for a thread about to be created, with its fork event; to be given to the child. */
HIDDEN uint32_t rt_thread_fork(uint64_t where);
HIDDEN void rt_thread_failed(uint32_t number); /* it could not be made */
HIDDEN void rt_life(uint64_t bit, bool set);   /* of enum ring_thread_life, of this thread */
/* Around a wait without a time limit, for another thread (exit.c). */
static inline void rt_asleep_begin(void)
{
    rt_life(RING_ASLEEP, true);
}
static inline void rt_asleep_end(void)
{
    rt_life(RING_ASLEEP, false);
}
/* The child's first and last act. begin records the stack as fresh memory. */
HIDDEN void rt_thread_begin(uint32_t thread);
HIDDEN void rt_thread_end(void);
HIDDEN void rt_thread_join(uint32_t thread, uint64_t where);
HIDDEN uint32_t rt_thread_number(void);
/* Its pthread_t, for calls of untraced code that get it. */
HIDDEN void rt_thread_handle(uint32_t thread, uint64_t handle);
HIDDEN void rt_thread_name(const char *name); /* of the calling thread */
/* The calling thread's, which is not the first; false: not known. In a sandbox it is what the
 * thread's creator asked for, rt_stack_asked. */
HIDDEN bool rt_own_stack(uintptr_t *low, size_t *bytes);
extern HIDDEN _Thread_local size_t rt_stack_asked __attribute__((tls_model("initial-exec")));
HIDDEN void rt_thread_name_of(uint32_t thread, const char *name);
/* Another thread of control on this system thread (fibers): switch tls to its state. A fiber is
 * a thread of the trace. `ordered`: the switch orders (happens-before both ways). */
struct rt_thread;
HIDDEN struct rt_thread *rt_fiber_new(uint64_t where);
/* One that nothing is seen to create: nothing orders it until something is done for that. */
HIDDEN struct rt_thread *rt_fiber_found(const char *name);
HIDDEN uint32_t rt_fiber_number(const struct rt_thread *fiber);
/* It runs on the stack of another one, and is ordered after `object` when it first uses what
 * belongs to the system's thread: variables in [low, low + bytes), or what calls rt_own() (when it
 * runs). */
HIDDEN void rt_fiber_own(struct rt_thread *fiber, const struct rt_thread *other, uint64_t object,
                         uintptr_t low, size_t bytes);
HIDDEN bool rt_fiber_owns(const struct rt_thread *fiber);
HIDDEN void rt_own(uint64_t where);
HIDDEN void rt_fiber_free(struct rt_thread *fiber, uint64_t where);
HIDDEN void rt_fiber_switch(struct rt_thread *fiber, bool ordered, uint64_t where);
/* The running fiber goes on in the midst of functions that `other` has called. */
HIDDEN void rt_fiber_frames(const struct rt_thread *other);
HIDDEN struct rt_thread *rt_fiber_current(void);
/* The shadow stack's depth, for longjmp and contexts. */

/* ---- processes (fork_exec.c) ---- */

HIDDEN void rt_fork_before(void);
HIDDEN void
rt_fork_after(bool child); /* the child starts a recording of its own when it first records */
HIDDEN void rt_exec(bool begins); /* true before exec, false when it failed */

/* ---- images (image.c) ---- */

HIDDEN void rt_image_traced(const void *code);
extern HIDDEN bool rt_tsan_objects; /* there are some, of -fsanitize=thread */
HIDDEN void rt_images_closed(void); /* after dlclose */
HIDDEN void rt_images_update(void); /* after dlopen and before dlclose gives memory back */

/* ---- interposing ----
 *
 *     INTERPOSE(int, pthread_mutex_lock, pthread_mutex_t *m)
 *     {
 *         int r = REAL(pthread_mutex_lock)(m);
 *         ...
 *     }
 *
 * In the ordinary library this defines the function under its own name, weak; REAL looks the
 * next definition up with dlsym(RTLD_NEXT) on first use. With HEDDLE_STATIC (libheddle-rt-static)
 * it defines __wrap_NAME, and REAL is __real_NAME: the driver links with --wrap=NAME for every
 * name that scripts/rt-symbols finds in the archive.
 * In an interposer, WHERE_CALLER() is where the program called the function.
 *
 *     INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_mutex_unlock, (m), pthread_mutex_t *m)
 *
 * is for functions that are called very often: while the condition holds, the real one is jumped to
 * and nothing is saved for what follows, which is for all other calls.
 */
#ifdef HEDDLE_STATIC
#define INTERPOSE(type, name, ...)                                                                 \
    extern type __real_##name(__VA_ARGS__);                                                        \
    EXPORT type __wrap_##name(__VA_ARGS__);                                                        \
    EXPORT type __wrap_##name(__VA_ARGS__)
#define REAL(name)  __real_##name
#define FOUND(name) __real_##name
#else
HIDDEN void *rt_next_definition(const char *name);
#define INTERPOSE(type, name, ...)                                                                 \
    static type (*real_##name)(__VA_ARGS__);                                                       \
    static inline type (*next_##name(void))(__VA_ARGS__)                                           \
    {                                                                                              \
        if (unlikely(!__atomic_load_n(&real_##name, __ATOMIC_RELAXED)))                            \
            __atomic_store_n(&real_##name, (type(*)(__VA_ARGS__))rt_next_definition(#name),        \
                             __ATOMIC_RELAXED);                                                    \
        return real_##name;                                                                        \
    }                                                                                              \
    EXPORT __attribute__((weak)) type name(__VA_ARGS__);                                           \
    EXPORT __attribute__((weak)) type name(__VA_ARGS__)
#define REAL(name)  next_##name()
#define FOUND(name) __atomic_load_n(&real_##name, __ATOMIC_RELAXED)
#endif

/* FOUND is REAL without looking it up; NULL: not done yet, or there is none.
 * heard_NAME is jumped to as well (musttail): WHERE_CALLER() is the same there. */
#define INTERPOSE_UNLESS(condition, type, name, args, ...)                                         \
    static type heard_##name(__VA_ARGS__);                                                         \
    INTERPOSE(type, name, __VA_ARGS__)                                                             \
    {                                                                                              \
        if (likely(condition)) {                                                                   \
            type (*real)(__VA_ARGS__) = FOUND(name);                                               \
                                                                                                   \
            if (likely(real))                                                                      \
                return real args;                                                                  \
        }                                                                                          \
        __attribute__((musttail)) return heard_##name args;                                        \
    }                                                                                              \
    static __attribute__((noinline)) type heard_##name(__VA_ARGS__)

/* ---- event.c ---- */

HIDDEN bool rt_is_full(void); /* modules of full builds are there: their code appends by itself */

/* ---- options (environment.c) ---- */

enum calls_mode { CALLS_NONE, CALLS_ONCE, CALLS_EXACT };

struct rt_options {
    bool record;
    bool filter;  /* drop accesses that cannot add a race */
    bool lose;    /* when the writer lags: lose accesses rather than wait */
    bool verbose; /* say on stderr what goes wrong */
    bool malloc_events;
    bool children;           /* record forked and started programs too */
    uint32_t pid;            /* if not children: the only process to record */
    uint32_t exit_wait;      /* ms for threads that still run at the end */
    uint32_t max_memory_mib; /* of chunks waiting for the writer */
    enum calls_mode calls;   /* of untraced code */
    uint32_t calls_objects;  /* looked at in one call */
    uint32_t calls_kib;
    char calls_text[16], globals[512];
    char only[512];   /* file of the sites to record */
    char writer[512]; /* path of the heddle command */
    char directory[512];
    char run[512];            /* file in it that lists the traces of this run */
    char writer_options[512]; /* handed through to the writer */
    char control[512];        /* of a production run (prod.h) */
    char steer[512];          /* control file of a controlled run (steer.h) */
    char patch[16];
};
extern HIDDEN struct rt_options rt_options;

/* A line for the user: into the ring's log, and with verbose=1 to stderr. */
HIDDEN void rt_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
