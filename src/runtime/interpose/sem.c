/* sem.c - POSIX semaphores, named ones too
 *
 * Post before, wait after, failed waits not at all. Within a process a named
 * semaphore is at one address however often it is opened, so the address is the
 * object. What sem_init() gives is posts: predicting engines count (docs/design/proof.md). Opening,
 * closing and sem_getvalue() order nothing; its result is a write.
 */
#include "runtime/interpose/interpose.h"

#include <semaphore.h>
#include <time.h>

ALWAYS_INLINE void taken(const sem_t *s, int result, uint64_t where)
{
    if (result == 0)
        rt_sync(OP_SEM_WAIT, s, where);
}

/* One that processes share may be taken from elsewhere: what its value is, nobody knows. */
INTERPOSE_UNLESS(rt_deaf_to_sync, int, sem_init, (s, shared, value), sem_t *s, int shared,
                 unsigned value)
{
    int r = REAL(sem_init)(s, shared, value);

    if (r == 0)
        rt_semaphore_begins(s, shared ? 0 : value, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, sem_post, (s), sem_t *s)
{
    rt_sync(OP_SEM_POST, s, WHERE_CALLER());
    return REAL(sem_post)(s);
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, sem_trywait, (s), sem_t *s)
{
    int r = TRIED(OP_SEM_WAIT, EX_SEM_WAIT, REAL(sem_trywait)(s), s, -1);

    taken(s, r, WHERE_CALLER());
    return r;
}

/* A controlled run takes it without waiting. */
enum { TAKEN_ALL = 1 };
ALWAYS_INLINE int sem_take(sem_t *s)
{
    int r = REAL(sem_trywait)(s);

    return r && errno == EAGAIN ? TAKEN_ALL : r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, sem_wait, (s), sem_t *s)
{
    int r;

    if (explore_is_ours()) {
        r = EXPLORE_TRY(EX_SEM_WAIT, sem_take(s), s, TAKEN_ALL, false);
        r = r == TAKEN_ALL ? REAL(sem_wait)(s) : r;
    } else {
        rt_steer(OP_SEM_WAIT, WHERE_CALLER());
        rt_asleep_begin();
        r = REAL(sem_wait)(s);
        rt_asleep_end();
    }
    taken(s, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, sem_timedwait, (s, until), sem_t *restrict s,
                 const struct timespec *restrict until)
{
    int r;

    if (explore_is_ours()) {
        r = EXPLORE_TRY(EX_SEM_WAIT, sem_take(s), s, TAKEN_ALL, true);
        if (r == TAKEN_ALL) {
            errno = ETIMEDOUT;
            r = -1;
        }
    } else {
        rt_steer(OP_SEM_WAIT, WHERE_CALLER());
        r = REAL(sem_timedwait)(s, until);
    }

    taken(s, r, WHERE_CALLER());
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_sync, int, sem_clockwait, (s, clock, until), sem_t *restrict s,
                 clockid_t clock, const struct timespec *restrict until)
{
    int r;

    if (explore_is_ours()) {
        r = EXPLORE_TRY(EX_SEM_WAIT, sem_take(s), s, TAKEN_ALL, true);
        if (r == TAKEN_ALL) {
            errno = ETIMEDOUT;
            r = -1;
        }
    } else {
        rt_steer(OP_SEM_WAIT, WHERE_CALLER());
        r = REAL(sem_clockwait)(s, clock, until);
    }

    taken(s, r, WHERE_CALLER());
    return r;
}

INTERPOSE(int, sem_getvalue, sem_t *restrict s, int *restrict value)
{
    int r = REAL(sem_getvalue)(s, value);

    rt_result(r == 0 ? value : NULL, sizeof(*value), WHERE_CALLER());
    return r;
}

/* Handlers may call these first: look them up while nothing is interrupted. */
static __attribute__((constructor)) void look_up(void)
{
    (void)REAL(sem_post);
}
