/* explore_show.c - what failed, and the order in which it did
 *
 * The picture has a column for each thread and a line for each step that other threads could see
 * and that matters: accesses of memory that two threads use, and synchronisation. Where the thread
 * changes, a rule is drawn. Long runs are shown by their end.
 */
#include "cmd/explore/explore.h"
#include "base/alloc.h"
#include "base/map.h"
#include "cmd/site_name.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_SHOWN = 48, OUTPUT_LINES = 12, COLUMN = 4, COLUMNS_MOST = 8 };

const char *const outcome_names[OUTCOMES] = { "passed",   "exit",    "signal",   "deadlock",
                                              "livelock", "timeout", "sanitizer" };

static const char *const words[EX_OPS] = {
    [EX_READ] = "read",         [EX_WRITE] = "write",
    [EX_LOAD] = "load",         [EX_STORE] = "store",
    [EX_RMW] = "update",        [EX_FREE] = "free",
    [EX_LOCK] = "lock",         [EX_LOCK_SHARED] = "lock (shared)",
    [EX_UNLOCK] = "unlock",     [EX_UNLOCK_SHARED] = "unlock (shared)",
    [EX_WAIT] = "wait",         [EX_WOKEN] = "woken",
    [EX_SIGNAL] = "signal",     [EX_BROADCAST] = "broadcast",
    [EX_SEM_WAIT] = "sem_wait", [EX_SEM_POST] = "sem_post",
    [EX_BARRIER] = "barrier",   [EX_JOIN] = "join",
    [EX_FORK] = "create",       [EX_BEGIN] = "begins",
    [EX_END] = "ends",          [EX_YIELD] = "yields",
    [EX_EXIT] = "exits"
};

/* ---- a step ---- */

static const struct sites_site *site_of(const struct explore_job *job, const struct explored *e,
                                        const struct explore_step *s, const struct sites_header **h)
{
    for (uint32_t i = 0; i < e->done->nmodules && !(s->flags & EX_PLACE); i++) {
        const struct explore_module *m = &e->done->module[i];
        size_t file;

        if (s->where < m->base || s->where - m->base >= m->sites)
            continue;
        *h = linked_find(&job->files, m->id, &file);
        return *h && s->where - m->base < (*h)->nsites
                   ? sites_site(*h, (uint32_t)(s->where - m->base))
                   : NULL;
    }
    return NULL;
}

void explore_place(struct buf *out, const struct explore_job *job, const struct explored *e,
                   const struct explore_step *s)
{
    const struct sites_header *h;
    const struct sites_site *site = site_of(job, e, s, &h);
    struct sym_frame f;

    if (site) {
        sites_file(h, site->file, out);
        buf_addf(out, ":%u", site->line);
    } else if (s->flags & EX_PLACE && s->where && e->symbols &&
               symbolizer_frames(e->symbols, s->where - 1, &f, 1) > 0) {
        if (f.file)
            buf_addf(out, "%s:%u", f.file, f.line);
        else
            buf_addf(out, "in %s", f.function);
    }
}

/* Of an object of the C library without the member that it begins with (m.__data.__lock). */
static void add_name(struct buf *out, const char *name, bool is_object)
{
    const char *inside = is_object ? strstr(name, ".__") : NULL;

    buf_addf(out, " %.*s", inside ? (int)(inside - name) : (int)strlen(name), name);
}

static void add_object(struct buf *out, const struct explore_job *job, const struct explored *e,
                       const struct explore_step *s)
{
    const struct sites_header *h;
    const struct sites_site *site;
    struct sym_data d;

    if (s->op == EX_JOIN || s->op == EX_FORK)
        buf_addf(out, " T%" PRIu64, s->address);
    else if (e->symbols && symbolizer_data(e->symbols, s->address, s->bytes, &d) == 1)
        add_name(out, d.path ? d.path : d.name, s->op > EX_FREE);
    else if ((site = site_of(job, e, s, &h)) && *sites_string(h, site->variable))
        buf_addf(out, " %s", sites_string(h, site->variable));
    else if (s->address)
        buf_addf(out, " 0x%" PRIx64, s->address);
}

static int64_t as_signed(uint64_t value, uint32_t bytes)
{
    return bytes == 1   ? (int8_t)value
           : bytes == 2 ? (int16_t)value
           : bytes == 4 ? (int32_t)value
                        : (int64_t)value;
}

static void add_value(struct buf *out, uint64_t value, uint32_t bytes)
{
    int64_t v = as_signed(value, bytes);

    if (v > -1000000 && v < 1000000000)
        buf_addf(out, "%" PRId64, v);
    else
        buf_addf(out, "0x%" PRIx64, value);
}

void explore_phrase(struct buf *out, const struct explore_job *job, const struct explored *e,
                    const struct explore_step *s)
{
    bool known = s->op < EX_FREE && s->bytes && s->bytes <= 8;

    buf_addstr(out, s->op < EX_OPS ? words[s->op] : "?");
    if (s->op != EX_BEGIN && s->op != EX_END && s->op != EX_YIELD && s->op != EX_EXIT)
        add_object(out, job, e, s);
    if (known) {
        buf_addstr(out, s->op == EX_READ || s->op == EX_LOAD ? ": " : " = ");
        add_value(out, s->op == EX_READ || s->op == EX_LOAD ? s->before : s->after, s->bytes);
        if (s->op == EX_WRITE || s->op == EX_STORE || s->op == EX_RMW) {
            buf_addstr(out, " (was ");
            add_value(out, s->before, s->bytes);
            buf_addch(out, ')');
        }
    }
    if (s->flags & EX_FAILED)
        buf_addstr(out, s->op == EX_WOKEN ? " by its time limit" : " (in vain)");
}

