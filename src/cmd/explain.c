/* explain.c - heddle explain: one race in full
 *
 * The steps of the schedule need the trace. A result file names it; where it
 * is gone or is another one, the steps show positions only, and say so.
 */
#include "cmd/commands.h"
#include "cmd/pipeline.h"
#include "report/text.h"

#include <string.h>
#include <unistd.h>

/* Read the wanted events, from the trace at hand or the one the result names. NULL, or why
 * there are none. */
static const char *collect(struct result *r, const struct finding *race, struct steps *s)
{
    const char *path = race->trace ? race->trace : r->findings.trace.path;
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
    if (t != r->trace)
        trace_close(t);
    return why;
}

/* The trace may have changed since: the two accesses must still be what the result says. */
static bool agrees(const struct finding *race, const struct steps *s)
{
    for (int k = 0; k < 2; k++) {
        const struct step_text *t = steps_get(s, race->sides[k].event);

        if (!t || strcmp(t->thread, race->sides[k].thread) != 0 ||
            strcmp(t->location, race->sides[k].location) != 0)
            return false;
    }
    return true;
}

static int explain(struct result *r, const struct finding *race, const struct options *o)
{
    struct explain_options eo = { .full = option_is(o, OPT_FULL) };
    struct outfile out;
    struct steps s;

    outfile_open(&out, NULL, stdout);
    eo.colour = outfile_colour(&out);
    steps_init(&s, &r->findings);
    text_explain_want(race, eo.full, &s);
    if (race->nwitness) {
        steps_seal(&s);
        eo.no_steps = collect(r, race, &s);
        if (!eo.no_steps && !agrees(race, &s))
            eo.no_steps = "the trace is not the one that was analysed";
    }
    if (eo.no_steps)
        s.next = 0; /* none of them can be trusted */
    text_explain(&r->findings, race, &s, &eo, out.file);
    steps_release(&s);
    return EXIT_NOTHING;
}

int cmd_explain(const struct options *o)
{
    const struct finding *race;
    struct result r;
    struct error err;
    int code = result_load(&r, o, o->arguments[0]);

    if (code)
        return code;
    race = findings_find(&r.findings, o->arguments[1], &err);
    code = race ? explain(&r, race, o) : bad_input("%s", err.text);
    result_release(&r);
    return code;
}
