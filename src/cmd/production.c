/* production.c - run a program under a control file
 *
 * The file outlives the program: what was seen is there however it ended. It
 * is removed when the command ends; processes that still run keep their
 * mapping, and nothing else of them depends on it.
 */
#include "cmd/production.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/place.h"
#include "base/seconds.h"
#include "cmd/common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_MS = 100, TAKE_UP_POLL_MS = 5 };

/* What the runtime can keep of a path. */
enum { PATH_BYTES = 511 };

static void sleep_ms(unsigned ms)
{
    nanosleep(&(struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 }, NULL);
}

/* ---- the file ---- */

static bool is_writable_directory(const char *path)
{
    return path && path[0] == '/' && access(path, W_OK | X_OK) == 0;
}

static char *new_path(void)
{
    const char *run = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
    const char *dir = is_writable_directory(run) ? run : is_writable_directory(tmp) ? tmp : "/tmp";

    return xasprintf("%s/" CONTROL_PREFIX "XXXXXX", dir);
}

static int map_file(struct production *p)
{
    void *m = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);

    if (m == MAP_FAILED)
        return own_failure("cannot map the control file '%s': %s", p->path, strerror(errno));
    p->control = m;
    return 0;
}

static int make_file(struct production *p)
{
    int failure;

    p->path = new_path();
    if (strlen(p->path) > PATH_BYTES || strchr(p->path, '\n'))
        return own_failure("cannot make a control file: the path '%s' is too long or contains a "
                           "line end",
                           p->path);
    p->fd = mkostemp(p->path, O_CLOEXEC);
    if (p->fd < 0)
        return own_failure("cannot make the control file '%s': %s", p->path, strerror(errno));
    p->made = true;
    failure = posix_fallocate(p->fd, 0, (off_t)p->bytes);
    if (failure)
        return own_failure("cannot make room for the control file '%s': %s", p->path,
                           strerror(failure));
    return map_file(p);
}

int production_open(struct production *p, enum prod_mode_kind mode, size_t extra_bytes)
{
    int code;

    *p = (struct production){ .fd = -1, .bytes = sizeof(struct prod_control) + extra_bytes };
    code = make_file(p);
    if (code) {
        production_close(p);
        return code;
    }
    memcpy(p->control->magic, PROD_MAGIC, sizeof(p->control->magic));
    p->control->version = PROD_VERSION;
    p->control->mode = mode;
    p->control->generation = 2; /* not what `taken_up` is before it is */
    return 0;
}

void production_close(struct production *p)
{
    if (p->control)
        munmap(p->control, p->bytes);
    if (p->path && p->fd >= 0)
        close(p->fd);
    if (p->made)
        unlink(p->path);
    free(p->path);
    *p = (struct production){ .fd = -1 };
}

/* ---- a process that runs ---- */

/* The path of a line of /proc/PID/maps, if that maps a control file. */
static const char *control_in_line(char *line, ino_t *inode)
{
    unsigned long number;
    int at = 0;
    char *name;

    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%*s %*s %*s %*s %lu %n", &number, &at) < 1 || !at)
        return NULL;
    name = strrchr(line + at, '/');
    if (!name || strncmp(name + 1, CONTROL_PREFIX, strlen(CONTROL_PREFIX)) != 0)
        return NULL;
    *inode = number;
    return line + at;
}

static int no_control(pid_t pid)
{
    return bad_input("process %d has no control file: it was not started by 'heddle chase', or is "
                     "no program built with 'heddle-cc --production'",
                     (int)pid);
}

/* Owned by the caller; NULL where the process maps none. */
static char *find_control(pid_t pid, ino_t *inode)
{
    char *name = xasprintf("/proc/%d/maps", (int)pid), *line = NULL, *path = NULL;
    FILE *maps = fopen(name, "re");
    size_t cap = 0;

    while (maps && !path && getline(&line, &cap, maps) > 0) {
        const char *found = control_in_line(line, inode);

        path = found ? xstrndup(found, strlen(found)) : NULL;
    }
    if (maps)
        fclose(maps);
    free(line);
    free(name);
    return path;
}

static int check_control(const struct production *p, pid_t pid, ino_t inode)
{
    struct stat st;

    if (fstat(p->fd, &st) < 0 || st.st_ino != inode)
        return bad_input("the control file '%s' of process %d is gone", p->path, (int)pid);
    if ((size_t)st.st_size < sizeof(struct prod_control))
        return bad_input("'%s' is no control file", p->path);
    return 0;
}

