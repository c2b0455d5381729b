/* doctor.c - heddle doctor: do recording and production runs work here?
 *
 * Small checks of the system first, then the whole way once: a racy program is
 * compiled, linked, recorded and analysed in a temporary directory, each step
 * by the same commands that a user would give. A step that failed says what to
 * do, and the last lines of what it printed.
 */
#include "cmd/commands.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/place.h"
#include "cmd/common.h"
#include "cmd/launch.h"
#include "cmd/production/production.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Below these recording may fail half way. A trace takes about half a byte an access. */
static const uint64_t disk_wanted_bytes = UINT64_C(1) << 30;
static const uint64_t address_space_wanted_bytes = UINT64_C(8) << 30; /* the shared ring: 2.3 GiB */

static const char trial_source[] = "#include <pthread.h>\n"
                                   "int counter;\n"
                                   "static void *bump(void *arg)\n"
                                   "{\n"
                                   "    counter++;\n"
                                   "    return arg;\n"
                                   "}\n"
                                   "int main(void)\n"
                                   "{\n"
                                   "    pthread_t a, b;\n"
                                   "    pthread_create(&a, 0, bump, 0);\n"
                                   "    pthread_create(&b, 0, bump, 0);\n"
                                   "    pthread_join(a, 0);\n"
                                   "    pthread_join(b, 0);\n"
                                   "    return 7;\n"
                                   "}\n";
enum { TRIAL_CODE = 7 };

struct visit {
    char *directory; /* owned: of the trial */
    unsigned failed;
};

