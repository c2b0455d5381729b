/* confirm.c - heddle confirm: make a race happen on the real program (docs/design/confirm.md)
 *
 * The races come from a trace, or from a result and the trace it names; the program is run again
 * as it was recorded. Each race has its own runs.
 */
#include "cmd/confirm/confirm.h"
#include "base/alloc.h"
#include "cmd/command_file.h"
#include "cmd/commands.h"
#include "cmd/confirm/confirm_outcomes.h"
#include "cmd/confirm/confirm_plan.h"
#include "cmd/noise.h"
#include "cmd/pipeline.h"
#include "cmd/production/production.h"
#include "cmd/runs.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const verdict_names[4] = { "not met", "diverged", "confirmed", "not tried" };

struct job {
    const struct options *options;
    struct result result;
    struct findings *findings; /* borrowed: of the result, or the caller's */
    struct confirmation *list;
    size_t count;
    char *first_trace; /* owned: absolute */
    struct command_file command;
    char **argv; /* what is run */
};

/* ---- which races ---- */

/* The file that a race's positions are in; owned. */
static char *trace_of(const struct job *j, const struct finding *r)
{
    const char *path = r->trace ? r->trace : j->findings->trace.path;
    struct tracedir d = { 0 };
    char *only = NULL;

    if (!tracedir_is(path))
        return realpath(path, NULL);
    if (tracedir_read(&d, path) == 0)
        runs_select_last(&d, path);
    if (d.count == 1)
        only = realpath(d.files[0].path, NULL);
    tracedir_release(&d);
    return only;
}

static void not_tried(struct confirmation *c, const char *why)
{
    c->verdict = VERDICT_NOT_TRIED;
    c->why = xstrndup(why, strlen(why));
}

static void plan_race(struct job *j, struct confirmation *c)
{
    char *path = trace_of(j, c->race);
    struct error err;
    struct trace *t = NULL;

    if (!path)
        not_tried(c, "its trace is not there any more");
    else if (!(t = trace_open(path, &err)))
        not_tried(c, err.text);
    if (t) {
        c->plan = xcalloc(1, sizeof(*c->plan));
        if (confirm_plan(c->plan, c->race, t, &err) < 0)
            not_tried(c, err.text);
        trace_close(t);
    }
    if (!j->first_trace && path)
        j->first_trace = xstrndup(path, strlen(path));
    c->trace = path;
}

static void take_race(struct job *j, size_t i)
{
    for (size_t k = 0; k < j->count; k++)
        if (j->list[k].race == &j->findings->races[i])
            return;
    j->list[j->count++] = (struct confirmation){ .race = &j->findings->races[i] };
}

static int choose(struct job *j, char *const *names, int n)
{
    const struct findings *f = j->findings;
    struct error err;

    j->list = xcalloc(f->count + 1, sizeof(*j->list));
    for (size_t i = 0; n == 0 && i < f->count; i++)
        take_race(j, i);
    for (int k = 0; k < n; k++) {
        size_t i = findings_find(f, names[k], &err);

        if (i == SIZE_MAX)
            return bad_input("%s", err.text);
        if (i >= f->count)
            return bad_input("'%s' is a deadlock; only races can be confirmed", names[k]);
        take_race(j, i);
    }
    for (size_t i = 0; i < j->count; i++)
        plan_race(j, &j->list[i]);
    return 0;
}

/* ---- what is run ---- */

static int enter_recorded(struct job *j)
{
    struct error err;

    if (!j->first_trace || command_file_read(&j->command, j->first_trace, &err) < 0)
        return bad_input("how the program was run is not known (%s); say '-- PROG ARGS...'",
                         j->first_trace ? err.text : "there is no trace");
    if (chdir(j->command.directory) < 0)
        return bad_input("cannot go to '%s': %s", j->command.directory, strerror(errno));
    environ = j->command.environment;
    j->argv = j->command.argv;
    return 0;
}

/* ---- tries ---- */

