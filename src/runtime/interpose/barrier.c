/* barrier.c - pthread barriers
 *
 * Enter before, leave after; the analyser finds the rounds. Initialising and
 * destroying order nothing that the rounds do not.
 *
 * std::barrier of libc++ counts arrivals inside the library, whose code is not traced; the rest is
 * in its headers. All that arrive are before the one that is told it was the last.
 */
#include "runtime/interpose/interpose.h"

/* struct pthread_barrier of glibc, since 2.25: in, current round, count ... */
ALWAYS_INLINE unsigned barrier_count(const pthread_barrier_t *b)
{
    unsigned words[3];

    __builtin_memcpy(words, b, sizeof(words));
    return words[2];
}

INTERPOSE(int, pthread_barrier_wait, pthread_barrier_t *b)
{
    int r;

    rt_sync(OP_BARRIER_ENTER, b, WHERE_CALLER());
    if (explore_is_ours()) {
        r = explore_barrier(b, barrier_count(b), WHERE_CALLER());
    } else {
        rt_asleep_begin();
        r = REAL(pthread_barrier_wait)(b);
        rt_asleep_end();
    }
    if (r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD)
        rt_sync(OP_BARRIER_LEAVE, b, WHERE_CALLER());
    return r;
}

#ifndef HEDDLE_STATIC
/* bool std::__1::__arrive_barrier_algorithm_base(__barrier_algorithm_base *, unsigned char) */
INTERPOSE(bool, _ZNSt3__131__arrive_barrier_algorithm_baseEPNS_24__barrier_algorithm_baseEh,
          void *barrier, uint8_t phase)
{
    bool last;

    rt_sync(OP_BEFORE, barrier, WHERE_CALLER());
    last = REAL(_ZNSt3__131__arrive_barrier_algorithm_baseEPNS_24__barrier_algorithm_baseEh)(
        barrier, phase);
    if (last)
        rt_sync(OP_AFTER, barrier, WHERE_CALLER());
    return last;
}
#endif