static void well(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void ill(struct visit *v, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void well(const char *what, const char *fmt, ...)
{
    va_list ap;

    printf("ok      %s: ", what);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

static void ill(struct visit *v, const char *what, const char *fmt, ...)
{
    va_list ap;

    v->failed++;
    printf("FAILED  %s: ", what);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

/* ---- the system ---- */

static void check_kernel(struct visit *v)
{
    int fd = memfd_create("heddle-doctor", MFD_CLOEXEC);
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    if (fd < 0)
        ill(v, "memfd", "%s; recording needs Linux 3.17 or later, and a sandbox that allows it",
            strerror(errno));
    else
        well("memfd", "shared memory without a file works");
    if (pidfd < 0)
        ill(v, "pidfd", "%s; the end of a program is noticed late (Linux 5.3 or later has it)",
            strerror(errno));
    else
        well("pidfd", "the writer can watch a program");
    if (fd >= 0)
        close(fd);
    if (pidfd >= 0)
        close(pidfd);
}

static bool limit_is_below(int resource, uint64_t wanted)
{
    struct rlimit l;

    return getrlimit(resource, &l) == 0 && l.rlim_cur != RLIM_INFINITY && l.rlim_cur < wanted;
}

static void check_limits(struct visit *v)
{
    unsigned before = v->failed;

    if (limit_is_below(RLIMIT_AS, address_space_wanted_bytes))
        ill(v, "limits", "address space (ulimit -v) is below %" PRIu64 " GiB; raise it",
            address_space_wanted_bytes >> 30);
    if (limit_is_below(RLIMIT_FSIZE, disk_wanted_bytes))
        ill(v, "limits",
            "file size (ulimit -f) is below %" PRIu64 " GiB; raise it, or use --max-size",
            disk_wanted_bytes >> 30);
    if (limit_is_below(RLIMIT_NOFILE, 64))
        ill(v, "limits", "open files (ulimit -n) are below 64; raise it");
    if (v->failed == before)
        well("limits", "address space, file size and open files are enough");
}

static void check_disk(struct visit *v)
{
    struct statvfs s;
    uint64_t space;

    if (statvfs(".", &s) < 0) {
        ill(v, "disk", "cannot tell the space here: %s", strerror(errno));
        return;
    }
    space = (uint64_t)s.f_bavail * s.f_frsize;
    if (access(".", W_OK) < 0)
        ill(v, "disk", "this directory cannot be written; record to another one (-o DIR)");
    else if (space < disk_wanted_bytes)
        ill(v, "disk",
            "only %" PRIu64 " MiB are free here; record elsewhere (-o DIR), or use --max-size",
            space >> 20);
    else
        well("disk", "%" PRIu64 " GiB are free here", space >> 30);
}

static void check_files(struct visit *v)
{
    static const char *const names[] = { "heddle-cc",      "heddle-c++",      "heddle-pass.so",
                                         "libheddle-rt.a", "libheddle-rt.so", "heddle-rt.syms" };
    unsigned before = v->failed;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = place_find(names[i]);

        if (!path)
            ill(v, "files",
                "'%s' is neither beside heddle nor in its library folder; "
                "build or install again",
                names[i]);
        free(path);
    }
    if (v->failed == before)
        well("files", "plugin, runtime and drivers are there");
}

/* ---- the trial ---- */

/* In the child: everything it prints goes to DIRECTORY/log. */
static _Noreturn void become_step(const struct visit *v, char *const argv[])
{
    int log;

    if (chdir(v->directory) < 0)
        _exit(EXIT_OWN_FAILURE);
    log = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    unsetenv("HEDDLE_OPTIONS");
    unsetenv("HEDDLE_RT");
    unsetenv("HEDDLE_DISABLE");
    execvp(argv[0], argv);
    _exit(EXIT_NOT_FOUND);
}

/* The exit code of a command in the trial's directory. */
static int step(const struct visit *v, char *const argv[])
{
    int status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid < 0)
        return EXIT_OWN_FAILURE;
    if (pid == 0)
        become_step(v, argv);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char *read_log(const struct visit *v, const char *name)
{
    char *path = xasprintf("%s/%s", v->directory, name);
    struct buf text = { 0 };
    char piece[4096];
    FILE *file = fopen(path, "re");
    size_t n;

    buf_addstr(&text, "");
    while (file && (n = fread(piece, 1, sizeof(piece), file)) > 0)
        buf_add(&text, piece, n);
    if (file)
        fclose(file);
    free(path);
    buf_addch(&text, 0);
    return buf_detach(&text);
}

/* What the failed step said, at most the last ten lines. */
static void show_log(const struct visit *v)
{
    char *text = read_log(v, "log"), *start = text + strlen(text);
    int lines = 0;

    while (start > text && (start[-1] != '\n' || lines++ < 10))
        start--;
    for (char *line = strtok(start, "\n"); line; line = strtok(NULL, "\n"))
        printf("        | %s\n", line);
    free(text);
}

static bool check_clang(struct visit *v)
{
    char *version;

    if (step(v, (char *[]){ "clang-19", "--version", NULL }) != 0) {
        ill(v, "compiler", "no clang-19; install the package clang-19");
        return false;
    }
    version = read_log(v, "log");
    version[strcspn(version, "\n")] = 0;
    well("compiler", "%s", version);
    free(version);
    return true;
}

static bool write_trial(struct visit *v)
{
    char *path = xasprintf("%s/trial.c", v->directory);
    FILE *file = fopen(path, "we");
    bool good = file && fputs(trial_source, file) >= 0;

    good = file && fclose(file) == 0 && good;
    if (!good)
        ill(v, "trial", "cannot write '%s': %s", path, strerror(errno));
    free(path);
    return good;
}

/* One step of the trial; `advice` says what to do where its exit code is another one. */
static bool try_step(struct visit *v, const char *what, int wanted, const char *success,
                     const char *advice, char *const argv[])
{
    int code = step(v, argv);

    if (code == wanted) {
        well(what, "%s", success);
        return true;
    }
    ill(v, what, "exit code %d where %d was expected; %s", code, wanted, advice);
    show_log(v);
    return false;
}

static bool check_build(struct visit *v)
{
    char *cc = place_find("heddle-cc");
    bool good = cc && write_trial(v) &&
                try_step(v, "plugin", 0, "it loads and instruments",
                         "is clang-19 the version that heddle was built for?",
                         (char *[]){ cc, "-g", "-O1", "-c", "trial.c", NULL }) &&
                try_step(v, "runtime", 0, "it links",
                         "are binutils or lld and the C library's headers installed?",
                         (char *[]){ cc, "-g", "-O1", "-pthread", "trial.o", "-o", "trial", NULL });

    free(cc);
    return good;
}

static bool check_recording(struct visit *v, char *self)
{
    return try_step(v, "recording", TRIAL_CODE, "a program runs as it would alone, and is recorded",
                    "HEDDLE_OPTIONS=verbose=1 may say more",
                    (char *[]){ self, "record", "-o", "data", "--", "./trial", NULL }) &&
           try_step(v, "trace", EXIT_NOTHING, "it is complete and sound", "this is a bug in heddle",
                    (char *[]){ self, "check", "data", NULL }) &&
           try_step(v, "analysis", EXIT_RACES, "the race of the trial was found",
                    "this is a bug in heddle",
                    (char *[]){ self, "analyze", "-q", "-o", "report", "data", NULL });
}

static void check_names(struct visit *v)
{
    char *report = read_log(v, "report");

    if (strstr(report, "trial.c:5") && strstr(report, "counter"))
        well("debug information", "the report names the line and the variable");
    else
        ill(v, "debug information", "the report does not name line 5 and 'counter' of the trial");
    free(report);
}

/* ---- production runs ---- */

/* Patch every site of the trial and count. */
static void check_patched(struct visit *v, char *program)
{
    struct production p;
    char *argv[] = { program, NULL };

    if (production_open(&p, PROD_COUNT, 0)) {
        v->failed++;
        return;
    }
    if (production_run(&p, argv, NULL, NULL) || p.code != TRIAL_CODE)
        ill(v, "patching", "the trial ended with %d where %d was expected", p.code, TRIAL_CODE);
    else if (p.control->patch_errno)
        ill(v, "patching",
            "text cannot be changed here (%s): heddle chase, litehb, fullhb, caper and alias "
            "see nothing; a sandbox or SELinux (execmod) may forbid it",
            strerror(p.control->patch_errno));
    else if (!p.control->patched || p.control->hits[0] < 2 || p.control->hits[1] < 2)
        ill(v, "patching", "%u sites were patched, %" PRIu64 " hits seen; this is a bug in heddle",
            p.control->patched, p.control->hits[0] + p.control->hits[1]);
    else
        well("patching", "sites of a production build can be patched");
    production_close(&p);
}

static void check_production(struct visit *v)
{
    char *cc = place_find("heddle-cc"), *program = xasprintf("%s/production", v->directory);

    if (cc && try_step(v, "production build", 0, "it compiles and links", "this is a bug in heddle",
                       (char *[]){ cc, "--production", "-g", "-O1", "-pthread", "trial.c", "-o",
                                   "production", NULL }))
        check_patched(v, program);
    free(program);
    free(cc);
}

static int remove_entry(const char *path)
{
    char *argv[] = { "rm", "-rf", "--", (char *)path, NULL };
    pid_t pid = fork();

    if (pid == 0) {
        execvp(argv[0], argv);
        _exit(EXIT_NOT_FOUND);
    }
    return pid < 0 ? -1 : (int)waitpid(pid, NULL, 0);
}

static void trial(struct visit *v, bool keep)
{
    const char *tmp = getenv("TMPDIR");
    char *self = place_self();

    v->directory = xasprintf("%s/heddle-doctor.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(v->directory)) {
        ill(v, "trial", "cannot make a directory in '%s': %s", tmp && *tmp ? tmp : "/tmp",
            strerror(errno));
    } else {
        if (check_clang(v) && check_build(v) && self && check_recording(v, self))
            check_names(v);
        if (!v->failed)
            check_production(v);
        if (keep)
            printf("        the trial is in '%s'\n", v->directory);
        else
            remove_entry(v->directory);
    }
    free(v->directory);
    free(self);
}

int cmd_doctor(const struct options *o)
{
    struct visit v = { 0 };

    check_kernel(&v);
    check_limits(&v);
    check_disk(&v);
    check_files(&v);
    trial(&v, option_is(o, OPT_KEEP));
    if (!v.failed) {
        puts("recording works here");
        return EXIT_NOTHING;
    }
    printf("%u check%s failed\n", v.failed, v.failed == 1 ? "" : "s");
    return EXIT_BAD_INPUT;
}
