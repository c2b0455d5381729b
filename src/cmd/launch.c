/* launch.c - start a program, stand aside while it runs, say how it ended
 *
 * The child is forked before its environment is known, because names may
 * contain its pid. It waits at a pipe, the gate, through which the changes to
 * its environment come. Another pipe, closed by a successful exec, brings the
 * error number of a failed one.
 */
#include "cmd/launch.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/place.h"
#include "cmd/common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Signals that go on to the program when they were sent to us alone. */
static const int forwarded[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH };
enum { FORWARDED = sizeof(forwarded) / sizeof(forwarded[0]) };

static struct sigaction found_actions[FORWARDED], found_pipe, found_child;
static sigset_t found_mask;
/* What we open at a time: pipes, control files, traces, ELF files. */
enum { FILES_LEAST = 24, FILES_START = 5, FILES_WANTED = 256 };

static struct rlimit found_files;
static bool files_raised;
static bool found_closed[3]; /* standard streams that were closed when we started */
static volatile pid_t receiver;
static volatile sig_atomic_t was_signalled;

/* A closed standard stream must not become the descriptor of a file we open: it is replaced by
 * one on which every write fails, so that lost output is still an error. */
static void guard_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        found_closed[fd] = true;
        (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

/* The program gets the limit that we found. */
static void raise_file_limit(void)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &found_files) < 0)
        found_files = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
    l = found_files;
    if (l.rlim_cur >= FILES_WANTED)
        return;
    l.rlim_cur = l.rlim_max < FILES_WANTED ? l.rlim_max : FILES_WANTED;
    if (setrlimit(RLIMIT_NOFILE, &l) == 0)
        files_raised = true;
}

static void restore_file_limit(void)
{
    if (files_raised)
        (void)setrlimit(RLIMIT_NOFILE, &found_files);
}

void launch_keep_inherited(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };

    raise_file_limit();
    guard_standard_streams();
    sigaction(SIGPIPE, &ignore, &found_pipe); /* a write error says it, with an exit code of ours */
}

/* What the terminal sends (SI_KERNEL) the program gets as well, being in the same group. */
static void forward(int sig, siginfo_t *info, void *context)
{
    int saved = errno;

    (void)context;
    was_signalled = true;
    if (receiver > 0 && info->si_code != SI_KERNEL && info->si_pid != receiver)
        kill(receiver, sig);
    errno = saved;
}

/* A signal that was ignored when we came (nohup) stays so, for both. Until the program is there to
 * get them, signals wait: in us for receiver, in the child for the actions that we found. */
static void handle_signals(void)
{
    struct sigaction act = { .sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART };
    struct sigaction plain = { .sa_handler = SIG_DFL };
    sigset_t held;

    sigemptyset(&held);
    for (int i = 0; i < FORWARDED; i++)
        sigaddset(&held, forwarded[i]);
    sigprocmask(SIG_BLOCK, &held, &found_mask);
    receiver = 0;
    was_signalled = false;
    for (int i = 0; i < FORWARDED; i++)
        if (sigaction(forwarded[i], NULL, &found_actions[i]) == 0 &&
            found_actions[i].sa_handler != SIG_IGN)
            sigaction(forwarded[i], &act, NULL);
    sigaction(SIGCHLD, &plain, &found_child); /* else an ignored one would take its exit code */
}

static void restore_signals(void)
{
    for (int i = 0; i < FORWARDED; i++)
        sigaction(forwarded[i], &found_actions[i], NULL);
    sigaction(SIGCHLD, &found_child, NULL);
    sigprocmask(SIG_SETMASK, &found_mask, NULL);
}

/* ---- in the child ---- */

static void apply_changes(char *text, size_t length)
{
    for (char *p = text; p < text + length; p += strlen(p) + 1)
        putenv(p);
}

