/* exclusion.c - the options --exclude and --exclude-from: code that is left out of a trace
 *
 * What is left out is counted and said: a result without it would look like one of the whole
 * program. A pattern that fits nothing is most likely a mistake.
 */
#include "cmd/exclusion.h"
#include "symbol/symbol.h"
#include "trace/calls/globs.h"

#include <inttypes.h>

static int read_patterns(const struct options *o, struct globs *g)
{
    const struct option_list *texts = &o->lists[OPT_EXCLUDE], *files = &o->lists[OPT_EXCLUDE_FROM];
    struct error err;

    *g = (struct globs){ .readable = sym_demangle };
    for (size_t i = 0; i < texts->count; i++)
        globs_add(g, texts->texts[i]);
    for (size_t i = 0; i < files->count; i++)
        if (globs_add_file(g, files->texts[i], &err) < 0)
            return bad_input("%s", err.text);
    return 0;
}

int exclusion_check(const struct options *o)
{
    struct globs g;
    int code = read_patterns(o, &g);

    globs_release(&g);
    return code;
}

static const char *s(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void say(const struct operand *in, const struct globs *g, const struct exclude_stats *x)
{
    for (size_t i = 0; i < g->count; i++)
        if (!g->list[i].used)
            warn("warning", "--exclude: '%s' matches nothing in '%s'", g->list[i].text, in->shown);
    warn("note",
         "left out of '%s': %" PRIu64 " function%s, %" PRIu64 " event%s; %" PRIu64 " call%s of "
         "untraced code instead",
         in->shown, x->functions, s(x->functions), x->events, s(x->events), x->pairs, s(x->pairs));
    if (x->halves)
        warn("note",
             "%" PRIu64 " of these calls %s an acquire or release whose other half is left out",
             x->halves, x->halves == 1 ? "was" : "were");
    if (x->all)
        warn("note", "%" PRIu64 " of these calls touch%s so much that everything counts as touched",
             x->all, x->all == 1 ? "es" : "");
}

int exclusion_apply(const struct options *o, const struct operand *in, struct trace *t)
{
    struct exclude_stats stats;
    struct globs g;
    struct error err;
    int code = read_patterns(o, &g);

    if (code == 0 && g.count) {
        if (trace_exclude(t, &g, &stats, &err) < 0)
            code = operand_error(in, &err);
        else if (!option_is(o, OPT_QUIET))
            say(in, &g, &stats);
    }
    globs_release(&g);
    return code;
}
