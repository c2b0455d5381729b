// Who reads a signal from a signalfd comes after who sent it.
// gcc: also
#include "prog.h"
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

enum { SENDS = 3 };
static int x[SENDS];

static int got(int fd, int n)
{
    struct signalfd_siginfo info;
    struct pollfd ready = { .fd = fd, .events = POLLIN };

    if (poll(&ready, 1, 10000) != 1 || read(fd, &info, sizeof(info)) != sizeof(info))
        return 0;
    x[n]++;
    return 1;
}

THREAD(reader)
{
    int fd = signalfd(-1, arg, SFD_CLOEXEC), ok = fd >= 0;

    for (int i = 0; ok && i < SENDS; i++)
        ok = got(fd, i);
    return ok ? arg : NULL;
}

int main(void)
{
    sigset_t set;
    void *result;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_t t = start(reader, &set);
    x[0] = 1;
    kill(getpid(), SIGUSR1);
    pause_ms(100);
    x[1] = 1;
    pthread_kill(t, SIGUSR2);
    pause_ms(100);
    x[2] = 1;
    sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 });
    pthread_join(t, &result);
    return result == NULL;
}
