/* sandbox.c - a program that restricts its system calls to those it makes itself
 *
 *     sandbox FILTER WHEN THREADS END [tsync]
 *
 * FILTER   kill, errno, trap: what happens at other calls; strict: SECCOMP_MODE_STRICT
 * WHEN     before, after: the threads are made; forked: in a child, which has none yet
 * THREADS  how many there are
 * END      return, exit, _exit, raw: how the program ends; thread: main by pthread_exit()
 *
 * The filter lets through what the C library needs for what this program does, and futex where
 * there are threads, which is all that docs/design/recording.md allows the runtime. It prints a
 * number and ends with code 4; a trapped call ends it with 5.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5000, THREADS_MAX = 8, SPREAD = 1 << 16, CALLS_MAX = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counted;
static long *spread; /* so that chunks fill up */
static int go, ready, pipe_ends[2];
int raced;

static void *work(void *arg)
{
    long me = (long)arg;

    __atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        ;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        counted++;
        spread[(i * 7919L + me) % SPREAD] += i;
        pthread_mutex_unlock(&lock);
    }
    raced = (int)me; /* race: with itself */
    return NULL;
}

/* ---- the filter ---- */

static void trapped(int sig)
{
    (void)sig;
    _exit(5);
}

/* What the C library does for this program: writing, ending, and threads where they come later. */
static const int own_calls[] = { SYS_write, SYS_read, SYS_exit, SYS_exit_group, SYS_rt_sigreturn };
/* An ended thread's stack; and what glibc 2.36 and 2.41 do to make one, and malloc for it. */
static const int thread_calls[] = { SYS_futex, SYS_madvise, SYS_munmap, SYS_rt_sigprocmask };
static const int create_calls[] = { SYS_mmap, SYS_mprotect, SYS_clone3,          SYS_clone,
                                    SYS_rseq, SYS_brk,      SYS_set_robust_list, SYS_rt_sigaction };

struct program {
    struct sock_filter code[2 * CALLS_MAX];
    unsigned short used;
};

static void allow(struct program *p, const int *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p->code[p->used++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        p->code[p->used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
}

#define ALLOW(p, list) allow(p, list, sizeof(list) / sizeof((list)[0]))

static unsigned answer(const char *filter)
{
    return !strcmp(filter, "errno")  ? SECCOMP_RET_ERRNO | EPERM
           : !strcmp(filter, "trap") ? SECCOMP_RET_TRAP
                                     : SECCOMP_RET_KILL_PROCESS;
}

static void restrict_calls(const char *filter, int threads, int create, int tsync)
{
    struct program p = { .used = 0 };
    struct sock_fprog prog = { .filter = p.code };

    signal(SIGSYS, trapped);
    if (!strcmp(filter, "strict")) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
            _exit(7);
        return;
    }
    p.code[p.used++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    ALLOW(&p, own_calls);
    if (threads)
        ALLOW(&p, thread_calls);
    if (create)
        ALLOW(&p, create_calls);
    p.code[p.used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer(filter));
    prog.len = p.used;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _exit(7);
    if (tsync ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog)
              : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0))
        _exit(7);
}

/* ---- the program ---- */

static void say(long n)
{
    char text[32];
    int bytes = snprintf(text, sizeof(text), "%ld\n", n);
    char byte;

    if (write(pipe_ends[1], "x", 1) != 1 || read(pipe_ends[0], &byte, 1) != 1 ||
        write(1, text, (size_t)bytes) != bytes)
        _exit(8);
}

static void end(const char *how)
{
    if (!strcmp(how, "exit"))
        exit(4);
    if (!strcmp(how, "_exit"))
        _exit(4);
    if (!strcmp(how, "raw"))
        syscall(SYS_exit, 4);
}

static void *last(void *how)
{
    say(counted);
    end(how);
    return NULL;
}

/* pthread_exit() loads a library when it is first called. */
static void *only_exit(void *arg)
{
    pthread_exit(arg);
}

static void run(char **argv)
{
    int threads = atoi(argv[3]), before = !strcmp(argv[2], "before"),
        late = !strcmp(argv[4], "thread");
    int tsync = argv[5] != NULL;
    pthread_t t[THREADS_MAX];

    if (late && !pthread_create(&t[0], NULL, only_exit, NULL))
        pthread_join(t[0], NULL);
    if (!before)
        restrict_calls(argv[1], threads || late, threads || late, tsync);
    for (long i = 0; i < threads; i++)
        if (pthread_create(&t[i], NULL, work, (void *)i))
            _exit(6);
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < threads)
        ;
    if (before)
        restrict_calls(argv[1], threads || late, late, tsync);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    if (!threads)
        work(NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    if (late && !pthread_create(&t[0], NULL, last, "_exit"))
        pthread_exit(NULL);
    say(counted);
}

int main(int argc, char **argv)
{
    int status = 0;

    if (argc < 5)
        return 2;
    spread = calloc(SPREAD, sizeof(*spread));
    if (pipe(pipe_ends))
        return 3;
    if (!strcmp(argv[2], "forked")) {
        if (fork() == 0) {
            run(argv);
            end(argv[4]);
            _exit(4);
        }
        wait(&status);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    run(argv);
    end(argv[4]);
    return 4;
}
