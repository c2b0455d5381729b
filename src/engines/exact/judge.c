/* judge.c - which races might be ordered by code that was not traced */
#include "engines/exact/judge.h"
#include "engines/actual.h"
#include "base/alloc.h"
#include "engines/predict/prove.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_parts.h"
#include "engines/whole_show.h"

#include <stdlib.h>

enum verdict { VERDICT_STAYS = 1, VERDICT_GOES, VERDICT_BEYOND };

struct judgement {
    struct analysis *analysis;
    struct engine_run *rdit;
    struct whole *whole;
    struct prover *prover;
    const struct trace_mem *events;
    const struct view *view;
    bool actual;         /* the races asked about are unordered by happens-before, */
    bool observes;       /* and in a recording */
    struct map verdicts; /* pair of sites -> enum verdict */
    struct race **races; /* of the batch */
    struct instance (*instances)[2];
    struct question *questions;
    size_t count;
    uint64_t asked, gone, beyond, undecided;
};

static uint64_t judge_key_of(const struct race *r)
{
    return site_pair(r->first.site, r->second.site);
}

/* Runs whose engine does not look at calls. */
static bool is_judged(const struct judgement *j, const struct engine_run *run)
{
    return run < j->rdit && run->engine->call_rule < CALL_RULE_PAIRS &&
           run->engine->proves != STRENGTH_POTENTIAL;
}

/* ---- questions ---- */

/* The instance that is possible joins the races of rdit, with its schedule. */
static void keep_instance(struct judgement *j, struct question *q)
{
    const struct event *e = j->events->events;
    struct access first = { whole_position(j->whole, q->feasible.first),
                            e[q->feasible.first].site };
    struct access second = { whole_position(j->whole, q->feasible.second),
                             e[q->feasible.second].site };
    struct race *r;
    struct error why;

    race_table_add(&j->rdit->result.races, first, second, STRENGTH_MAYBE);
    r = race_table_find(&j->rdit->result.races, first.site, second.site);
    if (r && q->list && whole_can_show(j->whole))
        whole_show(j->whole, r, q->list, q->count, &why);
    else
        free(q->list);
    q->list = NULL;
}

/* ---- the order of what was observed ---- */

