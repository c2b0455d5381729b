/* prop_rdit.c - calls of untraced code: rdit and sb
 *
 * On the trace itself, with the calls the generator made: both engines find
 * exactly what the exhaustive search with the naive rules finds, and contain
 * each other. On a trace of which parts were hidden (hide.h): what rdit finds
 * is possible in the full trace, without exception; what hb, cp and mc find
 * there beyond that is counted and printed at the end. Schedules of mc, which
 * know nothing of calls, get the same verdict from checker and oracle.
 */
#include "properties.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engines/analysis.h"
#include "engines/predict/predict.h"
#include "hide.h"
#include "naive_calls.h"
#include "naive_cp.h"
#include "order/view.h"
#include "trace/calls/unseen.h"
#include "witness/witness.h"

enum { MAX_STATES = 200000, ENOUGH_TRACES = 2000 };

/* Pairs found in incomplete traces, and those of them that the full trace does not have. */
static struct {
    uint64_t by_call, unknown, traces, hidden, full, hb, cp, mc, rdit, sb, false_hb, false_cp,
        false_mc;
} tally;

static void print_tally(void)
{
    if (!tally.traces)
        return;
    printf("reads of hidden writes: %llu marked, %llu not\n", (unsigned long long)tally.by_call,
           (unsigned long long)tally.unknown);
    printf("%llu traces with %llu events hidden; possible races of the full traces %llu\n"
           "found (false alarms): hb %llu (%llu), cp %llu (%llu), mc %llu (%llu), rdit %llu (0), "
           "sb %llu (0)\n",
           (unsigned long long)tally.traces, (unsigned long long)tally.hidden,
           (unsigned long long)tally.full, (unsigned long long)tally.hb,
           (unsigned long long)tally.false_hb, (unsigned long long)tally.cp,
           (unsigned long long)tally.false_cp, (unsigned long long)tally.mc,
           (unsigned long long)tally.false_mc, (unsigned long long)tally.rdit,
           (unsigned long long)tally.sb);
    if (tally.traces > ENOUGH_TRACES && !(tally.false_hb && tally.false_cp && tally.false_mc)) {
        puts("the incomplete traces mislead nobody: they test nothing");
        fflush(stdout);
        _exit(1);
    }
}

/* ---- what the solver finds with a rule ---- */

/* A trace, complete or not, and who judges its schedules. */
struct bench {
    const struct trace_mem *mem;
    const struct trace_info *info;
    const struct tables *names;
    enum call_rule rule;
    struct buf *why;
};

/* The checker and the oracle have one opinion, and where the solver knew the rule it is yes. */
static enum verdict judge_schedule(const struct bench *b, struct witness_trace *const *checkers,
                                   enum call_rule rule, const uint64_t *list, size_t n)
{
    struct error err = { "" };
    bool accepted = witness_check(checkers[rule], list, n, &err);
    bool right = oracle_accepts_calls(b->mem, b->info, rule, b->names, list, n);

    if (accepted == right && (accepted || rule != b->rule))
        return HOLDS;
    buf_addf(b->why,
             "the schedule of %llu and %llu by rule %d, judged by rule %d: checker %s, oracle %s",
             (unsigned long long)list[n - 2], (unsigned long long)list[n - 1], (int)b->rule,
             (int)rule, accepted ? "accepts" : err.text, right ? "accepts" : "refuses");
    return VIOLATED;
}

static enum verdict judge_by_all(const struct bench *b, struct witness_trace *const *checkers,
                                 const uint64_t *list, size_t n)
{
    enum verdict v = judge_schedule(b, checkers, b->rule, list, n);

    for (int rule = CALL_RULE_UNSEEN; b->rule == CALL_RULE_NONE && rule <= CALL_RULE_SIMPLE; rule++)
        v = both(v, judge_schedule(b, checkers, (enum call_rule)rule, list, n));
    return v;
}

/* All conflicting pairs that the predictor calls feasible. */
static enum verdict predict_all(const struct bench *b, struct pair_set *found)
{
    struct predict_budget budget = { .conflicts = 100000 };
    struct view *view = view_new_named(b->mem, b->rule, b->names);
    struct predictor *p = predictor_new(view, b->info);
    struct witness_trace *checkers[CALL_RULE_SIMPLE + 1];
    enum verdict v = HOLDS;

