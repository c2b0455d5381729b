/* mc.c - maximal causality: every race that the trace proves possible
 *
 * All pairs of sites with conflicting accesses and no common lock
 * (mc_pairs.c) are put to the exact solver (solve/), the nearest instances
 * first, until one is feasible. Its schedule goes to the checker. Constraints
 * are those of Algorithm 2 of the RDIT paper without its part 1, on the whole
 * trace instead of windows, and only on what the two accesses need.
 *
 * With a window of N events (options.window) windows are 2N long and begin
 * every N events: two accesses at most N events apart are together in the
 * window in whose first half the earlier one is, and asked about there alone.
 *
 * Of a trace longer than whole_limit() the rest comes in parts (whole_parts.h): the
 * same questions about the events that are new in each.
 *
 * sb is here for comparison with the paper only.
 *
 * Instances that samples left out are asked about when all that were in them are impossible
 * (try_more(), try_all()).
 *
 * Limits: MORE_MAX, ALL_MAX instances of a pair of sites. Pairs that are left open are counted, and
 * the result is then not complete. Where the order of accesses is not exact a race whose schedule
 * has reads of uncertain writers stays `maybe`.
 */
#include "engines/engine.h"
#include "base/alloc.h"
#include "engines/predict/mc_pairs.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_parts.h"
#include "engines/whole_show.h"
#include "order/hard.h"
#include "solve/must.h"

#include <stdlib.h>

/* Instances of a question beyond the first; and of all pairs together and each pair, for those that
 * needs alone decide (a few microseconds each), and for those that take a search. */
enum { CHUNK = 1024, MORE_TIMES = 2 };
enum { MORE_TOTAL = 1 << 22, MORE_MAX = 1 << 20, ALL_TOTAL = 1 << 18, ALL_MAX = 1 << 12 };

/* For the clocks of hard.h. */
#define HARD_BYTES_MAX ((uint64_t)512 << 20)

enum pair_state { UNASKED, FOUND, INFEASIBLE, UNDECIDED };

/* Instances of a pair in one window. */
struct part {
    uint64_t window; /* its number */
    size_t pair;
    const struct instance *instances;
    uint32_t count;
};

struct mc {
    struct engine_result *result;
    struct whole *whole;
    struct prover *prover;
    struct mc_pairs pairs;
    struct hard *hard;  /* where the solver has no clocks; or NULL */
    uint8_t *state;     /* of each pair */
    bool *searched;     /* not all its instances were decided by what they need of each other */
    uint64_t at_window; /* what the prover is about */
    uint64_t window, windows; /* events, 0: none; how many were asked about */
    struct part *parts;
    size_t nparts, parts_cap;
    struct question *questions;
    size_t *pair_of; /* question -> pair */
    size_t count;
    const struct event *events;
    const uint32_t *rank;   /* of the view */
    uint64_t base, nevents; /* of those at hand: the first that counts, and all */
    struct predict_stats stats;
    uint64_t asked, infeasible, undecided, cut, skipped;
    uint64_t unreachable; /* threads */
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
    return (struct access){ whole_position(m->whole, position), m->events[position].site };
}

static void mc_show(struct mc *m, struct race *r, struct question *q)
{
    struct error why;

    if (!whole_can_show(m->whole))
        free(q->list);
    else
        whole_show(m->whole, r, q->list, q->count, &why);
}

static void mc_report(struct mc *m, struct question *q)
{
    struct access first = access_at(m, q->feasible.first);
    struct access second = access_at(m, q->feasible.second);
    struct race *r;

    race_table_add(&m->result->races, first, second, STRENGTH_MAYBE);
    r = race_table_find(&m->result->races, first.site, second.site);
    if (r)
        mc_show(m, r, q);
    else
        free(q->list);
}

