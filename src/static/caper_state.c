/* caper_state.c - reading, merging and writing the state of caper (docs/format/caper.md)
 *
 * A state of version 1 had the static pairs in itself; it is read, and becomes version 2 when it is
 * next written.
 */
#include "static/caper_state.h"
#include "base/alloc.h"
#include "abi/rt_sites.h"
#include "base/seconds.h"
#include "base/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SITES_MOST = 1 << 26 }; /* of a module: more is a damaged file */

/* The number of runs has a fixed place and width: it is written over. */
#define HEAD       "heddle-caper 2\nruns "
#define RUNS_WIDTH 20

void caper_state_release(struct caper_state *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->parts[i].source);
        free(s->parts[i].marks);
    }
    free(s->parts);
    free(s->program);
    pairs_release(&s->pairs);
    *s = (struct caper_state){ 0 };
}

static size_t find_in_caper_state(const struct caper_state *s, const uint64_t id[2])
{
    size_t i = 0;

    while (i < s->count && (s->parts[i].id[0] != id[0] || s->parts[i].id[1] != id[1]))
        i++;
    return i;
}

const struct caper_part *caper_state_find(const struct caper_state *s, const uint64_t id[2])
{
    size_t i = find_in_caper_state(s, id);

    return i < s->count ? &s->parts[i] : NULL;
}

struct caper_part *caper_state_module(struct caper_state *s, const uint64_t id[2], uint32_t sites,
                                      const char *source)
{
    size_t i = find_in_caper_state(s, id);
    struct caper_part *p;

    if (i == s->count) {
        GROW(s->parts, s->cap, s->count + 1);
        s->parts[s->count++] = (struct caper_part){ .id = { id[0], id[1] } };
    }
    p = &s->parts[i];
    if (p->sites < sites) {
        p->marks = xrealloc(p->marks, sites, 1);
        memset(p->marks + p->sites, 0, sites - p->sites);
        p->sites = sites;
    }
    if (!p->source || (source && !*p->source)) {
        free(p->source);
        p->source = xstrndup(source ? source : "", source ? strlen(source) : 0);
    }
    return p;
}

uint8_t caper_state_mark(const struct caper_state *s, const uint64_t id[2], uint32_t index)
{
    const struct caper_part *p = caper_state_find(s, id);

    return p && index < p->sites ? p->marks[index] : 0;
}

void caper_state_drop(struct caper_state *s, size_t part)
{
    free(s->parts[part].source);
    free(s->parts[part].marks);
    memmove(&s->parts[part], &s->parts[part + 1], (s->count - part - 1) * sizeof(*s->parts));
    s->count--;
}

/* ---- static pairs ---- */

static char *pairs_path(const char *state, uint64_t id)
{
    return xasprintf("%s.pairs-%016" PRIx64, state, id);
}

void caper_state_set_pairs(struct caper_state *s, struct pairs *p)
{
    pairs_release(&s->pairs);
    s->pairs = *p;
    s->has_pairs = s->pairs_new = true;
    s->pairs_lost = false;
    *p = (struct pairs){ 0 };
}

int caper_state_load(const struct caper_state *s, const char *path, struct error *err)
{
    char *file;
    int status;

    if (!s->has_pairs || s->pairs_new)
        return 0;
    file = pairs_path(path, s->pairs_id);
    status = pairs_check(&s->pairs, file, err);
    free(file);
    return status;
}

static int map_pairs(struct caper_state *s, const char *path, struct error *err)
{
    char *file = pairs_path(path, s->pairs_id);
    int status = 0;

    if (access(file, F_OK) == 0)
        status = pairs_map(&s->pairs, file, err);
    else
        s->pairs_lost = true;
    s->has_pairs = status == 0 && !s->pairs_lost;
    free(file);
    return status;
}

/* ---- reading ---- */

struct reader {
    struct caper_state *s;
    FILE *in;
    const char *path;
    struct caper_part *part; /* whose sites come */
    uint64_t line;
    struct error *err;
};

static int broken(const struct reader *r, const char *what)
{
    return error_set(r->err, "'%s': line %" PRIu64 ": %s", r->path, r->line, what);
}

