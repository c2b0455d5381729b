/* crew.c - other processes that answer questions of the prover: who they are, and how they come in
 *
 * crew_shift.c lets them work.
 */
#include "base/alloc.h"
#include "base/frame.h"
#include "base/seconds.h"
#include "engines/crew/crew_inside.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A newcomer that says nothing holds up the others. */
enum { HANDSHAKE_SECONDS = 5 };
/* A machine is given up after 10 + 4 * 5 seconds of silence, or when it takes no bytes for 30. */
enum { KEEP_IDLE = 10, KEEP_EVERY = 5, KEEP_COUNT = 4, SILENT_MAX = 30 };

static const char magic[8] = "HEDDLE1";

struct greeting {
    char magic[8];
    uint8_t job[16];
};

struct introduction {
    uint8_t token[32];
    uint64_t program;
    uint32_t rank, reserved;
};

enum verdict { VERDICT_WELCOME, VERDICT_OTHER_PROGRAM };

/* ---- both sides ---- */

static void set_timeout(int fd, int which, int seconds)
{
    struct timeval tv = { .tv_sec = seconds };

    setsockopt(fd, SOL_SOCKET, which, &tv, sizeof(tv));
}

/* Where the socket is no TCP socket these do nothing. */
static void set_up(int fd)
{
    int one = 1, idle = KEEP_IDLE, every = KEEP_EVERY, count = KEEP_COUNT;
    int silent = SILENT_MAX * 1000;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent, sizeof(silent));
    set_timeout(fd, SO_SNDTIMEO, SILENT_MAX);
    set_timeout(fd, SO_RCVTIMEO, HANDSHAKE_SECONDS);
}

/* The time to compare says nothing about the bytes. */
static bool same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    uint8_t differ = 0;

    for (size_t i = 0; i < n; i++)
        differ |= a[i] ^ b[i];
    return !differ;
}

int crew_join(int fd, const struct crew_secret *secret, uint32_t rank, struct error *err)
{
    struct introduction me = { .program = secret->program, .rank = rank };
    struct greeting hello;
    uint32_t verdict;

    set_up(fd);
    if (frame_receive_bytes(fd, &hello, sizeof(hello)) < 0 ||
        memcmp(hello.magic, magic, sizeof(magic)) != 0 ||
        !same_bytes(hello.job, secret->job, sizeof(hello.job)))
        return error_set(err, "somebody else answers");
    memcpy(me.token, secret->token, sizeof(me.token));
    if (frame_send_bytes(fd, &me, sizeof(me)) < 0 ||
        frame_receive_bytes(fd, &verdict, sizeof(verdict)) < 0)
        return error_set(err, "not let in");
    if (verdict != VERDICT_WELCOME)
        return error_set(err, "another build of heddle than that of rank 0");
    set_timeout(fd, SO_RCVTIMEO, 0);
    return 0;
}

/* ---- newcomers ---- */

static bool receive_newcomer(struct crew *c, int fd, struct introduction *who)
{
    struct greeting hello;
    uint32_t verdict;

    memcpy(hello.magic, magic, sizeof(magic));
    memcpy(hello.job, c->secret.job, sizeof(hello.job));
    set_up(fd);
    if (frame_send_bytes(fd, &hello, sizeof(hello)) < 0 ||
        frame_receive_bytes(fd, who, sizeof(*who)) < 0 ||
        !same_bytes(who->token, c->secret.token, sizeof(who->token)))
        return false;
    verdict = who->program == c->secret.program ? VERDICT_WELCOME : VERDICT_OTHER_PROGRAM;
    pthread_mutex_lock(&c->lock);
    c->stats.refused += verdict != VERDICT_WELCOME;
    pthread_mutex_unlock(&c->lock);
    if (frame_send_bytes(fd, &verdict, sizeof(verdict)) < 0 || verdict != VERDICT_WELCOME)
        return false;
    set_timeout(fd, SO_RCVTIMEO, 0);
    return true;
}

/* With the lock held. */
static void tell_trace(struct crew *c, struct seat *s)
{
    if (!s->lost && c->traces &&
        frame_send(s->fd, REMOTE_OPEN, c->open_message.data, c->open_message.len) < 0)
        seat_lose(s);
}

static bool crew_is_known(const struct crew *c, uint32_t rank)
{
    for (size_t i = 0; i < c->nseats; i++)
        if (c->seats[i]->rank == rank)
            return true;
    return false;
}

static void add_seat(struct crew *c, int fd, uint32_t rank)
{
    struct seat *s = xcalloc(1, sizeof(*s));

    *s = (struct seat){ .crew = c, .fd = fd, .rank = rank, .pace = FIRST_PACE };
    pthread_mutex_lock(&c->lock);
    c->stats.processes += !crew_is_known(c, rank);
    c->stats.seats++;
    GROW(c->seats, c->seats_cap, c->nseats + 1);
    c->seats[c->nseats++] = s;
    tell_trace(c, s);
    pthread_cond_broadcast(&c->came);
    pthread_mutex_unlock(&c->lock);
}

static void *let_in(void *arg)
{
    struct crew *c = arg;
    struct pollfd fds[2] = { { c->listener, POLLIN, 0 }, { c->leave, POLLIN, 0 } };

    for (;;) {
        struct introduction who;
        int fd;

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[1].revents)
            break;
        fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        if (receive_newcomer(c, fd, &who))
            add_seat(c, fd, who.rank);
        else
            close(fd);
    }
    return NULL;
}

/* ---- life cycle ---- */

struct crew *crew_new(int listener, const struct crew_secret *secret, size_t expected)
{
    struct crew *c = xcalloc(1, sizeof(*c));

    c->listener = listener;
    c->leave = eventfd(0, EFD_CLOEXEC);
    c->secret = *secret;
    c->expected = expected;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->came, NULL);
    c->has_door = pthread_create(&c->door, NULL, let_in, c) == 0;
    return c;
}

void crew_free(struct crew *c)
{
    uint64_t one = 1;

    if (!c)
        return;
    (void)!write(c->leave, &one, sizeof(one));
    if (c->has_door)
        pthread_join(c->door, NULL);
    for (size_t i = 0; i < c->nseats; i++) {
        if (!c->seats[i]->lost)
            close(c->seats[i]->fd);
        frame_release(&c->seats[i]->frame);
        free(c->seats[i]);
    }
    close(c->listener);
    close(c->leave);
    free(c->seats);
    buf_release(&c->open_message);
    pthread_cond_destroy(&c->came);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void crew_set_trace(struct crew *c, const struct remote_trace *t)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->open_message.len = 0;
    remote_put_open(&c->open_message, t);
    c->traces++;
    for (size_t i = 0; i < c->nseats; i++)
        tell_trace(c, c->seats[i]);
    pthread_mutex_unlock(&c->lock);
}

size_t crew_seats(struct crew *c)
{
    size_t n;

    if (!c)
        return 0;
    pthread_mutex_lock(&c->lock);
    n = c->nseats > c->expected ? c->nseats : c->expected;
    pthread_mutex_unlock(&c->lock);
    return n;
}

void crew_wait(struct crew *c, double seconds)
{
    struct timespec until;

    if (!c)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    pthread_mutex_lock(&c->lock);
    while (c->stats.processes < c->expected &&
           pthread_cond_timedwait(&c->came, &c->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&c->lock);
}

struct crew_stats crew_stats(struct crew *c)
{
    struct crew_stats s = { 0 };

    if (!c)
        return s;
    pthread_mutex_lock(&c->lock);
    s = c->stats;
    pthread_mutex_unlock(&c->lock);
    return s;
}
