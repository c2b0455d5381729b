/* prove.c - many questions to the predictor, on several threads and machines
 *
 * All threads, and the seats of other processes, take from one queue
 * (prove_queue.h); the calling thread is one of them and looks now and then
 * whether to stop.
 */
#include "engines/predict/prove.h"
#include "base/alloc.h"
#include "engines/crew/crew.h"
#include "engines/predict/prove_queue.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_parts.h"

#include <pthread.h>
#include <stdlib.h>

/* For the solvers of all threads: with more they take turns. 16 million events need a fifth of it
 * each, where every access is to shared memory. */
#define SOLVERS_BYTES_MAX ((uint64_t)2 << 30)

/* Questions a thread gets in a batch. At the end of a batch threads wait for the slowest question:
 * with 8 each, 2 threads are idle 4-11 % of the time and 16 threads 13-45 %, with 64 each 0-5 % and
 * 2-26 %, most of it at the very end (docs/design/mpi.md). */
enum { BATCH_PER_THREAD = 64, BATCH_MAX = 4096 };

enum { POLL_MILLISECONDS = 100 }; /* Ctrl-C while others work */

struct worker {
    struct prover *prover;
    struct predictor *predictor;
};

struct prover {
    struct whole *whole;
    struct scope scope;
    struct crew *crew;      /* or NULL: others do not have the part of a long trace */
    uint64_t limit;         /* positions are below it */
    struct worker *workers; /* the first one's predictor owns the model */
    unsigned threads;
    size_t batch;
    struct prove_queue queue;
};

static size_t add_instance(const struct whole *w, uint64_t first, uint64_t second,
                           struct instance *out)
{
    *out = (struct instance){ whole_event(w, first), whole_event(w, second) };
    return out->first != UINT64_MAX && out->second != UINT64_MAX && out->second >= whole_fresh(w);
}

size_t race_instances(const struct race *r, const struct whole *w, struct instance out[2])
{
    size_t n = add_instance(w, r->first.position, r->second.position, out);

    if (r->last_first != r->first.position || r->last_second != r->second.position)
        n += add_instance(w, r->last_first, r->last_second, out + n);
    return n;
}

unsigned scope_threads(unsigned jobs, const struct predictor *p)
{
    while (jobs > 1 && jobs * predictor_bytes(p) > SOLVERS_BYTES_MAX)
        jobs--;
    return jobs ? jobs : 1;
}

struct predictor *scope_predictor(struct whole *w, const struct scope *scope, struct error *err)
{
    const struct view *view = whole_view(w, err);

    struct predictor *p;

    if (view && scope->count) {
        p = predictor_new_window_with(view, whole_info(w), scope->first, scope->count,
                                      whole_options(w)->solver);
        predictor_fix(p, whole_base(w));
        return p;
    }
    return view ? predictor_new_with(view, whole_info(w), whole_options(w)->solver) : NULL;
}

struct prover *prover_new(struct whole *w, uint64_t from, uint64_t events, struct error *err)
{
    const struct trace_mem *mem = whole_events(w, err);
    struct scope scope = { .call_rule = whole_call_rule(w), .first = from, .count = events };
    struct predictor *first;
    struct prover *p;

    if (mem && whole_in_part(w) && !events) {
        scope.first = whole_base(w);
        scope.count = mem->count - scope.first;
    }
    first = mem ? scope_predictor(w, &scope, err) : NULL;
    if (!first)
        return NULL;
    p = xcalloc(1, sizeof(*p));
    p->whole = w;
    p->scope = scope;
    p->limit = mem->count;
    p->crew = whole_in_part(w) ? NULL : whole_options(w)->crew;
    p->threads = scope_threads(whole_options(w)->jobs, first);
    p->workers = xcalloc(p->threads, sizeof(*p->workers));
    for (unsigned i = 0; i < p->threads; i++)
        p->workers[i] = (struct worker){ p, i ? predictor_clone(first) : first };
    p->batch = (p->threads + crew_seats(p->crew)) * BATCH_PER_THREAD;
    if (p->batch > BATCH_MAX)
        p->batch = BATCH_MAX;
    prove_queue_init(&p->queue);
    return p;
}

