/* prove.c - many questions to the predictor, on several threads */
#include "engines/prove.h"
#include "base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

/* For the solvers of all threads: with more they take turns. 16 million events need a fifth of it
 * each, where every access is to shared memory. */
#define SOLVERS_BYTES_MAX ((uint64_t)2 << 30)

/* Questions a thread gets in a batch: at 200 ms an instance the user can stop within seconds. */
enum { BATCH_PER_THREAD = 8 };

struct worker {
    struct prover *prover;
    struct predictor *predictor;
};

struct prover {
    struct worker *workers; /* the first one's predictor owns the model */
    unsigned threads;
    struct question *questions;
    size_t count;
    size_t next; /* question; atomic, by builtins (<stdatomic.h> has its own memory_order) */
};

static unsigned count_threads(unsigned jobs, const struct predictor *p)
{
    while (jobs > 1 && jobs * predictor_bytes(p) > SOLVERS_BYTES_MAX)
        jobs--;
    return jobs ? jobs : 1;
}

struct prover *prover_new(struct whole *w, struct error *err)
{
    const struct view *view = whole_view(w, err);
    struct predictor *first;
    struct prover *p;

    if (!view)
        return NULL;
    p = xcalloc(1, sizeof(*p));
    first = predictor_new(view, whole_info(w));
    p->threads = count_threads(whole_options(w)->jobs, first);
    p->workers = xcalloc(p->threads, sizeof(*p->workers));
    for (unsigned i = 0; i < p->threads; i++)
        p->workers[i] = (struct worker){ p, i ? predictor_clone(first) : first };
    return p;
}

void prover_free(struct prover *p)
{
    if (!p)
        return;
    for (unsigned i = p->threads; i-- > 0;)
        predictor_free(p->workers[i].predictor);
    free(p->workers);
    free(p);
}

size_t prover_batch(const struct prover *p)
{
    return (size_t)p->threads * BATCH_PER_THREAD;
}

static void answer_one(struct predictor *p, struct question *q)
{
    struct predict_budget budget = PREDICT_BUDGET;

    budget.max_events = q->max_events;
    q->answer = PREDICT_INFEASIBLE;
    for (size_t i = 0; i < q->ninstances && q->answer != PREDICT_FEASIBLE; i++) {
        enum predict_answer answer = predictor_decide(
            p, q->instances[i].first, q->instances[i].second, &budget, &q->list, &q->count);

        if (answer != PREDICT_INFEASIBLE)
            q->answer = answer;
        if (answer == PREDICT_FEASIBLE)
            q->feasible = q->instances[i];
    }
}

static void *answer_some(void *arg)
{
    struct worker *w = arg;
    size_t i;

    while ((i = __atomic_fetch_add(&w->prover->next, 1, __ATOMIC_RELAXED)) < w->prover->count)
        answer_one(w->predictor, &w->prover->questions[i]);
    return NULL;
}

/* This thread is one of them. */
void prover_answer(struct prover *p, struct question *questions, size_t n)
{
    pthread_t *threads = xcalloc(p->threads, sizeof(*threads));
    unsigned started = 1;

    p->questions = questions;
    p->count = n;
    p->next = 0;
    while (started < p->threads && started < n &&
           !pthread_create(&threads[started], NULL, answer_some, &p->workers[started]))
        started++;
    answer_some(&p->workers[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

struct predict_stats prover_stats(const struct prover *p)
{
    struct predict_stats sum = { 0 };

    for (unsigned i = 0; i < p->threads; i++) {
        const struct predict_stats *s = predictor_stats(p->workers[i].predictor);

        sum.by_needs += s->by_needs;
        sum.by_observed += s->by_observed;
        sum.by_search += s->by_search;
        sum.conflicts += s->conflicts;
        sum.rounds += s->rounds;
    }
    return sum;
}
