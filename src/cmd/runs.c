/* runs.c - which traces of a directory belong to which run */
#include "cmd/runs.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "cmd/common.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIST_PREFIX ".run-"

enum {
    LIST_ROOM = 4096, /* kept free on the disk, so that names can be added when it is full */
    YOUNG_S = 10      /* a file that is still empty may be one that its writer is just making */
};

/* ---- making one ---- */

static mode_t mode_by_umask(void)
{
    mode_t mask = umask(0);

    umask(mask);
    return 0666 & ~mask;
}

/* Who looks for lists that nobody holds may hold ours first, and removes it: then another. */
int run_list_make(struct run_list *l, const char *directory, bool shared)
{
    struct stat st = { 0 };

    *l = (struct run_list){ .fd = -1 };
    while (!st.st_nlink) {
        if (l->fd >= 0)
            close(l->fd);
        free(l->path);
        l->path = xasprintf("%s/" LIST_PREFIX "XXXXXX", directory);
        l->fd = mkostemp(l->path, O_APPEND | O_CLOEXEC);
        if (l->fd < 0) {
            int code = own_failure("cannot write in '%s': %s", directory, strerror(errno));

            free(l->path);
            l->path = NULL;
            return code;
        }
        while (flock(l->fd, LOCK_EX) < 0 && errno == EINTR)
            ;
        if (fstat(l->fd, &st) < 0)
            break;
    }
    (void)fchmod(l->fd, shared ? mode_by_umask() : 0600);
    (void)fallocate(l->fd, FALLOC_FL_KEEP_SIZE, 0, LIST_ROOM);
    l->name = strrchr(l->path, '/') + 1;
    return 0;
}

static void runs_release(struct run_list *l)
{
    if (!l->path)
        return;
    close(l->fd);
    free(l->path);
    *l = (struct run_list){ .fd = -1 };
}

static void remove_list(const char *path)
{
    char *sites = xasprintf("%s.sites", path); /* record --only-sites */
    char *command = xasprintf("%s" RUN_COMMAND, path);

    unlink(sites);
    unlink(command);
    unlink(path);
    free(sites);
    free(command);
}

void run_list_drop(struct run_list *l)
{
    if (l->path)
        remove_list(l->path);
    runs_release(l);
}

/* ---- looking at them ---- */

/* The names in the list, with a line end before the first as well. */
static void read_names(struct buf *b, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char piece[4096];
    ssize_t n;

    buf_addch(b, '\n');
    while (fd >= 0 && ((n = read(fd, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0)
            buf_add(b, piece, (size_t)n);
    buf_addch(b, 0);
    if (fd >= 0)
        close(fd);
}

static bool has_name(const struct buf *names, const char *name)
{
    char *line = xasprintf("\n%s\n", name);
    bool found = strstr(names->data, line) != NULL;

    free(line);
    return found;
}

/* Those in the list stay, or those that are not. */
static void filter(struct tracedir *d, const struct buf *names, bool keep_listed)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->count; i++)
        if (has_name(names, d->files[i].name) == keep_listed)
            d->files[kept++] = d->files[i];
        else
            free(d->files[i].path);
    d->count = kept;
}

void run_list_select(const struct run_list *l, struct tracedir *d)
{
    struct buf names = { 0 };

    read_names(&names, l->path);
    filter(d, &names, true);
    buf_release(&names);
}

static bool is_list(const char *name)
{
    return strncmp(name, LIST_PREFIX, strlen(LIST_PREFIX)) == 0 && !strchr(name + 1, '.');
}

/* Calls f for each list. */
static void for_lists(const char *directory, void (*f)(const char *path, void *arg), void *arg)
{
    DIR *dir = opendir(directory);

    for (struct dirent *e; dir && (e = readdir(dir));)
        if (is_list(e->d_name)) {
            char *path = xasprintf("%s/%s", directory, e->d_name);

            f(path, arg);
            free(path);
        }
    if (dir)
        closedir(dir);
}

/* ---- the last one ---- */

struct last {
    const struct tracedir *all;
    char *path;
    uint64_t start;
};

static void consider(const char *path, void *arg)
{
    struct last *l = arg;
    uint64_t start = trace_file_start(path);
    struct buf names = { 0 };
    bool any = false;

    read_names(&names, path);
    for (size_t i = 0; i < l->all->count && !any; i++)
        any = has_name(&names, l->all->files[i].name);
    buf_release(&names);
    if (!any || (l->path && start < l->start))
        return;
    free(l->path);
    l->path = xstrndup(path, strlen(path));
    l->start = start;
}

struct search {
    const char *name;
    char *path;
};

static void look_for(const char *path, void *arg)
{
    struct search *s = arg;
    struct buf names = { 0 };

    read_names(&names, path);
    if (!s->path && has_name(&names, s->name))
        s->path = xstrndup(path, strlen(path));
    buf_release(&names);
}

char *run_list_of(const char *directory, const char *trace)
{
    struct search s = { .name = trace };

    for_lists(directory, look_for, &s);
    return s.path;
}

struct older {
    struct tracedir *all;
    const char *last;
};

static void leave_out(const char *path, void *arg)
{
    struct older *o = arg;
    struct buf names = { 0 };

    if (strcmp(path, o->last) == 0)
        return;
    read_names(&names, path);
    filter(o->all, &names, false);
    buf_release(&names);
}

void runs_select_last(struct tracedir *d, const char *directory)
{
    struct last l = { .all = d };
    struct older o = { .all = d };

    for_lists(directory, consider, &l);
    o.last = l.path;
    if (l.path)
        for_lists(directory, leave_out, &o);
    free(l.path);
}

/* ---- removing ---- */

struct removal {
    const char *directory, *own;
    struct tracedir *all; /* what is there and in no list */
};

static bool is_being_made(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_size == 0 && time(NULL) - st.st_mtime < YOUNG_S;
}

/* True if it is gone. */
static bool remove_trace(const struct trace_file *f)
{
    return trace_file_is_ours(f) && !trace_file_is_busy(f) && !is_being_made(f->path) &&
           unlink(f->path) == 0;
}

static void remove_run(const char *path, void *arg)
{
    const struct removal *r = arg;
    struct buf names = { 0 };
    bool all_gone = true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    read_names(&names, path);
    if (strcmp(path, r->own) != 0 && fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        for (size_t i = 0; i < r->all->count; i++)
            if (has_name(&names, r->all->files[i].name))
                all_gone &= remove_trace(&r->all->files[i]);
        if (all_gone)
            remove_list(path);
    }
    filter(r->all, &names, false);
    buf_release(&names);
    if (fd >= 0)
        close(fd);
}

/* The directory is read before the lists: a trace is added to its list as soon as it is there, and
 * locked all the time until it is complete. */
void runs_remove(const char *directory, const struct run_list *own)
{
    struct tracedir all;
    struct removal r = { directory, own->path, &all };

    if (tracedir_read(&all, directory) < 0)
        return;
    for_lists(directory, remove_run, &r);
    for (size_t i = 0; i < all.count; i++)
        remove_trace(&all.files[i]);
    tracedir_release(&all);
}

/* One at a time (by a lock on the directory), or two that end together would remove each other's,
 * or neither. */
void run_list_finish(struct run_list *l, const char *directory)
{
    int fd = l->path ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
        ;
    if (l->path)
        runs_remove(directory, l);
    runs_release(l);
    if (fd >= 0)
        close(fd);
}