static void use_answer(struct mc *m, struct question *q, size_t pair)
{
    if (q->skipped) {
        if (m->state[pair] == INFEASIBLE) /* so far; there is more to ask */
            m->state[pair] = UNASKED;
        return;
    }
    m->searched[pair] |= q->stats.by_search || q->stats.by_backend || m->unreachable;
    if (q->answer == PREDICT_FEASIBLE) {
        m->state[pair] = FOUND;
        mc_report(m, q);
    } else if (q->answer == PREDICT_UNDECIDED) {
        m->state[pair] = UNDECIDED;
    } else if (m->state[pair] == UNASKED) {
        m->state[pair] = INFEASIBLE;
    }
}

/* ---- questions ---- */

/* Of longer schedules only the length is of interest; 0: all are wanted. */
static uint64_t longest_list(const struct mc *m)
{
    return whole_can_show(m->whole) ? 0 : 1;
}

static void mc_run_batch(struct mc *m)
{
    size_t i = 0;

    while (i < m->count) {
        size_t end = i + prover_answer(m->prover, m->questions + i, m->count - i);

        for (; i < end; i++)
            use_answer(m, &m->questions[i], m->pair_of[i]);
    }
    m->count = 0;
}

static void end_window(struct mc *m)
{
    struct predict_stats s;

    if (!m->prover)
        return;
    mc_run_batch(m);
    s = prover_stats(m->prover);
    predict_stats_add(&m->stats, &s);
    prover_free(m->prover);
    m->prover = NULL;
}

/* Questions are about this window from here on; false: the trace cannot be read. */
static bool begin_window(struct mc *m, uint64_t number, struct error *err)
{
    uint64_t first = m->base + number * m->window, left = m->nevents - first;
    uint64_t events = left < 2 * m->window ? left : 2 * m->window;

    end_window(m);
    whole_spend(m->whole, UNITS_AN_EVENT * (m->window ? events : left));
    m->windows++;
    m->at_window = number;
    m->prover = prover_new(m->whole, first, m->window ? events : 0, err);
    if (!m->prover)
        return false;
    if (prover_unreachable(m->prover) > m->unreachable)
        m->unreachable = prover_unreachable(m->prover);
    m->questions = xrealloc(m->questions, prover_batch(m->prover), sizeof(*m->questions));
    m->pair_of = xrealloc(m->pair_of, prover_batch(m->prover), sizeof(*m->pair_of));
    return true;
}

static void mc_ask(struct mc *m, const struct part *p)
{
    m->pair_of[m->count] = p->pair;
    m->questions[m->count++] = (struct question){ .instances = p->instances,
                                                  .ninstances = p->count,
                                                  .max_list = longest_list(m) };
    if (m->count == prover_batch(m->prover))
        mc_run_batch(m);
}

/* Stopped early: pairs of which parts are left are not decided. */
static void skip_parts(struct mc *m, size_t from)
{
    for (size_t i = from; i < m->nparts; i++)
        if (m->state[m->parts[i].pair] != FOUND)
            m->state[m->parts[i].pair] = UNASKED;
}

/* -1: the trace cannot be read. */
static int try_parts(struct mc *m, struct error *err)
{
    size_t i;

    for (i = 0; i < m->nparts; i++) {
        const struct part *p = &m->parts[i];

        if (m->state[p->pair] == FOUND)
            continue;
        if ((!m->prover || p->window != m->at_window) && !begin_window(m, p->window, err))
            return -1;
        mc_ask(m, p);
        if (!m->count && whole_stop(m->whole, (double)i / (double)m->nparts)) {
            i++;
            break;
        }
    }
    if (m->prover)
        mc_run_batch(m);
    skip_parts(m, i);
    return 0;
}

/* ---- pairs by window ---- */

static void add_part(struct mc *m, const struct part *p)
{
    GROW(m->parts, m->parts_cap, m->nparts + 1);
    m->parts[m->nparts++] = *p;
}

/* Instances by window, in each in the order they were; one part each. */
static uint64_t window_of(const struct mc *m, const struct instance *i)
{
    return (i->first - m->base) / m->window;
}

