/* tsan_sync.c - the parts of the __tsan_* interface that people call
 *
 * <sanitizer/tsan_interface.h>: locks, edges, ignoring, fibers, external
 * objects; and the invisible barrier of ThreadSanitizer's own tests. Reports are
 * made elsewhere and later, so the functions that look into one find none.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/core/ignore.h"
#include "runtime/core/rt.h"

#define FUNCTION(type, name, ...)                                                                  \
    EXPORT type name(__VA_ARGS__);                                                                 \
    EXPORT type name(__VA_ARGS__)

/* ---- edges ---- */

FUNCTION(void, __tsan_acquire, void *p)
{
    rt_sync(OP_AFTER, p, WHERE_CALLER());
}

FUNCTION(void, __tsan_release, void *p)
{
    rt_sync(OP_BEFORE, p, WHERE_CALLER());
}

/* ---- ignoring ---- */

FUNCTION(void, __tsan_ignore_thread_begin, void)
{
    ignore_begin();
}

FUNCTION(void, __tsan_ignore_thread_end, void)
{
    ignore_end();
}

/* ---- locks of the program's own making ----
 *
 * What the lock's code does between pre_ and post_ is its own business and
 * ignored; a divert leaves it for a moment.
 */

enum { MUTEX_READ_LOCK = 1 << 3, MUTEX_TRY_LOCK = 1 << 4, MUTEX_TRY_LOCK_FAILED = 1 << 5 };

FUNCTION(void, __tsan_mutex_create, void *m, unsigned flags)
{
    (void)m, (void)flags;
}

FUNCTION(void, __tsan_mutex_destroy, void *m, unsigned flags)
{
    (void)m, (void)flags;
}

FUNCTION(void, __tsan_mutex_pre_lock, void *m, unsigned flags)
{
    (void)m, (void)flags;
    ignore_begin();
}

/* Recursion: inner events are told apart by the analyser. */
FUNCTION(void, __tsan_mutex_post_lock, void *m, unsigned flags, int recursion)
{
    (void)recursion;
    ignore_end();
    if (!(flags & MUTEX_TRY_LOCK_FAILED))
        (flags & MUTEX_TRY_LOCK ? rt_sync_tried : rt_sync)(
            flags & MUTEX_READ_LOCK ? OP_ACQUIRE_SHARED : OP_ACQUIRE, m, WHERE_CALLER());
}

FUNCTION(int, __tsan_mutex_pre_unlock, void *m, unsigned flags)
{
    rt_sync(flags & MUTEX_READ_LOCK ? OP_RELEASE_SHARED : OP_RELEASE, m, WHERE_CALLER());
    ignore_begin();
    return 1;
}

FUNCTION(void, __tsan_mutex_post_unlock, void *m, unsigned flags)
{
    (void)m, (void)flags;
    ignore_end();
}

FUNCTION(void, __tsan_mutex_pre_signal, void *m, unsigned flags)
{
    (void)m, (void)flags;
    ignore_begin();
}

FUNCTION(void, __tsan_mutex_post_signal, void *m, unsigned flags)
{
    (void)m, (void)flags;
    ignore_end();
}

FUNCTION(void, __tsan_mutex_pre_divert, void *m, unsigned flags)
{
    (void)m, (void)flags;
    ignore_end();
}

FUNCTION(void, __tsan_mutex_post_divert, void *m, unsigned flags)
{
    (void)m, (void)flags;
    ignore_begin();
}

/* ---- fibers ---- */

enum { FIBER_NO_SYNC = 1 };

FUNCTION(void *, __tsan_get_current_fiber, void)
{
    return rt_fiber_current();
}

FUNCTION(void *, __tsan_create_fiber, unsigned flags)
{
    (void)flags;
    return rt_fiber_new(WHERE_CALLER());
}

FUNCTION(void, __tsan_destroy_fiber, void *fiber)
{
    if (fiber)
        rt_fiber_free(fiber, WHERE_CALLER());
}

FUNCTION(void, __tsan_switch_to_fiber, void *fiber, unsigned flags)
{
    if (fiber)
        rt_fiber_switch(fiber, !(flags & FIBER_NO_SYNC), WHERE_CALLER());
}

FUNCTION(void, __tsan_set_fiber_name, void *fiber, const char *name)
{
    if (fiber && name && fiber == (void *)rt_fiber_current())
        rt_thread_name(name);
}

/* ---- external objects: a call on one is an access to its first byte ---- */

FUNCTION(void *, __tsan_external_register_tag, const char *type)
{
    return (void *)(uintptr_t)(type ? type : "");
}

FUNCTION(void, __tsan_external_register_header, void *tag, const char *header)
{
    (void)tag, (void)header;
}

FUNCTION(void, __tsan_external_assign_tag, void *object, void *tag)
{
    (void)object, (void)tag;
}

FUNCTION(void, __tsan_external_read, void *object, void *pc, void *tag)
{
    (void)tag;
    rt_read(object, 1, WHERE_PC | (uint64_t)(uintptr_t)pc);
}

FUNCTION(void, __tsan_external_write, void *object, void *pc, void *tag)
{
    (void)tag;
    rt_write(object, 1, WHERE_PC | (uint64_t)(uintptr_t)pc);
}

/* ---- the barrier that orders nothing: waits by the kernel, records nothing ----
 *
 * Four bytes, as the tests declare it (older ones: eight). Low bits: threads that a round takes;
 * the others: arrivals so far.
 */

enum { BARRIER_THREADS = 1 << 10 };

FUNCTION(void, __tsan_testonly_barrier_init, uint32_t *barrier, unsigned threads)
{
    __atomic_store_n(barrier, threads && threads < BARRIER_THREADS ? threads : 1, __ATOMIC_SEQ_CST);
}

static uint32_t barrier_round(uint32_t state)
{
    return state / BARRIER_THREADS / (state % BARRIER_THREADS);
}

FUNCTION(void, __tsan_testonly_barrier_wait, uint32_t *barrier)
{
    uint32_t was = __atomic_fetch_add(barrier, BARRIER_THREADS, __ATOMIC_SEQ_CST), now;
    int saved = errno;

    while (barrier_round(now = __atomic_load_n(barrier, __ATOMIC_SEQ_CST)) == barrier_round(was))
        syscall(SYS_futex, barrier, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
    syscall(SYS_futex, barrier, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

/* ---- for programs that look at reports: there are none in the program ---- */

FUNCTION(void *, __tsan_get_current_report, void)
{
    return NULL;
}

FUNCTION(void, __tsan_flush_memory, void)
{
}

FUNCTION(void, __tsan_on_thread_idle, void)
{
}
