/* fd_socket.c - keys of sockets; making and connecting them
 *
 * TCP: the pair of addresses, one key per direction; both ends can compute it.
 * socketpair: the sender's inode; the receiver knows its peer from the creation.
 * Other stream sockets (AF_UNIX by name): unknown, unless the peer is another process.
 * Datagrams: unknown, anybody may have sent them.
 *
 * A table remembers what is costly to ask: direct-mapped by inode (a socket's
 * is not used again before 2^32 others), entries may be pushed out.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/interpose/fd_call.h"

enum { TABLE_SIZE = 1 << 12 };

struct remembered {
    uint64_t inode; /* 0: empty or being written */
    struct socket_keys keys;
};
static struct remembered table[TABLE_SIZE];

static struct remembered *slot(uint64_t inode)
{
    return &table[inode * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

/* Two writers of one slot: the second one's entry is dropped. */
static void remember(uint64_t inode, struct socket_keys keys)
{
    struct remembered *r = slot(inode);
    uint64_t was = __atomic_load_n(&r->inode, __ATOMIC_RELAXED);

    if (was == UINT64_MAX || !__atomic_compare_exchange_n(&r->inode, &was, UINT64_MAX, false,
                                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&r->keys.out, keys.out, __ATOMIC_RELAXED);
    __atomic_store_n(&r->keys.in, keys.in, __ATOMIC_RELAXED);
    __atomic_store_n(&r->keys.answers, keys.answers, __ATOMIC_RELAXED);
    __atomic_store_n(&r->inode, inode, __ATOMIC_RELEASE);
}

static bool recall(uint64_t inode, struct socket_keys *keys)
{
    struct remembered *r = slot(inode);

    if (__atomic_load_n(&r->inode, __ATOMIC_ACQUIRE) != inode)
        return false;
    keys->out = __atomic_load_n(&r->keys.out, __ATOMIC_RELAXED);
    keys->in = __atomic_load_n(&r->keys.in, __ATOMIC_RELAXED);
    keys->answers = __atomic_load_n(&r->keys.answers, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&r->inode, __ATOMIC_RELAXED) == inode;
}

/* ---- asking the kernel ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage room;
};

/* An IPv4 address looks the same in both families. */
static uint64_t address_hash(const union address *a)
{
    uint64_t high = 0, low;
    uint16_t port;

    if (a->any.sa_family == AF_INET) {
        low = UINT64_C(0xffff) << 32 | ntohl(a->v4.sin_addr.s_addr);
        port = a->v4.sin_port;
    } else {
        const uint32_t *w = a->v6.sin6_addr.s6_addr32;

        high = (uint64_t)ntohl(w[0]) << 32 | ntohl(w[1]);
        low = (uint64_t)ntohl(w[2]) << 32 | ntohl(w[3]);
        port = a->v6.sin6_port;
    }
    return fd_key(SALT_INET, high ^ (uint64_t)port << 48, low);
}

static bool socket_name(int fd, bool peer, union address *a)
{
    socklen_t bytes = sizeof(*a);

    return syscall(peer ? SYS_getpeername : SYS_getsockname, fd, a, &bytes) == 0;
}

static int socket_option(int fd, int option)
{
    int value = -1;
    socklen_t bytes = sizeof(value);

    return syscall(SYS_getsockopt, fd, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

static bool peer_is_outside(int fd)
{
    struct ucred c;
    socklen_t bytes = sizeof(c);

    return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &c, &bytes) == 0 && c.pid > 0 &&
           c.pid != syscall(SYS_getpid);
}

/* True when the answer stays the same while the socket lives. */
static bool ask(int fd, uint64_t inode, struct socket_keys *keys)
{
    union address own, peer;
    uint64_t a, b;

    *keys = (struct socket_keys){ fd_key(SALT_UNIX, inode, 0), 0, 0 };
    if (socket_option(fd, SO_TYPE) == SOCK_DGRAM || !socket_name(fd, true, &peer) ||
        !socket_name(fd, false, &own))
        return false;
    if (own.any.sa_family == AF_INET || own.any.sa_family == AF_INET6) {
        a = address_hash(&own);
        b = address_hash(&peer);
        keys->out = fd_key(SALT_INET, a, b);
        keys->in = fd_key(SALT_INET, b, a);
        keys->answers = keys->out;
    } else if (own.any.sa_family == AF_UNIX && peer_is_outside(fd)) {
        keys->in = keys->answers = keys->out;
    }
    return true;
}

struct socket_keys socket_keys(int fd, uint64_t inode)
{
    struct socket_keys keys;
    int saved = errno;

    if (!recall(inode, &keys) && ask(fd, inode, &keys))
        remember(inode, keys);
    errno = saved;
    return keys;
}

/* ---- interposed ---- */

INTERPOSE(int, socketpair, int domain, int type, int protocol, int fd[2])
{
    struct stat s[2];
    int r = REAL(socketpair)(domain, type, protocol, fd), saved = errno;

    hint_drop();
    if (r == 0 && syscall(SYS_fstat, fd[0], &s[0]) == 0 && syscall(SYS_fstat, fd[1], &s[1]) == 0)
        for (int i = 0; i < 2; i++)
            remember(s[i].st_ino, (struct socket_keys){ fd_key(SALT_UNIX, s[i].st_ino, 0),
                                                        fd_key(SALT_UNIX, s[1 - i].st_ino, 0), 0 });
    errno = saved;
    return r;
}

INTERPOSE(int, socket, int domain, int type, int protocol)
{
    int fd = REAL(socket)(domain, type, protocol);

    if (fd >= 0)
        fd_number_acquire(fd, WHERE_CALLER());
    return fd;
}

INTERPOSE(int, connect, int fd, const struct sockaddr *a, socklen_t bytes)
{
    uint64_t where = FD_CALL().where;
    int r;

    rt_sync_number(OP_BEFORE, KEY_CONNECT, where);
    rt_sync_number(OP_BEFORE, KEY_SOCKETS, where);
    r = REAL(connect)(fd, a, bytes);
    if (r == 0)
        rt_sync_number(OP_AFTER, KEY_LISTEN, where);
    return r;
}

INTERPOSE(int, listen, int fd, int backlog)
{
    rt_sync_number(OP_BEFORE, KEY_LISTEN, WHERE_CALLER());
    return REAL(listen)(fd, backlog);
}

INTERPOSE(int, accept, int fd, struct sockaddr *a, socklen_t *bytes)
{
    uint64_t where = FD_CALL().where;
    int r;

    fd_used(fd, where);
    r = REAL(accept)(fd, a, bytes);
    if (r >= 0) {
        rt_sync_number(OP_AFTER, KEY_CONNECT, where);
        fd_number_acquire(r, where);
    }
    return r;
}

INTERPOSE(int, accept4, int fd, struct sockaddr *a, socklen_t *bytes, int flags)
{
    uint64_t where = FD_CALL().where;
    int r;

    fd_used(fd, where);
    r = REAL(accept4)(fd, a, bytes, flags);
    if (r >= 0) {
        rt_sync_number(OP_AFTER, KEY_CONNECT, where);
        fd_number_acquire(r, where);
    }
    return r;
}

/* The reader at the other end sees the end. */
INTERPOSE(int, shutdown, int fd, int how)
{
    fd_used(fd, WHERE_CALLER());
    fd_release(fd, WHERE_CALLER());
    return REAL(shutdown)(fd, how);
}
