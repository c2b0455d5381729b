/* outputs.c - results that system functions leave in the caller's memory
 *
 * Another thread has written that memory before, so that a value which no event explains is
 * nobody's (docs/design/unseen.md). Each result is a write of the caller: nothing is unexplained.
 */
#define _GNU_SOURCE
#include <iconv.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_t id;
    thrd_t id11;
    void *result;
    int result11, value, option, sig, fds[2];
    socklen_t bytes;
    struct pollfd poll;
    struct epoll_event ready;
    struct timespec clock;
    struct timeval day;
    time_t time;
    struct stat path, file;
    siginfo_t info;
    struct sigaction action;
    char *end, text[16];
    fd_set set;
    sigset_t old, mask, signals;
    char *from, *to, ascii[8], utf16[16];
    size_t from_left, to_left;
} out;

static unsigned long sum;
#define SEE(x) (sum += (unsigned long)(x))

static void *fill(void *arg)
{
    for (size_t i = 0; i < sizeof out / sizeof(long); i++)
        ((volatile long *)&out)[i] = 0x0101010101010101;
    optind = 7;
    optopt = 8;
    optarg = (char *)&out;
    return arg;
}

static void *child(void *arg)
{
    return arg;
}

static int child11(void *arg)
{
    return arg != NULL;
}

static void threads(void)
{
    pthread_t t;
    sem_t sem;

    pthread_create(&out.id, NULL, child, &sum);
    SEE(out.id);
    pthread_join(out.id, NULL);
    pthread_create(&t, NULL, child, &sum);
    pthread_join(t, &out.result);
    SEE(out.result);
    thrd_create(&out.id11, child11, &sum);
    thrd_join(out.id11, &out.result11);
    SEE(out.result11);
    sem_init(&sem, 0, 12345);
    sem_getvalue(&sem, &out.value);
    SEE(out.value);
}

static void descriptors(void)
{
    struct epoll_event wanted = { .events = EPOLLIN, .data.u64 = 77 };
    int e = epoll_create1(0), s = socket(AF_UNIX, SOCK_STREAM, 0);

    if (pipe(out.fds) || write(out.fds[1], "xy", 2) != 2)
        exit(1);
    out.poll.fd = out.fds[0];
    out.poll.events = POLLIN;
    poll(&out.poll, 1, 0);
    SEE(out.poll.revents);
    FD_ZERO(&out.set);
    FD_SET(out.fds[0], &out.set);
    select(out.fds[0] + 1, &out.set, NULL, NULL, NULL);
    SEE(FD_ISSET(out.fds[0], &out.set));
    epoll_ctl(e, EPOLL_CTL_ADD, out.fds[0], &wanted);
    epoll_wait(e, &out.ready, 1, 0);
    SEE(out.ready.data.u64);
    SEE(read(out.fds[0], out.text, 2));
    SEE(out.text[1]);
    out.bytes = sizeof out.option;
    getsockopt(s, SOL_SOCKET, SO_TYPE, &out.option, &out.bytes);
    SEE(out.option + (int)out.bytes);
    fstat(out.fds[0], &out.file);
    SEE(out.file.st_mode);
}

static void times_and_signals(void)
{
    struct timespec none = { 0 };
    sigset_t set;

    clock_gettime(CLOCK_MONOTONIC, &out.clock);
    gettimeofday(&out.day, NULL);
    time(&out.time);
    stat("/", &out.path);
    SEE(out.clock.tv_nsec + out.day.tv_usec + out.time + (long)out.path.st_ino);
    SEE(strtol("12x", &out.end, 10));
    SEE(*out.end);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR1);
    sigwait(&set, &out.sig);
    kill(getpid(), SIGUSR1);
    sigtimedwait(&set, &out.info, &none);
    SEE(out.sig + out.info.si_signo);
    sigaction(SIGUSR2, NULL, &out.action);
    SEE(out.action.sa_flags);
    sigfillset(&out.signals);
    sigdelset(&out.signals, SIGUSR2);
    SEE(sigismember(&out.signals, SIGUSR1));
    sigprocmask(SIG_BLOCK, NULL, &out.old);
    pthread_sigmask(SIG_BLOCK, NULL, &out.mask);
    SEE(*(long *)&out.old + *(long *)&out.mask + *(long *)&out.signals);
}

static void options_and_letters(void)
{
    char *argv[] = { "outputs", "-a", "text", "-b", NULL };
    iconv_t c = iconv_open("UTF-16LE", "ASCII");

    optind = 1;
    if (c == (iconv_t)-1 || getopt(4, argv, "a:") != 'a' || *optarg != 't' || optind != 3)
        exit(1);
    opterr = 0;
    if (getopt(4, argv, "a:") != '?' || optopt != 'b')
        exit(1);
    out.ascii[0] = 'x';
    out.from = out.ascii;
    out.to = out.utf16;
    out.from_left = 1;
    out.to_left = sizeof out.utf16;
    iconv(c, &out.from, &out.from_left, &out.to, &out.to_left);
    SEE(out.from_left + out.to_left + (size_t)(out.from - out.to));
    SEE(out.utf16[0]);
    iconv_close(c);
}

int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, fill, NULL);
    pthread_join(t, NULL);
    threads();
    descriptors();
    times_and_signals();
    options_and_letters();
    return sum == 0;
}
