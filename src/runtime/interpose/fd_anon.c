/* fd_anon.c - descriptors without an inode of their own; waiting; making, copying, closing
 *
 * All eventfds, epolls and timers share one inode. Each gets a number when it
 * is made, kept by descriptor; copies carry it on, closing drops it. What is
 * made or copied unseen has no number, and uses KEY_OTHERS (fd.h).
 *
 * epoll_wait returns what epoll_ctl was given, not the descriptor. A table leads
 * from (epoll, data) back to it: one word per slot, with the tag of the pair and
 * the descriptor. Where it is not clear, all shared keys are acquired.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "runtime/interpose/fd_call.h"

enum {
    FDS = 1 << 16,     /* descriptors beyond it are unknown */
    WATCHES = 1 << 14, /* slots from epoll's data to descriptors */
    FD_BITS = 16
};

static uint32_t numbers[FDS];
#define NUMBER_SIGNALS (UINT32_C(1) << 31) /* a part of the numbers of signalfds */
static uint32_t last_number;

static bool fd_anon_is_small(int fd)
{
    return fd >= 0 && fd < FDS;
}

uint32_t anon_number(int fd)
{
    return fd_anon_is_small(fd) ? __atomic_load_n(&numbers[fd], __ATOMIC_RELAXED) : 0;
}

static void set_number(int fd, uint32_t number)
{
    if (fd_anon_is_small(fd))
        __atomic_store_n(&numbers[fd], number, __ATOMIC_RELAXED);
}

void anon_new(int fd)
{
    set_number(fd, __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED));
}

bool anon_has_signals(int fd)
{
    return anon_number(fd) & NUMBER_SIGNALS;
}

void anon_copy(int from, int to)
{
    if (to != from)
        set_number(to, anon_number(from));
}

/* ---- watched by epoll ---- */

static uint64_t watches[WATCHES]; /* tag << FD_BITS | fd */
#define WATCH_UNCLEAR UINT64_MAX  /* two descriptors share the data, or the slot: for good */
static uint64_t watched[FDS];     /* the tag under which a descriptor was added last */

void anon_close(int fd)
{
    set_number(fd, 0);
    if (fd_anon_is_small(fd))
        __atomic_store_n(&watched[fd], 0, __ATOMIC_RELAXED);
}

static uint64_t watch_tag(int epoll, uint64_t data)
{
    uint32_t number = anon_number(epoll);

    return number ? fd_key(SALT_ANON, number, data) : 0;
}

static void watch_add(int epoll, int fd, uint64_t data)
{
    uint64_t tag = watch_tag(epoll, data), *w = &watches[tag % WATCHES], was, now;

    if (!tag || !fd_anon_is_small(fd))
        return;
    now = tag << FD_BITS | (unsigned)fd;
    was = __atomic_load_n(w, __ATOMIC_RELAXED);
    if (was == WATCH_UNCLEAR || was == now)
        return;
    if (was && __atomic_load_n(&watched[was % FDS], __ATOMIC_RELAXED) == was >> FD_BITS)
        now = WATCH_UNCLEAR;
    __atomic_store_n(w, now, __ATOMIC_RELAXED);
    __atomic_store_n(&watched[fd], tag, __ATOMIC_RELAXED);
}

/* The descriptor, or -1. */
static int watch_find(int epoll, uint64_t data)
{
    uint64_t tag = watch_tag(epoll, data);
    uint64_t was = __atomic_load_n(&watches[tag % WATCHES], __ATOMIC_RELAXED);

    return tag && was != WATCH_UNCLEAR && was >> FD_BITS == tag ? (int)(was % FDS) : -1;
}

/* ---- waiting ---- */

enum { READABLE = POLLIN | POLLPRI | POLLHUP | POLLERR | POLLRDHUP };

static int epoll_returned(int epoll, const struct epoll_event *v, int n, uint64_t where)
{
    int fd;

    if (n > 0 && rt_watching()) {
        fd_acquire(epoll, where); /* from epoll_ctl */
        for (int i = 0; i < n; i++) {
            if (!(v[i].events & READABLE))
                continue;
            fd = watch_find(epoll, v[i].data.u64);
            if (fd >= 0) {
                fd_acquire(fd, where);
            } else {
                rt_sync_number(OP_AFTER, KEY_SOCKETS, where);
                rt_sync_number(OP_AFTER, KEY_OTHERS, where);
            }
        }
    }
    return n;
}

INTERPOSE(int, epoll_ctl, int epoll, int op, int fd, struct epoll_event *v)
{
    fd_release(epoll, FD_CALL().where);
    if (op != EPOLL_CTL_DEL && v)
        watch_add(epoll, fd, v->data.u64);
    return REAL(epoll_ctl)(epoll, op, fd, v);
}

