/* recording.c - run a program with recording on
 *
 * A directory holds the traces of one run, of the last one: those of the runs before are removed
 * when it is certain that there is a new one, and nothing else ever is. Of runs that go on at the
 * same time each knows its own traces (runs.h); the last to end stays. A trace that somebody still
 * writes (a daemon recorded earlier) stays, too, and is not taken for ours.
 */
#include "cmd/recording.h"
#include "cmd/only_sites.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/place.h"
#include "abi/rt_ring.h"
#include "base/seconds.h"
#include "base/tempfile.h"
#include "cmd/command_file.h"
#include "cmd/common.h"
#include "cmd/follow.h"
#include "cmd/globals.h"
#include "cmd/last.h"
#include "cmd/progress.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* A file that its writer has made and not yet locked, or a writer that has not yet made its file,
 * is given this long. */
enum { GRACE_MS = 1000, POLL_MIN_MS = 2, POLL_MAX_MS = 50 };

/* What the runtime can keep of a path. */
enum { PATH_BYTES = 511 };

/* ---- the directory ---- */

/* "%p" is the pid, "%%" a percent sign. */
static char *recording_expand(const char *name, pid_t pid)
{
    struct buf b = { 0 };

    for (; *name; name++) {
        if (name[0] == '%' && name[1] == 'p') {
            buf_addf(&b, "%d", (int)pid);
            name++;
        } else {
            name += name[0] == '%' && name[1] == '%';
            buf_addch(&b, *name);
        }
    }
    while (b.len > 1 && b.data[b.len - 1] == '/')
        b.data[--b.len] = 0;
    return buf_detach(&b);
}

/* What a recording holds of the program's data is for nobody else's eyes unless `shared`. */
static int make_one(const char *path, bool shared)
{
    return shared ? mkdir(path, 0777) : private_mkdir(path);
}

