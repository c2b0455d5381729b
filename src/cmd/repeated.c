/* repeated.c - diverted streams, and a thread that waits for the end */
#include "cmd/repeated.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- its streams ---- */

static int input(void)
{
    struct stat st;

    if (fstat(0, &st) == 0 && S_ISREG(st.st_mode))
        return open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void put(struct streams *s, int to, int fd)
{
    s->saved[to] = fcntl(to, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return;
    dup2(fd, to);
    close(fd);
}

void streams_divert(struct streams *s, const char *output)
{
    fflush(NULL);
    put(s, 0, input());
    put(s, 1, open(output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    put(s, 2, fcntl(1, F_DUPFD_CLOEXEC, 3));
}

void streams_restore(struct streams *s)
{
    fflush(NULL);
    for (int i = 0; i < 3; i++)
        if (s->saved[i] >= 0) {
            dup2(s->saved[i], i);
            close(s->saved[i]);
        }
}

/* ---- its end ---- */

enum { KILL_AFTER_NS = 2000000000 };

static bool wait_for_stop(struct watchdog *w, uint64_t ns)
{
    const struct timespec all = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE))
        if (syscall(SYS_futex, &w->stop, FUTEX_WAIT_PRIVATE, 0, &all, NULL, 0) < 0 &&
            errno == ETIMEDOUT)
            return false;
    return true;
}

static void *watch(void *arg)
{
    struct watchdog *w = arg;
    pid_t pid;

    if (wait_for_stop(w, w->limit_ns))
        return NULL;
    pid = __atomic_load_n(&w->recording->pid, __ATOMIC_ACQUIRE);
    if (pid <= 0)
        return NULL;
    w->bit = true;
    kill(pid, SIGTERM);
    if (!wait_for_stop(w, KILL_AFTER_NS))
        kill(pid, SIGKILL);
    return NULL;
}

void watchdog_start(struct watchdog *w)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->running = pthread_create(&w->thread, NULL, watch, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void watchdog_stop(struct watchdog *w)
{
    if (!w->running)
        return;
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &w->stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(w->thread, NULL);
}
