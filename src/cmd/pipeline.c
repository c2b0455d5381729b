/* pipeline.c - from a trace to findings */
#include "cmd/pipeline.h"
#include "cmd/progress.h"
#include "engines/analysis.h"
#include "report/json.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Engines to run, in the order of the registry, which is that of their cost. */
struct choice {
    const struct engine *engines[FINDINGS_ENGINES];
    size_t count;
};

static int unknown_engine(const struct options *o, const char *name, size_t len)
{
    char known[512] = "";

    for (size_t i = 0; engine_registry[i]; i++) {
        size_t used = strlen(known);

        snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
                 engine_registry[i]->name);
    }
    return usage_error(o->command, "unknown engine '%.*s'; there are %s and 'all'", (int)len, name,
                       known);
}

static bool names_engine(const char *list, const struct engine *e)
{
    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");

        if ((n == 3 && memcmp(p, "all", 3) == 0) || engine_find(p, n) == e)
            return true;
        p += n;
        if (!*p)
            return false;
    }
}

static int choose_engines(const struct options *o, struct choice *c)
{
    const char *list = o->texts[OPT_ENGINE];

    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");

        if (!(n == 3 && memcmp(p, "all", 3) == 0) && !engine_find(p, n))
            return unknown_engine(o, p, n);
        p += n;
        if (!*p)
            break;
    }
    for (size_t i = 0; engine_registry[i]; i++)
        if (names_engine(list, engine_registry[i]))
            c->engines[c->count++] = engine_registry[i];
    return 0;
}

/* A trace without a single access is no clean bill: find the first one, then start again. */
static int require_access(struct result *r)
{
    struct batch b;
    struct error err;
    bool found = false;
    int got = 0;

    while (!found && (got = trace_next(r->trace, &b, &err)) > 0)
        for (size_t i = 0; i < b.count && !found; i++)
            found = op_is_access(b.events[i].op) || b.events[i].op == OP_FREE;
    if (got < 0)
        return operand_error(&r->from, &err);
    if (!found && trace_info(r->trace)->events == 0)
        return bad_input("nothing to analyse: '%s' has no events", r->from.shown);
    if (!found)
        return bad_input("nothing to analyse: '%s' has no memory access", r->from.shown);
    if (trace_rewind(r->trace, &err) < 0)
        return operand_error(&r->from, &err);
    return 0;
}

static void add_runs(struct findings *f, struct analysis *a, const struct tables *t)
{
    for (size_t i = 0; i < a->count; i++) {
        struct engine_result *er = &a->runs[i].result;
        size_t e = findings_add_engine(f, a->runs[i].engine->name, a->runs[i].seconds,
                                       er->complete && !a->interrupted);

        for (size_t k = 0; k < er->ncounters; k++)
            findings_add_counter(f, e, er->counters[k].name, er->counters[k].value);
        findings_add_races(f, e, &er->races, t);
    }
}

/* The engines themselves; Ctrl-C ends this early, with what was found so far. */
static int run_engines(struct result *r, const struct options *o, const struct choice *c,
                       struct analysis *a, struct error *err)
{
    struct progress progress;
    struct analysis_hooks hooks = { progress_tick, &progress };
    int got;

    progress_start(&progress, !option_is(o, OPT_QUIET), NULL);
    interrupts_on(); /* make_findings() ends it */
    got = analysis_run(r->trace, c->engines, c->count, &hooks, a, err);
    progress_stop(&progress);
    return got;
}

static void warn_about_counter(const struct findings_engine *e, const struct findings_counter *c)
{
    if (!c->value)
        return;
    if (strcmp(c->name, "witness_refused") == 0)
        warn("warning",
             "the checker refused %" PRIu64 " schedule%s of engine '%s': this is a bug in heddle, "
             "please report it",
             c->value, c->value == 1 ? "" : "s", e->name);
    if (strcmp(c->name, "witness_contradicted") == 0)
        warn("warning",
             "the values of the trace contradict its order: %" PRIu64 " race%s of engine '%s' "
             "could not be shown to be possible",
             c->value, c->value == 1 ? "" : "s", e->name);
}

