/* predict.c - can these two accesses race in some correct reordering?
 *
 * The solver answers in nodes; what lies between the nodes of a thread is put
 * right before the next node of the thread.
 */
#include "engines/predict.h"
#include "base/alloc.h"
#include "engines/model.h"

#include <stdlib.h>

struct predictor {
    struct model *model;
    bool owns_model;
    struct solver *solver;
    uint32_t *next; /* thread -> rank of its next event; scratch */
    struct predict_stats stats;
};

static struct predictor *with_model(struct model *m, bool owns)
{
    struct predictor *p = xcalloc(1, sizeof(*p));

    p->model = m;
    p->owns_model = owns;
    p->solver = solver_new(&m->problem);
    p->next = xcalloc((size_t)m->view->nthreads + 1, sizeof(*p->next));
    return p;
}

struct predictor *predictor_new(const struct view *v, const struct trace_info *info)
{
    struct model *m = xcalloc(1, sizeof(*m));

    model_init(m, v, info);
    return with_model(m, true);
}

struct predictor *predictor_clone(const struct predictor *p)
{
    return with_model(p->model, false);
}

/* Eight arrays over nodes, one over touches, two over cells. */
uint64_t predictor_bytes(const struct predictor *p)
{
    const struct problem *q = &p->model->problem;

    return 32ull * q->nnodes + 4ull * q->touch_first[q->nnodes] + 8ull * q->ncells;
}

void predictor_free(struct predictor *p)
{
    if (!p)
        return;
    solver_free(p->solver);
    if (p->owns_model) {
        model_release(p->model);
        free(p->model);
    }
    free(p->next);
    free(p);
}

const struct predict_stats *predictor_stats(const struct predictor *p)
{
    return &p->stats;
}

/* ---- may the two race at all? ---- */

static bool is_access(const struct event *e)
{
    return op_is_access(e->op) || e->op == OP_FREE;
}

static bool share_cell(const struct view *v, uint32_t a, uint32_t b)
{
    for (uint32_t i = v->cell_first[a]; i < v->cell_first[a + 1]; i++)
        for (uint32_t k = v->cell_first[b]; k < v->cell_first[b + 1]; k++)
            if (v->cell[i] == v->cell[k])
                return true;
    return false;
}

static bool conflict(const struct view *v, uint32_t a, uint32_t b)
{
    const struct event *x = &v->events[a], *y = &v->events[b];

    return is_access(x) && is_access(y) && x->thread != y->thread &&
           (op_table[x->op].writes || op_table[y->op].writes) &&
           !(op_is_atomic(x->op) && op_is_atomic(y->op)) && share_cell(v, a, b);
}

/* ---- the schedule ---- */

/* The thread's events up to rank `to`, exclusive. */
static size_t emit(struct predictor *p, uint64_t *list, size_t n, uint32_t thread, uint32_t to)
{
    const struct view *v = p->model->view;

    for (; p->next[thread] < to; p->next[thread]++)
        list[n++] = v->thread_event[v->thread_first[thread] + p->next[thread]];
    return n;
}

static size_t length(const struct predictor *p, const uint32_t *order, uint32_t count, uint32_t a,
                     uint32_t b)
{
    const struct view *v = p->model->view;
    size_t n = (size_t)v->rank[a] + v->rank[b] + 2;

    for (uint32_t t = 0; t < v->nthreads; t++)
        p->next[t] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t e = p->model->event_of[order[i]];

        p->next[v->events[e].thread] = v->rank[e] + 1;
    }
    for (uint32_t t = 0; t < v->nthreads; t++) {
        if (t != v->events[a].thread && t != v->events[b].thread)
            n += p->next[t];
        p->next[t] = 0;
    }
    return n;
}

static uint64_t *schedule(struct predictor *p, uint32_t a, uint32_t b, uint64_t max, size_t *count)
{
    const struct view *v = p->model->view;
    uint32_t nodes;
    const uint32_t *order = solver_order(p->solver, &nodes);
    size_t total = length(p, order, nodes, a, b), n = 0;
    uint64_t *list;

    if (max && total > max)
        return NULL;
    list = xmalloc(total * sizeof(*list));
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t e = p->model->event_of[order[i]];

        n = emit(p, list, n, v->events[e].thread, v->rank[e] + 1);
    }
    n = emit(p, list, n, v->events[a].thread, v->rank[a]);
    n = emit(p, list, n, v->events[b].thread, v->rank[b]);
    list[n++] = a;
    list[n++] = b;
    *count = n;
    return list;
}

/* ---- the question ---- */

static void keep_stats(struct predictor *p)
{
    enum solve_way way = solver_way(p->solver);

    p->stats.by_needs += way == SOLVE_BY_NEEDS;
    p->stats.by_observed += way == SOLVE_BY_OBSERVED;
    p->stats.by_search += way == SOLVE_BY_SEARCH;
    p->stats.conflicts += solver_conflicts(p->solver);
    p->stats.rounds += solver_rounds(p->solver);
}

enum predict_answer predictor_decide(struct predictor *p, uint64_t a, uint64_t b,
                                     const struct predict_budget *budget, uint64_t **list,
                                     size_t *count)
{
    struct solve_budget limits = { budget->seconds, budget->conflicts, budget->max_events };
    const struct model *m = p->model;
    enum solve_answer answer;

    *list = NULL;
    *count = 0;
    if (!conflict(m->view, (uint32_t)a, (uint32_t)b))
        return PREDICT_INFEASIBLE;
    answer = solver_decide(p->solver, m->node_of[a], m->node_of[b], &limits);
    keep_stats(p);
    if (answer == SOLVE_INFEASIBLE)
        return PREDICT_INFEASIBLE;
    if (answer == SOLVE_UNDECIDED)
        return solver_too_long(p->solver) ? PREDICT_TOO_LONG : PREDICT_UNDECIDED;
    *list = schedule(p, (uint32_t)a, (uint32_t)b, budget->max_events, count);
    return *list ? PREDICT_FEASIBLE : PREDICT_TOO_LONG;
}
