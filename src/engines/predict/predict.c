/* predict.c - can these two accesses race in some correct reordering?
 */
#include "engines/predict/predict.h"
#include "base/alloc.h"
#include "engines/predict/ask.h"
#include "engines/predict/backend.h"
#include "engines/predict/model.h"
#include "engines/predict/windows.h"

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

void predictor_fix(struct predictor *p, uint64_t events)
{
    p->window->fixed = (uint32_t)events;
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

uint32_t predictor_unreachable(const struct predictor *p)
{
    return p->model ? p->model->problem.unreachable : 0;
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

/* ---- the question ---- */

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

static enum predict_answer predict_decide(struct predictor *p, uint32_t a, uint32_t b,
                                          const struct predict_budget *budget, uint64_t **list,
                                          size_t *count)
{
    uint64_t max = p->window ? 0 : budget->max_events;
    struct solve_budget limits = ask_budget(budget, max);
    const struct model *m = p->model;
    enum solve_answer answer = solver_decide(p->solver, m->node_of[a], m->node_of[b], &limits);

    ask_count(&p->stats, p->solver);
    if (answer == SOLVE_INFEASIBLE)
        return PREDICT_INFEASIBLE;
    if (answer == SOLVE_UNDECIDED)
        return solver_too_long(p->solver) ? PREDICT_TOO_LONG : PREDICT_UNDECIDED;
    *list = ask_schedule(m, p->solver, p->next, a, b, max, count);
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
    if (!ask_conflict(p->view, (uint32_t)a, (uint32_t)b))
        return PREDICT_INFEASIBLE;
    return p->backend ? decide_by_backend(p, (uint32_t)a, (uint32_t)b, budget, list, count)
                      : predict_decide(p, (uint32_t)a, (uint32_t)b, budget, list, count);
}