/* With its parents. */
static int make_directory(const char *path, bool shared)
{
    char *part = xstrndup(path, strlen(path));
    int r = 0;

    for (char *p = strchr(part + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        make_one(part, shared);
        *p = '/';
    }
    if (make_one(part, shared) < 0 && !(errno == EEXIST && tracedir_is(part)))
        r = own_failure("cannot make the directory '%s': %s", path, strerror(errno));
    free(part);
    return r;
}

static int prepare_directory(struct recording *r, const char *name, bool shared)
{
    int code;

    r->directory = recording_expand(name, r->pid);
    code = make_directory(r->directory, shared);
    return code ? code : run_list_make(&r->list, r->directory, shared);
}

/* ---- what the runtime is told ---- */

static int recording_add_path(struct buf *b, const char *key, const char *path)
{
    if (strlen(path) > PATH_BYTES || strchr(path, '\n'))
        return own_failure("cannot record: the path '%s' is too long or contains a line end", path);
    buf_addf(b, "%s=%s\n", key, path);
    return 0;
}

static int add_paths(const struct recording *r, struct buf *b)
{
    char *directory = realpath(r->directory, NULL), *self = place_self();
    int code = 0;

    if (!directory || !self)
        code = own_failure("cannot record: no path of %s", directory ? "heddle" : r->directory);
    if (!code)
        code = recording_add_path(b, "dir", directory);
    if (!code)
        code = recording_add_path(b, "writer", self);
    free(directory);
    free(self);
    return code;
}

static int add_globals(struct buf *b, const char *file, const char *program)
{
    char *path = realpath(file, NULL);
    int code = path ? globals_check(file, program)
                    : bad_input("cannot read '%s': %s", file, strerror(errno));

    if (code == 0)
        code = recording_add_path(b, "globals", path);
    free(path);
    return code;
}

static int add_only(const struct recording *r, struct buf *b, const struct options *o,
                    const char *program)
{
    char *list = realpath(r->list.path, NULL), *path;
    int code;

    path = xasprintf("%s.sites", list ? list : r->list.path);
    code = only_sites_write(o->texts[OPT_ONLY_SITES], program, path);
    if (code == 0)
        code = recording_add_path(b, "only", path);
    free(path);
    free(list);
    return code;
}

static void add_options(struct buf *b, const struct options *o)
{
    const uint64_t mib = 1 << 20;
    struct buf writer = { 0 };

    buf_addf(b, "filter=%d\n", !option_is(o, OPT_NO_FILTER));
    buf_addf(b, "lose=%d\n", option_is(o, OPT_LOSE));
    buf_addf(b, "children=%d\n", !option_is(o, OPT_NO_CHILDREN));
    buf_addf(b, "calls=%s\n", o->texts[OPT_CALLS]);
    buf_addf(b, "exit_wait=%" PRIu64 "\n", o->numbers[OPT_EXIT_WAIT]);
    if (option_is(o, OPT_MAX_MEMORY))
        buf_addf(b, "memory=%" PRIu64 "\n", (o->numbers[OPT_MAX_MEMORY] + mib - 1) / mib);
    if (option_is(o, OPT_SHARED))
        buf_addstr(&writer, " --shared");
    if (option_is(o, OPT_MAX_SIZE))
        buf_addf(&writer, " --max-size=%" PRIu64, o->numbers[OPT_MAX_SIZE]);
    if (option_is(o, OPT_STOPPED))
        buf_addstr(&writer, " --stopped");
    last_add_options(o, &writer);
    if (writer.len)
        buf_addf(b, "writer_options=%s\n", writer.data + 1);
    buf_release(&writer);
}

static int recording_let_go(struct recording *r, struct launch *l, const struct options *o,
                            const char *steer)
{
    char *changes[3] = { NULL };
    struct buf b = { 0 };
    int code;

    buf_addstr(&b, "HEDDLE_RT=");
    code = add_paths(r, &b);
    if (code == 0 && option_is(o, OPT_GLOBALS))
        code = add_globals(&b, o->texts[OPT_GLOBALS], l->argv[0]);
    if (code == 0 && option_is(o, OPT_ONLY_SITES))
        code = add_only(r, &b, o, l->argv[0]);
    if (code == 0 && steer)
        code = recording_add_path(&b, "steer", steer);
    if (code == 0) {
        command_file_write(r->list.path, l->argv);
        add_options(&b, o);
        buf_addf(&b, "pid=%d\nrun=%s\n", (int)l->pid, r->list.name);
        changes[0] = b.data;
        changes[1] = launch_preload(r->kind);
        code = launch_go(l, changes);
    } else {
        launch_cancel(l);
    }
    free(changes[1]);
    buf_release(&b);
    return code;
}

/* ---- afterwards ---- */

static void list_traces(struct recording *r)
{
    tracedir_release(&r->traces);
    if (tracedir_read(&r->traces, r->directory) == 0)
        run_list_select(&r->list, &r->traces);
}

/* Its writer has not begun, or could not. */
static bool is_empty(const struct trace_file *f)
{
    struct stat st;

    return stat(f->path, &st) == 0 && st.st_size == 0;
}

/* Is there a trace to wait for? Those of processes that still run are as complete as they get. */
static bool must_wait(const struct recording *r, bool in_grace)
{
    bool none = r->traces.count == 0;

    for (size_t i = 0; i < r->traces.count; i++) {
        const struct trace_file *f = &r->traces.files[i];

        if (trace_file_is_live(f))
            continue;
        if (trace_file_is_busy(f))
            return true;
        none |= is_empty(f);
    }
    return none && in_grace && r->kind == PROGRAM_RECORDED;
}

static void wait_for_writers(struct recording *r)
{
    long waited = 0, pause = POLL_MIN_MS;

    for (;; waited += pause) {
        list_traces(r);
        if (!must_wait(r, waited < GRACE_MS) || interrupts_came())
            return;
        nanosleep(&(struct timespec){ .tv_nsec = pause * 1000000 }, NULL);
        pause = pause * 2 > POLL_MAX_MS ? POLL_MAX_MS : pause * 2;
    }
}

/* Is there an access in it? Objects of other compilers have accesses, but no modules of ours. */
static bool has_access(struct trace *t)
{
    struct error err;
    struct batch b;

    while (trace_next(t, &b, &err) > 0)
        for (size_t i = 0; i < b.count; i++)
            if (op_is_access(b.events[i].op))
                return true;
    return false;
}

/* A shell or a make that only started the program has the runtime preloaded, and so a trace of
 * its locks and its memory: nothing that anybody wants to see. */
static bool is_untraced(const struct trace_file *f)
{
    struct error err;
    struct trace *t = trace_open(f->path, &err);
    const struct tables *tables = t ? trace_tables(t) : NULL;
    bool untraced = t && tables->process.known && !trace_info(t)->loss[0];

    for (size_t i = 0; untraced && i < tables->nimages; i++)
        untraced = !tables->images[i].traced;
    if (untraced)
        untraced = !has_access(t) && !trace_info(t)->loss[0]; /* a damaged trace is kept */
    trace_close(t);
    return untraced;
}

static void remove_untraced(struct recording *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->traces.count; i++) {
        struct trace_file f = r->traces.files[i];

        if (!trace_file_is_busy(&f) && (is_empty(&f) || is_untraced(&f)) && unlink(f.path) == 0)
            free(f.path);
        else
            r->traces.files[kept++] = f;
    }
    r->traces.count = kept;
}