static void split_pair(struct mc *m, size_t pair, struct instance *list, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        struct instance x = list[i];
        uint32_t k = i;

        for (; k > 0 && window_of(m, &list[k - 1]) > window_of(m, &x); k--)
            list[k] = list[k - 1];
        list[k] = x;
    }
    for (uint32_t i = 0, from = 0; i < n; i++) {
        uint64_t window = window_of(m, &list[i]);

        if (i + 1 < n && window_of(m, &list[i + 1]) == window)
            continue;
        add_part(m, &(struct part){ window, pair, list + from, i + 1 - from });
        from = i + 1;
    }
}

/* Must the first one be executed before the second one can be next? */
static bool is_ordered(const struct mc *m, const struct instance *i)
{
    return hard_needs(m->hard, (uint32_t)i->second, m->events[i->first].thread) > m->rank[i->first];
}

/* Accesses that follow each other in every reordering need no solver. How many others are there? */
static uint32_t drop_ordered(struct mc *m, struct instance *list, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++)
        if (!is_ordered(m, &list[i]))
            list[kept++] = list[i];
    m->stats.by_needs += n - kept;
    return kept;
}

static void add_pair(struct mc *m, size_t pair, struct instance *list, uint32_t n)
{
    uint32_t left = m->hard ? drop_ordered(m, list, n) : n;

    if (n && !left && m->state[pair] == UNASKED)
        m->state[pair] = INFEASIBLE;
    if (m->window)
        split_pair(m, pair, list, left);
    else if (left)
        add_part(m, &(struct part){ 0, pair, list, left });
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    if (x->window != y->window)
        return x->window < y->window ? -1 : 1;
    return x->pair < y->pair ? -1 : x->pair > y->pair;
}

static void sort_parts(struct mc *m)
{
    if (m->window && m->nparts)
        qsort(m->parts, m->nparts, sizeof(*m->parts), compare_parts);
}

/* Found by another engine, or in an earlier part of the trace. */
static bool mc_is_known(const struct mc *m, const struct mc_pair *p)
{
    return whole_is_shown(m->whole, p->site, p->other) ||
           (whole_in_part(m->whole) &&
            race_table_find(&m->result->races, p->site, p->other) != NULL);
}

static void make_parts(struct mc *m)
{
    for (size_t i = 0; i < m->pairs.count; i++) {
        struct mc_pair *p = &m->pairs.pairs[i];

        if (mc_is_known(m, p))
            continue;
        m->asked++;
        add_pair(m, i, p->instances, p->count);
    }
    sort_parts(m);
}

/* How many instances of a pair for which no answer but no is known are still to come? */
static size_t left_of(const struct mc *m, const struct mc_more *more, size_t pair, size_t done)
{
    return m->state[pair] == INFEASIBLE && more[pair].count > done ? more[pair].count - done : 0;
}

/* The next of them; false: there are none. */
static bool list_chunk(struct mc *m, const struct mc_more *more, size_t done, size_t chunk)
{
    bool any = false;

    m->nparts = 0;
    for (size_t i = 0; i < m->pairs.count; i++) {
        size_t left = left_of(m, more, i, done);

        any |= left > 0;
        if (left)
            add_pair(m, i, more[i].instances + done, (uint32_t)(left < chunk ? left : chunk));
    }
    sort_parts(m);
    return any;
}

static void skip_chunks(struct mc *m, const struct mc_more *more, size_t done)
{
    for (size_t i = 0; i < m->pairs.count; i++)
        if (left_of(m, more, i, done))
            m->state[i] = UNASKED;
}

/* Ask about all instances in `more`, so many of each pair at a time; in windows at once, since each
 * window has to be made. */
static int try_chunks(struct mc *m, const struct mc_more *more, struct error *err)
{
    size_t chunk = m->window ? MORE_MAX : CHUNK;

    for (size_t done = 0; list_chunk(m, more, done, chunk); done += chunk) {
        if (whole_poll(m->whole)) {
            skip_chunks(m, more, done);
            return 0;
        }
        if (try_parts(m, err) < 0)
            return -1;
    }
    return 0;
}

/* Ask about what was found of the pairs that wanted it. */
static int try_listed(struct mc *m, const struct mc_more *more, struct error *err)
{
    for (size_t i = 0; i < m->pairs.count; i++)
        if (more[i].wanted)
            m->pairs.pairs[i].cut = more[i].stride > 1;
    return try_chunks(m, more, err);
}