static bool is_told_by_memory(const struct steer_side *s)
{
    return !(s->module[0] | s->module[1]);
}

/* Where no site tells an access, another one to the same memory may have been met: a race, but not
 * the one that was asked for. */
static bool is_the_race(const struct confirmation *c)
{
    const struct side *met, *asked = c->race->sides;

    if (!c->seen.count)
        return false;
    if (!is_told_by_memory(&c->plan->side[0]) && !is_told_by_memory(&c->plan->side[1]))
        return true;
    met = c->seen.races[0].sides;
    for (unsigned k = 0; k < 2; k++)
        if (strcmp(met[0].location, asked[k].location) == 0 &&
            strcmp(met[1].location, asked[!k].location) == 0)
            return true;
    return false;
}

/* What the schedule of this race will be made of. */
static void take_meeting(struct confirmation *c, const struct steer_plan *plan)
{
    c->verdict = VERDICT_CONFIRMED;
    c->met = xcalloc(1, sizeof(*c->met));
    *c->met = *plan;
    c->met->done = c->done;
}

static unsigned outcome_runs(const struct options *o)
{
    return (unsigned)o->numbers[OPT_RUNS];
}

static int confirm_one(const struct confirm_run *run, struct confirmation *c, uint64_t tries)
{
    struct steer_plan *plan = xcalloc(1, sizeof(*plan));
    int code = 0;

    for (; code == 0 && c->tries < tries && c->verdict != VERDICT_CONFIRMED; c->tries++) {
        confirm_vary(plan, c->plan, c->tries);
        code = confirm_run_once(run, plan, c);
        if (code == 0 && is_the_race(c))
            take_meeting(c, plan);
    }
    if (code == 0 && c->verdict == VERDICT_CONFIRMED && option_is(run->options, OPT_OUTCOMES)) {
        c->outcomes = xcalloc(1, sizeof(*c->outcomes));
        code = outcomes_collect(c->outcomes, run, c, outcome_runs(run->options));
    }
    if (code == 0 && c->verdict != VERDICT_CONFIRMED) {
        c->verdict = confirm_diverged(&c->done) ? VERDICT_DIVERGED : VERDICT_NOT_MET;
        c->why = confirm_reason(&c->done);
    }
    free(plan);
    return code;
}

static int confirm_all(struct job *j)
{
    const struct options *o = j->options;
    struct confirm_run run;
    int code = confirm_open(&run, o, j->argv, confirm_recorded_ns(j->first_trace));

    for (size_t i = 0; i < j->count && code == 0; i++)
        if (j->list[i].verdict != VERDICT_NOT_TRIED)
            code = confirm_one(&run, &j->list[i], o->numbers[OPT_TRIES]);
    confirm_close(&run);
    return code;
}

/* ---- the command ---- */

/* Of the first one that was confirmed. */
static int keep_schedule(const struct job *j, struct outfile *to)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->list[i].verdict == VERDICT_CONFIRMED) {
            int code = confirm_keep(&j->list[i], to->file), closed = outfile_close(to, code == 0);

            return code ? code : closed;
        }
    outfile_close(to, false);
    warn("note", "no race was confirmed: '%s' is not written", to->path);
    return 0;
}

static enum outcome_rank rank_of(const struct confirmation *c)
{
    return c->outcomes ? c->outcomes->rank : OUTCOME_SAME;
}

/* The worst first; of equal ones those that differ; else as they came. */
static int compare_outcomes(const void *a, const void *b)
{
    const struct confirmation *x = a, *y = b;
    bool dx = x->outcomes && x->outcomes->differs, dy = y->outcomes && y->outcomes->differs;

    if (rank_of(x) != rank_of(y))
        return rank_of(x) > rank_of(y) ? -1 : 1;
    if (dx != dy)
        return dx ? -1 : 1;
    return x->race < y->race ? -1 : x->race > y->race;
}

