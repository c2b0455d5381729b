/* prop_wcp.c - wcp against its definition */
#include "properties.h"

#include <stdlib.h>

#include "engines/streaming/wcp.h"
#include "naive_cp.h"
#include "naive_deadlock.h"
#include "naive_wcp.h"
#include "order/memory.h"
#include "witness/witness.h"

/* The engine with its own options and queue limits, over the events in memory. */
struct alone {
    struct engine_result result;
    struct pair_set found;
    uint64_t approximated;
};

static void run_alone(struct subject *s, bool all, size_t prune_at, size_t budget,
                      struct alone *out)
{
    struct engine_options options = { .all = all };
    struct batch b = { .events = s->mem.events, .count = s->mem.count, .extra = s->mem.extra };
    struct memory *m = memory_new();
    struct span span;
    struct wcp *w;

    *out = (struct alone){ 0 };
    race_table_init(&out->result.races);
    w = wcp_new(&out->result, &options);
    if (prune_at) {
        w->prune_at = prune_at;
        w->queue_budget = budget;
    }
    memory_steps(m, &b, &span);
    wcp_steps(w, &span);
    wcp_finish(w);
    out->approximated = w->approximated;
    wcp_free(w);
    memory_free(m);
    pair_set_init(&out->found, s->mem.count);
    for (size_t i = 0; i < out->result.races.count; i++)
        pair_set_add(&out->found, out->result.races.races[i].first.position,
                     out->result.races.races[i].second.position);
}

static void alone_release(struct alone *a)
{
    pair_set_release(&a->found);
    race_table_release(&a->result.races);
}

static enum verdict same(const struct pair_set *found, const struct pair_set *want, struct buf *why)
{
    return both(subset(found, want, "is found by wcp and not by the definition", why),
                subset(want, found, "is a race by the definition and not found by wcp", why));
}

static enum verdict wcp_all_is_the_definition(struct subject *s, struct buf *why)
{
    struct alone a;
    struct pair_set want;
    enum verdict v;

    run_alone(s, true, 0, 0, &a);
    naive_wcp_all(&s->mem, &want);
    v = same(&a.found, &want, why);
    v = both(v, subset(&s->hb_unordered, &want, "is unordered by hb and ordered by wcp", why));
    pair_set_release(&want);
    alone_release(&a);
    return v;
}

static enum verdict wcp_is_the_definition_with_reports_ordered(struct subject *s, struct buf *why)
{
    struct pair_set want;
    enum verdict v;

    naive_wcp_sound(&s->mem, &want);
    v = same(subject_found(s, &engine_wcp), &want, why);
    pair_set_release(&want);
    return v;
}

static enum verdict unordered_by_cp_is_unordered_by_wcp(struct subject *s, struct buf *why)
{
    struct pair_set cp, wcp;
    enum verdict v;

    naive_cp_all(&s->mem, 0, &cp);
    naive_wcp_all(&s->mem, &wcp);
    v = subset(&cp, &wcp, "is unordered by cp and ordered by wcp", why);
    pair_set_release(&cp);
    pair_set_release(&wcp);
    return v;
}

/* What the engine vindicates is possible. */
static enum verdict wcp_witnesses_are_right(struct subject *s, struct buf *why)
{
    const struct race_table *races = &subject_result(s, &engine_wcp)->races;
    struct witness_trace *w;
    enum verdict v = HOLDS;

    if (!s->exact)
        return DOES_NOT_APPLY;
    w = witness_trace_new(&s->mem, s->info);
    for (size_t i = 0; i < races->count && v == HOLDS; i++)
        if (races->races[i].strength == STRENGTH_WITNESSED)
            v = judge_witness(s, &races->races[i], w, why);
    witness_trace_free(w);
    return v;
}

/* Queues that are pruned at every release change nothing as long as the engine does not say so;
 * without a budget for them it finds less, never more. */
static enum verdict wcp_pruned_is_wcp(struct subject *s, struct buf *why)
{
    struct alone full, pruned, starved;
    enum verdict v;

    run_alone(s, true, 0, 0, &full);
    run_alone(s, true, 1, SIZE_MAX / 4, &pruned);
    run_alone(s, true, 1, 0, &starved);
    v = both(subset(&pruned.found, &full.found, "is found with pruned queues only", why),
             subset(&starved.found, &full.found, "is found with starved queues only", why));
    if (!pruned.approximated)
        v = both(v, subset(&full.found, &pruned.found, "is lost with pruned queues", why));
    if (!starved.approximated)
        v = both(v, subset(&full.found, &starved.found, "is lost with starved queues", why));
    alone_release(&full);
    alone_release(&pruned);
    alone_release(&starved);
    return v;
}

/* ---- the theorem: the first race is possible, or a deadlock is ---- */

/* Does an event release a lock while its thread holds one that it took later? The paper's sections
 * nest, as Java's do. (Without that, a thread may hold L1, having passed L0, while the other holds
 * L0 and wants L1: neither a race nor a ring of threads.) */
static bool breaks_nesting(const struct trace_mem *m, size_t release)
{
    const struct event *r = &m->events[release];
    long later = 0;

    if (r->op != OP_RELEASE && r->op != OP_RELEASE_SHARED)
        return false;
    for (size_t i = release; i-- > 0;) {
        const struct event *e = &m->events[i];

        if (e->thread != r->thread || op_class_of(e->op) != CLASS_LOCK || e->flags & EV_NESTED)
            continue;
        if (e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED)
            later++;
        else if (e->target == r->target && !later)
            return false;
        else if (--later < 0)
            return true;
    }
    return false;
}

static bool is_nested(const struct trace_mem *m)
{
    for (size_t x = 0; x < m->count; x++)
        if (!(m->events[x].flags & EV_NESTED) && breaks_nesting(m, x))
            return false;
    return true;
}

static enum verdict the_first_wcp_race_is_predictable_or_a_deadlock(struct subject *s,
                                                                    struct buf *why)
{
    const struct pair_set *found = subject_found(s, &engine_wcp);
    struct relation wcp;
    size_t a, b;
    bool ordinary;

    if (!s->exact || !s->oracle.complete || !first_race(found, &a, &b))
        return DOES_NOT_APPLY;
    naive_wcp(&s->mem, &wcp);
    ordinary = is_nested(&s->mem) && is_ordinary(s, &wcp, b);
    relation_release(&wcp);
    if (!ordinary)
        return DOES_NOT_APPLY;
    if (pair_set_has(&s->oracle.pairs, a, b) || can_deadlock(s))
        return HOLDS;
    buf_addf(why, "(%zu, %zu) is the first race of wcp, neither it nor a deadlock is predictable",
             a, b);
    return VIOLATED;
}

const struct property properties_wcp[] = {
    { "wcp-all-is-the-definition", wcp_all_is_the_definition, 1 },
    { "wcp-is-the-definition-with-reports-ordered", wcp_is_the_definition_with_reports_ordered, 1 },
    { "unordered-by-cp-is-unordered-by-wcp", unordered_by_cp_is_unordered_by_wcp, 1 },
    { "wcp-witnesses-are-right", wcp_witnesses_are_right, 1 },
    { "wcp-pruned-is-wcp", wcp_pruned_is_wcp, 1 },
    { "the-first-wcp-race-is-predictable-or-a-deadlock",
      the_first_wcp_race_is_predictable_or_a_deadlock, 1 },
    { NULL, NULL, 0 },
};
