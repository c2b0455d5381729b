/* openmp_logical.c - each task is a thread of the trace, whichever thread of the system runs it
 *
 * By the standard two tasks that nothing orders race, also where one thread runs both, one after
 * the other; another run would give them to two. So a thread that begins a task becomes another
 * thread of the trace until the task ends: a *logical* one. What orders tasks is recorded as edges
 * anyhow (openmp_task.c). The trace is that of a run with more threads.
 *
 * Not those that the standard lets run nowhere else: undeferred ones (`if(0)`, children of a final
 * task), which are part of what their creator does. Untied ones neither: libomp runs them in parts,
 * and does not tell when a part ends.
 *
 * Logical threads are used again and again, as a program with millions of tasks has a bounded
 * trace: each thread keeps at most POOL. First those whose last task is over since before the last
 * barrier, which loses nothing; else a new one; else the one that has been idle for the longest
 * time. Two tasks in one logical thread are in its order: one pair of POOL, in programs that have
 * more than that between barriers, is missed. Nothing is ordered less than it is, so that nothing
 * is reported that is no race. Where none is to be had, the task runs in the thread that runs.
 *
 * Two things belong to the system's thread, and are no race between two tasks that it runs:
 * - Its stack. What stands below the frame that runs a task is fresh memory when the task begins,
 * and when it ends: as far down as anything was recorded since the last time (state.h, stack_note).
 * - What is a thread's own: thread-local variables, and what a program finds by the thread's
 * number. A task that uses these is in the order of the thread from there on (rt_fiber_own).
 *
 * Concurrency: a pool belongs to a system's thread; those of threads that ended are in a list,
 * which openmp_lock protects.
 */
#include <link.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/openmp/openmp.h"

enum { POOL = 64, POOL_LEAST = 8, MANY = 512, STACK_MOST = 64 << 20, OWN_MOST = 1 << 24 };

struct openmp_logical {
    struct rt_thread *thread;
    const char *name;            /* what it is for */
    struct openmp_logical *next; /* in the list of idle ones, which were idle for a shorter time */
    uint64_t era;                /* of the pool, when its last task ended */
};

struct openmp_pool {
    struct openmp_pool *next; /* of threads that ended */
    struct openmp_logical all[POOL], *first, *last;
    unsigned count;
    uint64_t era;         /* barriers that the thread went through, outside of tasks */
    uint64_t id;          /* of its objects */
    bool owned, ended;    /* a task released them */
    uintptr_t stack, end; /* of the system's thread */
    uintptr_t own;        /* its thread-local variables, of images that were there */
    size_t own_bytes;
};

static _Thread_local struct openmp_pool *pool __attribute__((tls_model("initial-exec")));
/* NULL: the system's thread itself */
static _Thread_local struct openmp_logical *now __attribute__((tls_model("initial-exec")));

static struct openmp_pool *pools; /* of threads that ended; under openmp_lock */
static unsigned made;             /* logical threads, of all */
static uint32_t process;          /* how often this one was forked: another's pools are gone */

/* ---- pools ---- */

/* The C library knows the stacks of threads that it made. That of the process grows up to a limit,
 * and no mapping lies in the 128 MiB below its start. */
static void find_stack(struct openmp_pool *p)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct rlimit limit = { .rlim_cur = 8 << 20 };
    size_t bytes = 0;

    if ((rt_sandbox || syscall(SYS_gettid) != syscall(SYS_getpid)) &&
        rt_own_stack(&p->stack, &bytes)) {
        p->end = p->stack + bytes;
        return;
    }
    if (!rt_sandbox)
        getrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_cur > STACK_MOST)
        limit.rlim_cur = STACK_MOST;
    p->stack = here - limit.rlim_cur;
    p->end = here + limit.rlim_cur;
}

/* They lie below the thread's descriptor; those of images that come later elsewhere. */
static int find_own(struct dl_phdr_info *info, size_t size, void *data)
{
    uintptr_t *low = data, at = 0, end = (uintptr_t)__builtin_thread_pointer();

    if (size >= offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof(void *))
        at = (uintptr_t)info->dlpi_tls_data;
    if (at && end - at < OWN_MOST && at < *low)
        *low = at;
    return 0;
}

static struct openmp_pool *pool_get(void)
{
    struct openmp_pool *p = pool;

    if (p)
        return p;
    rt_lock_take(&openmp_lock);
    p = pools;
    if (p)
        pools = p->next;
    rt_lock_drop(&openmp_lock);
    if (!p && !(p = rt_pages(sizeof(*p))))
        return NULL;
    p->id = openmp_new_id();
    p->owned = p->ended = false;
    find_stack(p);
    p->own = (uintptr_t)__builtin_thread_pointer();
    dl_iterate_phdr(find_own, &p->own);
    p->own_bytes = (uintptr_t)__builtin_thread_pointer() - p->own;
    return pool = p;
}

HIDDEN void openmp_thread_ends(void);
void openmp_thread_ends(void)
{
    struct openmp_pool *p = pool;

    if (!p || now)
        return;
    pool = NULL;
    rt_lock_take(&openmp_lock);
    p->next = pools;
    pools = p;
    rt_lock_drop(&openmp_lock);
}

