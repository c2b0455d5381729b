/* prop_solve.c - the predictor's answers are those of the exhaustive search
 *
 * For every conflicting pair of a trace: feasible exactly where the oracle
 * knows a correct reordering with both next, and then the schedule passes the
 * checker and the oracle's own rules. Small traces must never be undecided.
 */
#include "properties.h"

#include <stdlib.h>
#include <string.h>

#include "engines/predict/predict.h"
#include "order/view.h"
#include "text_trace.h"
#include "witness/witness.h"

/* A trace with everything that is asked about it. */
struct court {
    struct subject *s;
    struct view *view;
    struct predictor *predictor;
    struct witness_trace *checker;
    struct buf *why;
    uint32_t unfrozen;
    uint64_t work; /* 0: no limit */
};

static enum verdict judge_schedule(struct court *c, size_t a, size_t b, const uint64_t *list,
                                   size_t n)
{
    struct error err = { "" };

    if (n < 2 || list[n - 2] != a || list[n - 1] != b) {
        buf_addf(c->why, "the schedule of %zu and %zu does not end with them", a, b);
        return VIOLATED;
    }
    if (!witness_check(c->checker, list, n, &err)) {
        buf_addf(c->why, "the schedule of %zu and %zu is refused: %s", a, b, err.text);
        return VIOLATED;
    }
    if (!oracle_accepts(&c->s->mem, c->s->info, list, n)) {
        buf_addf(c->why, "the oracle refuses the schedule of %zu and %zu", a, b);
        return VIOLATED;
    }
    return HOLDS;
}

static enum verdict judge_pair(struct court *c, size_t a, size_t b)
{
    struct predict_budget budget = { .conflicts = 100000,
                                     .unfrozen = c->unfrozen,
                                     .work = c->work };
    bool possible = pair_set_has(&c->s->oracle.pairs, a, b);
    enum predict_answer answer;
    enum verdict v = HOLDS;
    uint64_t *list;
    size_t n;

    answer = predictor_decide(c->predictor, a, b, &budget, &list, &n);
    if (answer == PREDICT_FEASIBLE && possible)
        v = judge_schedule(c, a, b, list, n);
    free(list);
    if (answer == PREDICT_UNDECIDED && c->work)
        return HOLDS;
    if (answer == (possible ? PREDICT_FEASIBLE : PREDICT_INFEASIBLE))
        return v;
    buf_addf(c->why, "events %zu and %zu: the predictor says %d, the oracle %s", a, b, (int)answer,
             possible ? "feasible" : "infeasible");
    return VIOLATED;
}

static enum verdict judge_all(struct court *c)
{
    for (size_t a = 0; a < c->s->mem.count; a++)
        for (size_t b = a + 1; b < c->s->mem.count; b++)
            if (naive_conflict(&c->s->mem, a, b) && judge_pair(c, a, b) == VIOLATED)
                return VIOLATED;
    return HOLDS;
}

static enum verdict ask(struct subject *s, struct predictor *clone_of, uint32_t unfrozen,
                        uint64_t work, struct buf *why)
{
    struct court c = { .s = s, .why = why, .unfrozen = unfrozen, .work = work };
    enum verdict v;

    if (!s->oracle.complete)
        return DOES_NOT_APPLY;
    c.view = view_new(&s->mem, CALL_RULE_NONE);
    c.predictor = clone_of ? predictor_clone(clone_of) : predictor_new(c.view, s->info);
    c.checker = witness_trace_new(&s->mem, s->info);
    v = judge_all(&c);
    predictor_free(c.predictor);
    witness_trace_free(c.checker);
    view_free(c.view);
    return v;
}

static enum verdict the_predictor_is_exact(struct subject *s, struct buf *why)
{
    return ask(s, NULL, 0, 0, why);
}

/* With an early part of the trace as observed there are fewer schedules, but none is wrong. */
static enum verdict frozen_prefixes_change_no_answer(struct subject *s, struct buf *why)
{
    return both(ask(s, NULL, 1, 0, why), ask(s, NULL, 4, 0, why));
}

/* Out of budget at any point: undecided or right, and the next question is not disturbed. */
static enum verdict small_budgets_make_no_wrong_answer(struct subject *s, struct buf *why)
{
    return both(ask(s, NULL, 0, 20 + s->mem.count, why), ask(s, NULL, 2, 300, why));
}

/* A clone knows nothing of what the first one did. */
static enum verdict clones_answer_alike(struct subject *s, struct buf *why)
{
    struct view *v = view_new(&s->mem, CALL_RULE_NONE);
    struct predictor *p = predictor_new(v, s->info);
    enum verdict verdict = ask(s, p, 0, 0, why);

    predictor_free(p);
    view_free(v);
    return verdict;
}

/* The instance that the table keeps is shown exactly where that is possible. */
static enum verdict judge_race(struct subject *s, const struct race *r,
                               const struct witness_trace *w, struct buf *why)
{
    bool possible = pair_set_has(&s->oracle.pairs, r->first.position, r->second.position);
    bool shown = r->strength <= STRENGTH_WITNESSED;

    if (shown != possible) {
        buf_addf(why, "the race of %llu and %llu is %s, but %s",
                 (unsigned long long)r->first.position, (unsigned long long)r->second.position,
                 possible ? "possible" : "impossible", shown ? "shown" : "not shown");
        return VIOLATED;
    }
    return shown ? judge_witness(s, r, w, why) : HOLDS;
}

static enum verdict judge_engine(struct subject *s, const struct engine *e, struct buf *why)
{
    const struct race_table *t = &subject_result(s, e)->races;
    struct witness_trace *w = witness_trace_new(&s->mem, s->info);
    enum verdict v = HOLDS;

