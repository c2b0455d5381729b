/* prop_exclude.c - code that is left out of a trace (trace/calls/exclude.h)
 *
 * Every trace gets functions: enter and exit at random places, some of them
 * to be left out, and some events at places of a file that is to be left out.
 *   1. Whatever is left out, rdit and sb report nothing that the exhaustive
 *      search on the whole trace does not know: no false alarm.
 *   2. Leaving out is the same as not having been there: all engines say of
 *      the marked trace what they say of its visible events as a file of their own.
 */
#include "properties.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "rng.h"
#include "text_trace.h"
#include "trace/calls/globs.h"
#include "trace/text/event_text.h"

enum { NOWHERE = -1, DEPTH = 4, SUBJECT_THREADS = 64 };

/* A text made from a trace, with where its events come from. */
struct version {
    struct buf text;
    int64_t *from; /* position -> position in the subject, NOWHERE */
    size_t count, cap;
    struct trace *trace;
    struct analysis analysis;
};

static void version_release(struct version *v)
{
    buf_release(&v->text);
    free(v->from);
    analysis_release(&v->analysis);
    trace_close(v->trace);
}

static void add_origin(struct version *v, int64_t from)
{
    GROW(v->from, v->cap, v->count + 1);
    v->from[v->count++] = from;
}

/* ---- a trace with functions ---- */

struct stack {
    char names[DEPTH];
    size_t depth;
    uint64_t random; /* state: the same events of a thread give the same functions */
};

static void add_frame(struct version *v, const char *thread, size_t n, struct stack *s, bool enter)
{
    char name = s->names[s->depth - 1];

    buf_add(&v->text, thread, n);
    buf_addf(&v->text, "|%s(%c)|%c.c:1\n", enter ? "enter" : "exit", name, name);
    add_origin(v, NOWHERE);
}

/* `h` is left out, `g` is not. */
static void maybe_move(struct version *v, const char *thread, size_t n, struct stack *s)
{
    uint64_t r = splitmix64(&s->random);

    if (s->depth && r % 4 == 0) {
        add_frame(v, thread, n, s, false);
        s->depth--;
    }
    if (s->depth < DEPTH && r / 4 % 4 == 0) {
        s->names[s->depth++] = r / 16 % 3 ? 'h' : 'g';
        add_frame(v, thread, n, s, true);
    }
}

static void add_functions(const struct subject *s, struct version *v)
{
    struct stack stacks[SUBJECT_THREADS] = { 0 };
    const char *p = s->text.data;

    for (size_t i = 0; i < s->mem.count; i++) {
        const char *end = strchr(p, '\n'), *bar = strchr(p, '|'), *last = bar;
        struct stack *stack = &stacks[s->mem.events[i].thread];

        while (memchr(last + 1, '|', (size_t)(end - last - 1)))
            last = memchr(last + 1, '|', (size_t)(end - last - 1));
        if (!stack->random)
            stack->random = s->mem.events[i].thread * 77 + s->mem.count;
        maybe_move(v, p, (size_t)(bar - p), stack);
        buf_add(&v->text, p, (size_t)(last + 1 - p));
        buf_addf(&v->text, "%s.c:%zu\n", splitmix64(&stack->random) % 8 ? "v" : "x", i + 10);
        add_origin(v, (int64_t)i);
        p = end + 1;
    }
}

static struct trace *open_text(const struct buf *text)
{
    struct error err = { "" };
    struct trace *t;
    char path[256];

    scratch_path(path, sizeof(path), ".std");
    scratch_write(path, text->data, text->len);
    t = trace_open(path, &err);
    unlink(path);
    if (!t) {
        fprintf(stderr, "%.*s%s\n", (int)text->len, text->data, err.text);
        abort();
    }
    return t;
}

static void analyse(struct version *v, const struct engine *const *engines, size_t n)
{
    struct error err = { "" };

    if (analysis_run(v->trace, engines, n, NULL, NULL, &v->analysis, &err))
        abort();
}

/* The trace with functions, `h` and all of x.c left out. */
static void exclude_some(const struct subject *s, struct version *v)
{
    struct globs g = { 0 };
    struct exclude_stats stats;
    struct error err = { "" };

    *v = (struct version){ 0 };
    add_functions(s, v);
    v->trace = open_text(&v->text);
    globs_add(&g, "fun:h;src:x.c");
    if (trace_exclude(v->trace, &g, &stats, &err))
        abort();
    globs_release(&g);
}

/* ---- 1 ---- */

