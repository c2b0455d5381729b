/* replay.c - heddle replay: can the race of a schedule still happen? (docs/design/confirm.md)
 *
 * Three questions, from the cheap to the dear. Is the code still there (site tables)? Where are the
 * schedule's events in this build (one recorded run)? Do the two accesses meet (controlled runs,
 * each giving up another part of the schedule)? Where they do not, the recorded run is analysed: a
 * race between the same places gives another schedule, which is tried as well, and if it is a race
 * for certain, it can still happen, met or not.
 */
#include "base/alloc.h"
#include "base/plural.h"
#include "cmd/commands.h"
#include "cmd/confirm/confirm.h"
#include "cmd/confirm/confirm_plan.h"
#include "cmd/launch.h"
#include "cmd/pipeline.h"
#include "cmd/confirm/remake.h"
#include "report/json_emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_NO_LONGER_APPLIES = 3, CHOICE_TRIES = 3 };

struct again {
    const struct options *options;
    struct race_schedule schedule;
    struct remake replay;
    struct confirm_run run;
    struct tracedir traces;
    char *trace; /* owned: of the process that the schedule is about; NULL: there is none */
    struct confirmation seen;
    unsigned runs, came[2]; /* controlled runs, and those in which a thread came to the access */
    bool predicted;         /* the recorded run has the race, or a schedule for it */
    struct result analysis;
    const struct finding *race; /* of the analysis: between the same places */
    char *why;                  /* owned: no longer applies */
};

/* ---- the recorded run ---- */

/* Of the processes of that run: the first whose kind is right. */
static int find_trace(struct again *a)
{
    for (size_t i = 0; i < a->traces.count && !a->trace; i++) {
        struct error err;
        struct trace *t = trace_open(a->traces.files[i].path, &err);

        if (t && !trace_tables(t)->process.numbers[PROCESS_FORKED] == !a->schedule.forked)
            a->trace = xstrndup(a->traces.files[i].path, strlen(a->traces.files[i].path));
        trace_close(t);
    }
    if (!a->trace)
        a->why = xasprintf("no process of the program was recorded that is like the schedule's");
    return 0;
}

static int find_events(struct again *a)
{
    struct error err;
    struct trace *t = trace_open(a->trace, &err);
    int r = t ? remake_events(&a->replay, t, &err) : -1;

    trace_close(t);
    if (r < 0)
        a->why = xasprintf("%s", err.text);
    return 0;
}

static int replay_record(struct again *a)
{
    uint64_t ns;
    int code = confirm_record(&a->run, &a->traces, &ns);

    if (code)
        return code;
    confirm_times_by(&a->run, ns);
    find_trace(a);
    return a->why ? 0 : find_events(a);
}

/* ---- controlled runs ---- */

static int try_plan(struct again *a, const struct steer_plan *plan, unsigned tries)
{
    struct steer_plan *varied = xcalloc(1, sizeof(*varied));
    struct confirmation *c = &a->seen;
    int code = 0;

    for (unsigned n = 0; code == 0 && n < tries && !c->seen.count; n++) {
        confirm_vary(varied, plan, n);
        c->tries = 0; /* keep what this run has seen */
        code = confirm_run_once(&a->run, varied, c);
        a->runs++;
        for (unsigned k = 0; k < 2; k++)
            a->came[k] += c->done.came[k] != 0;
    }
    free(varied);
    return code;
}

/* Where several sites may be meant, the first choice gets all tries, each other one a few. */
static int try_schedule(struct again *a)
{
    struct steer_plan *plan = xcalloc(1, sizeof(*plan));
    unsigned tries = (unsigned)a->options->numbers[OPT_TRIES];
    int code = 0;

    for (size_t i = 0; code == 0 && i < remake_choices(&a->replay) && !a->seen.seen.count; i++) {
        remake_plan(&a->replay, plan, i);
        code = try_plan(a, plan, i && tries > CHOICE_TRIES ? CHOICE_TRIES : tries);
    }
    free(plan);
    return code;
}

/* ---- the analysis of the recorded run ---- */