void openmp_forked(void)
{
    process++;
    pools = pool = NULL;
    now = NULL;
    made = 0;
    openmp_chunks_forked();
}

static struct openmp_logical *idle(struct openmp_pool *p)
{
    struct openmp_logical *l = p->first;

    if (l && !(p->first = l->next))
        p->last = NULL;
    return l;
}

static void become_idle(struct openmp_pool *p, struct openmp_logical *l)
{
    l->next = NULL;
    l->era = p->era;
    if (p->last)
        p->last->next = l;
    else
        p->first = l;
    p->last = l;
}

static struct openmp_logical *openmp_logical_make(struct openmp_pool *p, const char *name)
{
    struct openmp_logical *l = &p->all[p->count];
    unsigned most = __atomic_load_n(&made, __ATOMIC_RELAXED) < MANY ? POOL : POOL_LEAST;

    if (p->count >= most || !(l->thread = rt_fiber_found(name)))
        return NULL;
    p->count++;
    l->name = name;
    __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    return l;
}

/* Prior things that it ran stay in the trace, so a name must be true of them, too. */
static void name_again(struct openmp_logical *l, const char *name)
{
    static const char both[] = "OpenMP task, chunk";

    if (l->name != name && l->name != both)
        rt_thread_name_of(rt_fiber_number(l->thread), l->name = both);
}

static struct openmp_logical *openmp_logical_choose(struct openmp_pool *p, const char *name)
{
    bool rested = p->first && p->first->era < p->era;
    struct openmp_logical *l = rested ? NULL : openmp_logical_make(p, name);

    if (!l && (l = idle(p)))
        name_again(l, name);
    return l;
}

/* ---- what is the system's thread's own ---- */

static uint64_t own_key(const struct openmp_pool *p)
{
    return openmp_key(p->id, OWN_THINGS);
}

/* It may have used such things: others that do come after. */
static void give_own(struct openmp_pool *p)
{
    if (now && !rt_fiber_owns(now->thread))
        return;
    rt_sync_number(OP_BEFORE, own_key(p), openmp_place(NULL));
}

/* ---- tasks ---- */

/* The stack's bytes go from one to the other now. Accesses with values are put where these fit,
 * which is seen to be here: by the order of operations on one object that nothing comes after. */
static void openmp_logical_change(struct openmp_pool *p, struct rt_thread *to)
{
    uint64_t turn = openmp_key(p->id, OWN_TURN);

    if (rt_is_full())
        rt_sync_number(OP_BEFORE, turn, openmp_place(NULL));
    rt_fiber_switch(to, false, openmp_place(NULL));
    if (rt_is_full())
        rt_sync_number(OP_BEFORE, turn, openmp_place(NULL));
}

/* [stack, top) has no frame of the program's now. */
static void forget_stack(const struct openmp_pool *p, uintptr_t top)
{
    enum { NEAR = 1 << 16 };

    if (top > p->stack && top <= p->end)
        rt_stack_fresh(p->stack, top);
    else
        rt_stack_fresh(top - NEAR, top);
}

void openmp_logical_enter(struct openmp_node *task, const void *top, const char *name)
{
    struct rt_thread *before = rt_fiber_current();
    struct openmp_pool *p = before && top ? pool_get() : NULL;
    struct openmp_logical *l = p ? openmp_logical_choose(p, name) : NULL;

    if (!l)
        return;
    give_own(p);
    task->logical = l;
    task->resumed = now;
    task->before = before;
    task->process = process;
    task->top = (uintptr_t)top;
    now = l;
    rt_fiber_own(l->thread, before, own_key(p), p->own, p->own_bytes);
    openmp_logical_change(p, l->thread);
    forget_stack(p, task->top);
}

void openmp_logical_leave(struct openmp_node *task)
{
    struct openmp_logical *l = task->logical;
    struct openmp_pool *p = pool;

    task->logical = NULL;
    if (!l || !p || task->process != process || now != l)
        return;
    p->owned |= rt_fiber_owns(l->thread);
    give_own(p);
    now = task->resumed;
    openmp_logical_change(p, task->before);
    forget_stack(p, task->top);
    if (p->owned && (!now || rt_fiber_owns(now->thread)))
        rt_sync_number(OP_AFTER, own_key(p), openmp_place(NULL));
    if (!now)
        p->owned = false;
    become_idle(p, l);
}

/* ---- waiting ---- */

void openmp_ended_outside(const struct openmp_node *task, uint64_t where)
{
    if (!pool || !task->logical)
        return;
    pool->ended = true;
    rt_sync_number(OP_BEFORE, openmp_key(pool->id, OWN_TASKS), where);
}

void openmp_waits_for_own(uint64_t where)
{
    if (!pool || !pool->ended)
        return;
    pool->ended = false;
    rt_sync_number(OP_AFTER, openmp_key(pool->id, OWN_TASKS), where);
}

void openmp_after_barrier(void)
{
    if (pool && !now)
        pool->era++;
}
