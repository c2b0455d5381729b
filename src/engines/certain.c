/* certain.c - which reads surely saw the write that the trace says they saw
 *
 * One pass lets fasttrack name the variables with a race (order/lives.h gives
 * them names that last), a second one marks their reads. Code that is left out counts in both:
 * how certain the order of a recording is was decided when it was made.
 */
#include "engines/certain.h"
#include "base/alloc.h"
#include "engines/streaming/fasttrack.h"
#include "engines/showable.h"
#include "engines/sieve.h"
#include "order/lives.h"
#include "order/memory.h"

#include <stdlib.h>
#include <string.h>

struct certain {
    uint64_t limit;
    uint64_t *uncertain; /* bit by position */
    struct lives lives;
    bool *racy; /* life -> its variable has a race */
    size_t racy_cap;
    uint32_t *life_of_step; /* of the span at hand */
    size_t steps_cap;
    const struct span *span;
    void *fasttrack; /* in the first pass */
    struct engine_result unused;
};

/* The life that each step of the span is about. */
static void number_steps(struct certain *c, const struct span *span)
{
    lives_begin_span(&c->lives, span);
    GROW(c->life_of_step, c->steps_cap, span->count);
    c->span = span;
    for (size_t i = 0; i < span->count; i++)
        if (span->steps[i].op == OP_SPLIT || op_is_access(span->steps[i].op))
            c->life_of_step[i] = lives_of(&c->lives, &span->steps[i]);
    GROW(c->racy, c->racy_cap, c->lives.known);
}

static void at_race(void *arg, const struct step *s)
{
    struct certain *c = arg;

    c->racy[c->life_of_step[s - c->span->steps]] = true;
}

static void *open_certain(struct engine_result *result, const struct engine_options *options)
{
    struct certain *c = xcalloc(1, sizeof(*c));

    (void)result;
    race_table_init(&c->unused.races);
    c->fasttrack = engine_fasttrack.open(&c->unused, options);
    fasttrack_watch(c->fasttrack, at_race, c);
    return c;
}

static void certain_learn(void *state, const struct span *span)
{
    struct certain *c = state;

    number_steps(c, span);
    engine_fasttrack.steps(c->fasttrack, span);
}

static void end_fasttrack(struct certain *c)
{
    if (!c->fasttrack)
        return;
    engine_fasttrack.close(c->fasttrack);
    race_table_release(&c->unused.races);
    c->fasttrack = NULL;
}

static void close_certain(void *state)
{
    certain_free(state);
}

const struct engine engine_certain = { .name = "certain",
                                       .summary = "which reads surely saw what they saw",
                                       .open = open_certain,
                                       .steps = certain_learn,
                                       .close = close_certain };

static int find_racy(struct certain *c, struct trace *t, struct error *err)
{
    struct memory *m = memory_new();
    struct batch b;
    struct span span;
    int r;

    while ((r = trace_next(t, &b, err)) > 0) {
        memory_steps(m, &b, &span);
        certain_learn(c, &span);
    }
    memory_free(m);
    return r;
}

static void gather_families(struct certain *c)
{
    for (uint32_t i = 0; i < c->lives.known; i++)
        if (c->racy[i])
            c->racy[lives_family(&c->lives, i)] = true;
    lives_restart(&c->lives);
}

static void mark_steps(struct certain *c, const struct span *span)
{
    number_steps(c, span);
    for (size_t i = 0; i < span->count; i++) {
        const struct step *s = &span->steps[i];

        if (op_is_access(s->op) && op_table[s->op].reads && s->position < c->limit &&
            c->racy[lives_family(&c->lives, c->life_of_step[i])])
            c->uncertain[s->position / 64] |= (uint64_t)1 << (s->position % 64);
    }
}

/* Who saw what counts of all that matters; which reads are uncertain only of what the first pass
 * looked at. */
static int mark_reads(struct certain *c, struct trace *t, const struct certain_marks *marks,
                      struct showable_flow *flow, struct error *err)
{
    struct memory *all = memory_new(), *m = memory_new();
    struct batch b;
    struct span span, all_span;
    int r;

    while ((r = trace_next(t, &b, err)) > 0 && b.first < c->limit) {
        if (marks && marks->sieve)
            sieve_mark(marks->sieve, &b);
        if (flow)
            memory_steps(all, &b, &all_span);
        if (marks && marks->suspects)
            sieve_mark_suspects(marks->sieve, &b);
        memory_steps(m, &b, &span);
        mark_steps(c, &span);
        if (flow)
            showable_batch(flow, &b, &all_span, c);
    }
    memory_free(all);
    memory_free(m);
    return r;
}

/* The second pass. */
static int find_uncertain(struct certain *c, struct trace *t, uint64_t limit,
                          const struct certain_marks *marks, struct showable_flow *flow,
                          struct error *err)
{
    end_fasttrack(c);
    gather_families(c);
    c->limit = limit;
    c->uncertain = xcalloc(limit / 64 + 1, sizeof(*c->uncertain));
    return trace_rewind(t, err) < 0 || mark_reads(c, t, marks, flow, err) < 0 ? -1 : 0;
}

struct certain *certain_new(struct trace *t, uint64_t limit, struct error *err)
{
    struct certain *c = open_certain(NULL, NULL);
    int r;

    trace_show_excluded(t, true);
    r = trace_rewind(t, err) < 0 || find_racy(c, t, err) < 0 ? -1 : 0;
    if (r == 0)
        r = find_uncertain(c, t, limit, NULL, NULL, err);
    trace_show_excluded(t, false);
    if (r == 0)
        return c;
    certain_free(c);
    return NULL;
}

struct certain *certain_finish(void *state, struct trace *t, const struct certain_marks *marks,
                               uint64_t beginning, uint64_t step, struct showable *out,
                               struct error *err)
{
    uint64_t events = trace_info(t)->events;
    struct showable_flow *flow = out ? showable_begin(events, beginning, step) : NULL;
    int r = find_uncertain(state, t, events, marks, flow, err);

    if (flow)
        showable_end(flow, out);
    if (r == 0)
        return state;
    if (out)
        showable_release(out);
    certain_free(state);
    return NULL;
}

struct certain *certain_but(uint64_t events, const uint64_t *uncertain, size_t n)
{
    struct certain *c = xcalloc(1, sizeof(*c));

    c->limit = events;
    c->uncertain = xcalloc(events / 64 + 1, sizeof(*c->uncertain));
    for (size_t i = 0; i < n; i++)
        c->uncertain[uncertain[i] / 64] |= (uint64_t)1 << (uncertain[i] % 64);
    return c;
}

void certain_free(struct certain *c)
{
    if (!c)
        return;
    end_fasttrack(c);
    free(c->uncertain);
    lives_release(&c->lives);
    free(c->racy);
    free(c->life_of_step);
    free(c);
}

bool certain_is(const struct certain *c, uint64_t position)
{
    return !(c->uncertain[position / 64] >> (position % 64) & 1);
}
