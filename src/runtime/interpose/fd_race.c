/* fd_race.c - a thread closes a descriptor that another one uses
 *
 * The call fails, or works on whatever got the number next. Each descriptor has 8 bytes here that
 * stand for it, by whose name reports tell of it: using the descriptor reads them, closing it frees
 * them, and whoever meets it first allocates them. So a race on a descriptor is a race like others
 * to all engines.
 *
 * Only what traced code does counts, since what orders untraced code is not known; but a close by
 * untraced code ends what is known of the number. What libc closes inside itself is unseen: a
 * descriptor that is another file than the one that was met first is another one (its inode is
 * compared where it is closed). dup2() puts a file in the place of another at once, which is no
 * race. Not in a process that may make no system calls of ours.
 *
 * Concurrency: any thread, signal handlers too; no locks.
 */
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/interpose/fd.h"
#include "runtime/untraced/objects.h"
#include "runtime/core/state.h"

enum { FDS = 8192 }; /* those beyond it are not looked at */

extern EXPORT char __heddle_descriptor[FDS][8];
EXPORT char __heddle_descriptor[FDS][8];

/* By descriptor: the file that was met, never one of: */
static uint64_t files[FDS];
enum { FILE_UNKNOWN, FILE_CLOSED };

static bool fd_race_is_small(int fd)
{
    return fd >= 0 && fd < FDS;
}

static bool is_traced(uint64_t where)
{
    uintptr_t code = (uintptr_t)(where & ~WHERE_PC);

    return !(where & WHERE_PC) || statics_is_traced(code) || images_traced(code);
}

static bool counts(int fd, uint64_t where)
{
    return fd_race_is_small(fd) && rt.mode == MODE_ON && !rt_sandbox && rt_recording() &&
           !tls.ignore && is_traced(where);
}

/* 0: it is not open. */
static uint64_t file_of(int fd)
{
    struct stat s;
    int saved = errno;
    long r = syscall(SYS_fstat, fd, &s);

    errno = saved;
    return r ? 0 : fd_key(SALT_FILE, s.st_dev, s.st_ino);
}

/* Whoever is the first to see it begins it. */
static void fd_race_begin(int fd, uint64_t known, uint64_t file, uint64_t where)
{
    if (__atomic_compare_exchange_n(&files[fd], &known, file, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        rt_begins(__heddle_descriptor[fd], sizeof(*__heddle_descriptor), where);
}

void fd_used(int fd, uint64_t where)
{
    uint64_t known, file;

    if (!counts(fd, where))
        return;
    known = __atomic_load_n(&files[fd], __ATOMIC_RELAXED);
    if (known <= FILE_CLOSED) {
        file = file_of(fd);
        if (file)
            fd_race_begin(fd, known, file, where);
        else if (known == FILE_UNKNOWN)
            return;
    }
    rt_read(__heddle_descriptor[fd], sizeof(*__heddle_descriptor), where);
}

void fd_forgotten(int fd)
{
    if (fd_race_is_small(fd))
        __atomic_store_n(&files[fd], FILE_UNKNOWN, __ATOMIC_RELAXED);
}

void fd_closes(int fd, uint64_t where)
{
    uint64_t known, file;

    if (!fd_race_is_small(fd))
        return;
    known = __atomic_load_n(&files[fd], __ATOMIC_RELAXED);
    if (!counts(fd, where)) {
        if (known)
            fd_forgotten(fd);
        return;
    }
    if (fork_is_other_process())
        return;
    file = file_of(fd);
    if (!file && known != FILE_CLOSED)
        return;
    if (known > FILE_CLOSED && known != file) {
        fd_forgotten(fd);
        return;
    }
    if (known <= FILE_CLOSED && file)
        fd_race_begin(fd, known, file, where);
    __atomic_store_n(&files[fd], FILE_CLOSED, __ATOMIC_RELAXED);
    rt_ends(__heddle_descriptor[fd], sizeof(*__heddle_descriptor), where);
}
