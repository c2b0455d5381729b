/* mpi.c - the option --mpi: who is rank 0, and how the others find it
 *
 * MPI only introduces the processes to each other: heddle-mpi (src/mpi/) runs
 * for a moment in each of them and carries an invitation from rank 0 to the
 * others, with addresses and a secret. mpi_serve.c is what the others do.
 */
#include "cmd/mpi.h"
#include "base/alloc.h"
#include "base/place.h"
#include "cmd/mpi_inside.h"
#include "engines/crew/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* For tests: rank 0 waits so many seconds for the others before it begins. */
#define WAIT_VARIABLE "HEDDLE_MPI_WAIT"

static struct crew *our_crew;
static uint32_t neighbours = 1; /* ranks on this machine */
static uint32_t others;         /* ranks above 0, at rank 0 */

struct crew *mpi_crew(void)
{
    return our_crew;
}

/* mpirun may have bound us to some processors. */
unsigned mpi_processors(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t ours;
    int bound;

    if (online < 1)
        online = 1;
    if (neighbours <= 1)
        return (unsigned)online;
    bound = sched_getaffinity(0, sizeof(ours), &ours) == 0 ? CPU_COUNT(&ours) : (int)online;
    online /= neighbours;
    if (online > bound)
        online = bound;
    return online < 1 ? 1 : (unsigned)online;
}

/* ---- the helper ---- */

struct helper {
    pid_t pid;
    int to, from;
};

static _Noreturn void become_helper(const char *path, int in, int out)
{
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execl(path, path, (char *)NULL);
    _exit(EXIT_OWN_FAILURE);
}

static int start_helper(struct helper *h)
{
    char *path = place_find("heddle-mpi");
    int in[2], out[2];

    if (!path)
        return own_failure("cannot use '--mpi': 'heddle-mpi' is not installed; heddle was built "
                           "without MPI");
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
        free(path);
        return own_failure("cannot make a pipe: %s", strerror(errno));
    }
    h->pid = fork();
    if (h->pid == 0)
        become_helper(path, in[0], out[1]);
    free(path);
    close(in[0]);
    close(out[1]);
    h->to = in[1];
    h->from = out[0];
    return h->pid < 0 ? own_failure("cannot start a process: %s", strerror(errno)) : 0;
}

static bool mpi_read_all(int fd, void *data, size_t n)
{
    for (char *p = data; n;) {
        ssize_t k = read(fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static int end_helper(struct helper *h)
{
    int status;

    close(h->to);
    close(h->from);
    while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return own_failure("cannot use '--mpi': 'heddle-mpi' failed; was heddle started by mpirun?");
}

/* ---- rank 0 ---- */

/* Any port, both kinds of addresses where there are both. */
static int listen_somewhere(uint16_t *port)
{
    struct sockaddr_storage at = { .ss_family = AF_INET6 };
    socklen_t n = sizeof(at);
    int off = 0, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(struct sockaddr_in6)) < 0) {
        if (fd >= 0)
            close(fd);
        at = (struct sockaddr_storage){ .ss_family = AF_INET };
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(struct sockaddr_in)) < 0) {
            close(fd);
            return -1;
        }
    }
    if (fd < 0 || listen(fd, SOMAXCONN) < 0 || getsockname(fd, (struct sockaddr *)&at, &n) < 0)
        return -1;
    *port = at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                     : ((struct sockaddr_in *)&at)->sin_port;
    return fd;
}

/* Addresses that may mean this machine elsewhere; ::1 and fe80:: do not. */
static void add_address(struct invitation *v, const struct sockaddr *a)
{
    struct invitation_address *to = &v->addresses[v->naddresses];

    if (v->naddresses == INVITATION_ADDRESSES)
        return;
    if (a->sa_family == AF_INET) {
        memcpy(to->bytes, &((const struct sockaddr_in *)a)->sin_addr, 4);
    } else if (a->sa_family == AF_INET6) {
        const struct in6_addr *in = &((const struct sockaddr_in6 *)a)->sin6_addr;

        if (IN6_IS_ADDR_LINKLOCAL(in) || IN6_IS_ADDR_LOOPBACK(in))
            return;
        memcpy(to->bytes, in, 16);
    } else {
        return;
    }
    to->family = a->sa_family;
    v->naddresses++;
}

/* The loopback address comes last: elsewhere nobody, or somebody else, is there. */
static void add_addresses(struct invitation *v)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct ifaddrs *all = NULL;

    getifaddrs(&all);
    for (const struct ifaddrs *a = all; a && v->naddresses < INVITATION_ADDRESSES - 1;
         a = a->ifa_next)
        if (a->ifa_addr && a->ifa_flags & IFF_UP && !(a->ifa_flags & IFF_LOOPBACK))
            add_address(v, a->ifa_addr);
    if (all)
        freeifaddrs(all);
    add_address(v, (struct sockaddr *)&here);
}

