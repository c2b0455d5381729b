/* fork.c - fork and exec
 *
 * Fork is seen through pthread_atfork(), registered before the program can
 * register anything: so our part is the innermost, handlers of the program run
 * while nothing is locked and are recorded, and forks inside libc (daemon,
 * forkpty) are seen too. Libraries whose constructors came before ours have
 * handlers further inside; these are not recorded, in pairs, on both sides.
 * Only _Fork() and clone(), which call no handlers, are interposed. What clone() makes is a child
 * as any other unless it shares the memory (then it is a thread or vfork's child) or has
 * thread-local variables of its own, which the runtime could not use; those are left alone.
 * Around syscall(SYS_fork) and syscall(SYS_clone) the plugin puts calls of __heddle_forks() and
 * __heddle_forked().
 * vfork() and posix_spawn() are not touched: their child runs on the parent's
 * memory until it execs, and what it does is recorded as the parent's doing.
 *
 * Exec: the trace is told that the image may be gone, and if the call returns,
 * that it is not. The exec of vfork's child does not concern us.
 */
#include "runtime/core/mapped.h"
#include "runtime/interpose/fd.h"
#include "runtime/interpose/interpose.h"
#include "runtime/openmp/openmp.h"

#include <stdarg.h>

static pid_t process; /* that this memory belongs to */
static _Thread_local bool forking __attribute__((tls_model("initial-exec")));

static struct rt_lock *const fork_locks[] = { &threads_lock, &actions_lock, &contexts_lock,
                                              &openmp_lock };
enum { LOCKS = sizeof(fork_locks) / sizeof(fork_locks[0]) };

static void before(void)
{
    rt_fork_before();
    for (int i = 0; i < LOCKS; i++)
        rt_lock_take(fork_locks[i]);
    forking = true;
}

static void after(bool child)
{
    int saved = errno;

    forking = false;
    if (child) {
        process = (pid_t)syscall(SYS_getpid);
        own_tid_forget();
        sandbox_forked();
        threads_forked();
        contexts_forked();
        openmp_forked();
        signals_forked();
        mapped_forked();
    }
    fd_relayed = !child;
    for (int i = LOCKS; i-- > 0;)
        rt_lock_drop(fork_locks[i]);
    rt_fork_after(child);
    errno = saved;
}

bool fork_is_other_process(void)
{
    return (pid_t)syscall(SYS_getpid) != process;
}

static void after_in_parent(void)
{
    after(false);
}

static void after_in_child(void)
{
    after(true);
}

static __attribute__((constructor(101))) void watch_forks(void)
{
    process = (pid_t)syscall(SYS_getpid);
    rt_busy_begin();
    pthread_atfork(before, after_in_parent, after_in_child);
    rt_busy_end();
}

/* In a static program fork() comes here too, with its handlers already called. */
INTERPOSE(pid_t, _Fork, void)
{
    pid_t r;

    if (forking)
        return REAL(_Fork)();
    before();
    r = REAL(_Fork)();
    after(r == 0);
    return r;
}

struct cloned {
    int (*function)(void *);
    void *arg;
};

/* In the child, whose memory has a copy of what the parent left on its stack. */
static int run_cloned(void *p)
{
    struct cloned c = *(struct cloned *)p;

    after(true);
    return c.function(c.arg);
}

INTERPOSE(int, clone, int (*function)(void *), void *stack, int flags, void *arg, ...)
{
    struct cloned c = { function, arg };
    bool forks = !(flags & (CLONE_VM | CLONE_SETTLS)) && !forking && function && stack;
    va_list rest;
    int r;

    va_start(rest, arg);
    pid_t *parent = va_arg(rest, pid_t *);
    void *tls = va_arg(rest, void *);
    pid_t *child = va_arg(rest, pid_t *);
    va_end(rest);
    if (!forks)
        return REAL(clone)(function, stack, flags, arg, parent, tls, child);
    before();
    r = REAL(clone)(run_cloned, stack, flags, &c, parent, tls, child);
    after(false);
    return r;
}

