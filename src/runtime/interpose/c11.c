/* c11.c - C11 threads, mutexes and condition variables
 *
 * glibc's thrd_, mtx_ and cnd_ functions call its pthread code directly, not by
 * name, so they are interposed on their own. A mtx_t, cnd_t and thrd_t is a
 * pthread object of the same layout. (call_once: once.c.)
 */
#include "runtime/interpose/interpose.h"

#include <threads.h>
#include <time.h>

_Static_assert(sizeof(mtx_t) <= sizeof(pthread_mutex_t), "a mtx_t is a pthread mutex");

static int run(void *entry)
{
    void *arg;
    thrd_start_t start;

    *(void **)&start = thread_enter(entry, &arg);
    return start(arg);
}

INTERPOSE(int, thrd_create, thrd_t *thread, thrd_start_t start, void *arg)
{
    struct thread_entry *e;
    int r;

    rt_result_ahead(thread, sizeof(*thread), WHERE_CALLER());
    e = thread_prepare(*(void **)&start, arg, NULL, WHERE_CALLER());
    if (!e)
        return REAL(thrd_create)(thread, start, arg);
    r = REAL(thrd_create)(thread, run, e);
    if (r == thrd_success)
        thread_created(e, thread);
    else
        thread_failed(e);
    return r;
}

INTERPOSE(int, thrd_join, thrd_t thread, int *result)
{
    uint32_t number = thread_number_of(thread);
    int r;

    if (explore_is_ours())
        explore_join(number, WHERE_CALLER());
    rt_asleep_begin();
    r = REAL(thrd_join)(thread, result);
    rt_asleep_end();

    if (r == thrd_success)
        thread_joined(thread, number, WHERE_CALLER());
    rt_result(r == thrd_success ? result : NULL, sizeof(*result), WHERE_CALLER());
    return r;
}

INTERPOSE(int, thrd_detach, thrd_t thread)
{
    thread_detaches(thread);
    return REAL(thrd_detach)(thread);
}

/* ---- mutexes ---- */

ALWAYS_INLINE pthread_mutex_t *mutex_of(mtx_t *m)
{
    return (pthread_mutex_t *)(void *)m;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, mtx_trylock, (m), mtx_t *m)
{
    int r;

    rt_steer(OP_ACQUIRE, WHERE_CALLER());
    r = REAL(mtx_trylock)(m);

    if (r == thrd_success)
        mutex_tried(mutex_of(m), 0, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, mtx_lock, (m), mtx_t *m)
{
    int r = LOCK_OR_WAIT(mtx_lock, mtx_trylock, m, OP_ACQUIRE, thrd_busy);

    if (r == thrd_success)
        mutex_acquired(mutex_of(m), 0, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, mtx_timedlock, (m, until), mtx_t *restrict m,
                 const struct timespec *restrict until)
{
    int r;

    rt_steer(OP_ACQUIRE, WHERE_CALLER());
    r = REAL(mtx_timedlock)(m, until);

    if (r == thrd_success)
        mutex_tried(mutex_of(m), 0, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, mtx_unlock, (m), mtx_t *m)
{
    mutex_releases(mutex_of(m), WHERE_CALLER());
    return REAL(mtx_unlock)(m);
}

/* ---- condition variables: as in cond.c ---- */

INTERPOSE(int, cnd_wait, cnd_t *c, mtx_t *m)
{
    struct cond_wait w;
    int r;

    if (explore_is_ours())
        return cond_wait_explored(c, mutex_of(m), false, WHERE_CALLER()) ? thrd_error
                                                                         : thrd_success;
    w = cond_wait_begin(mutex_of(m), WHERE_CALLER());
    pthread_cleanup_push(cond_wait_cancelled, &w);
    rt_asleep_begin();
    r = REAL(cnd_wait)(c, m);
    rt_asleep_end();
    pthread_cleanup_pop(0);
    cond_wait_end(&w, c, r == thrd_success ? 0 : EINVAL);
    return r;
}

INTERPOSE(int, cnd_timedwait, cnd_t *restrict c, mtx_t *restrict m,
          const struct timespec *restrict until)
{
    struct cond_wait w;
    int r;

    if (explore_is_ours()) {
        r = cond_wait_explored(c, mutex_of(m), true, WHERE_CALLER());
        return r == 0 ? thrd_success : r == ETIMEDOUT ? thrd_timedout : thrd_error;
    }
    w = cond_wait_begin(mutex_of(m), WHERE_CALLER());
    pthread_cleanup_push(cond_wait_cancelled, &w);
    r = REAL(cnd_timedwait)(c, m, until);
    pthread_cleanup_pop(0);
    cond_wait_end(&w, c, r == thrd_success ? 0 : ETIMEDOUT);
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, cnd_signal, (c), cnd_t *c)
{
    rt_sync(OP_SIGNAL, c, WHERE_CALLER());
    return REAL(cnd_signal)(c);
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, cnd_broadcast, (c), cnd_t *c)
{
    rt_sync(OP_BROADCAST, c, WHERE_CALLER());
    return REAL(cnd_broadcast)(c);
}