static bool make_invitation(struct invitation *v, uint16_t port)
{
    struct remote_trace self = { 0 };
    struct error unused;

    *v = (struct invitation){ .port = port };
    if (getrandom(v->secret.job, sizeof(v->secret.job), 0) < 0 ||
        getrandom(v->secret.token, sizeof(v->secret.token), 0) < 0 ||
        remote_trace_read(&self, "/proc/self/exe", &unused) < 0)
        return false;
    v->secret.program = self.hash;
    remote_trace_release(&self);
    gethostname(v->host, sizeof(v->host) - 1);
    add_addresses(v);
    return true;
}

static bool send_invitation(int fd, const struct invitation *v)
{
    struct exchange_message m = { .bytes = v ? sizeof(*v) : 0 };
    size_t n = sizeof(m.bytes) + m.bytes;

    if (v)
        memcpy(m.data, v, sizeof(*v));
    return write(fd, &m, n) == (ssize_t)n; /* less than a pipe holds */
}

static int lead(struct helper *h, uint32_t size)
{
    struct invitation v;
    uint16_t port;
    int listener = size > 1 ? listen_somewhere(&port) : -1;
    bool invited = listener >= 0 && make_invitation(&v, port);
    int code;

    send_invitation(h->to, invited ? &v : NULL);
    code = end_helper(h);
    others = size - 1;
    if (invited && code == 0)
        our_crew = crew_new(listener, &v.secret, size - 1);
    else if (listener >= 0)
        close(listener);
    if (code)
        return code;
    setenv("NO_COLOR", "1", 1); /* standard output is mpirun's, whatever it looks like */
    if (size == 1)
        warn("note", "'--mpi': only one process; mpirun -n N starts more");
    else if (!invited)
        warn("warning", "'--mpi': the other processes cannot be invited: %s", strerror(errno));
    return 0;
}

/* ---- the others ---- */

/* The process that mpirun watches ends at once; the one that works is its child, whose end, however
 * it comes, is no concern of mpirun's. It keeps standard error, so mpirun knows that we are not
 * done. */
static int mpi_follow(struct helper *h, const struct options *o, uint32_t rank)
{
    static struct exchange_message m;
    struct invitation v;
    bool invited = mpi_read_all(h->from, &m.bytes, sizeof(m.bytes)) && m.bytes == sizeof(v) &&
                   mpi_read_all(h->from, m.data, m.bytes);
    int code = end_helper(h);

    if (code || !invited)
        return code ? code : -1;
    memcpy(&v, m.data, sizeof(v));
    if (fork() == 0)
        mpi_serve(o, &v, rank);
    return -1;
}

/* ---- the interface ---- */

int mpi_start(const struct options *o)
{
    struct exchange_place place = { 0 };
    struct helper h;
    int code;

    if (!option_is(o, OPT_MPI))
        return 0;
    code = start_helper(&h);
    if (code)
        return code;
    if (!mpi_read_all(h.from, &place, sizeof(place)) || place.magic != EXCHANGE_MAGIC) {
        code = end_helper(&h);
        return code ? code : own_failure("cannot use '--mpi': 'heddle-mpi' is of another version");
    }
    neighbours = place.neighbours;
    if (place.rank == 0)
        return lead(&h, place.size);
    code = mpi_follow(&h, o, place.rank);
    if (code < 0)
        _exit(EXIT_NOTHING);
    return code;
}

int mpi_announce(const struct operand *in)
{
    const char *seconds = getenv(WAIT_VARIABLE);
    struct remote_trace t = { 0 };
    struct error err;

    if (!our_crew)
        return 0;
    if (in->spool >= 0)
        return bad_input("'--mpi' needs a trace that all processes can read, not %s", in->shown);
    if (remote_trace_read(&t, in->path, &err) < 0)
        return bad_input("%s", err.text);
    if (seconds)
        crew_wait(our_crew, strtod(seconds, NULL));
    crew_set_trace(our_crew, &t);
    remote_trace_release(&t);
    return 0;
}

void mpi_finish(bool say)
{
    struct crew_stats s = crew_stats(our_crew);

    if (our_crew && say) {
        warn("note", "%zu of %u other processes, with %zu thread%s, decided %" PRIu64 " question%s",
             s.processes, others, s.seats, s.seats == 1 ? "" : "s", s.answered,
             s.answered == 1 ? "" : "s");
        if (s.lost)
            warn("warning",
                 "%zu thread%s of other processes %s lost; %" PRIu64 " question%s were asked again",
                 s.lost, s.lost == 1 ? "" : "s", s.lost == 1 ? "was" : "were", s.returned,
                 s.returned == 1 ? "" : "s");
        if (s.refused)
            warn("warning", "%zu connections of another build of heddle were refused", s.refused);
    }
    crew_free(our_crew);
    our_crew = NULL;
}