/* An engine whose schedule is refused has a bug: that is said even with --quiet. */
static void warn_about_refused(const struct findings *f)
{
    for (size_t i = 0; i < f->nengines; i++)
        for (size_t k = 0; k < f->engines[i].ncounters; k++)
            warn_about_counter(&f->engines[i], &f->engines[i].counters[k]);
}

/* What engines found becomes findings, with everything a report shows. */
static int make_findings(struct result *r, const struct options *o, struct analysis *a,
                         struct error *err)
{
    struct findings *f = &r->findings;
    struct progress progress;
    struct analysis_hooks hooks = { progress_tick, &progress };
    int got = 0;

    findings_set_trace(f, r->from.shown, r->trace);
    progress_start(&progress, !option_is(o, OPT_QUIET), "looking for schedules");
    if (!a->interrupted && !option_is(o, OPT_NO_WITNESS))
        got = analysis_witness(a, r->trace, o->numbers[OPT_MAX_WITNESS], &hooks, err);
    progress_stop(&progress);
    if (got < 0)
        return -1;
    add_runs(f, a, trace_tables(r->trace));
    warn_about_refused(f);
    progress_start(&progress, !option_is(o, OPT_QUIET), "collecting details");
    f->progress = progress_show;
    f->progress_arg = &progress;
    got = findings_finish(f, r->trace, err);
    f->progress = NULL;
    progress_stop(&progress);
    interrupts_off();
    return got;
}

static int analyse_trace(struct result *r, const struct options *o, const struct choice *c)
{
    struct analysis a;
    struct error err;
    int got;

    if (run_engines(r, o, c, &a, &err) < 0)
        return operand_error(&r->from, &err);
    r->interrupted = a.interrupted;
    got = make_findings(r, o, &a, &err);
    analysis_release(&a);
    return got < 0 ? operand_error(&r->from, &err) : 0;
}

static int analyse_operand(struct result *r, const struct options *o)
{
    struct choice c = { .count = 0 };
    int code = choose_engines(o, &c);

    if (code)
        return code;
    r->trace = operand_trace(&r->from);
    if (!r->trace)
        return EXIT_BAD_INPUT;
    code = require_access(r);
    if (code == 0)
        code = analyse_trace(r, o, &c);
    if (code == 0 && !option_is(o, OPT_QUIET))
        warn_about_trace(&r->findings.trace);
    if (code == 0 && r->interrupted)
        warn("warning", "interrupted after %" PRIu64 " events; what was found so far follows",
             r->findings.trace.events);
    return code;
}

static int load(struct result *r, const struct options *o, const char *path, bool or_result)
{
    int code;

    *r = (struct result){ 0 };
    code = operand_open(&r->from, path);
    if (code)
        return code;
    if (or_result && operand_is_result(&r->from))
        code = operand_read_result(&r->from, &r->findings);
    else
        code = analyse_operand(r, o);
    if (code)
        result_release(r);
    return code;
}

int result_analyse(struct result *r, const struct options *o, const char *path)
{
    return load(r, o, path, false);
}

int result_load(struct result *r, const struct options *o, const char *path)
{
    return load(r, o, path, true);
}

void result_release(struct result *r)
{
    trace_close(r->trace);
    findings_release(&r->findings);
    operand_close(&r->from);
}

int result_code(const struct result *r)
{
    if (r->findings.count)
        return EXIT_RACES;
    return r->interrupted ? EXIT_OWN_FAILURE : EXIT_NOTHING;
}

int result_show(const struct result *r, const struct options *o)
{
    struct outfile out;
    int code = outfile_open(&out, o->texts[OPT_OUTPUT]);

    if (code)
        return code;
    if (strcmp(o->texts[OPT_FORMAT], "json") == 0)
        json_write(&r->findings, out.file);
    else
        text_report(&r->findings, outfile_colour(&out), out.file);
    code = outfile_close(&out, true);
    return code ? code : result_code(r);
}
