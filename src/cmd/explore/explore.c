/* explore.c - heddle explore: run a program in other orders until it fails (docs/design/explore.md)
 *
 * The first runs go straight on, newest thread first, and by turns; every run's log shows which
 * other orders are possible (explore_next.c), and the best of them that is new comes next. The
 * other modes, by chance and by changing priorities, are for comparison.
 *
 * Addresses are made the same in every run (no randomisation), so that what two runs do can be
 * compared; nothing but the detection of equivalent runs depends on it.
 */
#include "cmd/explore/explore.h"
#include "base/alloc.h"
#include "base/plural.h"
#include "base/seconds.h"
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/production/production.h"
#include "report/json_emit.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

enum { QUIET_FROM = 4000 /* steps: shorter runs need nothing left out */ };

struct exploration {
    struct explore_job job;
    const struct options *options;
    struct explorer *explorer;
    struct explored failed; /* the run that failed */
    struct schedule schedule;
    const char *why;
    uint64_t runs, most_runs, length;
    double start, most_seconds;
    unsigned again, of; /* times that the failure came again */
    bool found, exhausted;
};

/* ---- what counts ---- */

static int take_codes(struct explore_job *job, const struct options *o)
{
    const char *text = o->texts[OPT_FAIL_ON_EXIT];

    if (strcmp(text, "any") == 0) {
        job->any_code = true;
        return 0;
    }
    if (strcmp(text, "none") == 0)
        return 0;
    for (const char *p = text; *p;) {
        char *end;
        unsigned long n = strtoul(p, &end, 10);

        if (end == p || n > 255 || (*end && *end != ','))
            return usage_error(o->command,
                               "option '--fail-on-exit' takes 'any', 'none' or codes like '1,3', "
                               "not '%s'",
                               text);
        job->codes[n] = 1;
        p = *end ? end + 1 : end;
    }
    return 0;
}

static int take_options(struct exploration *x, const struct options *o)
{
    uint64_t ns;
    int code = take_codes(&x->job, o);

    if (code)
        return code;
    if (!parse_duration(o->texts[OPT_TIMEOUT], &x->job.limit_ns) || !x->job.limit_ns)
        return usage_error(o->command, "option '--timeout' takes a time like '60s', not '%s'",
                           o->texts[OPT_TIMEOUT]);
    if (option_is(o, OPT_TIME)) {
        if (!parse_duration(o->texts[OPT_TIME], &ns) || !ns)
            return usage_error(o->command, "option '--time' takes a time like '60s', not '%s'",
                               o->texts[OPT_TIME]);
        x->most_seconds = (double)ns / 1e9;
    }
    x->most_runs = o->numbers[OPT_RUNS];
    x->of = (unsigned)o->numbers[OPT_VERIFY];
    return 0;
}

/* ---- the place for what runs leave ---- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path), 0;
}

static int scratch_make(struct explore_job *job)
{
    const char *tmp = getenv("TMPDIR");

    job->scratch = xasprintf("%s/heddle-explore-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    if (mkdtemp(job->scratch))
        return 0;
    free(job->scratch);
    job->scratch = NULL;
    return own_failure("cannot make a temporary directory: %s", strerror(errno));
}

static void scratch_remove(struct explore_job *job)
{
    if (job->scratch)
        nftw(job->scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(job->scratch);
}

/* ---- which order comes next ---- */

static bool is_mode(const struct options *o, const char *mode)
{
    return strcmp(o->texts[OPT_MODE], mode) == 0;
}

/* Whole orders that no other run leads to quickly, between those that are predicted. */
static bool first_order(struct exploration *x, struct schedule *s)
{
    static const struct {
        uint64_t run;
        uint32_t policy;
        const char *why;
    } orders[] = { { 0, EXPLORE_STAY, "each thread as far as it gets" },
                   { 2, EXPLORE_NEWEST, "the newest thread first" },
                   { 4, EXPLORE_ALTERNATE, "by turns" },
                   { 6, EXPLORE_SECTIONS, "by turns after each unlock" } };

    for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
        if (orders[i].run == x->runs) {
            *s = (struct schedule){ .policy = orders[i].policy };
            x->why = orders[i].why;
            return true;
        }
    return false;
}

static bool by_chance(struct exploration *x, struct schedule *s)
{
    const struct options *o = x->options;

    *s = (struct schedule){ .policy = is_mode(o, "pct") ? EXPLORE_PCT : EXPLORE_RANDOM,
                            .seed = o->numbers[OPT_SEED] * 1000003 + x->runs + 1,
                            .depth = (uint32_t)o->numbers[OPT_DEPTH],
                            .length = x->length };
    x->why = is_mode(o, "pct") ? "by priorities" : "by chance";
    return true;
}

