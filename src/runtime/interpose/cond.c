/* cond.c - pthread condition variables
 *
 * A wait is: release of the mutex; asleep; the event WAIT, if woken; acquire of
 * the mutex. A time-out has no WAIT. A wake without reason cannot be told from
 * a real one, and is allowed at any time: so the signal is no order, only the
 * mutex is. A thread that is cancelled in a wait has the mutex again when its
 * cleanup handlers run: that acquire is recorded by one of ours, which runs
 * before theirs.
 */
#include "runtime/interpose/interpose.h"

#include <time.h>

struct cond_wait cond_wait_begin(pthread_mutex_t *m, uint64_t where)
{
    struct cond_wait w = { m, where, mutex_will_be_free(m) };

    if (w.recorded)
        rt_sync(OP_RELEASE, m, where);
    return w;
}

void cond_wait_cancelled(void *arg)
{
    const struct cond_wait *w = arg;

    rt_asleep_end();
    if (w->recorded)
        rt_sync(OP_ACQUIRE, w->mutex, w->where);
}

void cond_wait_end(const struct cond_wait *w, const void *cond, int result)
{
    bool woken = result == 0 || result == EOWNERDEAD || result == ENOTRECOVERABLE;

    if (!w->recorded)
        return;
    if (woken)
        rt_sync(OP_WAIT, cond, w->where);
    if (result != ENOTRECOVERABLE)
        rt_sync(OP_ACQUIRE, w->mutex, w->where);
}

/* ---- where one thread goes at a time (explore_steps.h) ---- */

static int take_again(pthread_mutex_t *m, uint64_t where)
{
    int r;

    explore_wants(EX_LOCK, m, where);
    while ((r = mutex_try(m)) == EBUSY && explore_blocked(false))
        ;
    explore_did(r == EBUSY);
    return r == EBUSY ? mutex_wait(m) : r;
}

static void explored_cancelled(void *arg)
{
    const struct cond_wait *w = arg;

    take_again(w->mutex, w->where);
    if (w->recorded)
        rt_sync(OP_ACQUIRE, w->mutex, w->where);
}

int cond_wait_explored(const void *c, pthread_mutex_t *m, bool timed, uint64_t where)
{
    struct cond_wait w;
    bool woken;
    int r;

    explore_waits(c, where);
    w = cond_wait_begin(m, where);
    r = mutex_give(m);
    if (r)
        return r;
    pthread_cleanup_push(explored_cancelled, &w);
    woken = explore_asleep(c, timed, where);
    pthread_cleanup_pop(0);
    r = take_again(m, where);
    if (r == 0 && !woken)
        r = ETIMEDOUT;
    cond_wait_end(&w, c, r);
    return r;
}

/* ---- the functions ---- */

INTERPOSE(int, pthread_cond_wait, pthread_cond_t *restrict c, pthread_mutex_t *restrict m)
{
    struct cond_wait w;
    int r;

    if (explore_is_ours())
        return cond_wait_explored(c, m, false, WHERE_CALLER());
    w = cond_wait_begin(m, WHERE_CALLER());
    pthread_cleanup_push(cond_wait_cancelled, &w);
    rt_asleep_begin();
    r = REAL(pthread_cond_wait)(c, m);
    rt_asleep_end();
    pthread_cleanup_pop(0);
    cond_wait_end(&w, c, r);
    return r;
}

INTERPOSE(int, pthread_cond_timedwait, pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
          const struct timespec *restrict until)
{
    struct cond_wait w;
    int r;

    if (explore_is_ours())
        return cond_wait_explored(c, m, true, WHERE_CALLER());
    w = cond_wait_begin(m, WHERE_CALLER());
    pthread_cleanup_push(cond_wait_cancelled, &w);
    r = REAL(pthread_cond_timedwait)(c, m, until);
    pthread_cleanup_pop(0);
    cond_wait_end(&w, c, r);
    return r;
}

INTERPOSE(int, pthread_cond_clockwait, pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
          clockid_t clock, const struct timespec *restrict until)
{
    struct cond_wait w;
    int r;

    if (explore_is_ours())
        return cond_wait_explored(c, m, true, WHERE_CALLER());
    w = cond_wait_begin(m, WHERE_CALLER());
    pthread_cleanup_push(cond_wait_cancelled, &w);
    r = REAL(pthread_cond_clockwait)(c, m, clock, until);
    pthread_cleanup_pop(0);
    cond_wait_end(&w, c, r);
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_cond_signal, (c), pthread_cond_t *c)
{
    rt_sync(OP_SIGNAL, c, WHERE_CALLER());
    return REAL(pthread_cond_signal)(c);
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_cond_broadcast, (c), pthread_cond_t *c)
{
    rt_sync(OP_BROADCAST, c, WHERE_CALLER());
    return REAL(pthread_cond_broadcast)(c);
}
