/* confirm_setup.c - what all controlled runs of a command have in common: times, a folder, words */
#include "cmd/confirm/confirm.h"
#include "base/alloc.h"
#include "cmd/common.h"
#include "cmd/production/production.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that was copied has another time. */
#define RECORDED_MOST_NS (UINT64_C(600) * 1000000000)

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path), 0;
}

static int scratch_make(struct confirm_run *run)
{
    const char *tmp = getenv("TMPDIR");

    run->scratch = xasprintf("%s/heddle-confirm-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    if (mkdtemp(run->scratch))
        return 0;
    free(run->scratch);
    run->scratch = NULL;
    return own_failure("cannot make a temporary directory: %s", strerror(errno));
}

static void scratch_remove(struct confirm_run *run)
{
    if (!run->scratch)
        return;
    nftw(run->scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(run->scratch);
}

/* Between its start and the last the writer wrote. */
uint64_t confirm_recorded_ns(const char *trace)
{
    struct error unused;
    struct trace *t = trace ? trace_open(trace, &unused) : NULL;
    struct stat st;
    uint64_t start = 0, end = 0;

    if (t && stat(trace, &st) == 0) {
        start = trace_tables(t)->process.numbers[PROCESS_START_NS];
        end = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
    }
    trace_close(t);
    return start && end > start && end - start < RECORDED_MOST_NS ? end - start : 0;
}

/* A program that computes for minutes needs more patience than one that is over at once. */
void confirm_times_by(struct confirm_run *run, uint64_t recorded)
{
    const struct options *o = run->options;

    if (!option_is(o, OPT_WAIT) && recorded > run->patience_ns)
        run->patience_ns = recorded;
    if (!option_is(o, OPT_TIMEOUT) && 20 * recorded > run->limit_ns)
        run->limit_ns = 20 * recorded;
    run->budget_ns = 10 * run->patience_ns;
}

int confirm_times(struct confirm_run *run, const struct options *o)
{
    const char *wait = option_is(o, OPT_WAIT) ? o->texts[OPT_WAIT] : "1s",
               *limit = option_is(o, OPT_TIMEOUT) ? o->texts[OPT_TIMEOUT] : "60s";

    if (!parse_duration(wait, &run->patience_ns) || !run->patience_ns)
        return usage_error(o->command, "option '--wait' takes a time like '1s', not '%s'",
                           o->texts[OPT_WAIT]);
    if (!parse_duration(limit, &run->limit_ns) || !run->limit_ns)
        return usage_error(o->command, "option '--timeout' takes a time like '60s', not '%s'",
                           o->texts[OPT_TIMEOUT]);
    return 0;
}

/* Why the first try, which insisted on everything, did not meet. */
char *confirm_reason(const struct steer_done *d)
{
    const struct steer_note *n = d->notes ? &d->note[0] : NULL;

    if (d->met)
        return xasprintf("another access to the same memory was met");
    if (!d->taken_up)
        return xasprintf("no process of the program took the plan up");
    if (d->gates_left && n && n->kind == STEER_NOTE_GATE)
        return xasprintf("a thread waited in vain for a step of the schedule");
    if (!d->came[0] || !d->came[1])
        return xasprintf("%s came to %s",
                         d->came[0] || d->came[1] ? "only one thread" : "no thread",
                         d->came[0]   ? "the second access of the schedule"
                         : d->came[1] ? "the first access of the schedule"
                                      : "either access");
    if (n && n->kind == STEER_NOTE_ELSEWHERE)
        return xasprintf("the threads came to different addresses");
    if (n && n->kind == STEER_NOTE_BLOCKED)
        return xasprintf("the other thread was blocked while one waited at its access");
    return xasprintf("nobody came while a thread waited at its access");
}

bool confirm_diverged(const struct steer_done *d)
{
    return !d->taken_up || d->gates_left || !d->came[0] || !d->came[1];
}

int confirm_open(struct confirm_run *run, const struct options *o, char **argv, uint64_t recorded)
{
    int code;

    *run = (struct confirm_run){ .options = o, .argv = argv };
    code = confirm_times(run, o);
    if (code == 0) {
        confirm_times_by(run, recorded);
        code = scratch_make(run);
    }
    return code;
}

void confirm_close(struct confirm_run *run)
{
    scratch_remove(run);
}
