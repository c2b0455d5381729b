/* predict.c - can these two accesses race in some correct reordering?
 *
 * The solver answers in nodes; what lies between the nodes of a thread is put
 * right before the next node of the thread.
 */
#include "engines/predict.h"
#include "base/alloc.h"
#include "engines/backend.h"
#include "engines/model.h"
#include "engines/windows.h"

#include <stdlib.h>

struct predictor {
    struct model *model;
    bool owns_model;
    struct solver *solver;
    uint32_t *next; /* thread -> rank of its next event; scratch */
    struct predict_stats stats;
    const struct predict_backend *backend; /* NULL: our own solver */
    void *other;                           /* the backend's state; then model and solver are NULL */
    const struct view *view;
    const struct trace_info *info;
    struct window *window; /* or NULL; of the one that owns the model */
    bool owns_window;      /* where there is no model */
};

static struct predictor *with_model(struct model *m, bool owns)
{
    struct predictor *p = xcalloc(1, sizeof(*p));

    p->view = m->view;
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

static struct predictor *with_backend(const struct view *v, const struct trace_info *info,
                                      const struct predict_backend *backend, struct window *w)
{
    struct predictor *p = xcalloc(1, sizeof(*p));

    p->backend = backend;
    p->view = v;
    p->info = info;
    p->window = w;
    p->other = backend->open(v, info, w ? w->kept : 0);
    return p;
}

struct predictor *predictor_new_with(const struct view *v, const struct trace_info *info,
                                     const struct predict_backend *backend)
{
    return backend ? with_backend(v, info, backend, NULL) : predictor_new(v, info);
}

struct predictor *predictor_new_window(const struct view *whole, const struct trace_info *info,
                                       uint64_t first, uint64_t count)
{
    struct window *w = window_new(whole, (uint32_t)first, (uint32_t)count);
    struct model *m = xcalloc(1, sizeof(*m));
    struct predictor *p;

    model_init(m, &w->view, info);
    while (m->problem.start < m->problem.nnodes && m->event_of[m->problem.start] < w->kept)
        m->problem.start++;
    p = with_model(m, true);
    p->window = w;
    return p;
}

struct predictor *predictor_new_window_with(const struct view *whole, const struct trace_info *info,
                                            uint64_t first, uint64_t count,
                                            const struct predict_backend *backend)
{
    struct predictor *p;
    struct window *w;

    if (!backend)
        return predictor_new_window(whole, info, first, count);
    w = window_new(whole, (uint32_t)first, (uint32_t)count);
    p = with_backend(&w->view, info, backend, w);
    p->owns_window = true;
    return p;
}

struct predictor *predictor_clone(const struct predictor *p)
{
    struct predictor *q;

    if (p->backend)
        return with_backend(p->view, p->info, p->backend, p->window);
    q = with_model(p->model, false);
    q->window = p->window;
    return q;
}

/* Nine arrays over nodes, two over touches, three over cells. */
uint64_t predictor_bytes(const struct predictor *p)
{
    const struct problem *q;

    if (p->backend)
        return p->backend->bytes;
    q = &p->model->problem;
    return 36ull * q->nnodes + 8ull * q->touch_first[q->nnodes] + 12ull * q->ncells;
}

void predictor_free(struct predictor *p)
{
    if (!p)
        return;
    if (p->backend)
        p->backend->close(p->other);
    if (p->owns_window)
        window_free(p->window);
    solver_free(p->solver);
    if (p->owns_model) {
        model_release(p->model);
        free(p->model);
        window_free(p->window);
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
    p->stats.work += solver_work(p->solver);
}

/* The window's schedule as one of the whole trace. */
static uint64_t *widen(const struct predictor *p, uint64_t *list, uint64_t max, size_t *count)
{
    uint64_t *all = window_schedule(p->window, list, *count, count);

    free(list);
    if (!max || *count <= max)
        return all;
    free(all);
    return NULL;
}

static enum predict_answer decide(struct predictor *p, uint32_t a, uint32_t b,
                                  const struct predict_budget *budget, uint64_t **list,
                                  size_t *count)
{
    struct solve_budget limits = { .seconds = budget->seconds,
                                   .conflicts = budget->conflicts,
                                   .nodes = p->window ? 0 : budget->max_events,
                                   .work = budget->work,
                                   .unfrozen = budget->unfrozen };
    const struct model *m = p->model;
    enum solve_answer answer = solver_decide(p->solver, m->node_of[a], m->node_of[b], &limits);

    keep_stats(p);
    if (answer == SOLVE_INFEASIBLE)
        return PREDICT_INFEASIBLE;
    if (answer == SOLVE_UNDECIDED)
        return solver_too_long(p->solver) ? PREDICT_TOO_LONG : PREDICT_UNDECIDED;
    *list = schedule(p, a, b, p->window ? 0 : budget->max_events, count);
    if (p->window)
        *list = widen(p, *list, budget->max_events, count);
    return *list ? PREDICT_FEASIBLE : PREDICT_TOO_LONG;
}

static enum predict_answer decide_by_backend(struct predictor *p, uint32_t a, uint32_t b,
                                             const struct predict_budget *budget, uint64_t **list,
                                             size_t *count)
{
    struct predict_budget limits = *budget;
    enum predict_answer answer;

    if (p->window)
        limits.max_events = 0;
    p->stats.by_backend++;
    answer = p->backend->decide(p->other, a, b, &limits, list, count);
    if (!p->window || answer != PREDICT_FEASIBLE)
        return answer;
    *list = widen(p, *list, budget->max_events, count);
    return *list ? PREDICT_FEASIBLE : PREDICT_TOO_LONG;
}

enum predict_answer predictor_decide(struct predictor *p, uint64_t a, uint64_t b,
                                     const struct predict_budget *budget, uint64_t **list,
                                     size_t *count)
{
    *list = NULL;
    *count = 0;
    if (p->window) {
        if (!window_has(p->window, a) || !window_has(p->window, b))
            return PREDICT_INFEASIBLE;
        a = window_event(p->window, a);
        b = window_event(p->window, b);
    }
    if (!conflict(p->view, (uint32_t)a, (uint32_t)b))
        return PREDICT_INFEASIBLE;
    return p->backend ? decide_by_backend(p, (uint32_t)a, (uint32_t)b, budget, list, count)
                      : decide(p, (uint32_t)a, (uint32_t)b, budget, list, count);
}