/* ---- which steps matter ---- */

/* Memory that two threads use, but no locks and the like: what is done to these is a step of its
 * own. */
static bool *find_shared(const struct explored *e)
{
    bool *shown = xcalloc(e->nsteps + 1, sizeof(*shown));
    struct map users = { 0 }, objects = { 0 };

    for (size_t k = 0; k < e->nsteps; k++)
        if (e->steps[k].op > EX_FREE && e->steps[k].op <= EX_BARRIER)
            map_put(&objects, e->steps[k].address + 1, 1);
    for (int round = 0; round < 2; round++)
        for (size_t k = 0; k < e->nsteps; k++) {
            const struct explore_step *s = &e->steps[k];
            uint32_t *u;

            if (s->op > EX_FREE) {
                shown[k] = true;
                continue;
            }
            u = map_put(&users, s->address / 8 + 1, s->thread + 1u);
            if (*u != s->thread + 1u)
                *u = UINT32_MAX;
            shown[k] = *u == UINT32_MAX && !map_get(&objects, s->address + 1);
        }
    map_release(&users);
    map_release(&objects);
    return shown;
}

/* ---- the picture ---- */

static void print_step(const struct explore_job *job, const struct explored *e, size_t k,
                       bool changed, FILE *out)
{
    const struct explore_step *s = &e->steps[k];
    struct buf what = { 0 }, where = { 0 };
    unsigned column = s->thread % COLUMNS_MOST;

    explore_phrase(&what, job, e, s);
    explore_place(&where, job, e, s);
    if (changed)
        fprintf(out, "    %*sT%u:\n", (int)(column * COLUMN), "", s->thread);
    fprintf(out, "    %*s  %-*s %s\n", (int)(column * COLUMN), "",
            what.len ? (int)(52 - column * COLUMN) : 0, what.data, where.len ? where.data : "");
    buf_release(&what);
    buf_release(&where);
}

static void print_picture(const struct explore_job *job, const struct explored *e, FILE *out)
{
    bool *shown = find_shared(e);
    size_t n = 0, skip;
    unsigned thread = UINT32_MAX;

    for (size_t k = 0; k < e->nsteps; k++)
        n += shown[k];
    skip = n > LINES_SHOWN ? n - LINES_SHOWN : 0;
    if (skip)
        fprintf(out, "    (%zu steps before)\n", skip);
    for (size_t k = 0; k < e->nsteps; k++) {
        if (!shown[k])
            continue;
        if (skip) {
            skip--;
            continue;
        }
        print_step(job, e, k, e->steps[k].thread != thread, out);
        thread = e->steps[k].thread;
    }
    free(shown);
}

/* ---- the end ---- */

void explore_failure(struct buf *out, const struct explored *e)
{
    switch (e->outcome) {
    case EXITED:
        buf_addf(out, "exit code %d", e->code);
        break;
    case SIGNALLED:
        buf_addf(out, "SIG%s", sigabbrev_np(e->code) ? sigabbrev_np(e->code) : "?");
        break;
    case DEADLOCKED:
        buf_addstr(out, "deadlock: every thread waits");
        break;
    case LIVELOCKED:
        buf_addstr(out, "livelock: every thread that can go on reads the same values again and "
                        "again");
        break;
    case HUNG:
        buf_addstr(out, "it did not end within the time limit");
        break;
    case SANITIZED:
        buf_addstr(out, "a sanitizer's report");
        break;
    default:
        buf_addstr(out, "none");
    }
}

static void print_waiting(const struct explore_job *job, const struct explored *e, FILE *out)
{
    for (uint32_t i = 0; i < e->done->nthreads; i++) {
        const struct explore_thread *t = &e->done->thread[i];
        struct explore_step s = { .address = t->address,
                                  .where = t->where & (UINT64_MAX >> 1),
                                  .op = t->op,
                                  .flags = t->where >> 63 ? EX_PLACE : 0 };
        struct buf b = { 0 };

        if (t->state != 1 && t->state != 2) /* ready, blocked */
            continue;
        explore_phrase(&b, job, e, &s);
        buf_addch(&b, ' ');
        explore_place(&b, job, e, &s);
        fprintf(out, "    T%u %s %s\n", i, t->state == 2 ? "waits:" : "looks:", b.data);
        buf_release(&b);
    }
}

static void print_output(const struct explored *e, FILE *out)
{
    const char *from = e->output + strlen(e->output);
    int lines = 0;

    if (!*e->output)
        return;
    while (from > e->output && lines < OUTPUT_LINES)
        if (*--from == '\n' && from[1])
            lines++;
    if (*from == '\n')
        from++;
    fprintf(out, "  its output%s:\n", from > e->output ? " (the end)" : "");
    while (*from) {
        int n = (int)strcspn(from, "\n");

        fprintf(out, "    %.*s\n", n, from);
        from += n + (from[n] != 0);
    }
}

void explore_show(const struct explore_job *job, const struct explored *e, FILE *out)
{
    fprintf(out, "  the order in which it failed:\n");
    print_picture(job, e, out);
    if (e->outcome == DEADLOCKED || e->outcome == LIVELOCKED) {
        fprintf(out, "  at the end:\n");
        print_waiting(job, e, out);
    }
    print_output(e, out);
}
