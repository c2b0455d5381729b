/* barrier.c - pthread barriers
 *
 * Enter before, leave after; the analyser finds the rounds. Initialising and
 * destroying order nothing that the rounds do not.
 */
#include "runtime/interpose.h"

INTERPOSE(int, pthread_barrier_wait, pthread_barrier_t *b)
{
    int r;

    rt_sync(OP_BARRIER_ENTER, b, WHERE_CALLER());
    r = REAL(pthread_barrier_wait)(b);
    if (r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD)
        rt_sync(OP_BARRIER_LEAVE, b, WHERE_CALLER());
    return r;
}