static bool is_at(const struct again *a, unsigned k, const char *location)
{
    uint32_t line, column;
    size_t n;

    if (!location || !location_split(location, &n, &line, &column))
        return false;
    for (size_t i = 0; i < a->replay.sites[k].count; i++) {
        const struct prod_site *at = &a->replay.sites[k].at[i];
        const struct sites_header *h = linked_find(&a->replay.files, at->module, NULL);
        const struct sites_site *s = h ? sites_site(h, at->index) : NULL;
        struct buf file = { 0 };
        bool same;

        if (!s || s->line != line || s->column != column)
            continue;
        sites_file(h, s->file, &file);
        same = file.data && file.len >= n && memcmp(file.data + file.len - n, location, n) == 0;
        if (!same && file.data && file.len < n)
            same = strncmp(location + n - file.len, file.data, file.len) == 0;
        buf_release(&file);
        if (same)
            return true;
    }
    return false;
}

static bool is_same_race(const struct again *a, const struct finding *r)
{
    for (unsigned k = 0; k < 2; k++)
        if (is_at(a, 0, r->sides[k].location) && is_at(a, 1, r->sides[!k].location))
            return true;
    return false;
}

/* Sure enough to say that it can happen: a schedule that the checker accepted, or accesses that
 * nothing ordered. */
static bool is_certain(const struct finding *r)
{
    return r->strength == STRENGTH_WITNESSED || r->strength == STRENGTH_OBSERVED;
}

static int replay_analyse(struct again *a)
{
    struct options quiet = *a->options;
    int code;

    quiet.texts[OPT_QUIET] = "";
    code = result_load(&a->analysis, &quiet, a->trace);
    for (size_t i = 0; code == 0 && i < a->analysis.findings.count && !a->race; i++)
        if (is_same_race(a, &a->analysis.findings.races[i]))
            a->race = &a->analysis.findings.races[i];
    return code;
}

static int try_analysis(struct again *a)
{
    struct steer_plan *plan;
    struct error err;
    struct trace *t;
    int code = replay_analyse(a);

    if (code || !a->race)
        return code;
    a->predicted = is_certain(a->race);
    plan = xcalloc(1, sizeof(*plan));
    t = trace_open(a->trace, &err);
    if (t && confirm_plan(plan, a->race, t, &err) == 0)
        code = try_plan(a, plan, (unsigned)a->options->numbers[OPT_TRIES]);
    trace_close(t);
    free(plan);
    return code;
}

/* ---- what came of it ---- */

static void check_reached(struct again *a)
{
    if (a->seen.seen.count || a->predicted || (a->came[0] && a->came[1]))
        return;
    a->why = xasprintf("no thread came to the %s access in %u run%s",
                       a->came[0]   ? "second"
                       : a->came[1] ? "first"
                                    : "first or the second",
                       a->runs, plural(a->runs));
}

static int verdict(const struct again *a)
{
    if (a->why)
        return EXIT_NO_LONGER_APPLIES;
    return a->seen.seen.count || a->predicted ? EXIT_RACES : EXIT_NOTHING;
}

static void print_side(const struct side *s, FILE *out)
{
    fprintf(out, "  %s before its %s of %" PRIu64 " byte%s at %s\n", s->thread, s->op, s->bytes,
            plural(s->bytes), s->location);
    for (size_t i = 0; i < s->stack.count; i++) {
        const struct frame *f = &s->stack.frames[i];

        fprintf(out, "      #%zu %s%s%s\n", i, f->function ? f->function : "",
                f->function && f->location ? " at " : "", f->location ? f->location : "");
    }
}

static void print_not_met(const struct again *a, FILE *out)
{
    unsigned tries = (unsigned)a->options->numbers[OPT_TRIES];

    fprintf(out,
            "the race could not be made to happen: in %u controlled run%s the two accesses did not "
            "meet,\nthough threads came to the first in %u and to the second in %u of them. Tried "
            "were:\n",
            a->runs, plural(a->runs), a->came[0], a->came[1]);
    for (unsigned i = 0; i < tries && i < 10; i++)
        fprintf(out, "  - %s\n", confirm_variation(i));
    fprintf(out, "The analysis of a free run %s. This is no proof that the race is gone.\n",
            a->race ? "has only a weak suspicion of a race between them"
                    : "finds no race between them");
}