/* A decimal number, and where it ends; UINT64_MAX: there is none. */
static uint64_t caper_state_number(const char *text, char **end)
{
    *end = (char *)text;
    return *text >= '0' && *text <= '9' ? strtoull(text, end, 10) : UINT64_MAX;
}

static int read_module(struct reader *r, const char *text)
{
    uint64_t id[2], sites;
    char *end;

    if (strspn(text, "0123456789abcdef") != 32 || text[32] != ' ' ||
        sscanf(text, "%16" SCNx64 "%16" SCNx64, &id[0], &id[1]) != 2)
        return broken(r, "no module");
    sites = caper_state_number(text + 33, &end);
    if (sites > SITES_MOST || *end != ' ')
        return broken(r, "no number of sites");
    if (caper_state_find(r->s, id))
        return broken(r, "the module is there twice");
    r->part = caper_state_module(r->s, id, (uint32_t)sites, end + 1);
    return 0;
}

static int read_site(struct reader *r, const char *text)
{
    char *end;
    uint64_t index = caper_state_number(text, &end);

    if (!r->part || index >= r->part->sites || *end != ' ')
        return broken(r, "no such site");
    if (strcmp(end + 1, "seen") == 0)
        r->part->marks[index] |= CAPER_SEEN;
    else if (strcmp(end + 1, "assumed") == 0)
        r->part->marks[index] |= CAPER_ASSUMED;
    else if (strcmp(end + 1, "weak") == 0)
        r->part->marks[index] |= CAPER_WEAK;
    else
        return broken(r, "neither 'seen' nor 'assumed' nor 'weak'");
    return 0;
}

/* "ID DP": the name of the file, and how many of the pairs are dynamically possible. */
static int read_pairs(struct reader *r, const char *text)
{
    char *end;

    if (strspn(text, "0123456789abcdef") != 16 || text[16] != ' ' ||
        sscanf(text, "%16" SCNx64, &r->s->pairs_id) != 1)
        return broken(r, "no name of pairs");
    r->s->dp = caper_state_number(text + 17, &end);
    if (*end || r->s->dp == UINT64_MAX)
        return broken(r, "no number of pairs");
    return map_pairs(r->s, r->path, r->err) < 0 ? -1 : 1;
}

static int read_old_pairs(struct reader *r)
{
    r->s->has_pairs = r->s->pairs_new = true;
    return pairs_read_stream(&r->s->pairs, r->in, r->path, r->err) < 0 ? -1 : 1;
}

/* 1: the file's end. */
static int read_line(struct reader *r, char *line)
{
    char *end;

    if (strncmp(line, "module ", 7) == 0)
        return read_module(r, line + 7);
    if (strncmp(line, "e ", 2) == 0)
        return read_site(r, line + 2);
    if (strncmp(line, "program ", 8) == 0) {
        free(r->s->program);
        r->s->program = xstrndup(line + 8, strlen(line + 8));
        return 0;
    }
    if (strncmp(line, "runs ", 5) == 0) {
        r->s->runs = caper_state_number(line + 5, &end);
        return *end || r->s->runs == UINT64_MAX ? broken(r, "no number of runs") : 0;
    }
    if (strcmp(line, "pairs none") == 0)
        return 1;
    if (!r->s->old && strncmp(line, "pairs ", 6) == 0)
        return read_pairs(r, line + 6);
    return r->s->old && strcmp(line, "pairs") == 0 ? read_old_pairs(r) : broken(r, "unknown line");
}

static int read_version(struct reader *r, const char *line)
{
    unsigned version;

    if (sscanf(line, "heddle-caper %u", &version) != 1)
        return broken(r, "no state of caper");
    r->s->old = strcmp(line, "heddle-caper 1") == 0;
    return r->s->old || strcmp(line, "heddle-caper 2") == 0 ? 0 : broken(r, "of another version");
}

static int read_lines(struct reader *r)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int status = 0;

    while (status == 0 && (n = getline(&line, &cap, r->in)) > 0) {
        r->line++;
        if (line[n - 1] != '\n' || memchr(line, 0, (size_t)n)) {
            status = broken(r, "the file is cut off");
            break;
        }
        line[n - 1] = 0;
        status = r->line == 1 ? read_version(r, line) : read_line(r, line);
    }
    free(line);
    if (status == 0)
        return broken(r, r->line ? "the file is cut off" : "the file is empty");
    return status < 0 ? -1 : 0;
}