static enum verdict no_false_alarm(struct subject *s, const struct version *v,
                                   const struct race_table *races, struct buf *why)
{
    for (size_t i = 0; i < races->count; i++) {
        const struct race *r = &races->races[i];
        int64_t a = v->from[r->first.position], b = v->from[r->second.position];

        if (r->strength > STRENGTH_WITNESSED ||
            (a != NOWHERE && b != NOWHERE && pair_set_has(&s->oracle.pairs, (size_t)a, (size_t)b)))
            continue;
        buf_addf(why, "events %lld and %lld race only with code left out:\n%.*s", (long long)a,
                 (long long)b, (int)v->text.len, v->text.data);
        return VIOLATED;
    }
    return HOLDS;
}

static enum verdict leaving_out_makes_no_race(struct subject *s, struct buf *why)
{
    const struct engine *engines[2];
    enum verdict verdict = DOES_NOT_APPLY;
    struct version v;
    size_t n = 0;

    for (size_t i = 0; engine_registry[i]; i++)
        if (!strcmp(engine_registry[i]->name, "rdit") || !strcmp(engine_registry[i]->name, "sb"))
            engines[n++] = engine_registry[i];
    if (!n || !s->exact || !s->oracle.complete || s->mem.count == 0)
        return DOES_NOT_APPLY;
    exclude_some(s, &v);
    analyse(&v, engines, n);
    for (size_t e = 0; e < n && verdict != VIOLATED; e++)
        verdict = no_false_alarm(s, &v, &v.analysis.runs[e].result.races, why);
    version_release(&v);
    return verdict;
}

/* ---- 2 ---- */

/* Its visible events as a file of their own. A call that returns at once is two lines. */
static void write_visible(struct version *of, struct version *v)
{
    struct trace_mem m;
    struct error err = { "" };

    *v = (struct version){ 0 };
    if (trace_rewind(of->trace, &err) || trace_load(of->trace, 1 << 16, &m, &err))
        abort();
    for (size_t i = 0; i < m.count; i++) {
        struct event ev = m.events[i];

        if (ev.flags & EV_EXCLUDED)
            continue;
        text_event(&v->text, &ev, m.extra, trace_tables(of->trace));
        add_origin(v, (int64_t)i);
        if (!(ev.flags & EV_ALONE))
            continue;
        ev.op = OP_RETURN;
        text_event(&v->text, &ev, m.extra, trace_tables(of->trace));
        add_origin(v, (int64_t)i);
    }
    trace_mem_release(&m);
}

static bool has_race(const struct race_table *t, uint64_t a, uint64_t b)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->races[i].first.position == a && t->races[i].second.position == b)
            return true;
    return false;
}

static enum verdict same_races(const struct version *marked, const struct version *alone, size_t e,
                               struct buf *why)
{
    const struct race_table *a = &marked->analysis.runs[e].result.races;
    const struct race_table *b = &alone->analysis.runs[e].result.races;
    bool same = a->count == b->count;

    for (size_t i = 0; i < b->count && same; i++)
        same = has_race(a, (uint64_t)alone->from[b->races[i].first.position],
                        (uint64_t)alone->from[b->races[i].second.position]);
    if (same)
        return HOLDS;
    buf_addf(why, "%s finds %u races among the marked events of\n%.*s%u among those:\n%.*s",
             engine_registry[e]->name, (unsigned)a->count, (int)marked->text.len, marked->text.data,
             (unsigned)b->count, (int)alone->text.len, alone->text.data);
    return VIOLATED;
}

static enum verdict left_out_is_not_there(struct subject *s, struct buf *why)
{
    struct version marked, alone;
    enum verdict verdict = HOLDS;

    if (s->info->loose) /* where code is left out marks do not count, else they do */
        return DOES_NOT_APPLY;
    if (!s->exact || s->mem.count == 0)
        return DOES_NOT_APPLY;
    exclude_some(s, &marked);
    analyse(&marked, engine_registry, s->nengines);
    write_visible(&marked, &alone);
    if (alone.text.len) {
        alone.trace = open_text(&alone.text);
        analyse(&alone, engine_registry, s->nengines);
        /* Without any branch left the file no longer says that the others did not matter. */
        if (trace_info(alone.trace)->branches != trace_info(marked.trace)->branches)
            verdict = DOES_NOT_APPLY;
        for (size_t e = 0; e < s->nengines && verdict == HOLDS; e++)
            verdict = same_races(&marked, &alone, e, why);
    }
    version_release(&alone);
    version_release(&marked);
    return verdict;
}

const struct property properties_exclude[] = {
    { "leaving code out makes no race", leaving_out_makes_no_race, 1 },
    { "what is left out is as if it were not there", left_out_is_not_there, 4 },
    { NULL, NULL, 0 },
};