static bool next_order(struct exploration *x, struct schedule *s)
{
    *s = (struct schedule){ 0 };
    if (!is_mode(x->options, "predict"))
        return by_chance(x, s);
    if (first_order(x, s) || explorer_next(x->explorer, s, &x->why))
        return true;
    if (x->runs < 7) { /* what is left of the first ones */
        static const uint32_t rest[] = { EXPLORE_NEWEST, EXPLORE_ALTERNATE, EXPLORE_SECTIONS };

        s->policy = rest[x->runs % 3];
        x->why = "another policy";
        return true;
    }
    x->exhausted = true;
    return false;
}

static bool has_time(const struct exploration *x)
{
    return x->runs < x->most_runs &&
           (x->most_seconds == 0 || seconds_now() - x->start < x->most_seconds);
}

static int check_taken_up(const struct exploration *x, const struct explored *e)
{
    if (e->done->full)
        return bad_input("'%s' cannot be explored: code of it was built with --full",
                         x->job.argv[0]);
    if (e->done->taken_up)
        return 0;
    return bad_input("'%s' cannot be explored: it was not built with heddle-cc, or it only starts "
                     "the program",
                     x->job.argv[0]);
}

/* Long programs: what no other thread touches is not stopped at. */
static void note_quiet(struct exploration *x, const struct explored *e)
{
    if (x->runs == 1 && e->nsteps >= QUIET_FROM)
        explorer_quiet(e, x->job.quiet);
}

static int run_next(struct exploration *x)
{
    struct schedule s;
    struct explored e;
    int code;

    if (!next_order(x, &s))
        return 0;
    code = explore_run_once(&x->job, &s, &e);
    x->runs++;
    schedule_release(&s);
    if (code == 0)
        code = check_taken_up(x, &e);
    if (code == 0) {
        x->length = e.done->chosen > x->length ? e.done->chosen : x->length;
        x->found = e.outcome != PASSED;
        if (x->found) {
            explored_schedule(&e, &x->schedule);
            x->failed = e;
            return 0;
        }
        note_quiet(x, &e);
        if (is_mode(x->options, "predict"))
            explorer_learn(x->explorer, &e);
    }
    if (option_is(x->options, OPT_VERBOSE) && code == 0)
        fprintf(stderr, "run %" PRIu64 " passed: %" PRIu64 " steps, %s%s%s\n", x->runs,
                e.done->chosen, x->why, e.done->diverged ? ", but it went another way" : "",
                e.done->outside ? ", a thread went on by itself" : "");
    explored_release(&e);
    return code;
}

/* ---- again ---- */

static bool is_same(const struct explored *a, const struct explored *b)
{
    return a->outcome == b->outcome && (a->outcome != SIGNALLED || a->code == b->code) &&
           (a->outcome != EXITED || a->code == b->code);
}

static int verify(struct exploration *x)
{
    int code = 0;

    if (x->failed.outcome == HUNG && x->of > 1)
        x->of = 1; /* each takes as long as the limit */
    for (unsigned i = 0; i < x->of && code == 0; i++) {
        struct explored e;

        code = explore_run_once(&x->job, &x->schedule, &e);
        if (code == 0)
            x->again += is_same(&e, &x->failed);
        explored_release(&e);
    }
    return code;
}

static int explore_all(struct exploration *x)
{
    int code = 0;

    x->start = seconds_now();
    while (code == 0 && !x->found && !x->exhausted && has_time(x))
        code = run_next(x);
    return code == 0 && x->found ? verify(x) : code;
}

/* ---- replay ---- */

static int replay(struct exploration *x)
{
    struct error err;
    int code = 0;

    if (schedule_read(&x->schedule, x->options->texts[OPT_REPLAY], &err) < 0)
        return bad_input("%s", err.text);
    x->start = seconds_now();
    code = explore_run_once(&x->job, &x->schedule, &x->failed);
    x->runs = 1;
    x->of = 0;
    x->why = "the schedule";
    if (code == 0)
        code = check_taken_up(x, &x->failed);
    x->found = code == 0 && x->failed.outcome != PASSED;
    return code;
}

/* ---- reports ---- */

static void print_found(struct exploration *x, FILE *out)
{
    struct buf b = { 0 };

    explore_failure(&b, &x->failed);
    fprintf(out, "failed in run %" PRIu64 " of '%s': %s\n", x->runs, x->job.argv[0], b.data);
    buf_release(&b);
    fprintf(out, "  the order was chosen for: %s\n", x->why);
    if (x->of)
        fprintf(out, "  run again in the same order it failed %u of %u times\n", x->again, x->of);
    if (x->failed.done->nsteps > EXPLORE_STEPS_MAX)
        fprintf(out, "  only its first %u steps are known\n", (unsigned)EXPLORE_STEPS_MAX);
    explore_show(&x->job, &x->failed, out);
}