void prover_free(struct prover *p)
{
    if (!p)
        return;
    for (unsigned i = p->threads; i-- > 0;)
        predictor_free(p->workers[i].predictor);
    prove_queue_release(&p->queue);
    free(p->workers);
    free(p);
}

size_t prover_batch(const struct prover *p)
{
    return p->batch;
}

/* ---- a question ---- */

static void stats_since(struct predict_stats *s, const struct predict_stats *before,
                        const struct predict_stats *now)
{
    const uint64_t *from = (const uint64_t *)before, *to = (const uint64_t *)now;

    for (size_t i = 0; i < sizeof(*s) / sizeof(*from); i++)
        ((uint64_t *)s)[i] = to[i] - from[i];
}

/* What is left for the next instance: hard ones come in swarms, and easy ones cost next to
 * nothing, so all instances of a question together get three times the budget of one. */
static uint64_t work_left(const struct predict_stats *before, const struct predictor *p)
{
    uint64_t one = PREDICT_BUDGET.work, used = predictor_stats(p)->work - before->work;

    return used >= 3 * one ? 0 : 3 * one - used < one ? 3 * one - used : one;
}

void question_answer(struct question *q, struct predictor *p)
{
    struct predict_budget budget = PREDICT_BUDGET;
    struct predict_stats before = *predictor_stats(p);

    budget.max_events = q->max_events;
    q->answer = PREDICT_INFEASIBLE;
    for (size_t i = 0; i < q->ninstances && q->answer != PREDICT_FEASIBLE; i++) {
        enum predict_answer answer;

        budget.work = work_left(&before, p);
        if (!budget.work) {
            q->answer = PREDICT_UNDECIDED;
            break;
        }
        answer = predictor_decide(p, q->instances[i].first, q->instances[i].second, &budget,
                                  &q->list, &q->count);

        if (answer != PREDICT_INFEASIBLE)
            q->answer = answer;
        if (answer == PREDICT_FEASIBLE)
            q->feasible = q->instances[i];
    }
    if (q->max_list && q->count > q->max_list) {
        free(q->list);
        q->list = NULL;
    }
    stats_since(&q->stats, &before, predictor_stats(p));
}

/* ---- a batch ---- */

static bool answer_next(struct worker *w)
{
    struct prove_queue *queue = &w->prover->queue;
    struct question q;
    size_t i;

    if (!prove_queue_take(queue, &i, &q))
        return false;
    question_answer(&q, w->predictor);
    prove_queue_answer(queue, i, &q);
    return true;
}

static void *answer_some(void *arg)
{
    while (answer_next(arg))
        ;
    return NULL;
}

/* This thread is one of those that work, and the one that stops them all. */
static void answer_and_watch(struct prover *p)
{
    bool over = false;

    while (!over && answer_next(&p->workers[0]))
        over = whole_poll(p->whole);
    while (!over && !prove_queue_wait(&p->queue, POLL_MILLISECONDS))
        over = whole_poll(p->whole);
    if (over)
        prove_queue_stop(&p->queue);
}

size_t prover_answer(struct prover *p, struct question *questions, size_t n)
{
    pthread_t *threads = xcalloc(p->threads, sizeof(*threads));
    struct shift *shift;
    unsigned started = 1;

    prove_queue_begin(&p->queue, questions, n, whole_left(p->whole));
    shift = crew_begin(p->crew, &p->scope, &p->queue, p->threads, p->limit);
    while (started < p->threads && started < n &&
           !pthread_create(&threads[started], NULL, answer_some, &p->workers[started]))
        started++;
    answer_and_watch(p);
    for (unsigned i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    crew_end(shift);
    free(threads);
    n = prove_queue_end(&p->queue);
    whole_spend(p->whole, p->queue.spent);
    return n;
}

uint32_t prover_unreachable(const struct prover *p)
{
    return predictor_unreachable(p->workers[0].predictor);
}

struct predict_stats prover_stats(const struct prover *p)
{
    return p->queue.stats;
}
