/* tracedir.c - the traces of a directory */
#include "cmd/tracedir.h"
#include "base/alloc.h"
#include "trace/hdl/format.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* "1234.hdl", "1234-2.hdl": the pid; 0 for any other name. */
static pid_t pid_of(const char *name)
{
    char *end;
    unsigned long pid = isdigit((unsigned char)name[0]) ? strtoul(name, &end, 10) : 0;

    if (!pid || pid > INT32_MAX)
        return 0;
    if (*end == '-' && isdigit((unsigned char)end[1]))
        strtoul(end + 1, &end, 10);
    return strcmp(end, ".hdl") == 0 ? (pid_t)pid : 0;
}

static bool is_trace_name(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && name[0] != '.' && strcmp(name + n - 4, ".hdl") == 0;
}

/* When the file was made, in nanoseconds; where the file system does not know, when it changed. */
uint64_t trace_file_start(const char *path)
{
    struct statx st;
    const struct statx_timestamp *t;

    if (statx(AT_FDCWD, path, 0, STATX_BTIME | STATX_MTIME, &st) < 0)
        return 0;
    t = st.stx_mask & STATX_BTIME ? &st.stx_btime : &st.stx_mtime;
    return (uint64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static void tracedir_add_file(struct tracedir *d, const char *directory, const char *name)
{
    struct trace_file *f;

    GROW(d->files, d->cap, d->count + 1);
    f = &d->files[d->count++];
    f->path = xasprintf("%s/%s", directory, name);
    f->name = f->path + strlen(f->path) - strlen(name);
    f->pid = pid_of(name);
    f->start = trace_file_start(f->path);
}

static int compare_files(const void *a, const void *b)
{
    const struct trace_file *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return strverscmp(x->name, y->name);
}

int tracedir_read(struct tracedir *d, const char *path)
{
    DIR *dir = opendir(path);

    *d = (struct tracedir){ 0 };
    if (!dir)
        return -1;
    for (struct dirent *e; (e = readdir(dir));)
        if (is_trace_name(e->d_name))
            tracedir_add_file(d, path, e->d_name);
    closedir(dir);
    if (d->count)
        qsort(d->files, d->count, sizeof(*d->files), compare_files);
    return 0;
}

void tracedir_release(struct tracedir *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->files[i].path);
    free(d->files);
    *d = (struct tracedir){ 0 };
}

bool tracedir_is(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool trace_file_is_ours(const struct trace_file *f)
{
    char start[sizeof(((struct hdl_file_header *)0)->magic)];
    int fd = f->pid ? open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return false;
    n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, start, sizeof(start)) : -1;
    close(fd);
    return n == 0 || (n == (ssize_t)sizeof(start) && memcmp(start, HDL_MAGIC, sizeof(start)) == 0);
}

bool trace_file_is_busy(const struct trace_file *f)
{
    int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool busy = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

    if (fd >= 0)
        close(fd);
    return busy;
}

/* The letter of its state; behind the name, which may contain anything. */
static char state_of(pid_t pid)
{
    char path[64], text[512];
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = 0;
    return strrchr(text, ')') ? strrchr(text, ')')[2] : 0;
}

/* A zombie has ended: whoever should wait for it does not. */
bool trace_file_is_live(const struct trace_file *f)
{
    if (!f->pid || (kill(f->pid, 0) < 0 && errno == ESRCH))
        return false;
    return !strchr("ZX", state_of(f->pid));
}