static void print_nothing(const struct exploration *x, FILE *out)
{
    uint64_t classes = 0, same = 0, waiting = 0;

    explorer_counts(x->explorer, &classes, &same, &waiting);
    fprintf(out, "no failure in %" PRIu64 " run%s of '%s' (%.1f s)", x->runs, plural(x->runs),
            x->job.argv[0], seconds_now() - x->start);
    if (x->exhausted)
        fprintf(out, ": no other order is predicted");
    else if (is_mode(x->options, "predict") && !option_is(x->options, OPT_REPLAY))
        fprintf(out, "; %" PRIu64 " were different, %" PRIu64 " predicted orders were not tried",
                classes, waiting);
    if (option_is(x->options, OPT_REPLAY) && x->failed.done->diverged)
        fprintf(out, "; it left the schedule at line 'run' number %u",
                x->failed.done->diverged_first + 1);
    fputc('\n', out);
}

static void write_failure(struct emitter *e, const struct exploration *x, const char *schedule)
{
    emit_string(e, "failure", outcome_names[x->failed.outcome]);
    emit_number(e, "code", (uint64_t)x->failed.code);
    emit_number(e, "again", x->again);
    emit_number(e, "of", x->of);
    emit_number(e, "steps", x->failed.done->chosen);
    emit_number(e, "switches", x->schedule.count ? x->schedule.count - 1 : 0);
    emit_number(e, "diverged", x->failed.done->diverged);
    emit_string(e, "why", x->why);
    emit_string_if(e, "schedule", schedule);
}

static void write_json(const struct exploration *x, const char *schedule, FILE *out)
{
    struct emitter e = { .out = out };
    uint64_t classes = 0, same = 0, waiting = 0;

    explorer_counts(x->explorer, &classes, &same, &waiting);
    emit_open(&e, NULL, '{', false);
    emit_string(&e, "mode", x->options->texts[OPT_MODE]);
    emit_number(&e, "runs", x->runs);
    emit_number(&e, "different", classes);
    emit_number(&e, "exhausted", x->exhausted);
    emit_number(&e, "failed", x->found);
    if (x->found)
        write_failure(&e, x, schedule);
    emit_close(&e);
    fputc('\n', out);
}

static int report(struct exploration *x, struct outfile *out)
{
    const struct options *o = x->options;
    const char *path = option_is(o, OPT_REPLAY) ? NULL : o->texts[OPT_SCHEDULE];
    int code = 0;

    if (x->found && path)
        code = schedule_write(&x->schedule, &x->job, &x->failed, path);
    if (strcmp(o->texts[OPT_FORMAT], "json") == 0)
        write_json(x, path, out->file);
    else if (x->found)
        print_found(x, out->file);
    else
        print_nothing(x, out->file);
    if (x->found && path && code == 0 && strcmp(o->texts[OPT_FORMAT], "json") != 0)
        fprintf(out->file, "  the schedule is in '%s': heddle explore --replay %s -- %s\n", path,
                path, x->job.argv[0]);
    return code;
}

/* ---- the command ---- */

static void open_files(struct explore_job *job)
{
    char *path = program_find(job->argv[0]);
    struct error unused;

    if (path)
        job->has_files = linked_open(&job->files, path, true, &unused) == 0;
    free(path);
}

static int run_and_report(struct exploration *x)
{
    struct outfile out;
    int code = outfile_open(&out, x->options->texts[OPT_OUTPUT], stdout);

    if (code)
        return code;
    code = scratch_make(&x->job);
    if (code == 0)
        code = option_is(x->options, OPT_REPLAY) ? replay(x) : explore_all(x);
    if (code == 0)
        code = report(x, &out);
    if (code) {
        outfile_close(&out, false);
        return code;
    }
    code = outfile_close(&out, true);
    return code ? code : x->found ? EXIT_RACES : EXIT_NOTHING;
}

int cmd_explore(const struct options *given)
{
    struct exploration *x = xcalloc(1, sizeof(*x));
    struct options o = *given;
    int code, old;

    x->options = &o;
    x->job.options = &o;
    x->job.argv = o.arguments;
    o.texts[OPT_CALLS] = "none";
    o.numbers[OPT_EXIT_WAIT] = 0;
    code = take_options(x, &o);
    if (code == 0) {
        old = personality(0xffffffff);
        if (old >= 0)
            (void)personality((unsigned long)old | ADDR_NO_RANDOMIZE);
        x->explorer = explorer_new();
        open_files(&x->job);
        code = run_and_report(x);
    }
    explored_release(&x->failed);
    schedule_release(&x->schedule);
    explorer_free(x->explorer);
    linked_release(&x->job.files);
    scratch_remove(&x->job);
    free(x);
    return code;
}
