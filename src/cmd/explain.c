/* explain.c - heddle explain: one race or deadlock in full
 *
 * The steps of the schedule need the trace. A result file names it; where it
 * is gone or is another one, the steps show positions only, and say so.
 */
#include "cmd/commands.h"
#include "cmd/pipeline.h"
#include "report/text.h"

#include <string.h>
#include <unistd.h>

/* Who else uses the memory; without an answer explaining goes on without. */
static bool collect_usage(struct findings *f, const struct finding *race, struct trace *t,
                          struct usage *usage)
{
    struct naming naming;
    struct error unused;
    int got;

    naming_init(&naming, f, trace_tables(t));
    got = usage_collect(usage, race, &naming, t, &unused);
    naming_release(&naming);
    return got == 0;
}

/* Read the wanted events, and how the memory of a race is used, from the trace at hand or the one
 * the result names. NULL, or why there are none. */
static const char *explain_collect(struct result *r, const char *trace, const struct finding *race,
                                   struct steps *s, struct usage *usage)
{
    const char *path = trace ? trace : r->findings.trace.path;
    struct trace *t = r->trace;
    struct error err;
    const char *why = NULL;

    if (!t && access(path, R_OK) < 0)
        return "the trace is not there any more";
    if (!t)
        t = trace_open(path, &err);
    if (!t)
        return "the trace cannot be read any more";
    if (steps_collect(s, t, &err) < 0)
        why = "the trace is not the one that was analysed";
    if (!why && race && !collect_usage(&r->findings, race, t, usage))
        *usage = (struct usage){ 0 };
    if (t != r->trace)
        trace_close(t);
    return why;
}

/* What is explained: one or the other. */
struct subject {
    const struct finding *race;
    const struct deadlock_finding *deadlock;
    const char *trace;
    const uint64_t *witness;
    size_t nwitness;
};

static struct subject subject_of(const struct findings *f, size_t i)
{
    if (i >= f->count) {
        const struct deadlock_finding *d = &f->deadlocks[i - f->count];

        return (struct subject){ NULL, d, d->trace, d->witness, d->nwitness };
    }
    return (struct subject){ &f->races[i], NULL, f->races[i].trace, f->races[i].witness,
                             f->races[i].nwitness };
}

static bool side_agrees(const struct side *side, const struct steps *s)
{
    const struct step_text *t = steps_get(s, side->event);

    if (side->unexecuted)
        return true; /* heddle verify makes it again */
    return t && strcmp(t->thread, side->thread) == 0 && strcmp(t->location, side->location) == 0;
}

/* The trace may have changed since: the accesses and requests must still be what the result
 * says. */
static bool agrees(const struct subject *x, const struct steps *s)
{
    for (size_t k = 0; x->deadlock && k < x->deadlock->nwaiters; k++)
        if (!side_agrees(&x->deadlock->waiters[k].request, s))
            return false;
    return !x->race || (side_agrees(&x->race->sides[0], s) && side_agrees(&x->race->sides[1], s));
}

static void put_new_events(struct steps *s, const struct finding *race)
{
    for (size_t i = 0; race && i < race->nflips; i++)
        for (uint64_t k = 0; race->flips[i].steps && k < race->flips[i].nevents; k++)
            steps_put(s, &race->flips[i].steps[k]);
}

static int explain(struct result *r, const struct subject *x, const struct options *o)
{
    struct usage usage = { 0 };
    struct explain_options eo = { .full = option_is(o, OPT_FULL), .usage = &usage };
    struct outfile out;
    struct steps s;

    outfile_open(&out, NULL, stdout);
    eo.colour = outfile_colour(&out);
    steps_init(&s, &r->findings);
    text_explain_want(x->witness, x->nwitness, eo.full, &s);
    if (x->nwitness || x->race) {
        steps_seal(&s);
        put_new_events(&s, x->race);
        eo.no_steps = explain_collect(r, x->trace, x->race, &s, &usage);
        if (!eo.no_steps && x->nwitness && !agrees(x, &s))
            eo.no_steps = "the trace is not the one that was analysed";
    }
    if (eo.no_steps) { /* none of it can be trusted */
        s.next = 0;
        usage = (struct usage){ 0 };
    }
    if (x->race)
        text_explain(&r->findings, x->race, &s, &eo, out.file);
    else
        text_explain_deadlock(&r->findings, x->deadlock, &s, &eo, out.file);
    steps_release(&s);
    return EXIT_NOTHING;
}

int cmd_explain(const struct options *o)
{
    struct subject x;
    size_t found;
    struct result r;
    struct error err;
    int code = result_load(&r, o, o->arguments[0]);

    if (code)
        return code;
    found = findings_find(&r.findings, o->arguments[1], &err);
    if (found != SIZE_MAX) {
        x = subject_of(&r.findings, found);
        code = explain(&r, &x, o);
    } else {
        code = bad_input("%s", err.text);
    }
    result_release(&r);
    return code;
}
