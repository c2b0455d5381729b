// All ways to send a signal, to a thread or to the process: the handler comes after the sender.
// gcc: also
#include "prog.h"
#include <signal.h>
#include <sys/syscall.h>

int x, seen, ready, stop;
pid_t tid;

static void handler(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    x++;
    __atomic_fetch_add(&seen, 1, __ATOMIC_RELEASE);
}

THREAD(target)
{
    sigset_t all;
    sigemptyset(&all);
    sigaddset(&all, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    tid = (pid_t)syscall(SYS_gettid);
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    await(&stop);
    return NULL;
}

static void send(pthread_t t, int how)
{
    union sigval none = { 0 };
    if (how == 0)
        pthread_kill(t, SIGUSR1);
    else if (how == 1)
        pthread_sigqueue(t, SIGUSR1, none);
    else if (how == 2)
        tgkill(getpid(), tid, SIGUSR1);
    else if (how == 3)
        kill(getpid(), SIGUSR1);
    else if (how == 4)
        sigqueue(getpid(), SIGUSR1, none);
    else
        kill(0, SIGUSR1);
}

int main(void)
{
    struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
    sigset_t own;
    setpgid(0, 0);
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    sigaction(SIGUSR1, &a, NULL);
    pthread_t t = start(target, NULL);
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        pause_ms(1);
    for (int how = 0; how < 6; how++) {
        x = how;
        send(t, how);
        while (__atomic_load_n(&seen, __ATOMIC_ACQUIRE) != how + 1)
            pause_ms(1);
    }
    tell(&stop);
    pthread_join(t, NULL);
    return x - 6;
}