static int show(const struct job *j, struct outfile *out)
{
    bool any = false;
    int code;

    if (j->count)
        qsort(j->list, j->count, sizeof(*j->list), compare_outcomes);
    confirm_show(j->list, j->count, j->options, out->file);
    for (size_t i = 0; i < j->count; i++)
        any |= j->list[i].verdict == VERDICT_CONFIRMED;
    code = outfile_close(out, true);
    return code ? code : any ? EXIT_RACES : EXIT_NOTHING;
}

static void release(struct job *j)
{
    for (size_t i = 0; i < j->count; i++) {
        findings_release(&j->list[i].seen);
        outcomes_free(j->list[i].outcomes);
        free(j->list[i].crash);
        free(j->list[i].trace);
        free(j->list[i].plan);
        free(j->list[i].met);
        free(j->list[i].why);
    }
    free(j->list);
    free(j->first_trace);
    command_file_release(&j->command);
    result_release(&j->result);
}

static int run_job(struct job *j, const struct options *o, int names)
{
    int code = choose(j, o->arguments, names);

    if (code == 0 && names < o->narguments)
        j->argv = o->arguments + names;
    else if (code == 0 && j->count)
        code = enter_recorded(j);
    return code ? code : confirm_all(j);
}

/* The files for results are named from where we are now. */
static int run_and_show(struct job *j, const struct options *o, int names)
{
    struct outfile out, schedule;
    bool keep = option_is(o, OPT_SCHEDULE);
    int code = outfile_open(&out, o->texts[OPT_OUTPUT], stdout), kept = 0;

    if (code)
        return code;
    if (keep)
        code = outfile_open(&schedule, o->texts[OPT_SCHEDULE], stdout);
    if (code == 0)
        code = run_job(j, o, names);
    else
        keep = false;
    if (keep && code == 0)
        kept = keep_schedule(j, &schedule);
    else if (keep)
        outfile_close(&schedule, false);
    if (code == 0)
        code = show(j, &out);
    else
        outfile_close(&out, false);
    return kept ? kept : code;
}

/* ---- run --confirm ---- */

static void tell(struct findings *f, struct finding *r, const struct confirmation *c)
{
    r->confirmation = verdict_names[c->verdict];
    r->tries = c->tries;
    r->confirmation_reason = findings_string(f, c->why);
    if (c->verdict == VERDICT_CONFIRMED)
        r->strength = STRENGTH_CONFIRMED;
}

int confirm_findings(struct findings *f, const struct options *o, size_t n)
{
    struct options with = *o;
    struct job j = { .options = &with, .findings = f, .argv = o->arguments };
    int code;

    with.numbers[OPT_TRIES] = CONFIRM_TRIES;
    n = n < f->count ? n : f->count;
    j.list = xcalloc(n + 1, sizeof(*j.list));
    for (size_t i = 0; i < n; i++) {
        take_race(&j, i);
        plan_race(&j, &j.list[i]);
    }
    code = n ? confirm_all(&j) : 0;
    for (size_t i = 0; code == 0 && i < n; i++)
        tell(f, &f->races[i], &j.list[i]);
    release(&j);
    return code;
}

int cmd_confirm(const struct options *o)
{
    int names = o->before_dashes >= 0 ? o->before_dashes : o->narguments, code;
    struct confirm_run unused;
    struct job j = { .options = o };

    if (o->before_dashes == o->narguments)
        return usage_error(o->command, "a program is missing behind '--'");
    if (o->numbers[OPT_RUNS] < 1 || o->numbers[OPT_RUNS] > 1000)
        return usage_error(o->command, "option '--runs' takes 1 to 1000, not '%s'",
                           o->texts[OPT_RUNS]);
    code = confirm_times(&unused, o);
    if (code == 0)
        code = result_load(&j.result, o, o->texts[OPT_TRACE]);
    if (code)
        return code;
    j.findings = &j.result.findings;
    code = run_and_show(&j, o, names);
    release(&j);
    return code;
}
