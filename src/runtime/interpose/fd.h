/* fd.h - edges through file descriptors
 *
 * What goes in at one end comes out at the other: release before data is handed
 * to the kernel, acquire after data (or its end) was got from it. Only reading
 * acquires, so threads that merely write to one log are not ordered.
 *
 * An edge needs the same key at both ends. Where an end cannot know the other's,
 * a key that all of its kind share stands in: writers always release both, so
 * that a reader may use either. Too many edges hide races, a missing one is a false
 * alarm; so whatever is only remembered may be forgotten, never be wrong.
 *
 * A child process may hand on what it reads: once there was one, whoever reads a
 * pipe or a socket comes after all who wrote to any. Whatever comes from a socket whose
 * other end is in another process may be the answer to what was written to it.
 * Limit: what else another process hands on (a server with several connections, a
 * filter made by posix_spawn()) orders nothing.
 *
 * Concurrency: any thread, signal handlers too; no locks.
 */
#ifndef HEDDLE_RUNTIME_INTERPOSE_FD_H
#define HEDDLE_RUNTIME_INTERPOSE_FD_H

#include <sys/types.h>

#include "runtime/core/rt.h"

/* ---- fd.c ---- */

HIDDEN void fd_release(int fd, uint64_t where);
HIDDEN void fd_acquire(int fd, uint64_t where);

/* There was a child process (fork.c). */
extern HIDDEN bool fd_relayed;

/* Who makes, moves or deletes a file is before those who look for it, whether they find it or
 * not: told by the last part of its name. */
HIDDEN void fd_name_changes(const char *path, uint64_t where);
HIDDEN void fd_name_seen(const char *path, uint64_t where);

/* Keys that whole kinds share; all others are hashes. */
enum fd_shared_key {
    KEY_SOCKETS = 1, /* sockets whose peer is not known */
    KEY_OTHERS,      /* pipes, eventfds, terminals ... */
    KEY_CONNECT,     /* connect -> accept */
    KEY_LISTEN,      /* listen -> connect */
    KEY_KERNEL       /* system calls of untraced code -> readers (call.c) */
};

enum fd_salt {
    SALT_FILE = 1,
    SALT_UNIX,
    SALT_INET,
    SALT_ANON,
    SALT_MESSAGES,
    SALT_SEMAPHORES,
    SALT_NUMBER,
    SALT_NAME
};

/* A key of 47 bits that is none of the shared ones. */
static inline uint64_t fd_key(enum fd_salt salt, uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (uint64_t)salt << 56) * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ h >> 29 ^ b) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 32) * UINT64_C(0x94d049bb133111eb);
    return (h ^ h >> 31) >> 17 | UINT64_C(1) << 46;
}

/* Closing gives the number back, and who gets it next comes after that: servers keep tables
 * indexed by it without a lock. Only new sockets acquire: elsewhere the order is an accident that
 * would hide races. */
static inline void fd_number_release(int fd, uint64_t where)
{
    rt_sync_number(OP_BEFORE, fd_key(SALT_NUMBER, (unsigned)fd, 0), where);
}
static inline void fd_number_acquire(int fd, uint64_t where)
{
    rt_sync_number(OP_AFTER, fd_key(SALT_NUMBER, (unsigned)fd, 0), where);
}

/* ---- fd_race.c: before a descriptor is used, and before it is closed ---- */

HIDDEN void fd_used(int fd, uint64_t where);
HIDDEN void fd_closes(int fd, uint64_t where);
HIDDEN void fd_forgotten(int fd); /* another file takes its place, or libc closes it */

/* ---- fd_socket.c ---- */

/* Keys of the socket with that inode; in 0: unknown, KEY_SOCKETS stands in. Where the other end is
 * in another process, or may be, what comes may answer what went `out` here: 0 or that key. */
struct socket_keys {
    uint64_t out, in, answers;
};
HIDDEN struct socket_keys socket_keys(int fd, uint64_t inode);

/* ---- fd_anon.c: eventfds, epolls, timers have no inode of their own, but a number here ---- */

HIDDEN uint32_t anon_number(int fd); /* 0: unknown */
HIDDEN void anon_new(int fd);
HIDDEN bool anon_has_signals(int fd); /* made by signalfd() */
HIDDEN void anon_copy(int from, int to);
HIDDEN void anon_close(int fd);

#endif