/* Until the gate closes; nothing at all means that we are not needed. */
static void wait_at_gate(int gate)
{
    struct buf text = { 0 };
    char piece[4096];
    ssize_t n;

    while ((n = read(gate, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            buf_add(&text, piece, (size_t)n);
    if (!text.len)
        _exit(EXIT_OWN_FAILURE);
    apply_changes(text.data, text.len);
}

static _Noreturn void become(const struct launch *l, int gate, int news)
{
    int failure;

    wait_at_gate(gate);
    sigaction(SIGPIPE, &found_pipe, NULL);
    restore_signals();
    for (int fd = 0; fd <= 2; fd++)
        if (found_closed[fd])
            close(fd);
    restore_file_limit();
    execvp(l->argv[0], l->argv);
    failure = errno;
    (void)!write(news, &failure, sizeof(failure));
    _exit(EXIT_OWN_FAILURE);
}

bool launch_has_room(void)
{
    return found_files.rlim_max >= FILES_LEAST;
}

bool launch_can_start(void)
{
    int fds[FILES_START], n = 0;

    while (n < FILES_START && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    for (int i = 0; i < n; i++)
        close(fds[i]);
    return n == FILES_START;
}

int launch_without_us(char *const argv[])
{
    int failure;

    warn("warning",
         "at most %lu files may be open (ulimit -n): '%s' runs as it would alone, nothing "
         "is recorded",
         (unsigned long)found_files.rlim_max, argv[0]);
    fflush(NULL);
    sigaction(SIGPIPE, &found_pipe, NULL);
    for (int fd = 0; fd <= 2; fd++)
        if (found_closed[fd])
            close(fd);
    restore_file_limit();
    execvp(argv[0], argv);
    failure = errno;
    warn("", "cannot execute '%s': %s", argv[0], strerror(failure));
    return failure == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
}

/* ---- in the parent ---- */

static void close_all(const int *fds, int n)
{
    for (int i = 0; i < n; i++)
        close(fds[i]);
}

int launch_fork(struct launch *l, char *const argv[])
{
    int gate[2], news[2];

    *l = (struct launch){ .argv = argv, .pid = -1, .gate = -1, .news = -1 };
    if (pipe2(gate, O_CLOEXEC) < 0)
        return own_failure("cannot make a pipe: %s", strerror(errno));
    if (pipe2(news, O_CLOEXEC) < 0) {
        close_all(gate, 2);
        return own_failure("cannot make a pipe: %s", strerror(errno));
    }
    fflush(NULL);
    handle_signals();
    l->pid = fork();
    if (l->pid == 0) {
        close(gate[1]);
        become(l, gate[0], news[1]);
    }
    close(gate[0]);
    close(news[1]);
    l->gate = gate[1];
    l->news = news[0];
    if (l->pid > 0)
        return 0;
    close_all((int[]){ gate[1], news[0] }, 2);
    restore_signals();
    return own_failure("cannot start a process: %s", strerror(errno));
}

static void launch_forget(struct launch *l)
{
    if (l->gate >= 0)
        close(l->gate);
    if (l->news >= 0)
        close(l->news);
    l->gate = l->news = -1;
}

/* timeout(1) signals us and then our group: the second time the program may be gone, but what it
 * did is still to be told. */
static void await_second_signal(void)
{
    if (was_signalled)
        nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

int launch_wait(struct launch *l)
{
    int status = 0;

    while (waitpid(l->pid, &status, 0) < 0 && errno == EINTR)
        ;
    receiver = 0;
    await_second_signal();
    restore_signals();
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    return WEXITSTATUS(status);
}

void launch_cancel(struct launch *l)
{
    launch_forget(l); /* the gate closes without a word */
    launch_wait(l);
}

static int cannot_start(const struct launch *l, int failure)
{
    own_failure("cannot run '%s': %s", l->argv[0], strerror(failure));
    return failure == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
}

int launch_go(struct launch *l, char *const changes[])
{
    int failure = 0;
    ssize_t n;

    receiver = l->pid;
    sigprocmask(SIG_SETMASK, &found_mask, NULL);
    for (; *changes; changes++)
        (void)!write(l->gate, *changes, strlen(*changes) + 1);
    close(l->gate);
    l->gate = -1;
    while ((n = read(l->news, &failure, sizeof(failure))) < 0 && errno == EINTR)
        ;
    launch_forget(l);
    if (n == 0)
        return 0;
    launch_wait(l);
    return cannot_start(l, failure);
}

/* ---- the file ---- */

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *program_find(const char *name)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/'))
        return is_program(name) ? xstrndup(name, strlen(name)) : NULL;
    if (!path || !*name)
        return NULL;
    for (const char *p = path;; p++) {
        int n = (int)strcspn(p, ":");
        char *file = xasprintf("%.*s%s%s", n, p, n ? "/" : "", name);

        if (is_program(file))
            return file;
        free(file);
        p += n;
        if (!*p)
            return NULL;
    }
}

char *launch_preload(enum program_kind kind)
{
    const char *old = getenv("LD_PRELOAD");
    char *runtime =
        kind == PROGRAM_PLAIN || kind == PROGRAM_OTHER ? place_find("libheddle-rt.so") : NULL;
    char *text = NULL;

    if (runtime)
        text = xasprintf("LD_PRELOAD=%s%s%s", runtime, old && *old ? ":" : "", old ? old : "");
    free(runtime);
    return text;
}

enum program_kind program_kind_of(const char *name)
{
    char *path = program_find(name);
    enum program_kind kind = path ? program_look(path) : PROGRAM_OTHER;

    free(path);
    return kind;
}
