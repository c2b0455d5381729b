/* fd.c - the key of what a descriptor stands for
 *
 * Asked of the kernel at each operation (fstat, about a fifth of the cost of a
 * read): descriptors are closed and reused inside libc, where nobody sees it.
 *
 *     file, directory, pipe, FIFO, message queue   device and inode
 *     socket                                       fd_socket.c
 *     eventfd, epoll, timerfd ...                  fd_anon.c
 *     terminal                                     KEY_OTHERS: its two ends differ
 *     /dev/null, /dev/urandom ...                  none
 */
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runtime/interpose/fd.h"

enum { MAJOR_MEMORY = 1 }; /* /dev/null, zero, random ... */

/* The system call itself: fstat is modelled, and errno is the host's. */
static bool status_of(int fd, struct stat *s)
{
    int saved = errno;
    bool ok = syscall(SYS_fstat, fd, s) == 0;

    errno = saved;
    return ok;
}

bool fd_relayed;

static void release_anon(int fd, uint64_t where)
{
    uint32_t number = anon_number(fd);

    if (number)
        rt_sync_number(OP_BEFORE, fd_key(SALT_ANON, number, 0), where);
    rt_sync_number(OP_BEFORE, KEY_OTHERS, where);
}

void fd_release(int fd, uint64_t where)
{
    struct stat s;

    if (rt_deaf_to_sync || !rt_watching())
        return;
    if (unlikely(rt_sandbox)) { /* what it is cannot be asked: all are one */
        rt_sync_number(OP_BEFORE, KEY_OTHERS, where);
        return;
    }
    if (!status_of(fd, &s))
        return;
    switch (s.st_mode & S_IFMT) {
    case S_IFSOCK:
        rt_sync_number(OP_BEFORE, socket_keys(fd, s.st_ino).out, where);
        rt_sync_number(OP_BEFORE, KEY_SOCKETS, where);
        break;
    case S_IFIFO:
        rt_sync_number(OP_BEFORE, fd_key(SALT_FILE, s.st_dev, s.st_ino), where);
        rt_sync_number(OP_BEFORE, KEY_OTHERS, where);
        break;
    case S_IFCHR:
        if (major(s.st_rdev) != MAJOR_MEMORY)
            rt_sync_number(OP_BEFORE, KEY_OTHERS, where);
        break;
    case 0:
        release_anon(fd, where);
        break;
    default:
        rt_sync_number(OP_BEFORE, fd_key(SALT_FILE, s.st_dev, s.st_ino), where);
    }
}

static uint64_t key_of_socket(int fd, uint64_t inode, uint64_t where)
{
    struct socket_keys keys = socket_keys(fd, inode);

    if (keys.answers && keys.answers != keys.in)
        rt_sync_number(OP_AFTER, keys.answers, where);
    return keys.in ? keys.in : KEY_SOCKETS;
}

/* What a reader acquires; 0: nothing. */
static uint64_t key_of_reader(int fd, const struct stat *s, uint64_t where)
{
    switch (s->st_mode & S_IFMT) {
    case S_IFSOCK:
        return key_of_socket(fd, s->st_ino, where);
    case S_IFCHR:
        return major(s->st_rdev) != MAJOR_MEMORY ? KEY_OTHERS : 0;
    case 0:
        return anon_number(fd) ? fd_key(SALT_ANON, anon_number(fd), 0) : KEY_OTHERS;
    default:
        return fd_key(SALT_FILE, s->st_dev, s->st_ino);
    }
}

void fd_acquire(int fd, uint64_t where)
{
    struct stat s;
    uint64_t key;

    if (rt_deaf_to_sync || !rt_watching())
        return;
    if (unlikely(rt_sandbox)) {
        rt_sync_number(OP_AFTER, KEY_OTHERS, where);
        rt_sync_number(OP_AFTER, KEY_SOCKETS, where);
        rt_sync_number(OP_AFTER, KEY_KERNEL, where);
        return;
    }
    if (!status_of(fd, &s))
        return;
    key = key_of_reader(fd, &s, where);
    if (!key)
        return;
    rt_sync_number(OP_AFTER, key, where);
    if (unlikely(fd_relayed) && (S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode))) {
        rt_sync_number(OP_AFTER, KEY_OTHERS, where);
        rt_sync_number(OP_AFTER, KEY_SOCKETS, where);
    }
    rt_sync_number(OP_AFTER, KEY_KERNEL, where);
}

/* ---- names ---- */

static uint64_t name_key(const char *path)
{
    uint64_t h = 0;

    for (; *path; path++)
        if (*path != '/')
            h = (h ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
        else if (path[1] && path[1] != '/')
            h = 0;
    return fd_key(SALT_NAME, h, 0);
}

void fd_name_changes(const char *path, uint64_t where)
{
    if (path && rt_recording())
        rt_sync_number(OP_BEFORE, name_key(path), where);
}

void fd_name_seen(const char *path, uint64_t where)
{
    int saved = errno;

    if (path && rt_recording())
        rt_sync_number(OP_AFTER, name_key(path), where);
    errno = saved;
}
