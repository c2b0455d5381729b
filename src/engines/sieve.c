/* sieve.c - leave out the variables that no engine can find a race on
 *
 * fasttrack with hard edges only names every variable with two conflicting
 * accesses that hard edges leave unordered, of which at most one is atomic.
 * What it does not name, and no atomic touches, is left out.
 */
#include "engines/sieve.h"
#include "base/alloc.h"
#include "engines/fasttrack.h"
#include "order/lives.h"

#include <stdlib.h>

#define NO_NUMBER UINT32_MAX

struct sieve {
    struct lives lives;
    uint8_t *matters; /* by life; in the second pass by family */
    size_t matters_cap;

    /* first pass */
    struct engine_result unused;
    void *fasttrack;
    const struct span *span;
    uint32_t *life_of_step;
    size_t life_cap;

    /* second pass */
    struct step *steps;
    size_t steps_cap;
    uint32_t *number_of; /* variable -> its dense number, NO_NUMBER */
    size_t numbers_cap;
    uint32_t numbers;
    uint32_t *free_numbers;
    size_t nfree, free_cap;
    uint64_t seen, dropped;
};

static void at_conflict(void *arg, const struct step *step)
{
    struct sieve *s = arg;

    s->matters[s->life_of_step[step - s->span->steps]] = 1;
}

struct sieve *sieve_new(void)
{
    struct sieve *s = xcalloc(1, sizeof(*s));

    race_table_init(&s->unused.races);
    s->fasttrack = engine_fasttrack.open(&s->unused, NULL);
    fasttrack_without_locks(s->fasttrack);
    fasttrack_watch(s->fasttrack, at_conflict, s);
    return s;
}

static void end_first_pass(struct sieve *s)
{
    if (s->fasttrack)
        engine_fasttrack.close(s->fasttrack);
    s->fasttrack = NULL;
    race_table_release(&s->unused.races);
    free(s->life_of_step);
    s->life_of_step = NULL;
}

void sieve_free(struct sieve *s)
{
    if (!s)
        return;
    end_first_pass(s);
    lives_release(&s->lives);
    free(s->matters);
    free(s->steps);
    free(s->number_of);
    free(s->free_numbers);
    free(s);
}

void sieve_learn(struct sieve *s, const struct span *span)
{
    lives_begin_span(&s->lives, span);
    GROW(s->life_of_step, s->life_cap, span->count);
    s->span = span;
    for (size_t i = 0; i < span->count; i++) {
        const struct step *step = &span->steps[i];

        if (!op_is_access(step->op) && step->op != OP_SPLIT)
            continue;
        s->life_of_step[i] = lives_of(&s->lives, step);
        GROW(s->matters, s->matters_cap, s->lives.known);
        if (op_is_atomic(step->op))
            s->matters[s->life_of_step[i]] = 1;
    }
    engine_fasttrack.steps(s->fasttrack, span);
}

void sieve_ready(struct sieve *s)
{
    end_first_pass(s);
    for (uint32_t i = 0; i < s->lives.known; i++)
        if (s->matters[i])
            s->matters[lives_family(&s->lives, i)] = 1;
    lives_restart(&s->lives);
    for (size_t i = 0; i < s->numbers_cap; i++)
        s->number_of[i] = NO_NUMBER;
    s->numbers = 0;
    s->nfree = 0;
    s->seen = s->dropped = 0;
}

/* ---- the second pass ---- */

/* A life begins on a variable's number: whatever was there is gone. */
static void renumber(struct sieve *s, uint32_t variable, bool matters)
{
    uint32_t *number = &s->number_of[variable];

    if (matters && *number == NO_NUMBER) {
        *number = s->nfree ? s->free_numbers[--s->nfree] : s->numbers++;
    } else if (!matters && *number != NO_NUMBER) {
        GROW(s->free_numbers, s->free_cap, s->nfree + 1);
        s->free_numbers[s->nfree++] = *number;
        *number = NO_NUMBER;
    }
}

/* True: the step stays, with the numbers of the second pass. */
static bool sift(struct sieve *s, struct step *step)
{
    uint32_t life;

    if (!op_is_access(step->op) && step->op != OP_SPLIT)
        return true;
    life = lives_of(&s->lives, step);
    if (step->op == OP_SPLIT || step->flags & STEP_FRESH)
        renumber(s, step->id, s->matters[lives_family(&s->lives, life)]);
    s->seen += step->op != OP_SPLIT;
    if (s->number_of[step->id] == NO_NUMBER) {
        s->dropped += step->op != OP_SPLIT;
        return false;
    }
    if (step->op == OP_SPLIT)
        step->from = s->number_of[step->from];
    step->id = s->number_of[step->id];
    return true;
}

static void grow_numbers(struct sieve *s, uint32_t variables)
{
    size_t old = s->numbers_cap;

    GROW(s->number_of, s->numbers_cap, variables);
    for (size_t i = old; i < s->numbers_cap; i++)
        s->number_of[i] = NO_NUMBER;
}

/* The steps [from, to) are what is left of one event. */
static void mark_group(struct sieve *s, size_t from, size_t to)
{
    if (from == to)
        return;
    if (to - from > 1)
        s->steps[from].flags |= STEP_GROUP;
    else
        s->steps[from].flags &= (uint16_t)~STEP_GROUP;
}

void sieve_apply(struct sieve *s, struct span *span)
{
    size_t kept = 0, first = 0;

    lives_begin_span(&s->lives, span);
    grow_numbers(s, span->variables);
    GROW(s->steps, s->steps_cap, span->count);
    for (size_t i = 0; i < span->count; i++) {
        struct step step = span->steps[i];

        if (i && step.position != span->steps[i - 1].position) {
            mark_group(s, first, kept);
            first = kept;
        }
        step.flags &= (uint16_t)~STEP_GROUP;
        if (sift(s, &step))
            s->steps[kept++] = step;
    }
    mark_group(s, first, kept);
    span->steps = s->steps;
    span->count = kept;
    span->variables = s->numbers;
}

uint64_t sieve_seen(const struct sieve *s)
{
    return s->seen;
}

uint64_t sieve_dropped(const struct sieve *s)
{
    return s->dropped;
}
