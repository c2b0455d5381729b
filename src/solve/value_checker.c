/* value_checker.c - what a value_checker says, as faults of a replay and as clauses
 *
 * All clauses are implied: values are determined by who reads from whom, so while the reads
 * of a fault see those writers its condition stays wrong. A fault with one pair is wrong
 * for other writers, too: all of them are excluded at once.
 */
#include "solve/value_checker.h"
#include "base/alloc.h"
#include "solve/solver_inside.h"

#include <stdlib.h>

void solver_set_values(struct solver *s, const struct value_checker *c)
{
    s->values = c;
    s->seen = xcalloc((size_t)s->p->touch_first[s->p->nnodes] + 1, sizeof(*s->seen));
}

void value_faults_release(struct solver *s)
{
    free(s->seen);
    free(s->value_faults.faults);
    free(s->value_faults.pairs);
}

/* Reads that were to see another writer. */
static void report_intruders(struct solver *s, const struct value_fault *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        const struct value_pair *pair = &s->value_faults.pairs[f->first + i];
        uint32_t chosen;
        bool found;

        if (s->p->touches[pair->read].node < s->frozen || !s->choice_of[pair->read] ||
            pair->writer == SOLVE_NONE)
            continue;
        chosen = constraints_chosen(s, pair->read, &found);
        if (found && chosen != pair->writer)
            replay_fault(s, FAULT_INTRUDER, pair->read, chosen, pair->writer);
    }
}

void value_faults_check(struct solver *s)
{
    struct value_run run = { .seen = s->seen, .frozen = s->frozen, .a = s->a, .b = s->b };
    struct value_faults *out = &s->value_faults;

    run.order = replay_order(s->replay, &run.count);
    out->count = out->npairs = 0;
    out->cut = false;
    s->values->check(s->values->arg, &run, out);
    s->work += run.work;
    for (size_t i = 0; i < out->count; i++) {
        replay_fault(s, FAULT_VALUE, (uint32_t)i, 0, 0);
        report_intruders(s, &out->faults[i]);
    }
}

static void exclude(struct solver *s, const struct value_fault *f, uint32_t lit)
{
    uint32_t lits[2] = { lit ^ 1, LIT_FALSE };

    if (f->node != SOLVE_NONE)
        lits[1] = constraints_in(s, f->node) ^ 1;
    search_add_clause(s, lits, 2);
}

/* All writers for which a condition over one read is wrong. */
static void exclude_writers(struct solver *s, const struct value_fault *f)
{
    uint32_t read = s->value_faults.pairs[f->first].read;
    const struct choice c = s->choices[s->choice_of[read] - 1];

    for (uint32_t v = c.first; v < c.first + c.count; v++)
        if (s->vars[v].y == s->value_faults.pairs[f->first].writer ||
            s->values->is_wrong(s->values->arg, f->condition, read, s->vars[v].y))
            exclude(s, f, 2 * v);
}

void value_faults_add(struct solver *s, uint32_t fault)
{
    const struct value_fault *f = &s->value_faults.faults[fault];
    struct list lits = { 0 };

    s->choices_cut |= s->value_faults.cut;
    for (uint32_t i = 0; i < f->count; i++) {
        struct value_pair pair = s->value_faults.pairs[f->first + i];

        if (s->p->touches[pair.read].node < s->frozen)
            continue; /* sees it in any case */
        if (!s->choice_of[pair.read])
            constraints_add(s, &(struct fault){ FAULT_READ, pair.read, 0, 0 });
        list_push(&lits, constraints_choice(s, pair.read, pair.writer) ^ 1);
    }
    if (f->count == 1 && lits.count == 1) {
        exclude_writers(s, f);
    } else {
        if (f->node != SOLVE_NONE)
            list_push(&lits, constraints_in(s, f->node) ^ 1);
        search_add_clause(s, lits.items, lits.count);
    }
    free(lits.items);
}
