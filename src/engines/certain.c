/* certain.c - which reads surely saw the write that the trace says they saw
 *
 * Numbers of variables are used again, and variables split: a life is one use
 * of a number, and lives that a split parted are one family. One pass lets
 * fasttrack name the families with a race, a second one marks their reads.
 * The families of both passes have the same numbers, since memory.c numbers
 * the same trace the same way.
 */
#include "engines/certain.h"
#include "base/alloc.h"
#include "engines/fasttrack.h"
#include "order/memory.h"

#include <stdlib.h>
#include <string.h>

struct certain {
    uint64_t limit;
    uint64_t *uncertain; /* bit by position */

    uint32_t *life_of; /* variable -> its present life */
    size_t variables_cap;
    uint32_t *parent; /* life -> a life of its family; the root is its own */
    bool *racy;       /* life -> its variable has a race */
    size_t nlives, parent_cap, racy_cap;

    uint32_t *life_of_step; /* of the span at hand */
    size_t steps_cap;
    const struct span *span;
};

static uint32_t new_life(struct certain *c)
{
    uint32_t life = (uint32_t)c->nlives++;

    GROW(c->parent, c->parent_cap, c->nlives);
    GROW(c->racy, c->racy_cap, c->nlives);
    c->parent[life] = life;
    return life;
}

static uint32_t family(struct certain *c, uint32_t life)
{
    while (c->parent[life] != life)
        life = c->parent[life] = c->parent[c->parent[life]];
    return life;
}

/* The life that each step of the span is about. */
static void number_steps(struct certain *c, const struct span *span)
{
    GROW(c->life_of, c->variables_cap, span->variables);
    GROW(c->life_of_step, c->steps_cap, span->count);
    c->span = span;
    for (size_t i = 0; i < span->count; i++) {
        const struct step *s = &span->steps[i];

        if (s->op == OP_SPLIT) {
            uint32_t old = family(c, c->life_of[s->from]);

            c->parent[c->life_of[s->id] = new_life(c)] = old;
        } else if (op_is_access(s->op)) {
            if (s->flags & STEP_FRESH)
                c->life_of[s->id] = new_life(c);
            c->life_of_step[i] = c->life_of[s->id];
        }
    }
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
    for (size_t i = 0; i < c->nlives; i++)
        if (c->racy[i])
            c->racy[family(c, (uint32_t)i)] = true;
}

/* The second pass meets the lives again in the same order; their families are known. */
static void mark_steps(struct certain *c, const struct span *span, uint32_t *next)
{
    GROW(c->life_of, c->variables_cap, span->variables);
    for (size_t i = 0; i < span->count; i++) {
        const struct step *s = &span->steps[i];

        if (s->op == OP_SPLIT || (op_is_access(s->op) && s->flags & STEP_FRESH))
            c->life_of[s->id] = (*next)++;
        if (op_is_access(s->op) && op_table[s->op].reads && s->position < c->limit &&
            c->racy[family(c, c->life_of[s->id])])
            c->uncertain[s->position / 64] |= (uint64_t)1 << (s->position % 64);
    }
}

static int mark_reads(struct certain *c, struct trace *t, struct error *err)
{
    struct memory *m = memory_new();
    uint32_t next = 0;
    struct batch b;
    struct span span;
    int r;

    while ((r = trace_next(t, &b, err)) > 0 && b.first < c->limit) {
        memory_steps(m, &b, &span);
        mark_steps(c, &span, &next);
    }
    memory_free(m);
    return r;
}

struct certain *certain_new(struct trace *t, uint64_t limit, struct error *err)
{
    struct certain *c = xcalloc(1, sizeof(*c));

    c->limit = limit;
    c->uncertain = xcalloc(limit / 64 + 1, sizeof(*c->uncertain));
    if (trace_rewind(t, err) < 0 || find_racy(c, t, err) < 0)
        goto fail;
    gather_families(c);
    if (trace_rewind(t, err) < 0 || mark_reads(c, t, err) < 0)
        goto fail;
    return c;
fail:
    certain_free(c);
    return NULL;
}

void certain_free(struct certain *c)
{
    if (!c)
        return;
    free(c->uncertain);
    free(c->life_of);
    free(c->parent);
    free(c->racy);
    free(c->life_of_step);
    free(c);
}

bool certain_is(const struct certain *c, uint64_t position)
{
    return !(c->uncertain[position / 64] >> (position % 64) & 1);
}
