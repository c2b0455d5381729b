/* sink.c - making, filling and completing the file of a recording */
#include "record/sink.h"
#include "base/alloc.h"
#include "trace/past.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NOTES_MAX = 50,    /* a program out of its mind has much to tell */
    FILES_MAX = 10000, /* PID-2.hdl, PID-3.hdl ... */
    RESERVE = 4096,
    RESERVE_MAX = 1 << 19,
    STAGED_MAX = 16 << 20 /* bytes; a checkpoint comes when 4 MiB have come */
};

struct staged {
    struct hdl_packet *packet;
    uint64_t stamp; /* of its first event */
    uint64_t bytes;
    uint64_t number; /* chunks of a thread stay in their order */
};

/* The nth file's path: %p in the name is the process, a number is added from the second on. */
static void sink_add_path(struct buf *b, const struct sink_options *o, uint32_t pid, int n)
{
    const char *name = o->name && *o->name ? o->name : "%p";
    size_t len = strlen(name);

    if (o->directory && *o->directory)
        buf_addf(b, "%s/", o->directory);
    if (len > 4 && !strcmp(name + len - 4, ".hdl"))
        len -= 4;
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '%' && i + 1 < len && name[i + 1] == 'p') {
            buf_addf(b, "%u", pid);
            i++;
        } else {
            buf_addch(b, name[i]);
        }
    }
    if (n > 1)
        buf_addf(b, "-%d", n);
    buf_addstr(b, ".hdl");
}

/* A new file that is locked before anybody can look at it for long; its path is in `path`. */
static int make_file(const struct sink_options *o, uint32_t pid, struct buf *path,
                     struct error *err)
{
    int fd = -1;

