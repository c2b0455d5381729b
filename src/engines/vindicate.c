/* vindicate.c - schedules for races that come without one
 *
 * The race table keeps one instance of each pair of sites; that one is
 * decided. Races are taken in batches: each thread answers questions with a
 * predictor of its own, then the schedules of the batch go to the checker in
 * the order of the table, so the result does not depend on the threads.
 */
#include "engines/vindicate.h"
#include "base/alloc.h"
#include "engines/predict.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    /* All schedules of a result together, as in observed.c: 16 MB. */
    WITNESS_EVENTS_MAX = 2000000,
    /* Races a thread gets in a batch. Between batches the user may stop: at 200 ms a race that
     * is within two seconds. */
    BATCH_PER_THREAD = 8
};

struct question {
    struct race *race;
    enum predict_answer answer;
    uint64_t *list;
    size_t count;
};

struct vindication {
    struct whole *whole;
    struct predictor **predictors; /* by thread; the first owns the model */
    unsigned threads;
    struct predict_budget budget;
    struct question *batch;
    size_t size;
    atomic_size_t next; /* question of the batch */
    uint64_t total;     /* events of all schedules */
    uint64_t vindicated, infeasible, undecided, too_long, too_far, over_budget;
};

struct worker {
    struct vindication *v;
    struct predictor *predictor;
};

/* ---- a batch ---- */

static void *answer_questions(void *arg)
{
    struct worker *w = arg;
    struct vindication *v = w->v;
    size_t i;

    while ((i = atomic_fetch_add(&v->next, 1)) < v->size) {
        struct question *q = &v->batch[i];

        q->answer = predictor_decide(w->predictor, q->race->first.position,
                                     q->race->second.position, &v->budget, &q->list, &q->count);
    }
    return NULL;
}

/* This thread is one of them. */
static void answer_batch(struct vindication *v)
{
    pthread_t *threads = xcalloc(v->threads, sizeof(*threads));
    struct worker *workers = xcalloc(v->threads, sizeof(*workers));
    unsigned started = 1;

    atomic_store(&v->next, 0);
    for (unsigned i = 0; i < v->threads; i++)
        workers[i] = (struct worker){ v, v->predictors[i] };
    while (started < v->threads && started < v->size &&
           !pthread_create(&threads[started], NULL, answer_questions, &workers[started]))
        started++;
    answer_questions(&workers[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    free(workers);
}

static void use_answer(struct vindication *v, struct question *q)
{
    struct error why;

    switch (q->answer) {
    case PREDICT_FEASIBLE:
        v->total += q->count;
        v->vindicated += whole_show(v->whole, q->race, q->list, q->count, &why) == 1;
        break;
    case PREDICT_INFEASIBLE:
        v->infeasible++;
        break;
    case PREDICT_UNDECIDED:
        v->undecided++;
        break;
    case PREDICT_TOO_LONG:
        v->too_long++;
        break;
    }
}

static void run_batch(struct vindication *v)
{
    answer_batch(v);
    for (size_t i = 0; i < v->size; i++)
        use_answer(v, &v->batch[i]);
    v->size = 0;
}

/* ---- all races ---- */

/* Is there something to do for the race? */
static bool wants_schedule(struct vindication *v, const struct race *r, uint64_t events)
{
    if (r->strength <= STRENGTH_WITNESSED ||
        whole_is_shown(v->whole, r->first.site, r->second.site))
        return false;
    if (r->second.position >= events)
        v->too_far++;
    else if (v->total >= WITNESS_EVENTS_MAX)
        v->over_budget++;
    else
        return true;
    return false;
}

static void try_races(struct vindication *v, struct race_table *races, uint64_t events)
{
    size_t most = (size_t)v->threads * BATCH_PER_THREAD;

    v->batch = xcalloc(most, sizeof(*v->batch));
    for (size_t i = 0; i < races->count; i++) {
        if (wants_schedule(v, &races->races[i], events))
            v->batch[v->size++] = (struct question){ .race = &races->races[i] };
        if (v->size < most)
            continue;
        run_batch(v);
        if (whole_stop(v->whole, (double)i / (double)races->count))
            v->total = WITNESS_EVENTS_MAX;
    }
    run_batch(v);
    free(v->batch);
}

static void count_up(const struct vindication *v, struct engine_result *result)
{
    bool exact = whole_info(v->whole)->order == TRACE_EXACT;

    engine_count(result, "vindicated", v->vindicated);
    if (v->infeasible) /* proven only as far as the recorded order is right */
        engine_count(result, exact ? "infeasible" : "infeasible_as_recorded", v->infeasible);
    if (v->undecided)
        engine_count(result, "undecided", v->undecided);
    if (v->too_long)
        engine_count(result, "witness_too_long", v->too_long);
    if (v->over_budget)
        engine_count(result, "witness_over_budget", v->over_budget);
    if (v->too_far)
        engine_count(result, "witness_too_far", v->too_far);
}

static void open_predictors(struct vindication *v, const struct view *view)
{
    unsigned jobs = whole_options(v->whole)->jobs;

    v->threads = jobs ? jobs : 1;
    v->predictors = xcalloc(v->threads, sizeof(struct predictor *));
    v->predictors[0] = predictor_new(view, whole_info(v->whole));
    for (unsigned i = 1; i < v->threads; i++)
        v->predictors[i] = predictor_clone(v->predictors[0]);
}

static void close_predictors(struct vindication *v)
{
    for (unsigned i = v->threads; i-- > 0;)
        predictor_free(v->predictors[i]);
    free(v->predictors);
}

static bool has_work(const struct race_table *races)
{
    for (size_t i = 0; i < races->count; i++)
        if (races->races[i].strength > STRENGTH_WITNESSED)
            return true;
    return false;
}

int vindicate(struct whole *w, struct engine_result *result, struct error *err)
{
    struct vindication v = { .whole = w, .budget = PREDICT_BUDGET };
    const struct view *view;

    if (!whole_can_show(w) || whole_options(w)->no_witness || !has_work(&result->races))
        return 0;
    view = whole_view(w, err);
    if (!view)
        return -1;
    v.budget.max_events = whole_options(w)->max_witness;
    open_predictors(&v, view);
    try_races(&v, &result->races, view->count);
    close_predictors(&v);
    count_up(&v, result);
    return 0;
}
