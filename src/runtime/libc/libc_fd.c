/* libc_fd.c - buffers of functions on file descriptors
 *
 * The functions are called by their own names: fd.c interposes them and records
 * the edges, at the place that the hint names. Under their own names (LIBC_NAMES)
 * nothing is defined here: fd.c records the buffers as well then.
 */
#include "runtime/libc/libc.h"

/* ---- one buffer ---- */

#define READ_INTO(name, buffer, params, args)                                                      \
    LIBC(ssize_t, name, params, args)                                                              \
    {                                                                                              \
        ssize_t got = VIA_FD(name args);                                                           \
                                                                                                   \
        if (got > 0)                                                                               \
            rt_write(buffer, (size_t)got, where);                                                  \
        return got;                                                                                \
    }
#define WRITE_FROM(name, buffer, params, args)                                                     \
    LIBC(ssize_t, name, params, args)                                                              \
    {                                                                                              \
        rt_read(buffer, n, where);                                                                 \
        return VIA_FD(name args);                                                                  \
    }

READ_INTO(read, p, (int fd, void *p, size_t n), (fd, p, n))
READ_INTO(pread, p, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
READ_INTO(pread64, p, (int fd, void *p, size_t n, off64_t at), (fd, p, n, at))
READ_INTO(__read_chk, p, (int fd, void *p, size_t n, size_t room), (fd, p, n, room))
READ_INTO(__pread_chk, p, (int fd, void *p, size_t n, off_t at, size_t room), (fd, p, n, at, room))
READ_INTO(__pread64_chk, p, (int fd, void *p, size_t n, off64_t at, size_t room),
          (fd, p, n, at, room))
READ_INTO(recv, p, (int fd, void *p, size_t n, int flags), (fd, p, n, flags))
READ_INTO(__recv_chk, p, (int fd, void *p, size_t n, size_t room, int flags),
          (fd, p, n, room, flags))
WRITE_FROM(write, p, (int fd, const void *p, size_t n), (fd, p, n))
WRITE_FROM(pwrite, p, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
WRITE_FROM(pwrite64, p, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at))
WRITE_FROM(send, p, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags))

LIBC(ssize_t, getrandom, (void *p, size_t n, unsigned flags), (p, n, flags))
{
    ssize_t got = CALL(getrandom)(p, n, flags);

    if (got > 0)
        rt_write(p, (size_t)got, where);
    return got;
}

LIBC(int, getentropy, (void *p, size_t n), (p, n))
{
    int r = CALL(getentropy)(p, n);

    if (r == 0)
        rt_write(p, n, where);
    return r;
}

/* ---- several buffers ---- */

enum { VECTOR_MAX = 1024 }; /* the kernel's limit: a call with more fails */

static void reads_vector(const struct iovec *v, int n, uint64_t where)
{
    if (n <= 0 || n > VECTOR_MAX || !rt_recording())
        return;
    rt_read(v, (size_t)n * sizeof(*v), where);
    for (int i = 0; i < n; i++)
        rt_read(v[i].iov_base, v[i].iov_len, where);
}

/* The first `got` bytes of them. */
static void writes_vector(const struct iovec *v, int n, ssize_t got, uint64_t where)
{
    size_t left = got > 0 ? (size_t)got : 0, take;

    if (n <= 0 || n > VECTOR_MAX || !rt_recording())
        return;
    rt_read(v, (size_t)n * sizeof(*v), where);
    for (int i = 0; i < n && left; i++, left -= take) {
        take = v[i].iov_len < left ? v[i].iov_len : left;
        rt_write(v[i].iov_base, take, where);
    }
}

LIBC(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n))
{
    ssize_t got = VIA_FD(readv(fd, v, n));

    writes_vector(v, n, got, where);
    return got;
}

