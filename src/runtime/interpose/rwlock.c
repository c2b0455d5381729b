/* rwlock.c - pthread read-write locks
 *
 * The unlock decides as glibc does whether it ends a reader or the writer: by
 * the lock's __cur_writer. Nested read locks of a thread are all recorded; the
 * analyser counts them.
 */
#include "runtime/interpose/interpose.h"

#include <time.h>

ALWAYS_INLINE void acquired(const pthread_rwlock_t *l, enum op op, int result, uint64_t where)
{
    if (result == 0)
        rt_sync(op, l, where);
}

/* By a try, or with a time limit. */
ALWAYS_INLINE void tried(const pthread_rwlock_t *l, enum op op, int result, uint64_t where)
{
    if (result == 0)
        rt_sync_tried(op, l, where);
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_rwlock_tryrdlock, (l), pthread_rwlock_t *l)
{
    int r = TRIED(OP_ACQUIRE_SHARED, EX_LOCK_SHARED, REAL(pthread_rwlock_tryrdlock)(l), l, EBUSY);

    tried(l, OP_ACQUIRE_SHARED, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_rwlock_rdlock, (l), pthread_rwlock_t *l)
{
    int r =
        LOCK_OR_WAIT(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, l, OP_ACQUIRE_SHARED, EBUSY);

    acquired(l, OP_ACQUIRE_SHARED, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_rwlock_timedrdlock, (l, until),
                 pthread_rwlock_t *restrict l, const struct timespec *restrict until)
{
    int r;

    if (explore_is_ours()) {
        r = EXPLORE_TRY(EX_LOCK_SHARED, REAL(pthread_rwlock_tryrdlock)(l), l, EBUSY, true);
        r = r == EBUSY ? ETIMEDOUT : r;
    } else {
        rt_steer(OP_ACQUIRE_SHARED, WHERE_CALLER());
        r = REAL(pthread_rwlock_timedrdlock)(l, until);
    }

    tried(l, OP_ACQUIRE_SHARED, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_rwlock_clockrdlock, (l, clock, until),
                 pthread_rwlock_t *restrict l, clockid_t clock,
                 const struct timespec *restrict until)
{
    int r;

    if (explore_is_ours()) {
        r = EXPLORE_TRY(EX_LOCK_SHARED, REAL(pthread_rwlock_tryrdlock)(l), l, EBUSY, true);
        r = r == EBUSY ? ETIMEDOUT : r;
    } else {
        rt_steer(OP_ACQUIRE_SHARED, WHERE_CALLER());
        r = REAL(pthread_rwlock_clockrdlock)(l, clock, until);
    }

    tried(l, OP_ACQUIRE_SHARED, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_rwlock_trywrlock, (l), pthread_rwlock_t *l)
{
    int r = TRIED(OP_ACQUIRE, EX_LOCK, REAL(pthread_rwlock_trywrlock)(l), l, EBUSY);

    tried(l, OP_ACQUIRE, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_rwlock_wrlock, (l), pthread_rwlock_t *l)
{
    int r = LOCK_OR_WAIT(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, l, OP_ACQUIRE, EBUSY);

    acquired(l, OP_ACQUIRE, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_rwlock_timedwrlock, (l, until),
                 pthread_rwlock_t *restrict l, const struct timespec *restrict until)
{
    int r;

    if (explore_is_ours()) {
        r = EXPLORE_TRY(EX_LOCK, REAL(pthread_rwlock_trywrlock)(l), l, EBUSY, true);
        r = r == EBUSY ? ETIMEDOUT : r;
    } else {
        rt_steer(OP_ACQUIRE, WHERE_CALLER());
        r = REAL(pthread_rwlock_timedwrlock)(l, until);
    }

    tried(l, OP_ACQUIRE, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_rwlock_clockwrlock, (l, clock, until),
                 pthread_rwlock_t *restrict l, clockid_t clock,
                 const struct timespec *restrict until)
{
    int r;

    if (explore_is_ours()) {
        r = EXPLORE_TRY(EX_LOCK, REAL(pthread_rwlock_trywrlock)(l), l, EBUSY, true);
        r = r == EBUSY ? ETIMEDOUT : r;
    } else {
        rt_steer(OP_ACQUIRE, WHERE_CALLER());
        r = REAL(pthread_rwlock_clockwrlock)(l, clock, until);
    }

    tried(l, OP_ACQUIRE, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_rwlock_unlock, (l), pthread_rwlock_t *l)
{
    bool writer = l->__data.__cur_writer == own_tid();

    rt_sync(writer ? OP_RELEASE : OP_RELEASE_SHARED, l, WHERE_CALLER());
    return REAL(pthread_rwlock_unlock)(l);
}
