/* z3_backend.c - Z3 as a second opinion on the predictor's question
 *
 * One Z3 solver per question over the events that can matter (z3_cone.c). 100
 * to 1,000 times slower than our own solver, and written from the definition
 * of a correct reordering without a look at ours: tests compare the two.
 *
 * Limits: cones that make more than Z3_WORK_MAX clauses, and what takes
 * longer than z3_seconds, stay undecided.
 */
#include "base/alloc.h"
#include "engines/predict/backend.h"
#include "engines/z3/z3_question.h"

#include <stdlib.h>
#include <string.h>

/* At most so many seconds for a question (wall time: Z3 has no other clock). Cones of 1,000 events
 * take 0.1 s, those of 10,000 some seconds. */
static const double z3_seconds = 10;

/* The view's own lists leave out calls and returns. */
static void list_touches(struct z3_question *q)
{
    const struct view *v = q->v;
    uint32_t *next = xcalloc((size_t)v->ncells + 2, sizeof(*next));

    for (uint32_t k = 0; k < v->cell_first[v->count]; k++)
        next[v->cell[k] + 1]++;
    for (uint32_t c = 0; c < v->ncells; c++)
        next[c + 1] += next[c];
    q->touch_first = xmalloc(((size_t)v->ncells + 2) * sizeof(*q->touch_first));
    memcpy(q->touch_first, next, ((size_t)v->ncells + 2) * sizeof(*next));
    q->touch = xmalloc(((size_t)v->cell_first[v->count] + 1) * sizeof(*q->touch));
    for (uint32_t e = 0; e < v->count; e++)
        for (uint32_t k = v->cell_first[e]; k < v->cell_first[e + 1]; k++)
            q->touch[next[v->cell[k]]++] = e;
    free(next);
}

static void *z3_open(const struct view *v, const struct trace_info *info, uint32_t kept)
{
    struct z3_question *q = xcalloc(1, sizeof(*q));
    size_t threads = (size_t)v->nthreads + 1;

    q->v = v;
    q->values = info->values;
    q->branches = info->branches;
    q->loose = info->loose && !info->branches;
    q->kept = kept;
    q->lo = xcalloc(threads, sizeof(*q->lo));
    q->hi = xcalloc(threads, sizeof(*q->hi));
    q->seen = xcalloc(threads, sizeof(*q->seen));
    q->mark = xcalloc((size_t)v->count + 1, sizeof(*q->mark));
    list_touches(q);
    z3_init(&q->z);
    return q;
}

static void z3_close(void *state)
{
    struct z3_question *q = state;

    z3_release(&q->z);
    free(q->lo);
    free(q->hi);
    free(q->seen);
    free(q->mark);
    free(q->touch_first);
    free(q->touch);
    free(q);
}

/* ---- the schedule ---- */

/* An executed event with a place of its own. */
struct placed {
    int64_t order;
    uint32_t event;
};