LIBC(ssize_t, preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
{
    ssize_t got = VIA_FD(preadv(fd, v, n, at));

    writes_vector(v, n, got, where);
    return got;
}

LIBC(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
{
    reads_vector(v, n, where);
    return VIA_FD(writev(fd, v, n));
}

LIBC(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
{
    reads_vector(v, n, where);
    return VIA_FD(pwritev(fd, v, n, at));
}

/* ---- messages ---- */

LIBC(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags))
{
    ssize_t got;

    rt_read(m, sizeof(*m), where);
    got = VIA_FD(recvmsg(fd, m, flags));
    if (got < 0)
        return got;
    rt_write(m, sizeof(*m), where);
    writes_vector(m->msg_iov, (int)m->msg_iovlen, got, where);
    if (m->msg_name)
        rt_write(m->msg_name, m->msg_namelen, where);
    if (m->msg_control)
        rt_write(m->msg_control, m->msg_controllen, where);
    return got;
}

LIBC(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
{
    rt_read(m, sizeof(*m), where);
    reads_vector(m->msg_iov, (int)m->msg_iovlen, where);
    if (m->msg_name)
        rt_read(m->msg_name, m->msg_namelen, where);
    if (m->msg_control)
        rt_read(m->msg_control, m->msg_controllen, where);
    return VIA_FD(sendmsg(fd, m, flags));
}

/* The kind of the message stands before its text. */
LIBC(int, msgsnd, (int id, const void *m, size_t n, int flags), (id, m, n, flags))
{
    rt_read(m, sizeof(long) + n, where);
    return VIA_FD(msgsnd(id, m, n, flags));
}

LIBC(ssize_t, msgrcv, (int id, void *m, size_t n, long kind, int flags), (id, m, n, kind, flags))
{
    ssize_t got = VIA_FD(msgrcv(id, m, n, kind, flags));

    if (got >= 0)
        rt_write(m, sizeof(long) + (size_t)got, where);
    return got;
}

LIBC(int, mq_send, (mqd_t q, const char *p, size_t n, unsigned priority), (q, p, n, priority))
{
    rt_read(p, n, where);
    return VIA_FD(mq_send(q, p, n, priority));
}

LIBC(ssize_t, mq_receive, (mqd_t q, char *p, size_t n, unsigned *priority), (q, p, n, priority))
{
    ssize_t got = VIA_FD(mq_receive(q, p, n, priority));

    if (got >= 0) {
        rt_write(p, (size_t)got, where);
        write_if(priority, sizeof(*priority), where);
    }
    return got;
}

/* ---- new descriptors ---- */

LIBC(int, pipe, (int fd[2]), (fd))
{
    int r = CALL(pipe)(fd);

    if (r == 0)
        rt_write(fd, 2 * sizeof(*fd), where);
    return r;
}

LIBC(int, pipe2, (int fd[2], int flags), (fd, flags))
{
    int r = CALL(pipe2)(fd, flags);

    if (r == 0)
        rt_write(fd, 2 * sizeof(*fd), where);
    return r;
}

/* ---- waiting for several ---- */

/* Which fields of each entry are read and which written. */
static void reads_poll(const struct pollfd *fds, nfds_t n, uint64_t where)
{
    rt_read(fds, n * sizeof(*fds), where);
}

static int wrote_poll(const struct pollfd *fds, nfds_t n, int r, uint64_t where)
{
    if (r >= 0 && rt_recording())
        for (nfds_t i = 0; i < n; i++)
            rt_write(&fds[i].revents, sizeof(fds[i].revents), where);
    return r;
}

LIBC(int, poll, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout))
{
    reads_poll(fds, n, where);
    return wrote_poll(fds, n, VIA_FD(poll(fds, n, timeout)), where);
}

LIBC(int, __poll_chk, (struct pollfd * fds, nfds_t n, int timeout, size_t room),
     (fds, n, timeout, room))
{
    reads_poll(fds, n, where);
    return wrote_poll(fds, n, VIA_FD(__poll_chk(fds, n, timeout, room)), where);
}

LIBC(int, ppoll, (struct pollfd * fds, nfds_t n, const struct timespec *t, const sigset_t *mask),
     (fds, n, t, mask))
{
    reads_poll(fds, n, where);
    read_if(t, sizeof(*t), where);
    return wrote_poll(fds, n, VIA_FD(ppoll(fds, n, t, mask)), where);
}

LIBC(int, select, (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t), (n, r, w, e, t))
{
    size_t bytes = n > 0 ? (size_t)(n + 63) / 64 * 8 : 0;
    fd_set *sets[3] = { r, w, e };
    int ready;

    for (int i = 0; i < 3; i++)
        read_if(sets[i], bytes, where);
    read_if(t, sizeof(*t), where);
    ready = VIA_FD(select(n, r, w, e, t));
    for (int i = 0; i < 3 && ready >= 0; i++)
        write_if(sets[i], bytes, where);
    write_if(t, sizeof(*t), where); /* Linux: the time left */
    return ready;
}

LIBC(int, epoll_ctl, (int e, int op, int fd, struct epoll_event *v), (e, op, fd, v))
{
    if (op != EPOLL_CTL_DEL)
        read_if(v, sizeof(*v), where);
    return VIA_FD(epoll_ctl(e, op, fd, v));
}

LIBC(int, epoll_wait, (int e, struct epoll_event *v, int n, int timeout), (e, v, n, timeout))
{
    int ready = VIA_FD(epoll_wait(e, v, n, timeout));

    if (ready > 0)
        rt_write(v, (size_t)ready * sizeof(*v), where);
    return ready;
}

LIBC(int, epoll_pwait, (int e, struct epoll_event *v, int n, int timeout, const sigset_t *mask),
     (e, v, n, timeout, mask))
{
    int ready = VIA_FD(epoll_pwait(e, v, n, timeout, mask));

    if (ready > 0)
        rt_write(v, (size_t)ready * sizeof(*v), where);
    return ready;
}

LIBC(int, eventfd_read, (int fd, eventfd_t *value), (fd, value))
{
    int r = VIA_FD(eventfd_read(fd, value));

    if (r == 0)
        rt_write(value, sizeof(*value), where);
    return r;
}

LIBC(int, eventfd_write, (int fd, eventfd_t value), (fd, value))
{
    return VIA_FD(eventfd_write(fd, value));
}
