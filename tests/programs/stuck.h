/* stuck.h - for programs that really deadlock
 *
 * meet(&mine, &other)    both threads are here at the same time
 * await_waiters(&m)      until a thread sleeps in pthread_mutex_lock(&m)
 */
#ifndef STUCK_H
#define STUCK_H

#include "prog.h"

#include <signal.h>

static inline void meet(int *mine, int *other)
{
    tell(mine);
    await(other);
}

/* glibc's lock word is 2 when somebody waits. */
static inline void await_waiters(pthread_mutex_t *m)
{
    while (__atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED) != 2)
        pause_ms(1);
}

#endif
