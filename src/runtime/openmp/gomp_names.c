/* gomp_names.c - the functions of libgomp that order something, under their own names
 *
 * Part of libheddle-rt-libc: only programs of gcc have them (openmp_gomp.c says why, and what they
 * mean). A library that such a program loads may bring libgomp along for itself; then it is not
 * behind us in the order of symbols, and asked for by its name. The same where the linker left it
 * out because these definitions were enough for it.
 */
#define LIBC_NAMES
#include "runtime/libc/libc_export.h"
#include "runtime/openmp/openmp_gomp.h"

#include <dlfcn.h>

#ifdef HEDDLE_STATIC
#define GOMP(name) __real_##name
#else
static __attribute__((noinline)) void *in_libgomp(const char *name)
{
    void *library = dlopen("libgomp.so.1", RTLD_LAZY);

    return library ? dlsym(library, name) : NULL;
}
#define GOMP(name)                                                                                 \
    (next_##name() ? real_##name : (real_##name = (__typeof__(real_##name))in_libgomp(#name)))
#endif

/* ---- parallel regions ---- */

typedef void function(void *);
typedef unsigned long long ull;

/* `call` runs __heddle_gomp_body on `&r`. */
#define REGION(call)                                                                               \
    struct gomp_region r;                                                                          \
    __heddle_gomp_fork(&r, fn, data, WHERE_CALLER());                                              \
    call;                                                                                          \
    __heddle_gomp_join(&r, WHERE_CALLER())
#define BODY __heddle_gomp_body, &r

INTERPOSE(void, GOMP_parallel, function *fn, void *data, unsigned threads, unsigned flags)
{
    REGION(GOMP(GOMP_parallel)(BODY, threads, flags));
}

INTERPOSE(unsigned, GOMP_parallel_reductions, function *fn, void *data, unsigned threads,
          unsigned flags)
{
    unsigned n;
    REGION(r.first = *(void **)data; __heddle_gomp_fork_quietly(&r);
           n = GOMP(GOMP_parallel_reductions)(BODY, threads, flags));
    return n;
}

INTERPOSE(void, GOMP_parallel_sections, function *fn, void *data, unsigned threads, unsigned count,
          unsigned flags)
{
    REGION(GOMP(GOMP_parallel_sections)(BODY, threads, count, flags));
}

INTERPOSE(void, GOMP_teams_reg, function *fn, void *data, unsigned teams, unsigned limit,
          unsigned flags)
{
    REGION(GOMP(GOMP_teams_reg)(BODY, teams, limit, flags));
}

#define CHUNKED(name)                                                                              \
    INTERPOSE(void, name, function *fn, void *data, unsigned threads, long start, long end,        \
              long step, long chunk, unsigned flags)                                               \
    {                                                                                              \
        REGION(GOMP(name)(BODY, threads, start, end, step, chunk, flags));                         \
    }
#define UNCHUNKED(name)                                                                            \
    INTERPOSE(void, name, function *fn, void *data, unsigned threads, long start, long end,        \
              long step, unsigned flags)                                                           \
    {                                                                                              \
        REGION(GOMP(name)(BODY, threads, start, end, step, flags));                                \
    }

CHUNKED(GOMP_parallel_loop_static)
CHUNKED(GOMP_parallel_loop_dynamic)
CHUNKED(GOMP_parallel_loop_guided)
CHUNKED(GOMP_parallel_loop_nonmonotonic_dynamic)
CHUNKED(GOMP_parallel_loop_nonmonotonic_guided)
UNCHUNKED(GOMP_parallel_loop_runtime)
UNCHUNKED(GOMP_parallel_loop_nonmonotonic_runtime)
UNCHUNKED(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

/* ---- barriers ---- */

#define BARRIER(name)                                                                              \
    INTERPOSE(void, name, void)                                                                    \
    {                                                                                              \
        __heddle_gomp_barrier(true, WHERE_CALLER());                                               \
        GOMP(name)();                                                                              \
        __heddle_gomp_barrier(false, WHERE_CALLER());                                              \
    }
/* Cancelled threads go to the end of the region, without any more barriers. */
#define BARRIER_CANCEL(name)                                                                       \
    INTERPOSE(bool, name, void)                                                                    \
    {                                                                                              \
        bool cancelled;                                                                            \
        __heddle_gomp_barrier(true, WHERE_CALLER());                                               \
        cancelled = GOMP(name)();                                                                  \
        if (!cancelled)                                                                            \
            __heddle_gomp_barrier(false, WHERE_CALLER());                                          \
        return cancelled;                                                                          \
    }

BARRIER(GOMP_barrier)
BARRIER(GOMP_loop_end)
BARRIER(GOMP_sections_end)
BARRIER_CANCEL(GOMP_barrier_cancel)
BARRIER_CANCEL(GOMP_loop_end_cancel)
BARRIER_CANCEL(GOMP_sections_end_cancel)

INTERPOSE(void, GOMP_workshare_task_reduction_unregister, bool cancelled)
{
    __heddle_gomp_barrier(true, WHERE_CALLER());
    GOMP(GOMP_workshare_task_reduction_unregister)(cancelled);
    if (!cancelled)
        __heddle_gomp_barrier(false, WHERE_CALLER());
}

/* single copyprivate: one thread gets NULL, goes on and ends it; the others wait for that. */
INTERPOSE(void *, GOMP_single_copy_start, void)
{
    void *p;

    __heddle_gomp_barrier(true, WHERE_CALLER());
    p = GOMP(GOMP_single_copy_start)();
    if (p)
        __heddle_gomp_barrier(false, WHERE_CALLER());
    return p;
}

INTERPOSE(void, GOMP_single_copy_end, void *data)
{
    __heddle_gomp_barrier(true, WHERE_CALLER());
    GOMP(GOMP_single_copy_end)(data);
    __heddle_gomp_barrier(false, WHERE_CALLER());
}

/* ---- the start of a loop or of sections ---- */

#define PLAIN(...) __VA_ARGS__

/* The team's memory that gcc asks for here (inscan, conditional lastprivate) is cleared by the
 * thread that comes first; the others wait for that inside. */
#define SHARE(type, name, parameters, arguments)                                                   \
    INTERPOSE(type, name, PLAIN parameters)                                                        \
    {                                                                                              \
        type r;                                                                                    \
                                                                                                   \
        __heddle_gomp_ignore(true);                                                                \
        r = GOMP(name) arguments;                                                                  \
        __heddle_gomp_ignore(false);                                                               \
        return r;                                                                                  \
    }

SHARE(bool, GOMP_loop_start,
      (long start, long end, long step, long how, long chunk, long *first, long *last,
       uintptr_t *reductions, void **memory),
      (start, end, step, how, chunk, first, last, reductions, memory))
SHARE(bool, GOMP_loop_ull_start,
      (bool up, ull start, ull end, ull step, long how, ull chunk, ull *first, ull *last,
       uintptr_t *reductions, void **memory),
      (up, start, end, step, how, chunk, first, last, reductions, memory))
SHARE(unsigned, GOMP_sections2_start, (unsigned n, uintptr_t *reductions, void **memory),
      (n, reductions, memory))

/* ---- ordered ---- */

INTERPOSE(void, GOMP_ordered_start, void)
{
    GOMP(GOMP_ordered_start)();
    __heddle_gomp_turn(true, WHERE_CALLER());
}

INTERPOSE(void, GOMP_ordered_end, void)
{
    __heddle_gomp_turn(false, WHERE_CALLER());
    GOMP(GOMP_ordered_end)();
}

/* A count for each loop, in any number: handed on are as many as nobody nests. Those that are not
 * there are words of the caller's frame. */
#define WAIT(name, type)                                                                           \
    INTERPOSE(void, name, type a, type b, type c, type d, type e, type f, type g, type h, type i,  \
              type j)                                                                              \
    {                                                                                              \
        GOMP(name)(a, b, c, d, e, f, g, h, i, j);                                                  \
        __heddle_gomp_turn(true, WHERE_CALLER());                                                  \
    }
#define POST(name, type)                                                                           \
    INTERPOSE(void, name, type *counts)                                                            \
    {                                                                                              \
        __heddle_gomp_turn(false, WHERE_CALLER());                                                 \
        GOMP(name)(counts);                                                                        \
    }

WAIT(GOMP_doacross_wait, long)
WAIT(GOMP_doacross_ull_wait, unsigned long)
POST(GOMP_doacross_post, long)
POST(GOMP_doacross_ull_post, unsigned long)

/* ---- locks; inner levels of nested ones are told apart by the analyser ---- */

static char critical, atomic; /* the locks without a name */

#define LOCK(name, lock, ...)                                                                      \
    INTERPOSE(void, name, __VA_ARGS__)                                                             \
    {                                                                                              \
        GOMP(name)(ARGUMENT);                                                                      \
        __heddle_gomp_lock(true, lock, WHERE_CALLER());                                            \
    }
#define UNLOCK(name, lock, ...)                                                                    \
    INTERPOSE(void, name, __VA_ARGS__)                                                             \
    {                                                                                              \
        __heddle_gomp_lock(false, lock, WHERE_CALLER());                                           \
        GOMP(name)(ARGUMENT);                                                                      \
    }
#define TEST(name)                                                                                 \
    INTERPOSE(int, name, void *l)                                                                  \
    {                                                                                              \
        int taken = GOMP(name)(l);                                                                 \
        if (taken)                                                                                 \
            __heddle_gomp_tested(l, WHERE_CALLER());                                               \
        return taken;                                                                              \
    }

#define ARGUMENT
LOCK(GOMP_critical_start, &critical, void)
UNLOCK(GOMP_critical_end, &critical, void)
LOCK(GOMP_atomic_start, &atomic, void)
UNLOCK(GOMP_atomic_end, &atomic, void)
#undef ARGUMENT
#define ARGUMENT l
LOCK(GOMP_critical_name_start, l, void **l)
UNLOCK(GOMP_critical_name_end, l, void **l)
LOCK(omp_set_lock, l, void *l)
UNLOCK(omp_unset_lock, l, void *l)
LOCK(omp_set_nest_lock, l, void *l)
UNLOCK(omp_unset_nest_lock, l, void *l)
TEST(omp_test_lock)
TEST(omp_test_nest_lock)

/* ---- what belongs to the system's thread ---- */

INTERPOSE(void, GOMP_task_reduction_remap, size_t count, size_t orig, void **pointers)
{
    __heddle_gomp_own(WHERE_CALLER());
    GOMP(GOMP_task_reduction_remap)(count, orig, pointers);
}

INTERPOSE(int, omp_get_thread_num, void)
{
    __heddle_gomp_own(WHERE_CALLER());
    return GOMP(omp_get_thread_num)();
}

/* ---- tasks ---- */

typedef void copier(void *to, void *from);

static size_t round_up(size_t n, size_t to)
{
    return to > 1 ? (n + to - 1) / to * to : n;
}

static struct gomp_task new_task(function *fn, void *data, copier *copy, long bytes, long align,
                                 uint64_t where)
{
    return (struct gomp_task){ .function = fn,
                               .copy = copy,
                               .data = data,
                               .bytes = (size_t)bytes,
                               .offset = round_up(sizeof(struct gomp_task), (size_t)align),
                               .where = where };
}

static long alignment(long align)
{
    return align > (long)_Alignof(struct gomp_task) ? align : (long)_Alignof(struct gomp_task);
}

INTERPOSE(void, GOMP_task, function *fn, void *data, copier *copy, long bytes, long align,
          bool if_clause, unsigned flags, void **depend, int priority, void *detach)
{
    struct gomp_task t = new_task(fn, data, copy, bytes, align, WHERE_CALLER());

    t.depend = flags & GOMP_FLAG_DEPEND ? depend : NULL;
    t.detached = flags & GOMP_FLAG_DETACH;
    t.undeferred = !if_clause;
    t.final = flags & GOMP_FLAG_FINAL;
    t.back = t.detached && data && bytes ? 1 : 0;
    GOMP(GOMP_task)(__heddle_gomp_run, &t, __heddle_gomp_copy, (long)t.offset + bytes,
                    alignment(align), if_clause, flags, depend, priority, detach);
}

/* libgomp puts the bounds in front of each task's data; without `nogroup` it is a taskgroup. */
#define TASKLOOP(name, type)                                                                       \
    INTERPOSE(void, name, function *fn, void *data, copier *copy, long bytes, long align,          \
              unsigned flags, unsigned long tasks, int priority, type start, type end, type step)  \
    {                                                                                              \
        struct gomp_task t = new_task(fn, data, copy, bytes, align, WHERE_CALLER());               \
        t.back = 2;                                                                                \
        t.undeferred = !(flags & GOMP_FLAG_IF);                                                    \
        t.final = flags & GOMP_FLAG_FINAL;                                                         \
        t.reductions = bytes >= 24 ? ((void **)data)[2] : NULL;                                    \
        if (!(flags & GOMP_FLAG_NOGROUP))                                                          \
            __heddle_gomp_taskgroup(true, t.where);                                                \
        GOMP(name)(__heddle_gomp_run, &t, __heddle_gomp_copy, (long)t.offset + bytes,              \
                   alignment(align), flags, tasks, priority, start, end, step);                    \
        if (!(flags & GOMP_FLAG_NOGROUP))                                                          \
            __heddle_gomp_taskgroup(false, t.where);                                               \
    }

TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long)

INTERPOSE(void, GOMP_taskwait, void)
{
    GOMP(GOMP_taskwait)();
    __heddle_gomp_taskwait(WHERE_CALLER());
}

INTERPOSE(void, GOMP_taskwait_depend, void **depend)
{
    GOMP(GOMP_taskwait_depend)(depend);
    __heddle_gomp_taskwait_depend(depend, WHERE_CALLER());
}

INTERPOSE(void, GOMP_taskgroup_start, void)
{
    __heddle_gomp_taskgroup(true, WHERE_CALLER());
    GOMP(GOMP_taskgroup_start)();
}

INTERPOSE(void, GOMP_taskgroup_end, void)
{
    GOMP(GOMP_taskgroup_end)();
    __heddle_gomp_taskgroup(false, WHERE_CALLER());
}

INTERPOSE(void, omp_fulfill_event, uintptr_t event)
{
    __heddle_gomp_fulfil(true, WHERE_CALLER());
    GOMP(omp_fulfill_event)(event);
    __heddle_gomp_fulfil(false, WHERE_CALLER());
}