    for (int rule = 0; rule <= CALL_RULE_SIMPLE; rule++) {
        checkers[rule] = witness_trace_new(b->mem, b->info);
        witness_trace_set_calls(checkers[rule], (enum witness_calls)rule, b->names);
    }
    pair_set_init(found, b->mem->count);
    for (size_t x = 0; x < b->mem->count && v == HOLDS; x++) {
        for (size_t y = x + 1; y < b->mem->count && v == HOLDS; y++) {
            uint64_t *list;
            size_t n;

            if (!naive_conflict(b->mem, x, y))
                continue;
            if (predictor_decide(p, x, y, &budget, &list, &n) == PREDICT_FEASIBLE) {
                pair_set_add(found, x, y);
                v = judge_by_all(b, checkers, list, n);
            }
            free(list);
        }
    }
    for (int rule = 0; rule <= CALL_RULE_SIMPLE; rule++)
        witness_trace_free(checkers[rule]);
    predictor_free(p);
    view_free(view);
    return v;
}

/* The predictor with a rule finds what the exhaustive search finds with it. */
static enum verdict compare_with_oracle(const struct bench *b, struct pair_set *found)
{
    struct oracle o;
    enum verdict v = predict_all(b, found);

    oracle_run_calls(b->mem, b->info, b->rule, b->names, MAX_STATES, &o);
    if (v == HOLDS && o.complete)
        v = both(subset(found, &o.pairs, "is feasible for the solver, not for the oracle", b->why),
                 subset(&o.pairs, found, "is feasible for the oracle, not for the solver", b->why));
    oracle_release(&o);
    return v;
}

/* ---- the order ---- */

static enum verdict compare_orders(struct subject *s, const struct trace_mem *mem,
                                   enum call_rule rule, struct buf *why)
{
    struct view *view = view_new_named(mem, rule, trace_tables(s->trace));
    struct relation have, want;
    enum verdict v = HOLDS;

    naive_order(mem, NAIVE_MUST, &want);
    naive_calls(mem, rule, trace_tables(s->trace), &want);
    relation_close(&want);
    relation_init(&have, mem->count);
    naive_program_order(mem, &have);
    for (uint32_t i = 0; i < view->count; i++)
        for (uint32_t k = view->need_first[i]; k < view->need_first[i + 1]; k++)
            relation_add(&have, view->need[k], i);
    relation_close(&have);
    for (size_t a = 0; a < mem->count && v == HOLDS; a++)
        for (size_t b = a + 1; b < mem->count && v == HOLDS; b++)
            if (relation_has(&have, a, b) != relation_has(&want, a, b)) {
                buf_addf(why, "%zu before %zu: the view says %d, the rules say %d", a, b,
                         relation_has(&have, a, b), relation_has(&want, a, b));
                v = VIOLATED;
            }
    relation_release(&have);
    relation_release(&want);
    view_free(view);
    return v;
}

static enum verdict the_order_of_calls_is_that_of_the_rules(struct subject *s, struct buf *why)
{
    if (!s->info->calls)
        return DOES_NOT_APPLY;
    return both(compare_orders(s, &s->mem, CALL_RULE_UNSEEN, why),
                both(compare_orders(s, &s->mem, CALL_RULE_PAIRS, why),
                     compare_orders(s, &s->mem, CALL_RULE_SIMPLE, why)));
}

/* ---- the engines on the trace itself ---- */

static enum verdict judge_engine(struct subject *s, const struct engine *e, struct buf *why)
{
    struct bench b = { &s->mem, s->info, trace_tables(s->trace), e->call_rule, why };
    const struct pair_set *engine = subject_found(s, e);
    struct pair_set solver;
    enum verdict v = compare_with_oracle(&b, &solver);

    v = both(v, both(subset(engine, &solver, "is found by the engine, not by the solver", why),
                     subset(&solver, engine, "is found by the solver, not by the engine", why)));
    pair_set_release(&solver);
    return v;
}

static enum verdict rdit_and_sb_are_exact(struct subject *s, struct buf *why)
{
    if (!s->info->calls)
        return DOES_NOT_APPLY;
    return both(judge_engine(s, &engine_rdit, why), judge_engine(s, &engine_sb, why));
}