static uint32_t share_of(uint32_t total, size_t pairs, uint32_t most)
{
    uint32_t share = (uint32_t)(total / (pairs ? pairs : 1));

    return share < MC_MORE_MAX ? MC_MORE_MAX : share > most ? most : share & ~1u;
}

/* Pairs of which all instances that were kept are impossible, but not all were: most of the others
 * are impossible for the same reason, and that is found out fast. */
static int try_more(struct mc *m, struct mc_more *more, struct error *err)
{
    size_t wanted = 0;

    for (size_t i = 0; i < m->pairs.count; i++) {
        free(more[i].instances);
        more[i] = (struct mc_more){ .wanted = m->state[i] == INFEASIBLE && m->pairs.pairs[i].cut };
        wanted += more[i].wanted;
    }
    if (!wanted || whole_poll(m->whole))
        return 0;
    mc_pairs_most(&m->pairs, whole_view(m->whole, err), m->window,
                  m->window ? MC_MORE_MAX : share_of(MORE_TOTAL, wanted, MORE_MAX), more);
    return try_listed(m, more, err);
}

/* Instances so far were accesses with the latest ones before them. That is enough where needs
 * decide: what cannot come without an access cannot come without an earlier one of that thread. But
 * a later access may be out of reach where an earlier one is not: a search may find that, and in a
 * trace that is not true there are events that never happen. */
static int try_all(struct mc *m, struct mc_more *more, struct error *err)
{
    size_t wanted = 0;

    for (size_t i = 0; i < m->pairs.count; i++) {
        free(more[i].instances);
        more[i] = (struct mc_more){ .wanted = m->state[i] == INFEASIBLE && m->searched[i] };
        wanted += more[i].wanted;
        m->pairs.pairs[i].cut |= more[i].wanted; /* should there be no time */
    }
    if (!wanted || whole_poll(m->whole))
        return 0;
    mc_pairs_all(&m->pairs, whole_view(m->whole, err), m->window,
                 m->window ? MC_MORE_MAX : share_of(ALL_TOTAL, wanted, ALL_MAX), more);
    return try_listed(m, more, err);
}

/* The first time many pairs want more, and few of them have many instances: these get more room the
 * next time. */
static int try_others(struct mc *m, struct error *err)
{
    struct mc_more *more = xcalloc(m->pairs.count + 1, sizeof(*more));
    int r = 0;

    for (int i = 0; i < MORE_TIMES && r == 0; i++)
        r = try_more(m, more, err);
    if (r == 0)
        r = try_all(m, more, err);
    for (size_t i = 0; i < m->pairs.count; i++)
        free(more[i].instances);
    free(more);
    return r;
}

/* Is a pair that is not found impossible? The rule is in docs/design/cascade.md, "Refuted". */
static bool can_refute(const struct mc *m)
{
    return whole_info(m->whole)->order == TRACE_EXACT &&
           whole_call_rule(m->whole) < CALL_RULE_PAIRS && !whole_has_parts(m->whole) &&
           !m->window && !m->pairs.dropped && !m->unreachable && !whole_unseen(m->whole);
}

/* What became of the pairs. */
static void tally(struct mc *m)
{
    m->result->refutes = can_refute(m);
    for (size_t i = 0; i < m->pairs.count; i++) {
        const struct mc_pair *p = &m->pairs.pairs[i];

        m->undecided += m->state[i] == UNDECIDED;
        m->cut += m->state[i] == INFEASIBLE && p->cut;
        m->infeasible += m->state[i] == INFEASIBLE && !p->cut;
        m->skipped += m->state[i] == UNASKED && !mc_is_known(m, p);
        if (m->state[i] != FOUND && (m->state[i] != INFEASIBLE || p->cut))
            map_put(&m->result->open, site_pair(p->site, p->other), 1);
    }
    m->asked -= m->skipped;
}

