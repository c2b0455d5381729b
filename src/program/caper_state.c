/* caper_state.c - reading, merging and writing the state of caper (docs/format/caper.md) */
#include "program/caper_state.h"
#include "base/alloc.h"
#include "base/rt_sites.h"
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

static size_t find(const struct caper_state *s, const uint64_t id[2])
{
    size_t i = 0;

    while (i < s->count && (s->parts[i].id[0] != id[0] || s->parts[i].id[1] != id[1]))
        i++;
    return i;
}

const struct caper_part *caper_state_find(const struct caper_state *s, const uint64_t id[2])
{
    size_t i = find(s, id);

    return i < s->count ? &s->parts[i] : NULL;
}

struct caper_part *caper_state_module(struct caper_state *s, const uint64_t id[2], uint32_t sites,
                                      const char *source)
{
    size_t i = find(s, id);
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
static uint64_t number(const char *text, char **end)
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
    sites = number(text + 33, &end);
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
    uint64_t index = number(text, &end);

    if (!r->part || index >= r->part->sites || *end != ' ')
        return broken(r, "no such site");
    if (strcmp(end + 1, "seen") == 0)
        r->part->marks[index] |= CAPER_SEEN;
    else if (strcmp(end + 1, "assumed") == 0)
        r->part->marks[index] |= CAPER_ASSUMED;
    else
        return broken(r, "neither 'seen' nor 'assumed'");
    return 0;
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
        r->s->runs = number(line + 5, &end);
        return *end || r->s->runs == UINT64_MAX ? broken(r, "no number of runs") : 0;
    }
    if (strcmp(line, "pairs none") == 0)
        return 1;
    if (strcmp(line, "pairs") != 0)
        return broken(r, "unknown line");
    r->s->has_pairs = true;
    return pairs_read_stream(&r->s->pairs, r->in, r->path, r->err) < 0 ? -1 : 1;
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
        if (r->line == 1)
            status = strcmp(line, "heddle-caper 1") == 0 ? 0 : broken(r, "no state of caper");
        else
            status = read_line(r, line);
    }
    free(line);
    if (status == 0)
        return broken(r, r->line ? "the file is cut off" : "the file is empty");
    return status < 0 ? -1 : 0;
}

int caper_state_read(struct caper_state *s, const char *path, struct error *err)
{
    struct reader r = { .s = s, .path = path, .err = err };
    int status;

    r.in = fopen(path, "re");
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
    for (uint32_t i = 0; i < p->sites; i++)
        if (p->marks[i] & (CAPER_SEEN | CAPER_ASSUMED))
            fprintf(out, "e %" PRIu32 " %s\n", i, p->marks[i] & CAPER_SEEN ? "seen" : "assumed");
}

static void write_state(struct caper_state *s, FILE *out)
{
    qsort(s->parts, s->count, sizeof(*s->parts), by_id);
    fprintf(out, "heddle-caper 1\nruns %" PRIu64 "\n", s->runs);
    if (s->program)
        fprintf(out, "program %s\n", s->program);
    for (size_t i = 0; i < s->count; i++)
        write_part(&s->parts[i], out);
    fputs(s->has_pairs ? "pairs\n" : "pairs none\n", out);
    if (s->has_pairs)
        pairs_write(&s->pairs, out);
}

static int replace(struct caper_state *s, const char *path, struct error *err)
{
    char *name;
    int fd = tempfile_create(path, &name);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    bool good;

    if (!out)
        return error_set(err, "cannot write '%s': %s", path, strerror(errno));
    write_state(s, out);
    good = fflush(out) == 0 && !ferror(out) && fsync(fd) == 0;
    good = fclose(out) == 0 && good;
    if (good && rename(name, path) == 0) {
        free(name);
        return 0;
    }
    error_set(err, "cannot write '%s': %s", path, strerror(errno));
    unlink(name);
    free(name);
    return -1;
}

/* The folder is locked: the file itself is another one after each change. */
static int lock_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == path ? xstrndup("/", 1)
                   : slash       ? xstrndup(path, (size_t)(slash - path))
                                 : xstrndup(".", 1);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    free(folder);
    while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR) {
    }
    return fd;
}

int caper_state_change(const char *path, bool (*fn)(struct caper_state *s, void *arg), void *arg,
                       struct error *err)
{
    struct caper_state s = { 0 };
    int fd = lock_folder(path), status;

    if (fd < 0)
        return error_set(err, "cannot lock the folder of '%s': %s", path, strerror(errno));
    status = caper_state_read(&s, path, err);
    if (status == 0 && fn(&s, arg))
        status = replace(&s, path, err);
    close(fd);
    caper_state_release(&s);
    return status;
}

/* ---- numbers ---- */

bool caper_kinds_conflict(uint32_t a, uint32_t b)
{
    bool writes = a != SITE_READ || b != SITE_READ;

    return writes && !(a == SITE_ATOMIC && b == SITE_ATOMIC);
}

static void count_pairs(const struct caper_state *s, struct caper_sizes *z)
{
    const struct pairs *p = &s->pairs;
    uint64_t *marked = xcalloc(p->ngroups ? p->ngroups : 1, sizeof(*marked));

    for (size_t i = 0; i < p->nsites; i++)
        if (caper_state_mark(s, p->sites[i].id.module, p->sites[i].id.index))
            marked[p->sites[i].group]++;
    for (size_t i = 0; i < p->npairs; i++) {
        uint64_t a = marked[p->pairs[i].a], b = marked[p->pairs[i].b];

        z->dp += p->pairs[i].a == p->pairs[i].b ? a * (a + 1) / 2 : a * b;
    }
    free(marked);
    z->all = pairs_count(p);
    z->sites = p->nsites;
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
    if (s->has_pairs)
        count_pairs(s, z);
}