/* The place of a section in its lock's list, which is in ascending order. */
static uint32_t judge_place_of(const struct view *v, uint32_t section)
{
    uint32_t low = v->lock_first[v->sections[section].lock];
    uint32_t high = v->lock_first[v->sections[section].lock + 1];

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (v->lock_section[middle] <= section)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Who had the lock before: up to the last one that had it alone. */
static void mark_holders(const struct view *v, uint32_t from, uint32_t at, bool *reached)
{
    uint32_t s = v->section_of[at], first;

    if (s == VIEW_NONE || v->sections[s].acquire != at)
        return;
    first = v->lock_first[v->sections[s].lock];
    for (uint32_t k = judge_place_of(v, s); k-- > first;) {
        const struct view_section *x = &v->sections[v->lock_section[k]];

        if (x->end == VIEW_NONE || x->end >= at || x->end < from)
            break;
        if (!x->shared || !v->sections[s].shared)
            reached[x->end - from] = true;
        if (!x->shared)
            break;
    }
}

/* Does happens-before with the order that calls may bring lead from a to b? All edges lead forward
 * in the trace, so one sweep back from b finds out. */
static bool is_ordered(const struct view *v, uint32_t a, uint32_t b)
{
    bool *reached = xcalloc((size_t)(b - a) + 1, sizeof(*reached)), ordered;

    reached[b - a] = true;
    for (uint32_t i = b; i > a; i--) {
        uint32_t t = v->events[i].thread;

        if (!reached[i - a] || v->rank[i] == VIEW_NONE)
            continue;
        if (v->rank[i] && v->thread_event[v->thread_first[t] + v->rank[i] - 1] >= a)
            reached[v->thread_event[v->thread_first[t] + v->rank[i] - 1] - a] = true;
        for (uint32_t k = v->need_first[i]; k < v->need_first[i + 1]; k++)
            if (v->need[k] >= a)
                reached[v->need[k] - a] = true;
        mark_holders(v, a, i, reached);
    }
    ordered = reached[0];
    free(reached);
    return ordered;
}

/* ---- whom to blame ---- */

/* Ways that are longer are not looked for again. */
enum { BLAMED_MAX = 1 << 22 };

static void blame(const struct view *v, uint32_t event, struct left_pair *p)
{
    uint32_t function = (uint32_t)v->events[event].target;

    if (op_class_of(v->events[event].op) != CLASS_CALL || p->ncalls == LEFT_CALLS)
        return;
    for (uint32_t i = 0; i < p->ncalls; i++)
        if (p->calls[i] == function)
            return;
    p->calls[p->ncalls++] = function;
}

static void step_back(uint32_t *next, uint32_t a, uint32_t from, uint32_t to)
{
    if (from >= a && !next[from - a])
        next[from - a] = to;
}

/* The calls at both ends of the steps from thread to thread, on a way from a to b without locks. */
static void find_calls(const struct view *v, uint32_t a, uint32_t b, struct left_pair *p)
{
    uint32_t *next = b - a < BLAMED_MAX ? xcalloc((size_t)(b - a) + 1, sizeof(*next)) : NULL;

    for (uint32_t i = b; next && i > a; i--) {
        uint32_t t = v->events[i].thread;

        if ((i != b && !next[i - a]) || v->rank[i] == VIEW_NONE)
            continue;
        for (uint32_t k = v->need_first[i]; k < v->need_first[i + 1]; k++)
            step_back(next, a, v->need[k], i);
        if (v->rank[i])
            step_back(next, a, v->thread_event[v->thread_first[t] + v->rank[i] - 1], i);
    }
    for (uint32_t i = a; next && i != b && next[i - a]; i = next[i - a]) {
        if (v->events[i].thread == v->events[next[i - a]].thread)
            continue;
        blame(v, i, p);
        blame(v, next[i - a], p);
    }
    free(next);
}

static void leave_out(struct judgement *j, const struct race *r, const struct question *q)
{
    struct engine_result *e = &j->rdit->result;
    struct left_pair p = { r->first.site, r->second.site, 0, { 0 } };

    j->gone++;
    if (e->nleft == LEFT_MAX)
        return;
    if (q->ninstances)
        find_calls(j->view, (uint32_t)q->instances[0].first, (uint32_t)q->instances[0].second, &p);
    GROW(e->left, e->left_cap, e->nleft + 1);
    e->left[e->nleft++] = p;
}

/* In a recording the solver's no can be due to a read that saw what untraced code wrote. A race
 * that was observed goes only if the calls lead from one access to the other. */
static bool is_unordered(const struct judgement *j, const struct question *q)
{
    for (size_t i = 0; i < q->ninstances; i++)
        if (!is_ordered(j->view, (uint32_t)q->instances[i].first, (uint32_t)q->instances[i].second))
            return true;
    return false;
}

/* A sweep back over so many events does the work of a unit (effort.h). */
enum { SWEPT_A_UNIT = 2 };

/* Is the race one of this very execution, also with the order that calls may have brought? Then by
 * the first of its instances that is; one that has a schedule stands by the instance of that. */
static void look_at_order(const struct judgement *j, struct race *r)
{
    const struct event *e = j->events->events;
    struct instance at[2];
    size_t n = race_instances(r, j->whole, at);

    for (size_t i = 0; i < n && !r->apart_with_calls; i++) {
        uint32_t a = (uint32_t)at[i].first, b = (uint32_t)at[i].second;

        if (r->strength <= STRENGTH_WITNESSED && whole_position(j->whole, b) != r->second.position)
            continue;
        if (whole_stop(j->whole, 0))
            return;
        whole_spend(j->whole, (b - a) / SWEPT_A_UNIT);
        if (is_ordered(j->view, a, b))
            continue;
        r->apart_with_calls = true;
        r->independent &= whole_position(j->whole, b) == r->second.position;
        r->first = (struct access){ whole_position(j->whole, a), e[a].site };
        r->second = (struct access){ whole_position(j->whole, b), e[b].site };
    }
    if (n && !r->apart_with_calls && r->strength == STRENGTH_GUARANTEED)
        r->strength = STRENGTH_MAYBE; /* sshb knows nothing of calls */
}

static void use_answer(struct judgement *j, const struct race *r, struct question *q)
{
    bool possible = q->answer == PREDICT_FEASIBLE;
    bool stays = possible || (j->observes && is_unordered(j, q));

    *map_put(&j->verdicts, judge_key_of(r), 0) = stays ? VERDICT_STAYS : VERDICT_GOES;
    if (!stays)
        leave_out(j, r, q);
    j->undecided += !stays && q->answer != PREDICT_INFEASIBLE;
    if (possible)
        keep_instance(j, q);
}

static void judge_run_batch(struct judgement *j)
{
    size_t i = 0;

    while (i < j->count) {
        size_t end = i + prover_answer(j->prover, j->questions + i, j->count - i);

        for (; i < end; i++)
            use_answer(j, j->races[i], &j->questions[i]);
    }
    j->asked += j->count;
    j->count = 0;
}

static void put_question(struct judgement *j, struct race *r)
{
    size_t i = j->count++;

    j->races[i] = r;
    j->questions[i] =
        (struct question){ .instances = j->instances[i],
                           .ninstances = race_instances(r, j->whole, j->instances[i]) };
}

/* Is there a verdict for the pair already, or one without asking? Races that are not at hand are
 * not judged: they stay, unless a later part has them. */
static bool is_settled(struct judgement *j, const struct race *r)
{
    struct instance unused[2];
    bool in_part = whole_in_part(j->whole);
    uint32_t *verdict = map_put(&j->verdicts, judge_key_of(r), 0);

    if (*verdict && *verdict != VERDICT_BEYOND)
        return true;
    if (!race_instances(r, j->whole, unused)) {
        j->beyond += !*verdict && !in_part;
        *verdict = VERDICT_BEYOND;
        return true;
    }
    j->beyond -= in_part || *verdict; /* it was counted with the beginning of the trace */
    if (race_table_find(&j->rdit->result.races, r->first.site, r->second.site)) {
        *verdict = VERDICT_STAYS;
    } else {
        *verdict = VERDICT_GOES; /* until it is answered: nobody asks twice */
    }
    return *verdict == VERDICT_STAYS;
}

static void ask_about(struct judgement *j, struct race_table *races)
{
    size_t most = prover_batch(j->prover);

    for (size_t i = 0; i < races->count; i++) {
        if (!is_settled(j, &races->races[i]))
            put_question(j, &races->races[i]);
        if (j->actual)
            look_at_order(j, &races->races[i]);
        if (j->count == most)
            judge_run_batch(j);
    }
    judge_run_batch(j);
}

/* ---- the sentence ---- */

static bool judge_stays(void *arg, const struct race *r)
{
    struct judgement *j = arg;
    const uint32_t *verdict = map_get(&j->verdicts, judge_key_of(r));

    return !verdict || *verdict != VERDICT_GOES;
}

/* Is its schedule one of the events at hand? */
static bool made_here(const struct judgement *j, const struct race *r)
{
    uint64_t base = whole_base(j->whole);

    if (!r->witness && !r->long_witness)
        return false;
    return r->after == (whole_in_part(j->whole) ? whole_position(j->whole, base) : 0);
}

static bool check_again(const struct judgement *j, const struct race *r, struct error *why)
{
    uint64_t *list = xcalloc(r->nwitness + 1, sizeof(*list));
    bool accepted;

    for (size_t i = 0; i < r->nwitness; i++)
        list[i] = whole_event(j->whole, r->witness[i]);
    accepted = whole_check(j->whole, list, r->nwitness, why) == 1;
    free(list);
    return accepted;
}

/* Schedules that were made without a thought of calls are checked again; those that were not kept
 * were when they were made. */
static void check_schedules(struct judgement *j, struct race_table *races)
{
    struct error why;

    for (size_t i = 0; i < races->count; i++) {
        struct race *r = &races->races[i];

        if (!made_here(j, r) || (r->witness ? check_again(j, r, &why) : r->holds_with_calls))
            continue;
        free(r->witness);
        r->witness = NULL;
        r->nwitness = 0;
        r->after = r->part = r->long_witness = 0;
        r->strength = STRENGTH_MAYBE;
    }
}

static void judge_runs(struct judgement *j)
{
    size_t most = prover_batch(j->prover);

    j->races = xcalloc(most, sizeof(*j->races));
    j->instances = xcalloc(most, sizeof(*j->instances));
    j->questions = xcalloc(most, sizeof(*j->questions));
    for (size_t i = 0; i < j->analysis->count; i++)
        if (is_judged(j, &j->analysis->runs[i])) {
            j->actual = actual_engine(j->analysis->runs[i].engine);
            j->observes = j->actual && whole_info(j->whole)->order != TRACE_EXACT;
            ask_about(j, &j->analysis->runs[i].result.races);
        }
    for (size_t i = 0; i < j->analysis->count; i++)
        if (is_judged(j, &j->analysis->runs[i])) {
            bool ready = j->analysis->runs[i].ready;

            analysis_take(j->analysis, i);
            race_table_keep(&j->analysis->runs[i].result.races, judge_stays, j);
            check_schedules(j, &j->analysis->runs[i].result.races);
            if (ready)
                analysis_give(j->analysis, i);
        }
    free(j->races);
    free(j->instances);
    free(j->questions);
}

static bool has_work(const struct judgement *j)
{
    for (size_t i = 0; i < j->analysis->count; i++)
        if (is_judged(j, &j->analysis->runs[i]) && j->analysis->runs[i].result.races.count)
            return true;
    return false;
}

int judge(struct analysis *a, size_t rdit, struct whole *w, struct error *err)
{
    struct judgement j = { .analysis = a, .rdit = &a->runs[rdit], .whole = w };
    struct engine_result *result = &j.rdit->result;

    if (!has_work(&j)) /* what it takes is not made for nothing */
        return 0;
    j.events = whole_events(w, err);
    j.view = j.events ? whole_view(w, err) : NULL;
    j.prover = j.view ? prover_new(w, 0, 0, err) : NULL;
    if (!j.prover)
        return -1;
    judge_runs(&j);
    if (j.asked)
        engine_count(result, "judged", j.asked);
    if (j.gone)
        engine_count(result, "may_be_ordered_by_calls", j.gone);
    engine_leave(result, "judged_undecided", j.undecided);
    engine_leave(result, "beyond_judgement", j.beyond);
    prover_free(j.prover);
    map_release(&j.verdicts);
    return 0;
}