static enum verdict sb_is_in_rdit_and_rdit_in_mc(struct subject *s, struct buf *why)
{
    return both(subset(subject_found(s, &engine_sb), subject_found(s, &engine_rdit),
                       "is found by sb, not by rdit", why),
                subset(subject_found(s, &engine_rdit), subject_found(s, &engine_mc),
                       "is found by rdit, not by mc", why));
}

/* ---- the cascade ---- */

/* Pairs of accesses that the runs of an analysis have. */
static void collect_pairs(const struct analysis *a, size_t events, struct pair_set *out)
{
    pair_set_init(out, events);
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < a->runs[i].result.races.count; k++) {
            const struct race *r = &a->runs[i].result.races.races[k];

            pair_set_add(out, r->first.position, r->second.position);
        }
}

/* Every event has its own site, so nothing stands for something else. */
static enum verdict the_cascade_reports_what_calls_cannot_order(struct subject *s, struct buf *why)
{
    static const struct engine *const engines[] = { &engine_hb,  &engine_shb,  &engine_syncp,
                                                    &engine_wcp, &engine_rdit, &engine_mc };
    struct engine_options options = { .cascade = true, .jobs = 2 };
    struct analysis a;
    struct pair_set found;
    struct error err;
    enum verdict v;

    if (!s->info->calls)
        return DOES_NOT_APPLY;
    if (trace_rewind(s->trace, &err) ||
        analysis_run(s->trace, engines, sizeof(engines) / sizeof(*engines), &options, NULL, &a,
                     &err)) {
        buf_addstr(why, err.text);
        return VIOLATED;
    }
    collect_pairs(&a, s->mem.count, &found);
    v = both(subset(&found, subject_found(s, &engine_rdit), "is in the cascade, not in rdit", why),
             subset(subject_found(s, &engine_rdit), &found, "is in rdit, not in the cascade", why));
    pair_set_release(&found);
    analysis_release(&a);
    return v;
}

/* ---- incomplete traces ---- */

static uint64_t seed_of(const struct buf *text)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < text->len; i++)
        h = (h ^ (uint8_t)text->data[i]) * 1099511628211u;
    return h;
}

/* How many pairs the full trace does not have, and one of them. */
static uint64_t count_false(const struct subject *s, const struct hidden *h,
                            const struct pair_set *found, size_t *x, size_t *y)
{
    uint64_t n = 0;

    for (size_t a = 0; a < h->mem.count; a++)
        for (size_t b = a + 1; b < h->mem.count; b++)
            if (pair_set_has(found, a, b) &&
                !pair_set_has(&s->oracle.pairs, h->origin[a], h->origin[b])) {
                *x = a;
                *y = b;
                n++;
            }
    return n;
}

static enum verdict judge_found(const struct subject *s, const struct hidden *h,
                                const struct pair_set *found, const char *who, struct buf *why)
{
    size_t x, y;

    if (!count_false(s, h, found, &x, &y))
        return HOLDS;
    buf_addf(why,
             "%s finds (%zu, %zu), events %zu and %zu of the full trace, where it is impossible",
             who, x, y, h->origin[x], h->origin[y]);
    return VIOLATED;
}

static void count_others(const struct subject *s, const struct hidden *h, const struct pair_set *mc)
{
    struct relation hb;
    struct pair_set p;
    size_t x, y;

    naive_order(&h->mem, NAIVE_HB, &hb);
    naive_unordered(&h->mem, &hb, &p);
    tally.hb += p.count;
    tally.false_hb += count_false(s, h, &p, &x, &y);
    pair_set_release(&p);
    relation_release(&hb);
    naive_cp_all(&h->mem, 0, &p);
    tally.cp += p.count;
    tally.false_cp += count_false(s, h, &p, &x, &y);
    pair_set_release(&p);
    tally.mc += mc->count;
    tally.false_mc += count_false(s, h, mc, &x, &y);
    tally.full += s->oracle.count;
    tally.hidden += h->events;
    if (!tally.traces++)
        atexit(print_tally);
}

static enum verdict judge_hidden(struct subject *s, const struct hidden *h, struct buf *why)
{
    struct bench b = { &h->mem, &h->info, trace_tables(s->trace), CALL_RULE_NONE, why };
    struct pair_set mc, rdit, sb, none;
    enum verdict v = predict_all(&b, &none);

