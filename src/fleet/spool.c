/* spool.c - results on their way into the store */
#include "fleet/spool.h"
#include "base/alloc.h"
#include "base/tempfile.h"
#include "fleet/store_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* No result of ours is larger; of what else lies there nothing is read. */
enum { RESULT_MAX = 1 << 30 };

int spool_make(const char *folder, struct error *err)
{
    char *path = xasprintf("%s", folder);
    int r = 0;

    for (char *p = path + 1; r == 0; p++) {
        char c = *p;

        if (c != '/' && c != 0)
            continue;
        *p = 0;
        if (private_mkdir(path) < 0 && errno != EEXIST)
            r = error_set(err, "cannot make the folder '%s': %s", path, strerror(errno));
        *p = c;
        if (!c)
            break;
    }
    free(path);
    return r;
}

static char *spool_path_of(const char *folder, const char *run, const char *ending)
{
    return xasprintf("%s/%s.%s", folder, run, ending);
}

/* The name itself must survive a crash, too. */
static void sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

static int write_file(int fd, const struct fleet_result *r)
{
    FILE *f = fdopen(fd, "w");
    int failed;

    if (!f) {
        close(fd);
        return -1;
    }
    fleet_result_write(r, f);
    failed = fflush(f) != 0 || ferror(f) || fsync(fileno(f)) != 0;
    return (fclose(f) != 0) | failed ? -1 : 0;
}

static int keep_in_spool(const char *folder, const char *ending, const struct fleet_result *r,
                         struct error *err)
{
    char *path = spool_path_of(folder, r->run, ending), *temporary = NULL;
    int fd = tempfile_create_private(path, &temporary);
    int code = fd < 0 ? -1 : write_file(fd, r);

    if (code == 0)
        code = tempfile_rename(temporary, path);
    if (code < 0)
        error_set(err, "cannot write '%s': %s", path, strerror(errno));
    if (code < 0)
        tempfile_remove(temporary);
    if (code == 0)
        sync_folder(folder);
    free(temporary);
    free(path);
    return code;
}

int spool_keep(const char *folder, const struct fleet_result *r, struct error *err)
{
    return keep_in_spool(folder, "json", r, err);
}

int spool_keep_seen(const char *folder, const struct fleet_result *r, struct error *err)
{
    return keep_in_spool(folder, "seen", r, err);
}

static void drop_in_spool(const char *folder, const char *run, const char *ending)
{
    char *path = spool_path_of(folder, run, ending);

    unlink(path);
    free(path);
}

void spool_drop(const char *folder, const char *run)
{
    drop_in_spool(folder, run, "json");
}

/* ---- what lies there ---- */

static bool is_result(const char *name, const char *ending)
{
    return strlen(name) == FLEET_ID_CHARS + 1 + strlen(ending) && name[FLEET_ID_CHARS] == '.' &&
           strcmp(name + FLEET_ID_CHARS + 1, ending) == 0;
}

/* A pipe would be waited for, a link leads to somebody else's file. */
enum { OPEN_FLAGS = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };

/* 0, or -1: it cannot be read (err), or is gone (empty error). */
static int read_file(const char *path, struct fleet_result *r, struct error *err)
{
    int fd = open(path, O_RDONLY | OPEN_FLAGS), code;
    struct stat st;
    char *text;
    ssize_t n;

    err->text[0] = 0;
    if (fd < 0)
        return errno == ENOENT ? -1 : error_set(err, "%s", strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > RESULT_MAX) {
        close(fd);
        return error_set(err, "not a regular file, or too large");
    }
    text = xmalloc((size_t)st.st_size + 1);
    n = read(fd, text, (size_t)st.st_size);
    close(fd);
    code =
        n < 0 ? error_set(err, "%s", strerror(errno)) : fleet_result_read(r, text, (size_t)n, err);
    free(text);
    return code;
}

static void put_away(const char *path)
{
    char *bad = xasprintf("%.*sbad", (int)strlen(path) - 4, path);

    rename(path, bad);
    free(bad);
}

static bool flush_one(const char *folder, const char *name, struct store *s,
                      struct spool_counts *counts, struct error *err)
{
    char *path = xasprintf("%s/%s", folder, name);
    struct fleet_result r = { 0 };
    bool going = true;

