// Descriptors closed in order: by join, mutex, pipe, socket; numbers used again; dup2(); children.
#include "prog.h"
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { ROUNDS = 20 };
int shared = -1, ends[2], pair[2], log_fd, done;
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void put(int fd)
{
    if (write(fd, "x", 1) != 1)
        abort();
}

/* Each opens, uses and closes numbers that the other has had. */
THREAD(reuse)
{
    for (int i = 0; i < ROUNDS; i++) {
        int fd = open("/dev/null", O_WRONLY), copy = dup(fd), event = eventfd(1, 0);
        FILE *f = fopen("/dev/null", "w");

        put(fd);
        close(fd);
        put(copy);
        close(copy);
        put(fileno(f));
        fclose(f);
        USE(fcntl(event, F_GETFD));
        close(event);
    }
    return NULL;
}

THREAD(guarded)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mu);
        if (shared >= 0) {
            put(shared);
            close(shared);
            shared = -1;
        } else {
            shared = open("/dev/null", O_WRONLY);
            put(shared);
        }
        pthread_mutex_unlock(&mu);
    }
    return NULL;
}

/* The reader closes both ends once it has all; the sender is done with its own by then. */
THREAD(sender)
{
    put(ends[1]);
    put(pair[0]);
    shutdown(pair[0], SHUT_WR);
    return NULL;
}

THREAD(receiver)
{
    char c;

    while (read(ends[0], &c, 1) != 1)
        ;
    close(ends[0]);
    while (read(pair[1], &c, 1) > 0)
        ;
    close(ends[1]);
    close(pair[0]);
    close(pair[1]);
    return NULL;
}

/* A log that is replaced while others write. */
THREAD(logger)
{
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
        put(log_fd);
    return NULL;
}

THREAD(rotate)
{
    for (int i = 0; i < ROUNDS; i++) {
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

        if (dup2(fd, log_fd) < 0)
            abort();
        close(fd);
    }
    tell(&done);
    return NULL;
}

int main(void)
{
    pid_t child;

    run_two(reuse, reuse);
    run_two(guarded, guarded);
    if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 2;
    run_two(sender, receiver);
    log_fd = open("/dev/null", O_WRONLY);
    run_two(logger, rotate);
    child = vfork();
    if (child == 0) {
        close(log_fd);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    put(log_fd);
    close(log_fd);
    return 0;
}