    pair_set_release(&none);
    b.rule = CALL_RULE_UNSEEN;
    v = both(v, compare_with_oracle(&b, &mc));
    b.rule = CALL_RULE_PAIRS;
    v = both(v, compare_with_oracle(&b, &rdit));
    b.rule = CALL_RULE_SIMPLE;
    v = both(v, compare_with_oracle(&b, &sb));
    v = both(v, judge_found(s, h, &rdit, "rdit", why));
    v = both(v, both(subset(&sb, &rdit, "is found by sb, not by rdit", why),
                     subset(&rdit, &mc, "is found by rdit, not by mc", why)));
    count_others(s, h, &mc);
    tally.rdit += rdit.count;
    tally.sb += sb.count;
    pair_set_release(&mc);
    pair_set_release(&rdit);
    pair_set_release(&sb);
    return v;
}

/* What was hidden is shown beside the trace: shrinking changes the seed. */
static void show_hidden(const struct subject *s, const struct hidden *h, struct buf *why)
{
    buf_addstr(why, "\nincomplete:\n");
    for (size_t i = 0; i < h->mem.count; i++) {
        const struct event *e = &h->mem.events[i];

        buf_addf(why, "%3zu %s %s %llx", i, intern_get(&trace_tables(s->trace)->threads, e->thread),
                 op_table[e->op].name, (unsigned long long)e->target);
        if (h->origin[i] != SIZE_MAX)
            buf_addf(why, " (%zu)", h->origin[i]);
        for (uint64_t k = 0; e->op == OP_CALL && k < e->old; k++)
            buf_addf(why, " %llx:%llu", (unsigned long long)h->mem.extra[e->value + 2 * k],
                     (unsigned long long)h->mem.extra[e->value + 2 * k + 1]);
        buf_addch(why, '\n');
    }
    buf_addch(why, '\0');
    why->len--;
}

static enum verdict judge_incomplete(struct subject *s, bool writes, struct buf *why)
{
    struct unseen_counts counts;
    struct hidden h;
    enum verdict v;

    if (!s->oracle.complete)
        return DOES_NOT_APPLY;
    (writes ? hide_writes : hide)(&s->mem, trace_tables(s->trace), seed_of(&s->text), &h);
    counts = unseen_mark(&h.mem, &h.info, &(struct unseen_input){ .beginning = true });
    tally.by_call += counts.by_call;
    tally.unknown += counts.unknown;
    v = h.mem.count <= ORACLE_EVENTS ? judge_hidden(s, &h, why) : DOES_NOT_APPLY;
    if (v == HOLDS)
        v = both(compare_orders(s, &h.mem, CALL_RULE_UNSEEN, why),
                 both(compare_orders(s, &h.mem, CALL_RULE_PAIRS, why),
                      compare_orders(s, &h.mem, CALL_RULE_SIMPLE, why)));
    if (v == VIOLATED)
        show_hidden(s, &h, why);
    hidden_release(&h);
    return v;
}

static enum verdict rdit_finds_nothing_false_in_incomplete_traces(struct subject *s,
                                                                  struct buf *why)
{
    return judge_incomplete(s, false, why);
}

/* Reads see values that nobody in the trace wrote. */
static enum verdict hidden_writes_make_no_race(struct subject *s, struct buf *why)
{
    return s->info->values && s->exact ? judge_incomplete(s, true, why) : DOES_NOT_APPLY;
}

const struct property properties_rdit[] = {
    { "the-order-of-calls-is-that-of-the-rules", the_order_of_calls_is_that_of_the_rules, 1 },
    { "rdit-and-sb-are-exact", rdit_and_sb_are_exact, 1 },
    { "the-cascade-reports-what-calls-cannot-order", the_cascade_reports_what_calls_cannot_order,
      2 },
    { "sb-is-in-rdit-and-rdit-in-mc", sb_is_in_rdit_and_rdit_in_mc, 1 },
    { "rdit-finds-nothing-false-in-incomplete-traces",
      rdit_finds_nothing_false_in_incomplete_traces, 1 },
    { "hidden-writes-make-no-race", hidden_writes_make_no_race, 1 },
    { NULL, NULL, 0 },
};
