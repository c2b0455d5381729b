/* fd_rw.c - reading and writing: the edges, and for untraced callers the buffers
 *
 * Errors, short counts, cancellation and EINTR are the kernel's and pass
 * through. A read that got nothing because the other end is closed is an edge
 * from the closing.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/interpose/fd_call.h"
#include "runtime/interpose/interpose.h"

/* Who sent them was before. Where they are is not known of readv(): all that may have come. */
static void got_signals(const struct signalfd_siginfo *s, size_t n, uint64_t where)
{
    for (size_t i = 0; s && i < n; i++)
        signal_taken((int)s[i].ssi_signo, s[i].ssi_code, where);
    for (int sig = 1; !s && sig < SIGNALS; sig++)
        signal_taken(sig, SI_QUEUE, where);
}

static void got(int fd, const struct fd_call *c, ssize_t r, void *p)
{
    if (r < 0)
        return;
    fd_acquire(fd, c->where);
    if (anon_has_signals(fd))
        got_signals(p, (size_t)r / sizeof(struct signalfd_siginfo), c->where);
    if (c->buffers && p)
        rt_write(p, (size_t)r, c->where);
}

static void gives(int fd, const struct fd_call *c, const void *p, size_t n)
{
    fd_used(fd, c->where);
    if (c->buffers && p)
        rt_read(p, n, c->where);
    fd_release(fd, c->where);
}

/* `fd` is the parameter's name; buffer and bytes may be NULL and 0. */
#define READS(type, name, buffer, args, ...)                                                       \
    INTERPOSE(type, name, __VA_ARGS__)                                                             \
    {                                                                                              \
        struct fd_call c = FD_CALL();                                                              \
        type r;                                                                                    \
                                                                                                   \
        fd_used(fd, c.where);                                                                      \
        r = REAL(name) args;                                                                       \
        got(fd, &c, r, buffer);                                                                    \
        return r;                                                                                  \
    }
#define WRITES(type, name, buffer, bytes, args, ...)                                               \
    INTERPOSE(type, name, __VA_ARGS__)                                                             \
    {                                                                                              \
        struct fd_call c = FD_CALL();                                                              \
                                                                                                   \
        gives(fd, &c, buffer, bytes);                                                              \
        return REAL(name) args;                                                                    \
    }

READS(ssize_t, read, p, (fd, p, n), int fd, void *p, size_t n)
READS(ssize_t, pread, p, (fd, p, n, at), int fd, void *p, size_t n, off_t at)
READS(ssize_t, pread64, p, (fd, p, n, at), int fd, void *p, size_t n, off64_t at)
READS(ssize_t, readv, NULL, (fd, v, n), int fd, const struct iovec *v, int n)
READS(ssize_t, preadv, NULL, (fd, v, n, at), int fd, const struct iovec *v, int n, off_t at)
READS(ssize_t, preadv64, NULL, (fd, v, n, at), int fd, const struct iovec *v, int n, off64_t at)
READS(ssize_t, recv, p, (fd, p, n, flags), int fd, void *p, size_t n, int flags)
READS(ssize_t, recvfrom, p, (fd, p, n, flags, from, bytes), int fd, void *p, size_t n, int flags,
      struct sockaddr *from, socklen_t *bytes)
READS(ssize_t, recvmsg, NULL, (fd, m, flags), int fd, struct msghdr *m, int flags)
READS(int, recvmmsg, NULL, (fd, m, n, flags, t), int fd, struct mmsghdr *m, unsigned n, int flags,
      struct timespec *t)
READS(ssize_t, mq_receive, p, (fd, p, n, priority), mqd_t fd, char *p, size_t n, unsigned *priority)
READS(int, eventfd_read, NULL, (fd, value), int fd, eventfd_t *value)

/* The fortified ones end the program when the buffer is too small. */
READS(ssize_t, __read_chk, p, (fd, p, n, room), int fd, void *p, size_t n, size_t room)
READS(ssize_t, __pread_chk, p, (fd, p, n, at, room), int fd, void *p, size_t n, off_t at,
      size_t room)
READS(ssize_t, __pread64_chk, p, (fd, p, n, at, room), int fd, void *p, size_t n, off64_t at,
      size_t room)
READS(ssize_t, __recv_chk, p, (fd, p, n, room, flags), int fd, void *p, size_t n, size_t room,
      int flags)
READS(ssize_t, __recvfrom_chk, p, (fd, p, n, room, flags, from, bytes), int fd, void *p, size_t n,
      size_t room, int flags, struct sockaddr *from, socklen_t *bytes)

WRITES(ssize_t, write, p, n, (fd, p, n), int fd, const void *p, size_t n)
WRITES(ssize_t, pwrite, p, n, (fd, p, n, at), int fd, const void *p, size_t n, off_t at)
WRITES(ssize_t, pwrite64, p, n, (fd, p, n, at), int fd, const void *p, size_t n, off64_t at)
WRITES(ssize_t, writev, NULL, 0, (fd, v, n), int fd, const struct iovec *v, int n)
WRITES(ssize_t, pwritev, NULL, 0, (fd, v, n, at), int fd, const struct iovec *v, int n, off_t at)
WRITES(ssize_t, pwritev64, NULL, 0, (fd, v, n, at), int fd, const struct iovec *v, int n,
       off64_t at)
WRITES(ssize_t, send, p, n, (fd, p, n, flags), int fd, const void *p, size_t n, int flags)
WRITES(ssize_t, sendto, p, n, (fd, p, n, flags, to, bytes), int fd, const void *p, size_t n,
       int flags, const struct sockaddr *to, socklen_t bytes)
WRITES(ssize_t, sendmsg, NULL, 0, (fd, m, flags), int fd, const struct msghdr *m, int flags)
WRITES(int, sendmmsg, NULL, 0, (fd, m, n, flags), int fd, struct mmsghdr *m, unsigned n, int flags)
WRITES(int, mq_send, p, n, (fd, p, n, priority), mqd_t fd, const char *p, size_t n,
       unsigned priority)
WRITES(int, eventfd_write, NULL, 0, (fd, value), int fd, eventfd_t value)
WRITES(int, ftruncate, NULL, 0, (fd, at), int fd, off_t at)

/* ---- from one descriptor to another: what came in goes on ---- */

#define PASSES_ON(name, args, ...)                                                                 \
    INTERPOSE(ssize_t, name, __VA_ARGS__)                                                          \
    {                                                                                              \
        uint64_t where = WHERE_CALLER();                                                           \
        ssize_t r;                                                                                 \
                                                                                                   \
        fd_acquire(in, where);                                                                     \
        fd_release(out, where);                                                                    \
        r = REAL(name) args;                                                                       \
        if (r >= 0)                                                                                \
            fd_acquire(in, where);                                                                 \
        return r;                                                                                  \
    }

PASSES_ON(splice, (in, in_at, out, out_at, n, flags), int in, off64_t *in_at, int out,
          off64_t *out_at, size_t n, unsigned flags)
PASSES_ON(tee, (in, out, n, flags), int in, int out, size_t n, unsigned flags)
PASSES_ON(sendfile, (out, in, at, n), int out, int in, off_t *at, size_t n)
PASSES_ON(sendfile64, (out, in, at, n), int out, int in, off64_t *at, size_t n)
PASSES_ON(copy_file_range, (in, in_at, out, out_at, n, flags), int in, off64_t *in_at, int out,
          off64_t *out_at, size_t n, unsigned flags)