    if (read_file(path, &r, err) == 0) {
        bool put = store_put(s, &r, err) >= 0;

        counts->put += put && r.ended_ms;
        counts->failed += !put;
        if (put)
            unlink(path);
        going = put || s->failure == SQL_WRONG; /* then others may still be taken */
    } else if (err->text[0]) {
        put_away(path);
        counts->bad++;
    }
    fleet_result_release(&r);
    free(path);
    return going;
}

/* RUN.json.XXXXXX or RUN.seen.XXXXXX of a process that was killed while it wrote. */
static void sweep(const char *folder, const char *name)
{
    char *path = xasprintf("%s/%s", folder, name);
    struct stat st;

    if (stat(path, &st) == 0 && time(NULL) - st.st_mtime > 3600)
        unlink(path);
    free(path);
}

void spool_flush(const char *folder, struct store *s, struct spool_counts *counts,
                 struct error *err)
{
    DIR *d = opendir(folder);
    const struct dirent *e;

    *counts = (struct spool_counts){ 0 };
    while (d && (e = readdir(d))) {
        if (strlen(e->d_name) > FLEET_ID_CHARS + 6 &&
            (strstr(e->d_name, ".json.") || strstr(e->d_name, ".seen.")))
            sweep(folder, e->d_name);
        if ((is_result(e->d_name, "json") || is_result(e->d_name, "seen")) &&
            !flush_one(folder, e->d_name, s, counts, err))
            break;
    }
    if (d)
        closedir(d);
}

uint64_t spool_count(const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    uint64_t n = 0;

    while (d && (e = readdir(d)))
        n += is_result(e->d_name, "json");
    if (d)
        closedir(d);
    return n;
}

int spool_put(const char *folder, struct store *s, const struct fleet_result *r, struct error *err)
{
    struct error kept;
    int waits = spool_keep(folder, r, &kept);

    if (s && store_put(s, r, err) >= 0) {
        spool_drop(folder, r->run);
        return 1;
    }
    if (waits < 0)
        *err = kept;
    return waits < 0 ? -1 : 0;
}

/* ---- runs that go on ---- */

int spool_begin(const char *folder, const struct fleet_result *r, struct error *err)
{
    char *path = spool_path_of(folder, r->run, "live");
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int copy = fd < 0 ? -1 : dup(fd);

    if (fd < 0 || copy < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || write_file(copy, r) < 0) {
        error_set(err, "cannot write '%s': %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
            unlink(path);
        }
        fd = -1;
    }
    free(path);
    return fd;
}

void spool_end(const char *folder, const char *run, int fd)
{
    drop_in_spool(folder, run, "seen"); /* the result has them all */
    if (fd < 0)
        return;
    drop_in_spool(folder, run, "live");
    close(fd);
}

/* Between its creation and its lock a file is empty: then somebody is about to lock it, or was
 * killed there. */
static bool is_stale(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && time(NULL) - st.st_mtime > 60;
}

static void spool_visit(const char *path, spool_orphan *orphan, void *arg)
{
    int fd = open(path, O_RDWR | OPEN_FLAGS);
    struct fleet_result r = { 0 };
    struct error err;

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        if (read_file(path, &r, &err) == 0 ? orphan(arg, &r) : is_stale(fd))
            unlink(path);
        fleet_result_release(&r);
    }
    close(fd);
}

void spool_orphans(const char *folder, spool_orphan *orphan, void *arg)
{
    DIR *d = opendir(folder);
    const struct dirent *e;

    while (d && (e = readdir(d))) {
        char *path;

        if (!is_result(e->d_name, "live"))
            continue;
        path = xasprintf("%s/%s", folder, e->d_name);
        spool_visit(path, orphan, arg);
        free(path);
    }
    if (d)
        closedir(d);
}

/* ---- whether the store is there ---- */

/* A store that did not answer is not waited for again at once. */
enum { AWAY_S = 30 };

char *spool_path_for(const char *folder, const char *what, const char *store)
{
    return xasprintf("%s/%s-%08" PRIx32, folder, what, (uint32_t)XXH3_64bits(store, strlen(store)));
}

void spool_set_away(const char *folder, const char *store, bool away)
{
    char *path = spool_path_for(folder, "away", store);
    int fd = away ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd >= 0) {
        futimens(fd, NULL);
        close(fd);
    } else if (!away) {
        unlink(path);
    }
    free(path);
}

bool spool_is_away(const char *folder, const char *store)
{
    char *path = spool_path_for(folder, "away", store);
    struct stat st;
    bool away = stat(path, &st) == 0 && time(NULL) - st.st_mtime < AWAY_S;

    free(path);
    return away;
}
