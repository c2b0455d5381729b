/* libc_socket.c - sockets: addresses and options; see libc_fd.c */
#include "runtime/libc/libc.h"

/* An address that the kernel fills in: at most `room` bytes of it, and its length. */
static inline void wrote_address(const void *a, const socklen_t *bytes, socklen_t room,
                                 uint64_t where)
{
    if (a && bytes) {
        rt_write(a, *bytes < room ? *bytes : room, where);
        rt_write(bytes, sizeof(*bytes), where);
    }
}

static inline socklen_t room_for_address(const void *a, const socklen_t *bytes, uint64_t where)
{
    if (!a || !bytes)
        return 0;
    rt_read(bytes, sizeof(*bytes), where);
    return *bytes;
}

LIBC(ssize_t, recvfrom,
     (int fd, void *p, size_t n, int flags, struct sockaddr *from, socklen_t *from_bytes),
     (fd, p, n, flags, from, from_bytes))
{
    socklen_t room = room_for_address(from, from_bytes, where);
    ssize_t got = VIA_FD(recvfrom(fd, p, n, flags, from, from_bytes));

    if (got > 0)
        rt_write(p, (size_t)got < n ? (size_t)got : n, where);
    if (got >= 0)
        wrote_address(from, from_bytes, room, where);
    return got;
}

LIBC(ssize_t, __recvfrom_chk,
     (int fd, void *p, size_t n, size_t size, int flags, struct sockaddr *from,
      socklen_t *from_bytes),
     (fd, p, n, size, flags, from, from_bytes))
{
    socklen_t room = room_for_address(from, from_bytes, where);
    ssize_t got = VIA_FD(__recvfrom_chk(fd, p, n, size, flags, from, from_bytes));

    if (got > 0)
        rt_write(p, (size_t)got < n ? (size_t)got : n, where);
    if (got >= 0)
        wrote_address(from, from_bytes, room, where);
    return got;
}

LIBC(ssize_t, sendto,
     (int fd, const void *p, size_t n, int flags, const struct sockaddr *to, socklen_t to_bytes),
     (fd, p, n, flags, to, to_bytes))
{
    rt_read(p, n, where);
    read_if(to, to_bytes, where);
    return VIA_FD(sendto(fd, p, n, flags, to, to_bytes));
}

LIBC(int, bind, (int fd, const struct sockaddr *a, socklen_t bytes), (fd, a, bytes))
{
    read_if(a, bytes, where);
    return CALL(bind)(fd, a, bytes);
}

LIBC(int, connect, (int fd, const struct sockaddr *a, socklen_t bytes), (fd, a, bytes))
{
    read_if(a, bytes, where);
    return VIA_FD(connect(fd, a, bytes));
}

LIBC(int, socketpair, (int domain, int type, int protocol, int fd[2]), (domain, type, protocol, fd))
{
    int r = VIA_FD(socketpair(domain, type, protocol, fd));

    if (r == 0)
        rt_write(fd, 2 * sizeof(*fd), where);
    return r;
}

/* ---- addresses that are written ---- */

#define ADDRESS_OUT(name, call, params, args)                                                      \
    LIBC(int, name, params, args)                                                                  \
    {                                                                                              \
        socklen_t room = room_for_address(a, bytes, where);                                        \
        int r = call;                                                                              \
                                                                                                   \
        if (r >= 0)                                                                                \
            wrote_address(a, bytes, room, where);                                                  \
        return r;                                                                                  \
    }

ADDRESS_OUT(accept, VIA_FD(accept(fd, a, bytes)), (int fd, struct sockaddr *a, socklen_t *bytes),
            (fd, a, bytes))
ADDRESS_OUT(accept4, VIA_FD(accept4(fd, a, bytes, flags)),
            (int fd, struct sockaddr *a, socklen_t *bytes, int flags), (fd, a, bytes, flags))
ADDRESS_OUT(getsockname, CALL(getsockname)(fd, a, bytes),
            (int fd, struct sockaddr *a, socklen_t *bytes), (fd, a, bytes))
ADDRESS_OUT(getpeername, CALL(getpeername)(fd, a, bytes),
            (int fd, struct sockaddr *a, socklen_t *bytes), (fd, a, bytes))
ADDRESS_OUT(getsockopt, CALL(getsockopt)(fd, level, option, a, bytes),
            (int fd, int level, int option, void *a, socklen_t *bytes),
            (fd, level, option, a, bytes))

LIBC(int, setsockopt, (int fd, int level, int option, const void *p, socklen_t bytes),
     (fd, level, option, p, bytes))
{
    read_if(p, bytes, where);
    return CALL(setsockopt)(fd, level, option, p, bytes);
}

/* ---- addresses as text ---- */

static inline size_t address_bytes(int family)
{
    return family == AF_INET    ? sizeof(struct in_addr)
           : family == AF_INET6 ? sizeof(struct in6_addr)
                                : 0;
}

LIBC(const char *, inet_ntop, (int family, const void *a, char *text, socklen_t room),
     (family, a, text, room))
{
    const char *r;

    rt_read(a, address_bytes(family), where);
    r = CALL(inet_ntop)(family, a, text, room);
    if (r)
        write_string(text, where);
    return r;
}

LIBC(int, inet_pton, (int family, const char *text, void *a), (family, text, a))
{
    int r;

    read_string(text, where);
    r = CALL(inet_pton)(family, text, a);
    if (r == 1)
        rt_write(a, address_bytes(family), where);
    return r;
}
