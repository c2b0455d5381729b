/* fd_lock.c - locks on files, and System V messages and semaphores
 *
 * A lock on a file is no lock between threads in general (it belongs to the
 * process, or to the open file): recorded as an edge from each unlocking to
 * later locking, through the file's own key.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

#include "runtime/interpose/fd_call.h"

INTERPOSE(int, flock, int fd, int op)
{
    uint64_t where = WHERE_CALLER();
    int r;

    fd_release(fd, where); /* also when one kind of lock becomes the other */
    r = REAL(flock)(fd, op);
    if (r == 0 && !(op & LOCK_UN))
        fd_acquire(fd, where);
    return r;
}

#define LOCKF(name, type)                                                                          \
    INTERPOSE(int, name, int fd, int op, type n)                                                   \
    {                                                                                              \
        uint64_t where = WHERE_CALLER();                                                           \
        int r;                                                                                     \
                                                                                                   \
        if (op == F_ULOCK)                                                                         \
            fd_release(fd, where);                                                                 \
        r = REAL(name)(fd, op, n);                                                                 \
        if (r == 0 && op != F_ULOCK)                                                               \
            fd_acquire(fd, where);                                                                 \
        return r;                                                                                  \
    }
LOCKF(lockf, off_t)
LOCKF(lockf64, off64_t)

static bool sets_lock(int op)
{
    return op == F_SETLK || op == F_SETLKW || op == F_OFD_SETLK || op == F_OFD_SETLKW;
}

/* The argument is an int or a pointer, or not there: passed on as it came. */
#define FCNTL(name)                                                                                \
    INTERPOSE(int, name, int fd, int op, ...)                                                      \
    {                                                                                              \
        uint64_t where = WHERE_CALLER();                                                           \
        bool unlocks;                                                                              \
        void *argument;                                                                            \
        va_list ap;                                                                                \
        int r;                                                                                     \
                                                                                                   \
        va_start(ap, op);                                                                          \
        argument = va_arg(ap, void *);                                                             \
        va_end(ap);                                                                                \
        unlocks = sets_lock(op) && argument && ((struct flock *)argument)->l_type == F_UNLCK;      \
        if (unlocks)                                                                               \
            fd_release(fd, where);                                                                 \
        r = REAL(name)(fd, op, argument);                                                          \
        if (r == 0 && sets_lock(op) && !unlocks)                                                   \
            fd_acquire(fd, where);                                                                 \
        if (r >= 0 && (op == F_DUPFD || op == F_DUPFD_CLOEXEC))                                    \
            anon_copy(fd, r);                                                                      \
        return r;                                                                                  \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- System V ---- */

INTERPOSE(int, msgsnd, int id, const void *m, size_t n, int flags)
{
    struct fd_call c = FD_CALL();

    if (c.buffers)
        rt_read(m, sizeof(long) + n, c.where);
    rt_sync_number(OP_BEFORE, fd_key(SALT_MESSAGES, (uint64_t)id, 0), c.where);
    return REAL(msgsnd)(id, m, n, flags);
}

INTERPOSE(ssize_t, msgrcv, int id, void *m, size_t n, long kind, int flags)
{
    struct fd_call c = FD_CALL();
    ssize_t r = REAL(msgrcv)(id, m, n, kind, flags);

    if (r >= 0) {
        rt_sync_number(OP_AFTER, fd_key(SALT_MESSAGES, (uint64_t)id, 0), c.where);
        if (c.buffers)
            rt_write(m, sizeof(long) + (size_t)r, c.where);
    }
    return r;
}

/* Posting releases a semaphore, waiting acquires it; who waits for 0 acquires what waiting let go,
 * under a key of its own. */
static void semaphores(enum op event, int id, const struct sembuf *v, size_t n, uint64_t where)
{
    for (size_t i = 0; i < n; i++) {
        bool before = event == OP_BEFORE, zero = before ? v[i].sem_op < 0 : v[i].sem_op == 0;

        if (zero || (before ? v[i].sem_op > 0 : v[i].sem_op < 0))
            rt_sync_number(
                event, fd_key(SALT_SEMAPHORES, (uint64_t)id, v[i].sem_num | (uint64_t)zero << 32),
                where);
    }
}

INTERPOSE(int, semop, int id, struct sembuf *v, size_t n)
{
    uint64_t where = WHERE_CALLER();
    int r;

    semaphores(OP_BEFORE, id, v, n, where);
    r = REAL(semop)(id, v, n);
    if (r == 0)
        semaphores(OP_AFTER, id, v, n, where);
    return r;
}

INTERPOSE(int, semtimedop, int id, struct sembuf *v, size_t n, const struct timespec *t)
{
    uint64_t where = WHERE_CALLER();
    int r;

    semaphores(OP_BEFORE, id, v, n, where);
    r = REAL(semtimedop)(id, v, n, t);
    if (r == 0)
        semaphores(OP_AFTER, id, v, n, where);
    return r;
}