static int read_once(struct caper_state *s, const char *path, struct error *err)
{
    struct reader r = { .s = s, .path = path, .err = err };
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), status; /* a pipe would be waited for */
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return error_set(err, "cannot read '%s': not a regular file", path);
    }
    r.in = fd < 0 ? NULL : fdopen(fd, "r");
    if (!r.in && errno == ENOENT)
        return 0;
    if (!r.in)
        return error_set(err, "cannot read '%s': %s", path, strerror(errno));
    status = read_lines(&r);
    fclose(r.in);
    if (status < 0)
        caper_state_release(s);
    return status;
}

/* Between reading the state and mapping its pairs both may be replaced: then it is read again. */
int caper_state_read(struct caper_state *s, const char *path, struct error *err)
{
    int status = read_once(s, path, err);
    uint64_t lost = s->pairs_id;

    if (status < 0 || !s->pairs_lost)
        return status;
    caper_state_release(s);
    status = read_once(s, path, err);
    return status == 0 && s->pairs_lost && s->pairs_id != lost ? caper_state_read(s, path, err)
                                                               : status;
}

/* ---- writing ---- */

static int by_id(const void *a, const void *b)
{
    const struct caper_part *x = a, *y = b;

    if (x->id[0] != y->id[0])
        return x->id[0] < y->id[0] ? -1 : 1;
    return x->id[1] < y->id[1] ? -1 : x->id[1] > y->id[1];
}

static void write_part(const struct caper_part *p, FILE *out)
{
    fprintf(out, "module %016" PRIx64 "%016" PRIx64 " %" PRIu32 " %s\n", p->id[0], p->id[1],
            p->sites, p->source);
    for (uint32_t i = 0; i < p->sites; i++) {
        if (p->marks[i] & (CAPER_SEEN | CAPER_ASSUMED))
            fprintf(out, "e %" PRIu32 " %s\n", i, p->marks[i] & CAPER_SEEN ? "seen" : "assumed");
        if (p->marks[i] & CAPER_WEAK)
            fprintf(out, "e %" PRIu32 " weak\n", i);
    }
}

static void write_state(struct caper_state *s, FILE *out)
{
    if (s->count)
        qsort(s->parts, s->count, sizeof(*s->parts), by_id);
    fprintf(out, HEAD "%0*" PRIu64 "\n", RUNS_WIDTH, s->runs);
    if (s->program)
        fprintf(out, "program %s\n", s->program);
    for (size_t i = 0; i < s->count; i++)
        write_part(&s->parts[i], out);
    if (s->has_pairs)
        fprintf(out, "pairs %016" PRIx64 " %" PRIu64 "\n", s->pairs_id, s->dp);
    else
        fputs("pairs none\n", out);
}

static void write_pairs(struct caper_state *s, FILE *out)
{
    pairs_map_write(&s->pairs, out);
}

/* A complete file under that name. */
static int put_file(struct caper_state *s, const char *path,
                    void (*write)(struct caper_state *s, FILE *out), struct error *err)
{
    char *name;
    int fd = tempfile_create_private(path, &name);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    bool good;

    if (!out)
        return error_set(err, "cannot write '%s': %s", path, strerror(errno));
    write(s, out);
    good = fflush(out) == 0 && !ferror(out) && fsync(fd) == 0;
    good = fclose(out) == 0 && good;
    if (good && tempfile_rename(name, path) == 0) {
        free(name);
        return 0;
    }
    error_set(err, "cannot write '%s': %s", path, strerror(errno));
    tempfile_remove(name);
    free(name);
    return -1;
}

static uint64_t count_dp(const struct caper_state *s);