static int compare_placed(const void *x, const void *y)
{
    const struct placed *a = x, *b = y;

    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* How many events of the thread are executed: up to the last one that says so. */
static uint32_t executed(struct z3_question *q, uint32_t thread)
{
    const uint32_t *events = q->v->thread_event + q->v->thread_first[thread];

    for (uint32_t i = q->hi[thread]; i > q->lo[thread]; i--)
        if (q->mark[events[i - 1]] & MARK_IN && z3_is_true(&q->z, encode_in(q, events[i - 1])))
            return i;
    return q->lo[thread];
}

static struct placed *z3_backend_collect(struct z3_question *q, const uint32_t *progress,
                                         size_t *count)
{
    struct placed *list = NULL;
    size_t n = 0, cap = 0;

    GROW(list, cap, 1);
    for (uint32_t t = 0; t < q->v->nthreads; t++)
        for (uint32_t i = 0; i < progress[t]; i++) {
            uint32_t e = q->v->thread_event[q->v->thread_first[t] + i];

            if (!(q->mark[e] & MARK_ORDER))
                continue;
            GROW(list, cap, n + 1);
            list[n++] = (struct placed){ z3_number(&q->z, encode_order(q, e)), e };
        }
    qsort(list, n, sizeof(*list), compare_placed);
    *count = n;
    return list;
}

/* The thread's events up to rank `to`, exclusive; `seen` says how many are out. */
static size_t z3_backend_emit(struct z3_question *q, uint64_t *list, size_t n, uint32_t thread,
                              uint32_t to)
{
    for (; q->seen[thread] < to; q->seen[thread]++)
        list[n++] = q->v->thread_event[q->v->thread_first[thread] + q->seen[thread]];
    return n;
}

/* What has no place comes right before the next event of its thread that has. */
static uint64_t *lay_out(struct z3_question *q, const uint32_t *progress, size_t total)
{
    uint64_t *list = xmalloc(total * sizeof(*list));
    size_t places, n = 0;
    struct placed *placed = z3_backend_collect(q, progress, &places);

    for (uint32_t t = 0; t < q->v->nthreads; t++)
        q->seen[t] = 0;
    for (size_t i = 0; i < places; i++)
        n = z3_backend_emit(q, list, n, q->v->events[placed[i].event].thread,
                            q->v->rank[placed[i].event] + 1);
    for (uint32_t t = 0; t < q->v->nthreads; t++)
        n = z3_backend_emit(q, list, n, t, progress[t]);
    list[n++] = q->a;
    list[n++] = q->b;
    free(placed);
    return list;
}

/* NULL: longer than max. */
static uint64_t *make_schedule(struct z3_question *q, uint64_t max, size_t *count)
{
    uint32_t *progress = xcalloc((size_t)q->v->nthreads + 1, sizeof(*progress));
    uint64_t *list = NULL;
    size_t total = 2;

    for (uint32_t t = 0; t < q->v->nthreads; t++) {
        progress[t] = executed(q, t);
        total += progress[t];
    }
    if (!max || total <= max) {
        list = lay_out(q, progress, total);
        *count = total;
    }
    free(progress);
    return list;
}

/* ---- the question ---- */

static uint64_t sure_length(const struct z3_question *q)
{
    uint64_t total = 2;

    for (uint32_t t = 0; t < q->v->nthreads; t++)
        total += q->lo[t];
    return total;
}

static void forget_marks(struct z3_question *q)
{
    for (uint32_t t = 0; t < q->v->nthreads; t++)
        for (uint32_t i = 0; i < q->hi[t]; i++)
            q->mark[q->v->thread_event[q->v->thread_first[t] + i]] = 0;
}

static enum predict_answer solve(struct z3_question *q, const struct predict_budget *budget,
                                 uint64_t **list, size_t *count)
{
    double limit = budget->seconds;
    Z3_lbool answer;

    if (limit <= 0 || limit > z3_seconds)
        limit = z3_seconds;
    z3_begin(&q->z);
    encode_question(q);
    answer = z3_check(&q->z, limit);
    if (answer == Z3_L_TRUE)
        *list = make_schedule(q, budget->max_events, count);
    forget_marks(q);
    if (answer == Z3_L_UNDEF)
        return PREDICT_UNDECIDED;
    if (answer == Z3_L_FALSE)
        return PREDICT_INFEASIBLE;
    return *list ? PREDICT_FEASIBLE : PREDICT_TOO_LONG;
}

static enum predict_answer z3_decide(void *state, uint32_t a, uint32_t b,
                                     const struct predict_budget *budget, uint64_t **list,
                                     size_t *count)
{
    struct z3_question *q = state;

    *list = NULL;
    *count = 0;
    q->a = a;
    q->b = b;
    q->work = 0;
    if (!cone_find(q))
        return PREDICT_INFEASIBLE;
    if (budget->max_events && sure_length(q) > budget->max_events)
        return PREDICT_TOO_LONG;
    if (cone_clauses(q) > Z3_WORK_MAX)
        return PREDICT_UNDECIDED;
    return solve(q, budget, list, count);
}

/* The one symbol that the module exports. */
__attribute__((visibility("default"))) const struct predict_backend heddle_backend_z3 = {
    .version = HEDDLE_VERSION,
    .name = "z3",
    .bytes = (uint64_t)700 << 20, /* Z3_WORK_MAX clauses */
    .open = z3_open,
    .decide = z3_decide,
    .close = z3_close,
};