    for (size_t i = 0; i < t->count && v == HOLDS; i++)
        v = judge_race(s, &t->races[i], w, why);
    witness_trace_free(w);
    return v;
}

static enum verdict possible_races_of_cp_and_wcp_are_shown(struct subject *s, struct buf *why)
{
    if (!s->oracle.complete || s->info->order != TRACE_EXACT)
        return DOES_NOT_APPLY;
    return both(judge_engine(s, &engine_cp, why), judge_engine(s, &engine_wcp, why));
}

/* Possible races stay; of the others only those with more instances than were decided. */
static enum verdict compare_cascade(struct subject *s, const struct race_table *all,
                                    const struct race_table *kept, struct buf *why)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct race *r = &all->races[i];
        bool possible = pair_set_has(&s->oracle.pairs, r->first.position, r->second.position);
        bool listed = race_table_find(kept, r->first.site, r->second.site) != NULL;

        if (listed == (possible || r->count > 2))
            continue;
        buf_addf(why, "the race of %llu and %llu is %s, and the cascade %s it",
                 (unsigned long long)r->first.position, (unsigned long long)r->second.position,
                 possible ? "possible" : "impossible", listed ? "lists" : "does not list");
        return VIOLATED;
    }
    return HOLDS;
}

static enum verdict the_cascade_leaves_out_what_is_impossible(struct subject *s, struct buf *why)
{
    const struct engine *const engines[] = { &engine_wcp };
    struct engine_options options = { .cascade = true, .jobs = 2 };
    struct analysis a;
    struct error err = { "" };
    enum verdict v;

    if (!s->oracle.complete || s->info->order != TRACE_EXACT)
        return DOES_NOT_APPLY;
    if (trace_rewind(s->trace, &err) ||
        analysis_run(s->trace, engines, 1, &options, NULL, &a, &err)) {
        buf_addf(why, "cannot analyse again: %s", err.text);
        return VIOLATED;
    }
    v = compare_cascade(s, &subject_result(s, &engine_wcp)->races, &a.runs[0].result.races, why);
    analysis_release(&a);
    return v;
}

/* In both directions, and every race has its schedule. */
static enum verdict mc_finds_what_is_possible(struct subject *s, struct buf *why)
{
    const struct pair_set *found = subject_found(s, &engine_mc);
    const struct oracle *o = subject_mc(s);
    enum verdict v;

    if (!o->complete)
        return DOES_NOT_APPLY;
    v = both(subset(found, &o->pairs, "mc finds what is impossible", why),
             subset(&o->pairs, found, "mc misses a race", why));
    return s->info->order == TRACE_EXACT ? both(v, judge_engine(s, &engine_mc, why)) : v;
}

/* ---- few sites: a site stands for many events ---- */

enum { FEW_SITES = 2 };

/* A pair of sites as a bit: the trace has no other sites. */
static uint64_t pair_bit(const struct text_trace *t, uint64_t a, uint64_t b)
{
    uint32_t x = t->mem.events[a].site % 8, y = t->mem.events[b].site % 8;

    return 1ull << (x < y ? x * 8 + y : y * 8 + x);
}

static enum verdict compare_sites(const struct subject *s, const struct text_trace *t,
                                  const struct engine_result *r, struct buf *why)
{
    uint64_t found = 0, possible = 0;

    for (size_t i = 0; i < r->races.count; i++)
        found |= pair_bit(t, r->races.races[i].first.position, r->races.races[i].second.position);
    for (size_t i = 0; i < s->oracle.count; i++)
        possible |= pair_bit(t, s->oracle.races[i].first, s->oracle.races[i].second);
    if (found == possible || (!r->complete && !(found & ~possible)))
        return HOLDS;
    buf_addf(why, "pairs of sites %llx, possible are %llx", (unsigned long long)found,
             (unsigned long long)possible);
    return VIOLATED;
}

static enum verdict mc_finds_all_pairs_of_sites(struct subject *s, struct buf *why)
{
    const struct engine *engine = &engine_mc;
    struct text_trace t = { 0 };
    struct buf text = { 0 };
    struct analysis a;
    struct error err;
    enum verdict v;

    if (!s->exact || !s->oracle.complete)
        return DOES_NOT_APPLY;
    few_locations(s, FEW_SITES, &text);
    buf_addch(&text, 0);
    text_trace_open(&t, text.data);
    if (trace_rewind(t.trace, &err) || analysis_run(t.trace, &engine, 1, NULL, NULL, &a, &err))
        abort();
    v = compare_sites(s, &t, &a.runs[0].result, why);
    analysis_release(&a);
    text_trace_close(&t);
    buf_release(&text);
    return v;
}

const struct property properties_solve[] = {
    { "the-predictor-is-exact", the_predictor_is_exact, 1 },
    { "frozen-prefixes-change-no-answer", frozen_prefixes_change_no_answer, 2 },
    { "small-budgets-make-no-wrong-answer", small_budgets_make_no_wrong_answer, 2 },
    { "clones-of-predictors-answer-alike", clones_answer_alike, 10 },
    { "possible-races-of-cp-and-wcp-are-shown", possible_races_of_cp_and_wcp_are_shown, 1 },
    { "the-cascade-leaves-out-what-is-impossible", the_cascade_leaves_out_what_is_impossible, 4 },
    { "mc-finds-what-is-possible", mc_finds_what_is_possible, 1 },
    { "mc-finds-all-pairs-of-sites", mc_finds_all_pairs_of_sites, 2 },
    { NULL, NULL, 0 },
};