static void print_text(const struct again *a, FILE *out)
{
    if (a->why) {
        fprintf(out, "the schedule no longer applies: %s\n", a->why);
        return;
    }
    if (a->replay.events_missing)
        fprintf(out, "%zu event%s of the schedule did not come in a free run and %s left out\n",
                a->replay.events_missing, plural(a->replay.events_missing),
                a->replay.events_missing == 1 ? "was" : "were");
    for (unsigned k = 0; k < 2; k++)
        if (a->replay.sites[k].moved)
            fprintf(out,
                    "the %s access was among %" PRIu64
                    " of its kind in its function; there is another number of them now\n",
                    k ? "second" : "first", a->schedule.access[k].place.of);
    if (a->seen.seen.count) {
        fprintf(out, "the race can still happen; it was met in controlled run %u:\n", a->runs);
        for (unsigned k = 0; k < 2; k++)
            print_side(&a->seen.seen.races[0].sides[k], out);
    } else if (a->predicted) {
        fprintf(out,
                "the race can still happen: %u controlled run%s did not meet it, but the analysis "
                "of a free\nrun says '%s' of the same two accesses (race %s)\n",
                a->runs, plural(a->runs), strength_names[a->race->strength], a->race->id);
    } else {
        print_not_met(a, out);
    }
}

static void print_json(const struct again *a, FILE *out)
{
    struct emitter e = { .out = out };

    emit_open(&e, NULL, '{', false);
    emit_number(&e, "schema", 1);
    if (a->schedule.id)
        emit_string(&e, "race", a->schedule.id);
    emit_string(&e, "verdict",
                a->why                               ? "no longer applies"
                : a->seen.seen.count || a->predicted ? "can happen"
                                                     : "not met");
    if (a->why)
        emit_string(&e, "reason", a->why);
    emit_number(&e, "met", a->seen.seen.count);
    emit_number(&e, "predicted", a->predicted);
    emit_number(&e, "runs", a->runs);
    emit_number(&e, "runs_at_first", a->came[0]);
    emit_number(&e, "runs_at_second", a->came[1]);
    emit_number(&e, "events_left_out", a->replay.events_missing);
    emit_close(&e);
    fputc('\n', out);
}

static int replay_show(const struct again *a)
{
    struct outfile out;
    int code = outfile_open(&out, a->options->texts[OPT_OUTPUT], stdout);

    if (code)
        return code;
    if (strcmp(a->options->texts[OPT_FORMAT], "json") == 0)
        print_json(a, out.file);
    else
        print_text(a, out.file);
    code = outfile_close(&out, true);
    return code ? code : verdict(a);
}

/* ---- the command ---- */

static int replay(struct again *a)
{
    int code = replay_record(a);

    if (code == 0 && !a->why)
        code = try_schedule(a);
    if (code == 0 && !a->why && !a->seen.seen.count)
        code = try_analysis(a);
    if (code == 0 && !a->why)
        check_reached(a);
    return code;
}

static int find_program(struct again *a)
{
    const char *name = a->run.argv[0];
    char *path = program_find(name);
    struct error err;
    int found = path ? remake_find(&a->replay, &a->schedule, path, &err)
                     : error_set(&err, "cannot find the program '%s'", name);

    free(path);
    if (found > 0)
        a->why = xasprintf("%s", err.text);
    return found < 0 ? bad_input("%s", err.text) : 0;
}

static void release_in_replay(struct again *a)
{
    confirm_close(&a->run);
    tracedir_release(&a->traces);
    findings_release(&a->seen.seen);
    result_release(&a->analysis);
    remake_release(&a->replay);
    race_schedule_release(&a->schedule);
    free(a->trace);
    free(a->why);
}

int cmd_replay(const struct options *o)
{
    struct again a = { .options = o };
    struct error err;
    int code;

    if (o->before_dashes != 1)
        return usage_error(o->command, "expected a schedule, '--' and a program");
    if (race_schedule_read(&a.schedule, o->arguments[0], &err) < 0)
        return bad_input("%s", err.text);
    code = confirm_open(&a.run, o, o->arguments + 1, 0);
    if (code == 0)
        code = find_program(&a);
    if (code == 0 && !a.why)
        code = replay(&a);
    if (code == 0)
        code = replay_show(&a);
    release_in_replay(&a);
    return code;
}
