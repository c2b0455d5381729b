/* signal_send.c - who sends signals, and who waits for them without a handler
 *
 * Sending happens before the handler runs or the wait ends; the object is the
 * signal's number. Sends that fail are recorded, too: an edge that nobody takes.
 * Not here: timers made by timer_create() (notify.c); signalfd, whose read() is
 * an edge of the file descriptor.
 */
#include "runtime/interpose.h"

#include <sys/time.h>
#include <time.h>
#include <unistd.h>

INTERPOSE(int, raise, int sig)
{
    signal_sent(sig, WHERE_CALLER());
    return REAL(raise)(sig);
}

INTERPOSE(int, gsignal, int sig)
{
    signal_sent(sig, WHERE_CALLER());
    return REAL(gsignal)(sig);
}

INTERPOSE(int, kill, pid_t pid, int sig)
{
    signal_sent(sig, WHERE_CALLER());
    return REAL(kill)(pid, sig);
}

INTERPOSE(int, killpg, pid_t group, int sig)
{
    signal_sent(sig, WHERE_CALLER());
    return REAL(killpg)(group, sig);
}

INTERPOSE(int, tgkill, pid_t pid, pid_t tid, int sig)
{
    signal_sent(sig, WHERE_CALLER());
    return REAL(tgkill)(pid, tid, sig);
}

/* Up to glibc 2.33 a thread that has ended is not found: who learns that comes after its end. */
INTERPOSE(int, pthread_kill, pthread_t thread, int sig)
{
    uint32_t number = sig ? UINT32_MAX : thread_number_of(thread);
    int r;

    signal_sent(sig, WHERE_CALLER());
    r = REAL(pthread_kill)(thread, sig);
    if (r == ESRCH)
        rt_thread_join(number, WHERE_CALLER());
    return r;
}

INTERPOSE(int, sigqueue, pid_t pid, int sig, const union sigval value)
{
    signal_sent(sig, WHERE_CALLER());
    return REAL(sigqueue)(pid, sig, value);
}

INTERPOSE(int, pthread_sigqueue, pthread_t thread, int sig, const union sigval value)
{
    signal_sent(sig, WHERE_CALLER());
    return REAL(pthread_sigqueue)(thread, sig, value);
}

/* ---- timers ---- */

INTERPOSE(unsigned, alarm, unsigned seconds)
{
    signal_sent(SIGALRM, WHERE_CALLER());
    return REAL(alarm)(seconds);
}

INTERPOSE(useconds_t, ualarm, useconds_t first, useconds_t interval)
{
    signal_sent(SIGALRM, WHERE_CALLER());
    return REAL(ualarm)(first, interval);
}

INTERPOSE(int, setitimer, __itimer_which_t which, const struct itimerval *restrict value,
          struct itimerval *restrict old)
{
    signal_sent(which == ITIMER_REAL      ? SIGALRM
                : which == ITIMER_VIRTUAL ? SIGVTALRM
                                          : SIGPROF,
                WHERE_CALLER());
    return REAL(setitimer)(which, value, old);
}

/* ---- waiting ---- */

INTERPOSE(int, sigwait, const sigset_t *restrict set, int *restrict sig)
{
    int r = REAL(sigwait)(set, sig);

    if (r == 0)
        signal_taken(*sig, WHERE_CALLER());
    rt_result(r == 0 ? sig : NULL, sizeof(*sig), WHERE_CALLER());
    return r;
}

INTERPOSE(int, sigwaitinfo, const sigset_t *restrict set, siginfo_t *restrict info)
{
    int r = REAL(sigwaitinfo)(set, info);

    signal_taken(r, WHERE_CALLER());
    rt_result(r > 0 ? info : NULL, sizeof(*info), WHERE_CALLER());
    return r;
}

INTERPOSE(int, sigtimedwait, const sigset_t *restrict set, siginfo_t *restrict info,
          const struct timespec *restrict timeout)
{
    int r = REAL(sigtimedwait)(set, info, timeout);

    signal_taken(r, WHERE_CALLER());
    rt_result(r > 0 ? info : NULL, sizeof(*info), WHERE_CALLER());
    return r;
}

/* Handlers may call these first: look them up while nothing is interrupted. */
static __attribute__((constructor)) void look_up(void)
{
    (void)REAL(raise);
    (void)REAL(kill);
    (void)REAL(pthread_kill);
    (void)REAL(sigqueue);
    (void)REAL(alarm);
}