static int open_control(struct production *p, pid_t pid, ino_t inode)
{
    struct stat st;
    int code;

    p->fd = open(p->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (p->fd < 0)
        return bad_input("cannot open the control file '%s' of process %d: %s", p->path, (int)pid,
                         strerror(errno));
    code = check_control(p, pid, inode);
    if (code)
        return code;
    p->bytes = fstat(p->fd, &st) == 0 ? (size_t)st.st_size : 0;
    code = map_file(p);
    if (code == 0 && (memcmp(p->control->magic, PROD_MAGIC, sizeof(p->control->magic)) != 0 ||
                      p->control->version != PROD_VERSION))
        code = bad_input("'%s' is no control file of this version of heddle", p->path);
    return code;
}

int production_attach(struct production *p, pid_t pid)
{
    char *proc = xasprintf("/proc/%d/maps", (int)pid);
    int failure = access(proc, R_OK) == 0 ? 0 : errno, code;
    ino_t inode = 0;

    free(proc);
    *p = (struct production){ .fd = -1, .pid = pid };
    if (failure)
        return bad_input("cannot look at process %d: %s", (int)pid,
                         failure == ENOENT ? "there is none" : strerror(failure));
    p->path = find_control(pid, &inode);
    code = p->path ? open_control(p, pid, inode) : no_control(pid);
    if (code)
        production_close(p);
    return code;
}

static void wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool production_change(struct production *p, void (*fill)(struct prod_control *c, void *arg),
                       void *arg, unsigned patience_ms)
{
    struct prod_control *c = p->control;
    uint32_t now;

    flock(p->fd, LOCK_EX);
    now = __atomic_load_n(&c->generation, __ATOMIC_ACQUIRE);
    now += now & 1; /* a command that was killed in the middle */
    __atomic_store_n(&c->generation, now + 1, __ATOMIC_SEQ_CST);
    fill(c, arg);
    __atomic_store_n(&c->generation, now + 2, __ATOMIC_SEQ_CST);
    flock(p->fd, LOCK_UN);
    wake(&c->generation);
    for (unsigned ms = 0; ms < patience_ms; ms += TAKE_UP_POLL_MS) {
        if (__atomic_load_n(&c->taken_up, __ATOMIC_ACQUIRE) == now + 2)
            return true;
        sleep_ms(TAKE_UP_POLL_MS);
    }
    return false;
}

/* ---- running ---- */

static enum program_kind kind_of(const char *name)
{
    char *path = program_find(name);
    enum program_kind kind = path ? program_look(path) : PROGRAM_OTHER;

    free(path);
    return kind;
}

/* A program that heddle-cc did not link may load libraries that it compiled: they need the
 * runtime before anything else of the program runs. */
static char *preload(enum program_kind kind)
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

struct watcher {
    pthread_t thread;
    bool running;
    uint32_t stop; /* futex */
    void (*watch)(void *arg);
    void *arg;
};

static void *watch_program(void *arg)
{
    struct watcher *w = arg;
    const struct timespec pause = { .tv_nsec = (long)WATCH_MS * 1000000 };

    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
        w->watch(w->arg);
        syscall(SYS_futex, &w->stop, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
    }
    w->watch(w->arg);
    return NULL;
}

/* Signals are the main thread's: it passes them on. */
static void watcher_start(struct watcher *w)
{
    sigset_t all, old;

    if (!w->watch)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->running = pthread_create(&w->thread, NULL, watch_program, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void watcher_stop(struct watcher *w)
{
    if (!w->running)
        return;
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &w->stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(w->thread, NULL);
}

int production_run(struct production *p, char *const argv[], void (*watch)(void *arg), void *arg)
{
    struct watcher w = { .watch = watch, .arg = arg };
    char *changes[3] = { NULL };
    struct launch l;
    double start = seconds_now();
    int code = launch_fork(&l, argv);

    if (code)
        return code;
    p->pid = l.pid;
    p->kind = kind_of(argv[0]);
    changes[0] = xasprintf("HEDDLE_RT=record=0\ncontrol=%s\n", p->path);
    changes[1] = preload(p->kind);
    code = launch_go(&l, changes);
    if (code == 0) {
        watcher_start(&w);
        p->code = launch_wait(&l);
        watcher_stop(&w);
    }
    p->seconds = seconds_now() - start;
    free(changes[0]);
    free(changes[1]);
    return code;
}

/* ---- numbers ---- */

/* A decimal number with at most six digits behind the point, in millionths; NULL: it is none. */
static const char *parse_millionths(const char *text, uint64_t *out)
{
    uint64_t whole = 0, part = 0, unit = 1000000;
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 9)
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++)
        whole = whole * 10 + (uint64_t)(*text - '0');
    if (*text == '.' && text[1] >= '0' && text[1] <= '9')
        for (text++; *text >= '0' && *text <= '9' && unit > 1; text++) {
            unit /= 10;
            part += (uint64_t)(*text - '0') * unit;
        }
    *out = whole * 1000000 + part;
    return text;
}

bool parse_duration(const char *text, uint64_t *ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = { { "", 1000000 },   { "ns", 1 },         { "us", 1000 },
                  { "ms", 1000000 }, { "s", 1000000000 }, { "min", UINT64_C(60000000000) } };
    uint64_t millionths;
    const char *unit = parse_millionths(text, &millionths);

    for (size_t i = 0; unit && i < sizeof(units) / sizeof(*units); i++)
        if (strcmp(unit, units[i].name) == 0 && millionths <= UINT64_C(1000000000000)) {
            *ns = (uint64_t)((unsigned __int128)millionths * units[i].ns / 1000000);
            return true;
        }
    return false;
}

bool parse_percent(const char *text, uint32_t *ppm)
{
    uint64_t millionths;
    const char *unit = parse_millionths(text, &millionths);

    if (!unit || (*unit && strcmp(unit, "%") != 0) || millionths > UINT64_C(100000000))
        return false;
    *ppm = (uint32_t)(millionths / 100);
    return true;
}

/* ---- what to say ---- */

bool production_says(const struct production *p, const char *program)
{
    const struct prod_control *c = p->control;

    if (!__atomic_load_n(&c->taken_up, __ATOMIC_ACQUIRE) && !c->ran_ns) {
        warn("", "nothing was watched: '%s' was not built with 'heddle-cc --production'", program);
        return false;
    }
    if (c->patch_errno) {
        warn("", "nothing was watched: the code of '%s' cannot be changed here: %s", program,
             strerror(c->patch_errno));
        return false;
    }
    if (c->unknown)
        warn("note", "%" PRIu32 " of the sites are in no module that '%s' has loaded", c->unknown,
             program);
    return true;
}