static int run_in_recording(struct recording *r, const struct options *o, const char *directory,
                            bool live, const char *steer)
{
    struct launch l;
    struct follow *follow;
    double start;
    int code;

    *r = (struct recording){ .kind = program_kind_of(o->arguments[0]) };
    if (r->kind == PROGRAM_PRODUCTION)
        return bad_input("cannot record '%s': it is a production build; build it without "
                         "--production, or use heddle chase or heddle caper",
                         o->arguments[0]);
    code = last_check(o);
    if (code)
        return code;
    code = launch_fork(&l, o->arguments);
    if (code)
        return code;
    r->pid = l.pid;
    code = prepare_directory(r, directory, option_is(o, OPT_SHARED));
    if (code) {
        launch_cancel(&l);
        return code;
    }
    code = recording_let_go(r, &l, o, steer);
    if (code) {
        run_list_drop(&r->list);
        return code;
    }
    if (r->kind == PROGRAM_RECORDED) /* what it needs room for */
        runs_remove(r->directory, &r->list);
    follow = live ? follow_start(o, r->directory, &r->list) : NULL;
    start = seconds_now();
    r->code = launch_wait(&l);
    r->seconds = seconds_now() - start;
    interrupts_on();
    r->told = follow_stop(follow);
    wait_for_writers(r);
    remove_untraced(r);
    return 0;
}

int recording_run(struct recording *r, const struct options *o, const char *directory, bool live)
{
    return run_in_recording(r, o, directory, live, NULL);
}

int recording_run_steered(struct recording *r, const struct options *o, const char *directory,
                          const char *control)
{
    return run_in_recording(r, o, directory, false, control);
}

void recording_release(struct recording *r)
{
    if (r->traces.count || r->late)
        run_list_finish(&r->list, r->directory);
    else
        run_list_drop(&r->list);
    tracedir_release(&r->traces);
    free(r->directory);
    *r = (struct recording){ 0 };
}

/* What keeps a writer from beginning, as far as it can still be seen. */
static const char *why_nothing(void)
{
    struct rlimit space, file;

    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < RING_SPACE_LEAST)
        return ": its address space is limited too much (ulimit -v)";
    if (getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur < RING_BYTES_LEAST)
        return ": its files, and so the memory that it shares with us, are limited too much "
               "(ulimit -f)";
    return "";
}

static bool disk_is_full(const struct recording *r)
{
    struct statvfs fs;

    return statvfs(r->directory, &fs) == 0 && fs.f_bavail == 0;
}

static bool has_trace(const struct recording *r, long pid)
{
    for (size_t i = 0; i < r->traces.count; i++)
        if (r->traces.files[i].pid == pid)
            return true;
    return false;
}

/* Is it a traced program that was started with `mark` among our variable's lines? */
static bool is_of_run(long pid, const char *mark)
{
    char path[64], *text = NULL;
    size_t room = 0;
    bool found = false;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
    if (program_kind_of(path) != PROGRAM_RECORDED)
        return false;
    snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
    f = fopen(path, "r");
    while (f && !found && getdelim(&text, &room, 0, f) > 0)
        found = strncmp(text, "HEDDLE_RT=", 10) == 0 && strstr(text, mark);
    if (f)
        fclose(f);
    free(text);
    return found;
}

/* A daemon, say, that has not yet come to anything that is recorded: its file is made then. */
static void name_late_ones(struct recording *r)
{
    char mark[32];
    DIR *d = opendir("/proc");

    snprintf(mark, sizeof(mark), "\npid=%d\n", (int)r->pid);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        long pid = strtol(e->d_name, NULL, 10);

        if (pid <= 0 || has_trace(r, pid) || !is_of_run(pid, mark))
            continue;
        warn("note", "process %ld still runs and will be recorded in '%s'", pid, r->directory);
        r->late = true;
    }
    if (d)
        closedir(d);
}

bool recording_says(struct recording *r, const char *program)
{
    if (disk_is_full(r))
        warn("warning", "no space left on the device of '%s'", r->directory);
    for (size_t i = 0; i < r->traces.count; i++) {
        const struct trace_file *f = &r->traces.files[i];

        if (trace_file_is_live(f) && trace_file_is_busy(f))
            warn("note", "process %d still runs and is being recorded in '%s'", (int)f->pid,
                 f->path);
    }
    name_late_ones(r);
    if (r->traces.count)
        return true;
    if (r->kind == PROGRAM_RECORDED)
        warn("", "nothing was recorded: '%s' has no trace in '%s'%s", program, r->directory,
             why_nothing());
    else
        warn("", "nothing was recorded: '%s' was not built with heddle-cc", program);
    return false;
}
