/* certain.c - which reads surely saw the write that the trace says they saw
 *
 * One pass lets fasttrack name the variables with a race (order/lives.h gives
 * them names that last), a second one marks their reads. Code that is left out counts in both:
 * how certain the order of a recording is was decided when it was made.
 */
#include "engines/certain.h"
#include "base/alloc.h"
#include "engines/fasttrack.h"
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

static int find_racy(struct certain *c, struct trace *t, struct error *err)
{
    struct engine_result unused = { 0 };
    struct memory *m = memory_new();
    void *fasttrack;
    struct batch b;
    struct span span;
    int r;

    race_table_init(&unused.races);
    fasttrack = engine_fasttrack.open(&unused, NULL);
    fasttrack_watch(fasttrack, at_race, c);
    while ((r = trace_next(t, &b, err)) > 0) {
        memory_steps(m, &b, &span);
        number_steps(c, &span);
        engine_fasttrack.steps(fasttrack, &span);
    }
    engine_fasttrack.close(fasttrack);
    race_table_release(&unused.races);
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

static int mark_reads(struct certain *c, struct trace *t, struct error *err)
{
    struct memory *m = memory_new();
    struct batch b;
    struct span span;
    int r;

    while ((r = trace_next(t, &b, err)) > 0 && b.first < c->limit) {
        memory_steps(m, &b, &span);
        mark_steps(c, &span);
    }
    memory_free(m);
    return r;
}

static int find_uncertain(struct certain *c, struct trace *t, struct error *err)
{
    if (trace_rewind(t, err) < 0 || find_racy(c, t, err) < 0)
        return -1;
    gather_families(c);
    return trace_rewind(t, err) < 0 || mark_reads(c, t, err) < 0 ? -1 : 0;
}

struct certain *certain_new(struct trace *t, uint64_t limit, struct error *err)
{
    struct certain *c = xcalloc(1, sizeof(*c));
    int r;

    c->limit = limit;
    c->uncertain = xcalloc(limit / 64 + 1, sizeof(*c->uncertain));
    trace_show_excluded(t, true);
    r = find_uncertain(c, t, err);
    trace_show_excluded(t, false);
    if (r == 0)
        return c;
    certain_free(c);
    return NULL;
}

void certain_free(struct certain *c)
{
    if (!c)
        return;
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
