/* explore_file.c - a schedule as a text file (docs/format/explore.md) */
#include "cmd/explore/explore.h"
#include "base/alloc.h"
#include "base/map.h"
#include "cmd/common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "heddle-explore 1"

/* ---- writing ---- */

static void add_threads(struct buf *b, const struct explored *e, struct map *numbers)
{
    uint32_t children[EXPLORE_THREADS_MAX] = { 0 };

    for (uint32_t i = 0; i < e->done->nthreads; i++) {
        const struct explore_thread *t = &e->done->thread[i];

        if (!t->path)
            continue;
        *map_put(numbers, t->path, i) = i;
        if (i)
            buf_addf(b, "thread T%u is created by T%u as number %u\n", i, t->parent,
                     ++children[t->parent]);
    }
}

/* What is about to be done at the end of a segment, for the reader. */
static void add_segments(struct buf *b, const struct schedule *s, const struct explore_job *job,
                         const struct explored *e, const struct map *numbers)
{
    size_t k = 0;

    for (size_t i = 0; i < s->count; i++) {
        const uint32_t *t = map_get(numbers, s->segments[i].thread);
        const struct explore_step *last = NULL;

        for (uint32_t left = s->segments[i].steps; left && k < e->nsteps; k++)
            if (e->steps[k].flags & EX_CHOSEN) {
                last = &e->steps[k];
                left--;
            }
        buf_addf(b, "run T%u for %u", t ? *t : 0, s->segments[i].steps);
        if (last) {
            buf_addstr(b, " # ");
            explore_phrase(b, job, e, last);
            buf_addch(b, ' ');
            explore_place(b, job, e, last);
        }
        buf_addch(b, '\n');
    }
}

int schedule_write(const struct schedule *s, const struct explore_job *job,
                   const struct explored *e, const char *path)
{
    struct map numbers = { 0 };
    struct buf b = { 0 };
    FILE *f = fopen(path, "we");
    bool ok;

    if (!f)
        return own_failure("cannot write '%s': %s", path, strerror(errno));
    buf_addstr(&b, HEADER "\nprogram");
    for (char **a = job->argv; *a; a++)
        buf_addf(&b, " %s", *a);
    buf_addstr(&b, "\nfailure ");
    explore_failure(&b, e);
    buf_addch(&b, '\n');
    add_threads(&b, e, &numbers);
    add_segments(&b, s, job, e, &numbers);
    buf_addstr(&b, "end\n");
    ok = fwrite(b.data, 1, b.len, f) == b.len;
    ok &= fclose(f) == 0;
    map_release(&numbers);
    buf_release(&b);
    return ok ? 0 : own_failure("cannot write '%s': %s", path, strerror(errno));
}

/* ---- reading ---- */

struct reader {
    struct schedule *s;
    uint64_t paths[EXPLORE_THREADS_MAX];
    bool header, end;
};

static bool read_thread(struct reader *r, const char *line)
{
    unsigned n, by, nth;

    if (sscanf(line, "thread T%u is created by T%u as number %u", &n, &by, &nth) != 3 || !nth ||
        !n || n >= EXPLORE_THREADS_MAX || by >= EXPLORE_THREADS_MAX || !r->paths[by] || r->paths[n])
        return false;
    r->paths[n] = steer_child(r->paths[by], nth);
    return true;
}

static bool read_run(struct reader *r, const char *line)
{
    unsigned n, steps;

    if (sscanf(line, "run T%u for %u", &n, &steps) != 2 || n >= EXPLORE_THREADS_MAX ||
        !r->paths[n] || !steps || r->s->count >= EXPLORE_SEGMENTS_MAX)
        return false;
    schedule_add(r->s, r->paths[n], steps);
    return true;
}

static bool read_line(struct reader *r, const char *line)
{
    if (!r->header)
        return r->header = strcmp(line, HEADER) == 0;
    if (strcmp(line, "end") == 0)
        return r->end = true;
    if (r->end)
        return !*line;
    if (strncmp(line, "thread ", 7) == 0)
        return read_thread(r, line);
    if (strncmp(line, "run ", 4) == 0)
        return read_run(r, line);
    return !*line || *line == '#' || strncmp(line, "program ", 8) == 0 ||
           strncmp(line, "failure ", 8) == 0;
}

int schedule_read(struct schedule *s, const char *path, struct error *err)
{
    struct reader r = { .s = s, .paths = { STEER_ROOT } };
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0, n = 0;
    int result = 0;

    if (!f)
        return error_set(err, "cannot read '%s': %s", path, strerror(errno));
    while (result == 0 && getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = 0;
        n++;
        if (!read_line(&r, line))
            result =
                error_set(err, "cannot read '%s': line %zu: not of a schedule of explore", path, n);
    }
    if (result == 0 && !r.end)
        result = error_set(err, "cannot read '%s': the line 'end' is missing", path);
    free(line);
    fclose(f);
    return result;
}