INTERPOSE(int, epoll_wait, int epoll, struct epoll_event *v, int n, int timeout)
{
    uint64_t where = FD_CALL().where;

    return epoll_returned(epoll, v, REAL(epoll_wait)(epoll, v, n, timeout), where);
}

INTERPOSE(int, epoll_pwait, int epoll, struct epoll_event *v, int n, int timeout,
          const sigset_t *mask)
{
    uint64_t where = FD_CALL().where;

    return epoll_returned(epoll, v, REAL(epoll_pwait)(epoll, v, n, timeout, mask), where);
}

static int poll_returned(const struct pollfd *fds, nfds_t n, int r, uint64_t where)
{
    if (r > 0 && rt_watching())
        for (nfds_t i = 0; i < n; i++)
            if (fds[i].fd >= 0 && fds[i].revents & READABLE)
                fd_acquire(fds[i].fd, where);
    return r;
}

INTERPOSE(int, poll, struct pollfd *fds, nfds_t n, int timeout)
{
    uint64_t where = FD_CALL().where;

    return poll_returned(fds, n, REAL(poll)(fds, n, timeout), where);
}

INTERPOSE(int, __poll_chk, struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
    uint64_t where = FD_CALL().where;

    return poll_returned(fds, n, REAL(__poll_chk)(fds, n, timeout, room), where);
}

INTERPOSE(int, ppoll, struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
    uint64_t where = FD_CALL().where;

    return poll_returned(fds, n, REAL(ppoll)(fds, n, t, mask), where);
}

/* The program may have made its sets larger than fd_set. */
static int select_returned(int n, const fd_set *readable, int r, uint64_t where)
{
    if (r > 0 && readable && rt_watching())
        for (int fd = 0; fd < n; fd++)
            if (readable->fds_bits[fd / __NFDBITS] >> fd % __NFDBITS & 1)
                fd_acquire(fd, where);
    return r;
}

INTERPOSE(int, select, int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t)
{
    uint64_t where = FD_CALL().where;

    return select_returned(n, r, REAL(select)(n, r, w, e, t), where);
}

INTERPOSE(int, pselect, int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t,
          const sigset_t *mask)
{
    uint64_t where = FD_CALL().where;

    return select_returned(n, r, REAL(pselect)(n, r, w, e, t, mask), where);
}

/* ---- making ---- */

#define MAKES(name, args, ...)                                                                     \
    INTERPOSE(int, name, __VA_ARGS__)                                                              \
    {                                                                                              \
        int fd = REAL(name) args;                                                                  \
                                                                                                   \
        if (fd >= 0)                                                                               \
            anon_new(fd);                                                                          \
        return fd;                                                                                 \
    }

MAKES(eventfd, (initial, flags), unsigned initial, int flags)
MAKES(epoll_create, (size), int size)
MAKES(epoll_create1, (flags), int flags)
MAKES(timerfd_create, (clock, flags), clockid_t clock, int flags)
MAKES(inotify_init1, (flags), int flags)

/* Without a descriptor (-1) it makes one. */
INTERPOSE(int, signalfd, int fd, const sigset_t *mask, int flags)
{
    int made = REAL(signalfd)(fd, mask, flags);

    if (made >= 0 && fd < 0) {
        anon_new(made);
        set_number(made, anon_number(made) | NUMBER_SIGNALS);
    }
    return made;
}

/* A timer that is set expires later: a read sees that. */
INTERPOSE(int, timerfd_settime, int fd, int flags, const struct itimerspec *new,
          struct itimerspec *old)
{
    fd_release(fd, WHERE_CALLER());
    return REAL(timerfd_settime)(fd, flags, new, old);
}

/* ---- copying and closing ---- */

/* The reader at the other end sees the end; a lock on a file goes. */
INTERPOSE(int, close, int fd)
{
    fd_closes(fd, WHERE_CALLER());
    fd_release(fd, WHERE_CALLER());
    fd_number_release(fd, WHERE_CALLER());
    anon_close(fd);
    return REAL(close)(fd);
}

INTERPOSE(int, dup, int fd)
{
    int copy = REAL(dup)(fd);

    if (copy >= 0)
        anon_copy(fd, copy);
    return copy;
}

INTERPOSE(int, dup2, int fd, int to)
{
    int copy;

    if (fd != to)
        fd_release(to, WHERE_CALLER());
    copy = REAL(dup2)(fd, to);
    if (copy >= 0 && copy != fd)
        fd_forgotten(copy);
    if (copy >= 0)
        anon_copy(fd, copy);
    return copy;
}

INTERPOSE(int, dup3, int fd, int to, int flags)
{
    int copy;

    fd_release(to, WHERE_CALLER());
    copy = REAL(dup3)(fd, to, flags);
    if (copy >= 0) {
        fd_forgotten(copy);
        anon_copy(fd, copy);
    }
    return copy;
}
