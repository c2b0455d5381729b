/* spin.c - pthread spinlocks
 *
 * A spinlock knows no owner: every unlock is a release. (glibc implements
 * pthread_spin_init() by the same code as the unlock; it is no event.)
 */
#include "runtime/interpose/interpose.h"

static void acquired(pthread_spinlock_t *l, int result, uint64_t where)
{
    if (result == 0)
        rt_sync(OP_ACQUIRE, (const void *)l, where);
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_spin_trylock, (l), pthread_spinlock_t *l)
{
    int r = TRIED(OP_ACQUIRE, EX_LOCK, REAL(pthread_spin_trylock)(l), l, EBUSY);

    if (r == 0)
        rt_sync_tried(OP_ACQUIRE, (const void *)l, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_spin_lock, (l), pthread_spinlock_t *l)
{
    int r = LOCK_OR_WAIT(pthread_spin_lock, pthread_spin_trylock, l, OP_ACQUIRE, EBUSY);

    acquired(l, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, pthread_spin_unlock, (l), pthread_spinlock_t *l)
{
    rt_sync(OP_RELEASE, (const void *)l, WHERE_CALLER());
    return REAL(pthread_spin_unlock)(l);
}
