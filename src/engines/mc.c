/* mc.c - maximal causality: every race that the trace proves possible
 *
 * All pairs of sites with conflicting accesses and no common lock
 * (mc_pairs.c) are put to the exact solver (solve/), the nearest instances
 * first, until one is feasible. Its schedule goes to the checker. Constraints
 * are those of Algorithm 2 of the RDIT paper without its part 1, on the whole
 * trace instead of windows, and only on what the two accesses need.
 *
 * Limits: the first WHOLE_EVENTS_MAX events; MC_INSTANCES instances of a pair
 * of sites. Pairs that are left open are counted, and the result is then not
 * complete. Where the order of accesses is not exact a race whose schedule
 * has reads of uncertain writers stays `maybe`.
 */
#include "engines/engine.h"
#include "base/alloc.h"
#include "engines/mc_pairs.h"
#include "engines/whole.h"

#include <stdlib.h>

struct mc {
    struct engine_result *result;
    struct whole *whole;
    struct prover *prover;
    struct mc_pairs pairs;
    struct question *questions;
    size_t *pair_of; /* question -> pair */
    size_t count;
    const struct event *events;
    uint64_t total; /* events of all schedules */
    uint64_t asked, infeasible, undecided, cut, skipped, too_long, over_budget;
};

static void *mc_open(struct engine_result *result, const struct engine_options *options)
{
    struct mc *m = xcalloc(1, sizeof(*m));

    (void)options;
    m->result = result;
    return m;
}

static void mc_close(void *state)
{
    free(state);
}

/* ---- answers ---- */

static struct access access_at(const struct mc *m, uint64_t position)
{
    return (struct access){ position, m->events[position].site };
}

static void show(struct mc *m, struct race *r, struct question *q)
{
    const struct engine_options *o = whole_options(m->whole);
    struct error why;

    if (o->no_witness || !whole_can_show(m->whole)) {
        free(q->list);
    } else if (o->max_witness && q->count > o->max_witness) {
        m->too_long++;
        free(q->list);
    } else if (m->total >= WITNESS_EVENTS_MAX) {
        m->over_budget++;
        free(q->list);
    } else {
        m->total += q->count;
        whole_show(m->whole, r, q->list, q->count, &why);
    }
}

static void report(struct mc *m, struct question *q)
{
    struct access first = access_at(m, q->feasible.first);
    struct access second = access_at(m, q->feasible.second);
    struct race *r;

    race_table_add(&m->result->races, first, second, STRENGTH_MAYBE);
    r = race_table_find(&m->result->races, first.site, second.site);
    if (r)
        show(m, r, q);
    else
        free(q->list);
}

static void use_answer(struct mc *m, struct question *q, const struct mc_pair *p)
{
    if (q->answer == PREDICT_FEASIBLE) {
        report(m, q);
        return;
    }
    if (q->answer == PREDICT_UNDECIDED)
        m->undecided++;
    else if (p->cut)
        m->cut++;
    else
        m->infeasible++;
}

/* ---- questions ---- */

static void run_batch(struct mc *m)
{
    prover_answer(m->prover, m->questions, m->count);
    for (size_t i = 0; i < m->count; i++)
        use_answer(m, &m->questions[i], &m->pairs.pairs[m->pair_of[i]]);
    m->asked += m->count;
    m->count = 0;
}

static void try_pairs(struct mc *m)
{
    size_t most = prover_batch(m->prover);

    m->questions = xcalloc(most, sizeof(*m->questions));
    m->pair_of = xcalloc(most, sizeof(*m->pair_of));
    for (size_t i = 0; i < m->pairs.count; i++) {
        const struct mc_pair *p = &m->pairs.pairs[i];

        if (whole_is_shown(m->whole, p->site, p->other))
            continue;
        m->pair_of[m->count] = i;
        m->questions[m->count++] =
            (struct question){ .instances = p->instances, .ninstances = p->count };
        if (m->count < most)
            continue;
        run_batch(m);
        if (whole_stop(m->whole, (double)i / (double)m->pairs.count)) {
            m->skipped = m->pairs.count - i - 1;
            break;
        }
    }
    run_batch(m);
    free(m->questions);
    free(m->pair_of);
}

static void count_up(struct mc *m)
{
    struct predict_stats s = prover_stats(m->prover);

    engine_count(m->result, "pairs", m->asked);
    engine_count(m->result, "infeasible", m->infeasible);
    engine_count(m->result, "by_needs", s.by_needs);
    engine_count(m->result, "by_observed", s.by_observed);
    engine_count(m->result, "by_search", s.by_search);
    if (m->undecided)
        engine_count(m->result, "undecided", m->undecided);
    if (m->cut)
        engine_count(m->result, "instances_cut", m->cut);
    if (m->skipped)
        engine_count(m->result, "pairs_skipped", m->skipped);
    if (m->pairs.dropped)
        engine_count(m->result, "instances_dropped", m->pairs.dropped);
    if (m->too_long)
        engine_count(m->result, "witness_too_long", m->too_long);
    if (m->over_budget)
        engine_count(m->result, "witness_over_budget", m->over_budget);
    m->result->complete &= !m->undecided && !m->cut && !m->skipped && !m->pairs.dropped;
}

static int mc_decide(void *state, struct whole *whole, struct error *err)
{
    struct mc *m = state;
    const struct view *view = whole_view(whole, err);

    if (!view)
        return -1;
    m->whole = whole;
    m->events = view->events;
    if (whole_info(whole)->events > view->count)
        m->result->complete = false;
    mc_pairs_find(&m->pairs, view);
    if (m->pairs.count) {
        m->prover = prover_new(whole, err);
        try_pairs(m);
        count_up(m);
        prover_free(m->prover);
    }
    mc_pairs_release(&m->pairs);
    return 0;
}

const struct engine engine_mc = {
    .name = "mc",
    .summary = "every race that a correct reordering can show, by an exact solver; with witnesses",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .on_request = true,
    .open = mc_open,
    .decide = mc_decide,
    .close = mc_close,
};