static void mc_count_up(struct mc *m)
{
    struct predict_stats s = m->stats;

    engine_count(m->result, "pairs", m->asked);
    engine_count(m->result, "infeasible", m->infeasible);
    engine_count(m->result, "by_needs", s.by_needs);
    engine_count(m->result, "by_observed", s.by_observed);
    engine_count(m->result, "by_search", s.by_search);
    if (s.by_backend)
        engine_count(m->result, "by_z3", s.by_backend);
    engine_leave(m->result, "undecided", m->undecided);
    engine_leave(m->result, "instances_cut", m->cut);
    engine_leave(m->result, "pairs_skipped", m->skipped);
    if (m->unreachable) /* what comes late in them races with nothing */
        engine_count(m->result, "threads_unreachable", m->unreachable);
    if (whole_unseen(m->whole)) /* reads that are never right */
        engine_count(m->result, "unseen", whole_unseen(m->whole));
    engine_leave(m->result, "instances_dropped", m->pairs.dropped);
    if (m->window && !whole_in_part(m->whole)) { /* what is further apart was not looked at */
        engine_leave(m->result, "window", m->window);
        engine_count(m->result, "windows", m->windows);
    }
}

static int decide_pairs(struct mc *m, const struct view *view, struct error *err)
{
    int r;

    m->state = xcalloc(m->pairs.count, sizeof(*m->state));
    m->searched = xcalloc(m->pairs.count, sizeof(*m->searched));
    if ((uint64_t)view->count * view->nthreads > must_entries_max(view->rows_max))
        m->hard = hard_new(view, HARD_BYTES_MAX);
    make_parts(m);
    r = try_parts(m, err);
    if (r == 0)
        r = try_others(m, err);
    end_window(m);
    tally(m);
    if (r == 0)
        mc_count_up(m);
    free(m->questions);
    free(m->pair_of);
    free(m->parts);
    free(m->state);
    free(m->searched);
    hard_free(m->hard);
    m->hard = NULL;
    return r;
}

/* On all that is at hand. */
static int decide_at_hand(struct mc *m, struct whole *whole, struct error *err)
{
    const struct engine_options *o = whole_options(whole);
    const struct view *view = whole_view(whole, err);
    int r = 0;

    if (!view)
        return -1;
    m->whole = whole;
    m->events = view->events;
    m->rank = view->rank;
    m->base = whole_base(whole);
    m->nevents = view->count;
    m->window = o->window < m->nevents - m->base ? o->window : 0;
    mc_pairs_find_from(&m->pairs, view, m->window, m->base, whole_fresh(whole));
    if (m->pairs.count)
        r = decide_pairs(m, view, err);
    else
        m->result->refutes = can_refute(m); /* no two accesses are without a common lock */
    mc_pairs_release(&m->pairs);
    return r;
}

/* What is beyond whole_limit() is looked at in parts, and counted there. */
static int mc_decide(void *state, struct whole *whole, struct error *err)
{
    struct mc *m = state;
    uint64_t events = whole_info(whole)->events, limit = whole_limit(whole);

    if (whole_in_part(whole) || whole_affords_view(whole))
        return decide_at_hand(m, whole, err);
    engine_leave(m->result, "events_not_seen", events < limit ? events : limit);
    return 0;
}

const struct engine engine_mc = {
    .name = "mc",
    .summary = "every race that a correct reordering can show, by exact search",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .call_rule = CALL_RULE_UNSEEN,
    .open = mc_open,
    .decide = mc_decide,
    .close = mc_close,
};

/* rdit and sb are mc where calls of untraced code keep more order (docs/design/rdit.md). */
const struct engine engine_rdit = {
    .name = "rdit",
    .summary =
        "like mc, but calls of untraced code may synchronise through anything they can reach",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .call_rule = CALL_RULE_PAIRS,
    .open = mc_open,
    .decide = mc_decide,
    .close = mc_close,
};

const struct engine engine_sb = {
    .name = "sb",
    .summary = "rdit with all calls of untraced code in their order (for comparison)",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .on_request = true,
    .call_rule = CALL_RULE_SIMPLE,
    .open = mc_open,
    .decide = mc_decide,
    .close = mc_close,
};