/* The pairs come first: a state always names pairs that are there. Those of before go last. */
static int replace(struct caper_state *s, const char *path, struct error *err)
{
    uint64_t before = s->pairs_id; /* 0: none */
    char *file;
    int status = 0;

    if (s->pairs_new) {
        s->pairs_id = pairs_hash(&s->pairs);
        file = pairs_path(path, s->pairs_id);
        status = put_file(s, file, write_pairs, err);
        free(file);
    } else if (s->has_pairs) {
        status = caper_state_load(s, path, err);
    }
    if (status == 0 && s->has_pairs)
        s->dp = count_dp(s);
    if (status == 0)
        status = put_file(s, path, write_state, err);
    if (status == 0 && s->pairs_new && before && before != s->pairs_id) {
        file = pairs_path(path, before);
        unlink(file);
        free(file);
    }
    if (status == 0)
        s->old = s->pairs_new = false;
    return status;
}

/* The number of runs is written over; a reader may see the one before. */
static int count_run(const struct caper_state *s, const char *path, struct error *err)
{
    char text[RUNS_WIDTH + 1];
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = -1;

    snprintf(text, sizeof(text), "%0*" PRIu64, RUNS_WIDTH, s->runs);
    if (fd >= 0)
        n = pwrite(fd, text, RUNS_WIDTH, strlen(HEAD));
    if (fd >= 0)
        close(fd);
    return n == RUNS_WIDTH ? 0 : error_set(err, "cannot write '%s': %s", path, strerror(errno));
}

static bool lock_within(int fd, int patience_ms)
{
    double until = seconds_now() + patience_ms / 1e3;

    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || seconds_now() >= until)
            return false;
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    }
    return true;
}

/* The folder is locked: the file itself is another one after each change. The descriptor, or
 * CAPER_LOCKED, or -1. */
static int lock_folder(const char *path, int patience_ms)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == path ? xstrndup("/", 1)
                   : slash       ? xstrndup(path, (size_t)(slash - path))
                                 : xstrndup(".", 1);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    free(folder);
    if (fd < 0 || lock_within(fd, patience_ms))
        return fd;
    close(fd);
    return CAPER_LOCKED;
}

int caper_state_change(const char *path, enum caper_change (*fn)(struct caper_state *s, void *arg),
                       void *arg, int patience_ms, struct caper_state *after, struct error *err)
{
    struct caper_state s = { 0 };
    int fd = lock_folder(path, patience_ms), status;

    if (fd == CAPER_LOCKED)
        error_set(err, "'%s' is locked by another process", path);
    else if (fd < 0)
        error_set(err, "cannot lock the folder of '%s': %s", path, strerror(errno));
    if (fd < 0)
        return fd;
    status = caper_state_read(&s, path, err);
    if (status == 0) {
        bool whole = s.old || !s.runs; /* no place for the number: version 1, or not there yet */
        enum caper_change change = fn(&s, arg);

        if (change == CAPER_CHANGED || (change == CAPER_COUNTED && whole))
            status = replace(&s, path, err);
        else if (change == CAPER_COUNTED)
            status = count_run(&s, path, err);
    }
    close(fd);
    if (after && status == 0) {
        caper_state_release(after);
        *after = s;
    } else {
        caper_state_release(&s);
    }
    return status;
}

/* ---- numbers ---- */

bool caper_kinds_conflict(uint32_t a, uint32_t b)
{
    bool writes = a != SITE_READ || b != SITE_READ;

    return writes && !(a == SITE_ATOMIC && b == SITE_ATOMIC);
}

static uint64_t count_dp(const struct caper_state *s)
{
    const struct pairs *p = &s->pairs;
    uint64_t *marked = xcalloc(p->ngroups + (size_t)1, sizeof(*marked)), dp;

    for (size_t i = 0; i < p->nsites; i++)
        if (caper_state_mark(s, p->sites[i].id.module, p->sites[i].id.index))
            marked[p->sites[i].group]++;
    dp = pairs_count_marked(p, marked);
    free(marked);
    return dp;
}

void caper_state_sizes(const struct caper_state *s, struct caper_sizes *z)
{
    *z = (struct caper_sizes){ 0 };
    for (size_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < s->parts[i].sites; k++) {
            uint8_t mark = s->parts[i].marks[k];

            z->seen += (mark & CAPER_SEEN) != 0;
            z->assumed += (mark & CAPER_ASSUMED) && !(mark & CAPER_SEEN);
        }
    if (!s->has_pairs)
        return;
    z->dp = s->pairs_new ? count_dp(s) : s->dp;
    z->all = s->pairs.total;
    z->sites = s->pairs.nsites;
}
