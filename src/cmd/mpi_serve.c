/* mpi_serve.c - the option --mpi: ranks above 0 answer the questions of rank 0
 *
 * Each thread has a connection of its own. The first thread only watches: when
 * rank 0 closes a connection, or its machine is gone, we are not needed.
 */
#include "base/alloc.h"
#include "cmd/choice.h"
#include "cmd/common.h"
#include "cmd/exclusion.h"
#include "cmd/mpi_inside.h"
#include "engines/crew/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Firewalls swallow what they do not like: do not wait for the system's two minutes. */
enum { CONNECT_MILLISECONDS = 5000 };

struct service {
    struct options options; /* as given, but quiet */
    struct choice choice;
    struct server *server;
    struct server_hooks hooks;
    char host[72];
    uint32_t rank;
};

struct service_thread {
    struct service *service;
    int fd;
};

/* ---- the connection ---- */

static int finish_connect(int fd)
{
    struct pollfd p = { fd, POLLOUT, 0 };
    socklen_t n = sizeof(int);
    int failure = ETIMEDOUT;

    if (poll(&p, 1, CONNECT_MILLISECONDS) == 1)
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &n);
    errno = failure;
    return failure ? -1 : fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

static int connect_to(const struct invitation *v, size_t i)
{
    const struct invitation_address *a = &v->addresses[i];
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = v->port };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = v->port };
    const struct sockaddr *to = (struct sockaddr *)&in;
    socklen_t n = sizeof(in);
    int fd = socket(a->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(&in.sin_addr, a->bytes, 4);
    memcpy(&in6.sin6_addr, a->bytes, 16);
    if (a->family == AF_INET6) {
        to = (struct sockaddr *)&in6;
        n = sizeof(in6);
    }
    if (fd < 0)
        return -1;
    if ((connect(fd, to, n) < 0 && errno != EINPROGRESS) || finish_connect(fd) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* By one address of rank 0. */
static int join_at(const struct invitation *v, size_t i, uint32_t rank, struct error *err)
{
    int fd = connect_to(v, i);

    if (fd < 0)
        return error_set(err, "cannot reach rank 0: %s", strerror(errno));
    errno = 0;
    if (crew_join(fd, &v->secret, rank, err) == 0)
        return fd;
    close(fd);
    return -1;
}

/* By any; the one that worked is tried first from then on. On the same machine that is the last
 * one. */
static int join_crew(struct invitation *v, uint32_t rank, struct error *err)
{
    for (size_t i = v->naddresses; i-- > 0;) {
        int fd = join_at(v, i, rank, err);

        if (fd < 0)
            continue;
        v->addresses[0] = v->addresses[i];
        v->naddresses = 1;
        return fd;
    }
    return -1;
}

/* ---- serving ---- */

static struct trace *open_trace(void *arg, const char *path, struct error *err)
{
    struct service *s = arg;
    struct operand in = { .shown = path, .path = (char *)path, .spool = -1 };
    struct trace *t = trace_open(path, err);

    if (!t || exclusion_apply(&s->options, &in, t) == 0)
        return t;
    error_set(err, "cannot leave out code of '%s'", path);
    trace_close(t);
    return NULL;
}

static void complain(void *arg, const char *why)
{
    const struct service *s = arg;

    warn("warning", "rank %u on '%s' does not take part: %s", s->rank, s->host, why);
}

static void *serve(void *arg)
{
    struct service_thread *t = arg;

    server_run(t->service->server, t->fd);
    shutdown(t->fd, SHUT_RDWR); /* wakes the first thread */
    return NULL;
}

/* A thread of its own with a connection for each processor; the number of them. */
static size_t start_threads(struct service *s, struct invitation *v, struct pollfd *watched)
{
    unsigned jobs = s->choice.options.jobs, n = 0;
    struct service_thread *threads = xcalloc(jobs, sizeof(*threads)); /* lives as long as we */
    struct error err;
    pthread_t unused;

    for (; n < jobs; n++) {
        int fd = join_crew(v, s->rank, &err);

        if (fd < 0)
            break;
        threads[n] = (struct service_thread){ s, fd };
        watched[n] = (struct pollfd){ fd, POLLRDHUP, 0 };
        if (pthread_create(&unused, NULL, serve, &threads[n])) {
            close(fd);
            break;
        }
    }
    if (!n && errno != ECONNREFUSED) /* else rank 0 is gone already */
        complain(s, err.text);
    return n;
}

/* Standard error stays: messages, and mpirun sees that somebody is still there. */
static void detach(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    setsid();
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
}

_Noreturn void mpi_serve(const struct options *o, const struct invitation *v, uint32_t rank)
{
    static struct service s;
    struct invitation copy = *v;
    struct pollfd *watched;
    size_t n;

    detach();
    s.options = *o;
    s.options.texts[OPT_QUIET] = "";
    s.rank = rank;
    gethostname(s.host, sizeof(s.host) - 1);
    if (choice_make(&s.choice, &s.options))
        _exit(EXIT_USAGE);
    s.hooks = (struct server_hooks){ open_trace, complain, &s };
    s.server = server_new(&s.choice.options, &s.hooks);
    watched = xcalloc(s.choice.options.jobs, sizeof(*watched));
    n = start_threads(&s, &copy, watched);
    while (n && poll(watched, n, -1) < 0 && errno == EINTR)
        ;
    _exit(EXIT_NOTHING);
}
