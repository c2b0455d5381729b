/* explore_calls.c - sleeping and giving way, in a run in which one thread goes at a time
 *
 * To sleep is to let others go first: it orders nothing, so a thread that sleeps may be chosen at
 * any time, and is chosen by itself only when no other one can go on. The time is not spent, or a
 * test with pauses would take as long in each run; only who is alone sleeps for a moment, since
 * somebody outside may be waited for.
 */
#include "runtime/steer/explore_steps.h"
#include "runtime/interpose/interpose.h"

#include <threads.h>

#undef sched_yield /* ours: the system call alone */

enum { MOMENT_NS = 10 * 1000 * 1000 };

static void moment(const struct timespec *time)
{
    struct timespec t = { 0, MOMENT_NS };

    if (time && time->tv_sec == 0 && time->tv_nsec < MOMENT_NS)
        t = *time;
    syscall(SYS_nanosleep, &t, NULL);
}

static void sleeps(const struct timespec *time, uint64_t where)
{
    int saved = errno;

    if (explore_yield(where))
        moment(time);
    errno = saved;
}

INTERPOSE(int, sched_yield, void)
{
    if (!explore_is_ours())
        return REAL(sched_yield)();
    explore_yield(WHERE_CALLER());
    return 0;
}

INTERPOSE(int, nanosleep, const struct timespec *time, struct timespec *left)
{
    if (!explore_is_ours() || !time || (unsigned long)time->tv_nsec >= 1000000000)
        return REAL(nanosleep)(time, left);
    sleeps(time, WHERE_CALLER());
    return 0;
}

INTERPOSE(int, clock_nanosleep, clockid_t clock, int flags, const struct timespec *time,
          struct timespec *left)
{
    if (!explore_is_ours() || !time || (unsigned long)time->tv_nsec >= 1000000000)
        return REAL(clock_nanosleep)(clock, flags, time, left);
    sleeps(flags ? NULL : time, WHERE_CALLER());
    return 0;
}

INTERPOSE(int, usleep, useconds_t us)
{
    const struct timespec time = { us / 1000000, (long)(us % 1000000) * 1000 };

    if (!explore_is_ours())
        return REAL(usleep)(us);
    sleeps(&time, WHERE_CALLER());
    return 0;
}

INTERPOSE(unsigned, sleep, unsigned seconds)
{
    const struct timespec time = { (time_t)seconds, 0 };

    if (!explore_is_ours())
        return REAL(sleep)(seconds);
    sleeps(&time, WHERE_CALLER());
    return 0;
}

/* The first call may come from a signal's handler, or where nothing may be looked up. */
static __attribute__((constructor)) void look_up(void)
{
    (void)REAL(sched_yield);
    (void)REAL(nanosleep);
}
