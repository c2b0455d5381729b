/* relax.c - can two accesses race when reads may see other values? (recipe-s)
 *
 * RECIPE (section III.B) asks a solver for an order and for values at once. Here the order
 * is searched as for mc (solve/), with reads free to see any write, and each order that
 * comes out is executed: every value is computed from the expressions of the execution
 * (relax_values.c). Conditions that fail become clauses about which reads see which
 * writers. So no solver for bit vectors is needed, and all operations are exact.
 */
#include "engines/values/relax.h"
#include "base/alloc.h"
#include "engines/predict/ask.h"
#include "engines/predict/model.h"
#include "engines/values/relax_values.h"

#include <stdlib.h>
#include <string.h>

struct relax {
    struct model *model;
    struct relax_facts *facts;
    bool owns;
    struct solver *solver;
    struct eval *eval;
    struct value_checker checker;
    uint32_t *next; /* thread -> rank of its next event; scratch */
    struct predict_stats stats;
};

/* ---- life cycle ---- */

static struct relax *with_model(struct model *m, struct relax_facts *f, bool owns)
{
    struct relax *r = xcalloc(1, sizeof(*r));

    r->model = m;
    r->facts = f;
    r->owns = owns;
    r->solver = solver_new(&m->problem);
    r->eval = eval_new(f);
    r->checker = (struct value_checker){ r->eval, eval_check, eval_is_wrong, f->odd };
    solver_set_values(r->solver, &r->checker);
    r->next = xcalloc((size_t)m->view->nthreads + 1, sizeof(*r->next));
    return r;
}

struct relax *relax_new(const struct view *v, const struct execution *e,
                        const struct relax_options *options)
{
    struct model *m = xcalloc(1, sizeof(*m));
    struct relax_facts *f = xcalloc(1, sizeof(*f));
    bool *cells = relax_cells(v, e);

    model_init_free(m, v, cells);
    free(cells);
    relax_facts_init(f, m, e, options->exact);
    return with_model(m, f, true);
}

struct relax *relax_clone(const struct relax *r)
{
    return with_model(r->model, r->facts, false);
}

void relax_free(struct relax *r)
{
    if (!r)
        return;
    solver_free(r->solver);
    eval_free(r->eval);
    if (r->owns) {
        relax_facts_release(r->facts);
        free(r->facts);
        model_release(r->model);
        free(r->model);
    }
    free(r->next);
    free(r);
}

uint64_t relax_bytes(const struct relax *r)
{
    const struct problem *q = &r->model->problem;

    return 36ull * q->nnodes + 12ull * q->touch_first[q->nnodes] + 12ull * q->ncells +
           eval_bytes(r->facts);
}

const struct predict_stats *relax_stats(const struct relax *r)
{
    return &r->stats;
}

void relax_answer_release(struct relax_answer *answer)
{
    free(answer->list);
    free(answer->changes);
    *answer = (struct relax_answer){ 0 };
}

/* ---- what changed ---- */

struct value_change *relax_changes(struct relax *r, const uint64_t *list, size_t count, size_t *n)
{
    const struct problem *p = &r->model->problem;
    uint32_t *order = xcalloc(count + 1, sizeof(*order));
    uint32_t *last = xcalloc((size_t)p->ncells + 1, sizeof(*last));
    uint32_t *seen = xcalloc((size_t)p->touch_first[p->nnodes] + 1, sizeof(*seen));
    struct value_run run = { .order = order, .seen = seen, .a = SOLVE_NONE, .b = SOLVE_NONE };
    struct value_change *changes;

    for (size_t i = 0; i + 2 < count; i++) {
        uint32_t node = r->model->node_of[list[i]];

        if (node == SOLVE_NONE)
            continue;
        order[run.count++] = node;
        for (uint32_t k = p->touch_first[node]; k < p->touch_first[node + 1]; k++)
            seen[k] = last[p->touches[k].cell];
        for (uint32_t k = p->touch_first[node]; k < p->touch_first[node + 1]; k++)
            if (p->touches[k].flags & TOUCH_WRITES)
                last[p->touches[k].cell] = k + 1;
    }
    if (count >= 2) {
        run.a = r->model->node_of[list[count - 2]];
        run.b = r->model->node_of[list[count - 1]];
    }
    eval_check(r->eval, &run, NULL);
    changes = eval_changes(r->eval, &run, n);
    free(order);
    free(last);
    free(seen);
    return changes;
}

/* ---- the question ---- */

static enum predict_answer make_answer(struct relax *r, uint32_t a, uint32_t b, uint64_t max,
                                       struct relax_answer *answer)
{
    answer->list = ask_schedule(r->model, r->solver, r->next, a, b, max, &answer->count);
    if (!answer->list)
        return PREDICT_TOO_LONG;
    answer->changes = relax_changes(r, answer->list, answer->count, &answer->nchanges);
    return PREDICT_FEASIBLE;
}

enum predict_answer relax_decide(struct relax *r, uint64_t a, uint64_t b,
                                 const struct predict_budget *budget, struct relax_answer *answer)
{
    struct solve_budget limits = ask_budget(budget, budget->max_events);
    const struct model *m = r->model;
    enum solve_answer found;

    *answer = (struct relax_answer){ 0 };
    if (a >= m->view->count || b >= m->view->count ||
        !ask_conflict(m->view, (uint32_t)a, (uint32_t)b))
        return PREDICT_INFEASIBLE;
    found = solver_decide(r->solver, m->node_of[a], m->node_of[b], &limits);
    ask_count(&r->stats, r->solver);
    if (found == SOLVE_INFEASIBLE)
        return PREDICT_INFEASIBLE;
    if (found == SOLVE_UNDECIDED)
        return solver_too_long(r->solver) ? PREDICT_TOO_LONG : PREDICT_UNDECIDED;
    return make_answer(r, (uint32_t)a, (uint32_t)b, budget->max_events, answer);
}

enum predict_answer relax_reach(struct relax *r, uint64_t a, const struct predict_budget *budget)
{
    struct solve_budget limits = ask_budget(budget, budget->max_events);
    uint32_t node = a < r->model->view->count ? r->model->node_of[a] : SOLVE_NONE;
    enum solve_answer found;

    if (node == SOLVE_NONE)
        return PREDICT_UNDECIDED;
    found = solver_decide(r->solver, node, node, &limits);
    ask_count(&r->stats, r->solver);
    return found == SOLVE_FEASIBLE     ? PREDICT_FEASIBLE
           : found == SOLVE_INFEASIBLE ? PREDICT_INFEASIBLE
                                       : PREDICT_UNDECIDED;
}