    for (int n = 1; fd < 0 && n < FILES_MAX; n++) {
        path->len = 0;
        sink_add_path(path, o, pid, n);
        fd = open(path->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return error_set(err, "cannot write '%s': %s", path->data, strerror(errno));
    (void)flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

/* A line in the list of the run's traces; in one piece, since others add to it, too. */
static void add_to_list(const struct sink_options *o, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *list = xasprintf("%s/%s", o->directory, o->list),
         *line = xasprintf("%s\n", slash ? slash + 1 : path);
    int fd = open(list, O_WRONLY | O_APPEND | O_CLOEXEC);

    if (fd >= 0) {
        (void)!write(fd, line, strlen(line));
        close(fd);
    }
    free(line);
    free(list);
}

/* Bytes of a limited file: for names that come with the last chunks, the process, the end mark; and
 * for threads whose chunks are not as far as those of others. */
static uint64_t reserve_of(uint64_t max_bytes)
{
    uint64_t rest = max_bytes / 8 < RESERVE_MAX ? max_bytes / 8 : RESERVE_MAX;

    return rest < RESERVE ? rest : RESERVE + rest;
}

int sink_open(struct sink *o, struct ring *r, const struct sink_options *options, struct error *err)
{
    struct hdl_options h = { .compression = options->compression,
                             .level = options->level,
                             .order = TRACE_SYNC_EXACT,
                             .threads = true,
                             .stripes = true,
                             .stretches = true,
                             .moves = true,
                             .repeats = true,
                             .lists = true,
                             .requests = true,
                             .loose = true,
                             .stamp_ns = 1,
                             .past = options->keep_ns || options->keep_bytes,
                             .in_place = true };
    struct buf path = { 0 };

    if (options->directory && *options->directory)
        (void)mkdir(options->directory, 0777); /* `record` made it; a program that runs alone not */
    *o = (struct sink){ .lock = PTHREAD_MUTEX_INITIALIZER,
                        .ring = r,
                        .max_bytes = options->max_bytes,
                        .keep_ns = options->keep_ns,
                        .keep_bytes = options->keep_bytes,
                        .reserve = reserve_of(options->max_bytes) };
    h.fd = make_file(options, r->pid, &path, err);
    if (h.fd >= 0 && options->directory && options->list)
        add_to_list(options, path.data);
    if (h.fd >= 0)
        o->hdl = hdl_create(path.data, &o->tables, &h, err);
    o->path = buf_detach(&path);
    if (h.past)
        intern_append(&o->tables.objects, PAST_BARRIER, strlen(PAST_BARRIER));
    if (o->hdl)
        return 0;
    free(o->path);
    return -1;
}

int sink_close(struct sink *o, struct error *err)
{
    int r;

    sink_commit(o, UINT64_MAX);
    r = hdl_finish(o->hdl, err);
    o->hdl = NULL;
    free(o->staged);
    free(o->path);
    tables_release(&o->tables);
    pthread_mutex_destroy(&o->lock);
    return r;
}

void sink_note(struct sink *o, const char *fmt, ...)
{
    struct process *p = &o->tables.process;
    char text[512];
    va_list ap;

    if (p->nnotes >= NOTES_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < p->nnotes; i++)
        if (!strcmp(p->notes[i], text))
            return;
    process_add_note(p, text, strlen(text));
}

static void stop(struct sink *o, uint64_t over_ns, const char *why)
{
    if (o->stopped)
        return;
    __atomic_store_n(&o->over_ns, over_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&o->stopped, true, __ATOMIC_RELEASE);
    ring_stop(o->ring);
    sink_note(o, PROCESS_STOPPED "%s", why);
}

static void stop_at_limit(struct sink *o, uint64_t over_ns)
{
    char text[80];

    snprintf(text, sizeof(text), "the trace has reached its size limit, %" PRIu64 " bytes",
             o->max_bytes);
    stop(o, over_ns, text);
}

/* Nothing can be written any more. */
static void sink_fail(struct sink *o, const char *why)
{
    o->failed = true;
    stop(o, 0, why);
    __atomic_store_n(&o->over_ns, 0, __ATOMIC_RELAXED);
}

/* What a byte will be in the file: as those that are there already; a quarter, as long as these
 * are few. */
static double compression(const struct sink *o)
{
    const double known = 1 << 16;

    return ((double)o->stored_bytes + known / 4) / ((double)o->raw_bytes + known);
}

static uint64_t file_bytes(const struct sink *o)
{
    return hdl_bytes(o->hdl) + o->staged_bytes;
}

void sink_stop_at_limit(struct sink *o, uint64_t pending, uint64_t stamp)
{
    pthread_mutex_lock(&o->lock);
    if (file_bytes(o) + (uint64_t)((double)pending * compression(o)) + o->reserve >= o->max_bytes)
        stop_at_limit(o, stamp > o->newest ? stamp : o->newest);
    pthread_mutex_unlock(&o->lock);
}

uint64_t sink_bytes(struct sink *o)
{
    uint64_t n;

    pthread_mutex_lock(&o->lock);
    n = file_bytes(o);
    pthread_mutex_unlock(&o->lock);
    return n;
}

uint64_t sink_part(struct sink *o, unsigned parts)
{
    double n;

    pthread_mutex_lock(&o->lock);
    n = (double)file_bytes(o) / compression(o) / parts;
    pthread_mutex_unlock(&o->lock);
    return (uint64_t)n;
}

uint64_t sink_raw_bytes(struct sink *o, uint64_t stored)
{
    double n;

    pthread_mutex_lock(&o->lock);
    n = (double)stored / compression(o);
    pthread_mutex_unlock(&o->lock);
    return (uint64_t)n;
}

void sink_tell_process(struct sink *o)
{
    struct error err;

    pthread_mutex_lock(&o->lock);
    if (!o->failed && hdl_write_process(o->hdl, &err) < 0)
        sink_fail(o, err.text);
    pthread_mutex_unlock(&o->lock);
}

static int by_age(const void *a, const void *b)
{
    const struct staged *x = a, *y = b;

    if (x->stamp != y->stamp)
        return x->stamp < y->stamp ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* Lock held. */
static void append_in_sink(struct sink *o, struct hdl_packet *c)
{
    struct error err;

    if (!o->failed && hdl_append(o->hdl, c, &err) < 0)
        sink_fail(o, err.text);
    hdl_packet_free(c);
}

static void commit(struct sink *o, uint64_t stamp)
{
    size_t n;

    if (o->nstaged)
        qsort(o->staged, o->nstaged, sizeof(*o->staged), by_age);
    for (n = 0; n < o->nstaged && o->staged[n].stamp <= stamp; n++) {
        append_in_sink(o, o->staged[n].packet);
        o->staged_bytes -= o->staged[n].bytes;
    }
    o->nstaged -= n;
    if (n)
        memmove(o->staged, o->staged + n, o->nstaged * sizeof(*o->staged));
}

void sink_commit(struct sink *o, uint64_t stamp)
{
    pthread_mutex_lock(&o->lock);
    commit(o, stamp);
    pthread_mutex_unlock(&o->lock);
}

static void stage(struct sink *o, struct hdl_packet *c, uint64_t stamp, uint64_t bytes)
{
    GROW(o->staged, o->staged_cap, o->nstaged + 1);
    o->staged[o->nstaged++] = (struct staged){ c, stamp, bytes, o->staged_count++ };
    o->staged_bytes += bytes;
    if (o->staged_bytes > STAGED_MAX)
        commit(o, UINT64_MAX);
}

/* The chunk that was begun last makes place for an older one, which others may depend on: from
 * there on the file has nothing of any thread. False: there is none that was begun after this
 * stamp. */
static bool give_up_newest(struct sink *o, uint64_t stamp)
{
    size_t last = 0;

    for (size_t i = 1; i < o->nstaged; i++)
        if (by_age(&o->staged[i], &o->staged[last]) > 0)
            last = i;
    if (!o->nstaged || o->staged[last].stamp <= stamp)
        return false;
    o->cut = o->staged[last].stamp;
    o->staged_bytes -= o->staged[last].bytes;
    hdl_packet_free(o->staged[last].packet);
    o->staged[last] = o->staged[--o->nstaged];
    return true;
}

/* Is there place for so many bytes? Names go to the file at once, so that they count. */
static bool has_place(struct sink *o, uint64_t stamp, uint64_t bytes)
{
    struct error err;

    if (o->cut && stamp >= o->cut)
        return false;
    while (o->max_bytes && file_bytes(o) + bytes > o->max_bytes) {
        stop_at_limit(o, o->newest);
        if (!give_up_newest(o, stamp)) {
            o->cut = stamp;
            return false;
        }
    }
    if (!o->failed && hdl_append_names(o->hdl, &err) < 0)
        sink_fail(o, err.text);
    return !o->failed;
}

bool sink_append(struct sink *o, const struct hdl_packer *p, uint32_t thread, uint64_t first,
                 uint64_t stamp_first, uint64_t stamp_last)
{
    struct hdl_packed size = hdl_packed(p);
    uint64_t bytes = size.overhead + size.stored;
    struct hdl_packet *c;
    bool fits;

    pthread_mutex_lock(&o->lock);
    fits = has_place(o, stamp_first, bytes);
    if (fits) {
        o->newest = stamp_last > o->newest ? stamp_last : o->newest;
        o->raw_bytes += size.raw;
        o->stored_bytes += size.stored;
        c = hdl_packet_new(p, thread, first, stamp_first, stamp_last);
        if (!thread && !first) /* it depends on nothing, and everything on it: as soon as can be */
            append_in_sink(o, c);
        else
            stage(o, c, stamp_first, bytes);
    }
    pthread_mutex_unlock(&o->lock);
    return fits;
}

void sink_name_threads(struct sink *o, uint32_t thread)
{
    struct intern *t = &o->tables.threads;

    pthread_mutex_lock(&o->lock);
    while (t->count <= thread) {
        char name[16];
        int n = snprintf(name, sizeof(name), "T%u", t->count);

        intern_append(t, name, (size_t)n);
    }
    pthread_mutex_unlock(&o->lock);
}
