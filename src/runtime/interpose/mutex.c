/* mutex.c - pthread mutexes of all kinds
 *
 * Release before the operation, acquire after it, failures not at all. An
 * unlock that will fail (not the owner) or that leaves an inner level of a
 * recursive mutex is recognised beforehand by what glibc itself looks at: kind,
 * owner and count. Initialising, destroying and pthread_mutex_consistent() order
 * nothing and are left alone.
 *
 * A robust mutex whose owner ended is acquired (EOWNERDEAD) without anybody
 * having released it. The ending thread records that release: the kernel keeps
 * the list of what it holds.
 *
 * Limit: lock elision would leave the owner unset; no kernel or glibc of our
 * targets turns it on.
 */
#include "runtime/interpose/interpose.h"

#include <linux/futex.h>
#include <sys/uio.h>
#include <time.h>

static _Thread_local pid_t tid_seen __attribute__((tls_model("initial-exec")));

static pid_t tid_in_lock(void);

pid_t own_tid(void)
{
    if (unlikely(!tid_seen))
        tid_seen = tid_in_lock();
    return tid_seen;
}

void own_tid_forget(void)
{
    tid_seen = 0;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_mutex_trylock, (m), pthread_mutex_t *m)
{
    int r = TRIED(OP_ACQUIRE, EX_LOCK, REAL(pthread_mutex_trylock)(m), m, EBUSY);

    mutex_tried(m, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_mutex_lock, (m), pthread_mutex_t *m)
{
    int r;

    if (unlikely(explore_on) && mutex_is_checked(m) && m->__data.__owner == own_tid())
        r = REAL(pthread_mutex_lock)(m); /* EDEADLK, or once more */
    else
        r = LOCK_OR_WAIT(pthread_mutex_lock, pthread_mutex_trylock, m, OP_ACQUIRE, EBUSY);

    mutex_acquired(m, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_mutex_timedlock, (m, until),
                 pthread_mutex_t *restrict m, const struct timespec *restrict until)
{
    int r;

    if (explore_is_ours()) {
        r = EXPLORE_TRY(EX_LOCK, REAL(pthread_mutex_trylock)(m), m, EBUSY, true);
        r = r == EBUSY ? ETIMEDOUT : r;
    } else {
        rt_steer(OP_ACQUIRE, WHERE_CALLER());
        r = REAL(pthread_mutex_timedlock)(m, until);
    }
    mutex_tried(m, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_mutex_clocklock, (m, clock, until),
                 pthread_mutex_t *restrict m, clockid_t clock,
                 const struct timespec *restrict until)
{
    int r;

    if (explore_is_ours()) {
        r = EXPLORE_TRY(EX_LOCK, REAL(pthread_mutex_trylock)(m), m, EBUSY, true);
        r = r == EBUSY ? ETIMEDOUT : r;
    } else {
        rt_steer(OP_ACQUIRE, WHERE_CALLER());
        r = REAL(pthread_mutex_clocklock)(m, clock, until);
    }
    mutex_tried(m, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_mutex_unlock, (m), pthread_mutex_t *m)
{
    mutex_releases(m, WHERE_CALLER());
    return REAL(pthread_mutex_unlock)(m);
}

int mutex_try(pthread_mutex_t *m)
{
    return REAL(pthread_mutex_trylock)(m);
}

int mutex_wait(pthread_mutex_t *m)
{
    return REAL(pthread_mutex_lock)(m);
}

int mutex_give(pthread_mutex_t *m)
{
    return REAL(pthread_mutex_unlock)(m);
}

/* What the C library writes into a lock that knows its owner: no system call. The library's
 * functions are looked up beforehand (find_list()): a handler that comes while its thread forks
 * would wait for the dynamic linker, which may be waiting for what the fork holds. */
static pid_t tid_in_lock(void)
{
    pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pid_t tid;

    REAL(pthread_mutex_lock)(&m);
    tid = m.__data.__owner;
    REAL(pthread_mutex_unlock)(&m);
    return tid;
}

/* ---- robust mutexes of a thread that ends ---- */

enum { ROBUST_MAX = 2048 }; /* as many as the kernel looks at */

/* Read a list entry that may be gone: the host may have freed a mutex it still holds. */
static bool read_entry(const void *at, uintptr_t *to)
{
    struct iovec local = { to, sizeof(*to) }, remote = { (void *)(uintptr_t)at, sizeof(*to) };

    return syscall(SYS_process_vm_readv, syscall(SYS_getpid), &local, 1L, &remote, 1L, 0L) ==
           sizeof(*to);
}

/* Where in a thread's descriptor the list is: the same for all, 0: not known. */
static ptrdiff_t list_at;

static __attribute__((constructor)) void find_list(void)
{
    struct robust_list_head *head = NULL;
    size_t bytes = 0;
    int saved = errno;

    if (syscall(SYS_get_robust_list, 0, &head, &bytes) == 0 && head)
        list_at = (char *)head - (char *)pthread_self();
    (void)own_tid();
    errno = saved;
}

void mutex_release_robust(void)
{
    struct robust_list_head *head = NULL;
    uintptr_t at;
    int saved = errno;

    if (list_at) {
        head = (struct robust_list_head *)((char *)pthread_self() + list_at);
        at = (uintptr_t)head->list.next;
        for (int i = 0; i < ROBUST_MAX && (at & ~(uintptr_t)1) != (uintptr_t)head; i++) {
            at &= ~(uintptr_t)1; /* set for priority inheritance */
            rt_sync(OP_RELEASE, (void *)(at + (uintptr_t)head->futex_offset), WHERE_CALLER());
            if (!read_entry((void *)at, &at))
                break;
        }
    }
    errno = saved;
}
