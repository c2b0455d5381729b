/* signal_send.c - who sends signals, and who waits for them without a handler
 *
 * Sending happens before the handler runs or the wait ends. There is an object
 * for each target: a thread (pthread_kill, raise ...) or the process (kill,
 * alarm ...), and a number; si_code tells the one who gets it which of them it
 * was. A signal for another process orders nothing here. Sends that fail are
 * recorded, too: an edge that nobody takes.
 * Not here: timers made by timer_create() (notify.c); signalfd, whose read() takes
 * them (fd_rw.c).
 * Limit: a thread that gets the pthread_t of one that has ended learns from what
 * was sent to that one.
 */
#include "runtime/interpose/interpose.h"
#include "runtime/core/state.h"

#include <sys/time.h>
#include <time.h>
#include <unistd.h>

bool signal_codes_lost;

void signal_taken(int sig, int code, uint64_t where)
{
    bool lost = __atomic_load_n(&signal_codes_lost, __ATOMIC_RELAXED);

    signal_edge(OP_AFTER, sig, (uint64_t)sig, where);
    if (code != SI_TKILL || lost)
        signal_edge(OP_AFTER, sig, TO_PROCESS + (uint64_t)sig, where);
    if (code == SI_TKILL || code == SI_QUEUE || lost)
        signal_edge(OP_AFTER, sig, signal_of_thread(pthread_self(), sig), where);
}

/* A group of processes may have this one in it. */
static bool is_for_us(pid_t pid)
{
    return pid <= 0 || rt.mode != MODE_ON || pid == (pid_t)rt.ring->pid;
}

INTERPOSE(int, raise, int sig)
{
    signal_to_thread(pthread_self(), sig, WHERE_CALLER());
    return REAL(raise)(sig);
}

INTERPOSE(int, gsignal, int sig)
{
    signal_to_thread(pthread_self(), sig, WHERE_CALLER());
    return REAL(gsignal)(sig);
}

INTERPOSE(int, kill, pid_t pid, int sig)
{
    if (is_for_us(pid))
        signal_to_process(sig, WHERE_CALLER());
    return REAL(kill)(pid, sig);
}

INTERPOSE(int, killpg, pid_t group, int sig)
{
    signal_to_process(sig, WHERE_CALLER());
    return REAL(killpg)(group, sig);
}

/* Which pthread_t another thread's number belongs to is not known. */
INTERPOSE(int, tgkill, pid_t pid, pid_t tid, int sig)
{
    if (tid == own_tid())
        signal_to_thread(pthread_self(), sig, WHERE_CALLER());
    else if (is_for_us(pid))
        signal_to_all(sig, WHERE_CALLER());
    return REAL(tgkill)(pid, tid, sig);
}

/* Up to glibc 2.33 a thread that has ended is not found: who learns that comes after its end. */
INTERPOSE(int, pthread_kill, pthread_t thread, int sig)
{
    uint32_t number = sig ? UINT32_MAX : thread_number_of(thread);
    int r;

    signal_to_thread(thread, sig, WHERE_CALLER());
    r = REAL(pthread_kill)(thread, sig);
    if (r == ESRCH)
        rt_thread_join(number, WHERE_CALLER());
    return r;
}

INTERPOSE(int, sigqueue, pid_t pid, int sig, const union sigval value)
{
    if (is_for_us(pid))
        signal_to_process(sig, WHERE_CALLER());
    return REAL(sigqueue)(pid, sig, value);
}

INTERPOSE(int, pthread_sigqueue, pthread_t thread, int sig, const union sigval value)
{
    signal_to_thread(thread, sig, WHERE_CALLER());
    return REAL(pthread_sigqueue)(thread, sig, value);
}

/* ---- timers ---- */

INTERPOSE(unsigned, alarm, unsigned seconds)
{
    signal_to_process(SIGALRM, WHERE_CALLER());
    return REAL(alarm)(seconds);
}

INTERPOSE(useconds_t, ualarm, useconds_t first, useconds_t interval)
{
    signal_to_process(SIGALRM, WHERE_CALLER());
    return REAL(ualarm)(first, interval);
}

INTERPOSE(int, setitimer, __itimer_which_t which, const struct itimerval *restrict value,
          struct itimerval *restrict old)
{
    signal_to_process(which == ITIMER_REAL      ? SIGALRM
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
        signal_taken(*sig, SI_QUEUE, WHERE_CALLER());
    rt_result(r == 0 ? sig : NULL, sizeof(*sig), WHERE_CALLER());
    return r;
}

INTERPOSE(int, sigwaitinfo, const sigset_t *restrict set, siginfo_t *restrict info)
{
    int r = REAL(sigwaitinfo)(set, info);

    if (r > 0)
        signal_taken(r, info ? info->si_code : SI_QUEUE, WHERE_CALLER());
    rt_result(r > 0 ? info : NULL, sizeof(*info), WHERE_CALLER());
    return r;
}

INTERPOSE(int, sigtimedwait, const sigset_t *restrict set, siginfo_t *restrict info,
          const struct timespec *restrict timeout)
{
    int r = REAL(sigtimedwait)(set, info, timeout);

    if (r > 0)
        signal_taken(r, info ? info->si_code : SI_QUEUE, WHERE_CALLER());
    rt_result(r > 0 ? info : NULL, sizeof(*info), WHERE_CALLER());
    return r;
}

/* Handlers may call these first: look them up while nothing is interrupted. */
static __attribute__((constructor)) void signal_send_look_up(void)
{
    (void)REAL(raise);
    (void)REAL(kill);
    (void)REAL(pthread_kill);
    (void)REAL(sigqueue);
    (void)REAL(alarm);
}