static _Thread_local bool by_call __attribute__((tls_model("initial-exec")));

EXPORT void __heddle_forks(uint64_t flags, uint64_t stack);
EXPORT void __heddle_forks(uint64_t flags, uint64_t stack)
{
    if (flags & (CLONE_VM | CLONE_SETTLS) || stack || forking)
        return;
    before();
    by_call = true;
}

EXPORT void __heddle_forked(uint64_t result);
EXPORT void __heddle_forked(uint64_t result)
{
    if (!by_call)
        return;
    by_call = false;
    after(result == 0);
}

/* ---- exec ---- */

static bool exec_begins(void)
{
    if ((pid_t)syscall(SYS_getpid) != process)
        return false;
    rt_exec(true);
    return true;
}

static int exec_failed(bool told)
{
    int saved = errno;

    if (told)
        rt_exec(false);
    errno = saved;
    return -1;
}

INTERPOSE(int, execve, const char *path, char *const argv[], char *const envp[])
{
    bool told = exec_begins();

    REAL(execve)(path, argv, envp);
    return exec_failed(told);
}

INTERPOSE(int, execv, const char *path, char *const argv[])
{
    bool told = exec_begins();

    REAL(execv)(path, argv);
    return exec_failed(told);
}

INTERPOSE(int, execvp, const char *file, char *const argv[])
{
    bool told = exec_begins();

    REAL(execvp)(file, argv);
    return exec_failed(told);
}

INTERPOSE(int, execvpe, const char *file, char *const argv[], char *const envp[])
{
    bool told = exec_begins();

    REAL(execvpe)(file, argv, envp);
    return exec_failed(told);
}

INTERPOSE(int, fexecve, int fd, char *const argv[], char *const envp[])
{
    bool told = exec_begins();

    REAL(fexecve)(fd, argv, envp);
    return exec_failed(told);
}

INTERPOSE(int, execveat, int fd, const char *path, char *const argv[], char *const envp[],
          int flags)
{
    bool told = exec_begins();

    REAL(execveat)(fd, path, argv, envp, flags);
    return exec_failed(told);
}

/* The forms with a list: made an array on the stack, as libc does (vfork's child may not
 * allocate). Their real functions are never called. */
static size_t count_args(const char *first, va_list args)
{
    size_t n = 1; /* the NULL */

    for (; first; n++)
        first = va_arg(args, char *);
    return n;
}

/* Fills `argv`; the environment of execle() follows the NULL. */
static void copy_args(char **argv, const char *first, va_list args)
{
    *argv = (char *)(uintptr_t)first;
    while (*argv)
        *++argv = va_arg(args, char *);
}

#define LIST_TO_ARRAY(first)                                                                       \
    va_list args;                                                                                  \
    va_start(args, first);                                                                         \
    size_t n = count_args(first, args);                                                            \
    va_end(args);                                                                                  \
    char *argv[n];                                                                                 \
    va_start(args, first);                                                                         \
    copy_args(argv, first, args)

REPLACE(int, execl, const char *path, const char *first, ...)
{
    LIST_TO_ARRAY(first);
    va_end(args);
    bool told = exec_begins();

    REAL(execve)(path, argv, environ);
    return exec_failed(told);
}

REPLACE(int, execlp, const char *file, const char *first, ...)
{
    LIST_TO_ARRAY(first);
    va_end(args);
    bool told = exec_begins();

    REAL(execvp)(file, argv);
    return exec_failed(told);
}

REPLACE(int, execle, const char *path, const char *first, ...)
{
    LIST_TO_ARRAY(first);
    char **envp = va_arg(args, char **);
    va_end(args);
    bool told = exec_begins();

    REAL(execve)(path, argv, envp);
    return exec_failed(told);
}

/* Handlers may call these first: look them up while nothing is interrupted. */
static __attribute__((constructor)) void look_up(void)
{
    (void)REAL(_Fork);
    (void)REAL(execve);
    (void)REAL(execv);
}
