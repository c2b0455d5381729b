/* prop_parts.c - traces longer than what is held in memory lose nothing but what they must
 *
 * Parts of a few events: what engines find there, with all before the part as
 * recorded, is possible in the whole trace, and the checker of the whole trace
 * and the oracle accept it. mc finds exactly what an enumeration of the part
 * after its prefix finds.
 */
#include "properties.h"

#include <stdlib.h>
#include <string.h>

#include "order/view.h"
#include "witness/witness.h"

enum { LIST_MAX = 64 };

struct hearing {
    struct subject *s;
    const struct engine *engine;
    size_t part;
    struct witness_trace *checker;
    struct pair_set found;
    size_t after; /* races whose schedule comes after a prefix */
    struct buf *why;
};

static enum call_rule rule_of(const struct hearing *h)
{
    return h->engine->call_rule;
}

/* All before as recorded, and then the witness. */
static size_t spell_out(const struct hearing *h, const struct race *r, uint64_t *list)
{
    size_t n = 0;

    for (size_t i = 0; i < r->after; i++)
        if (!(h->s->mem.events[i].flags & EV_IGNORED))
            list[n++] = i;
    memcpy(list + n, r->witness, r->nwitness * sizeof(*list));
    return n + r->nwitness;
}

static enum verdict hear_race(struct hearing *h, const struct race *r)
{
    uint64_t list[2 * LIST_MAX];
    struct error err = { "" };
    bool accepted, right;
    size_t n;

    if (!r->witness)
        return HOLDS;
    n = spell_out(h, r, list);
    accepted = witness_check(h->checker, list, n, &err);
    right = oracle_accepts_calls(&h->s->mem, h->s->info, rule_of(h), trace_tables(h->s->trace),
                                 list, n);
    if (accepted && right)
        return HOLDS;
    buf_addf(h->why, "%s in parts of %zu: events %zu and %zu after %zu: checker %s (%s), oracle %s",
             h->engine->name, h->part, (size_t)r->first.position, (size_t)r->second.position,
             (size_t)r->after, accepted ? "accepts" : "refuses", err.text,
             right ? "accepts" : "refuses");
    return VIOLATED;
}

static bool was_refused(const struct engine_result *r)
{
    for (size_t i = 0; i < r->ncounters; i++)
        if (strcmp(r->counters[i].name, "witness_refused") == 0)
            return true;
    return false;
}

static enum verdict hear_races(struct hearing *h, const struct engine_result *result)
{
    enum verdict v = HOLDS;

    for (size_t i = 0; i < result->races.count && v == HOLDS; i++) {
        const struct race *r = &result->races.races[i];

        pair_set_add(&h->found, r->first.position, r->second.position);
        h->after += r->witness && r->after;
        v = hear_race(h, r);
    }
    if (v == HOLDS && was_refused(result)) {
        buf_addf(h->why, "a schedule of %s in parts of %zu is refused", h->engine->name, h->part);
        v = VIOLATED;
    }
    return v;
}

/* Run an engine with parts of a few events; every schedule must hold in the whole trace. */
static enum verdict hear(struct hearing *h)
{
    const struct engine *const engines[] = { h->engine };
    struct engine_options options = { .part = h->part, .jobs = 2 };
    struct analysis a;
    struct error err = { "" };
    enum verdict v;

    if (trace_rewind(h->s->trace, &err) ||
        analysis_run(h->s->trace, engines, 1, &options, NULL, &a, &err)) {
        buf_addf(h->why, "cannot analyse in parts: %s", err.text);
        return VIOLATED;
    }
    h->checker = witness_trace_new(&h->s->mem, h->s->info);
    witness_trace_set_calls(h->checker, (enum witness_calls)rule_of(h), trace_tables(h->s->trace));
    pair_set_init(&h->found, h->s->mem.count);
    v = hear_races(h, &a.runs[0].result);
    witness_trace_free(h->checker);
    analysis_release(&a);
    return v;
}

/* In one part: the pairs whose second event is new there. */
static enum verdict compare_part(struct hearing *h, const struct view *view, size_t first,
                                 size_t end)
{
    size_t fresh = first + h->part / 2;

    for (size_t b = fresh; b < end; b++)
        for (size_t a = first; a < b; a++) {
            bool listed = pair_set_has(&h->found, a, b);

            if (!naive_conflict(&h->s->mem, a, b) ||
                listed == window_allows(h->s, view, first, end, a, b))
                continue;
            buf_addf(h->why, "part [%zu, %zu): events %zu and %zu: mc %s", first, end, a, b,
                     listed ? "finds what is impossible" : "misses what is possible");
            return VIOLATED;
        }
    return HOLDS;
}

static enum verdict mc_finds_what_parts_allow(struct subject *s, struct buf *why)
{
    struct hearing h = { .s = s, .engine = &engine_mc, .part = 4 + 2 * (s->mem.count % 2) };
    enum verdict v;
    struct view *view;

    /* what calls before a part wrote is not known in it */
    if (!s->oracle.complete || s->mem.count + 2 > LIST_MAX || s->mem.count <= h.part ||
        subject_mc(s) != &s->oracle)
        return DOES_NOT_APPLY;
    h.why = why;
    v = both(hear(&h), subset(&h.found, subject_found(s, &engine_mc), "mc: more in parts", why));
    view = view_new(&s->mem, CALL_RULE_NONE);
    for (size_t at = h.part / 2; at < s->mem.count && v == HOLDS; at += h.part / 2)
        v = compare_part(&h, view, at, at + h.part < s->mem.count ? at + h.part : s->mem.count);
    view_free(view);
    pair_set_release(&h.found);
    return v;
}

/* What they find in parts is what they find in the whole trace, or a part of it; others only get
 * schedules. */
static enum verdict schedules_of_parts_hold(struct subject *s, struct buf *why)
{
    static const struct engine *const engines[] = { &engine_mc,   &engine_rdit, &engine_sb,
                                                    &engine_wcp,  &engine_cp,   &engine_shb,
                                                    &engine_syncp };
    enum verdict v = HOLDS;

    if (!s->oracle.complete || s->info->order != TRACE_EXACT || s->mem.count + 2 > LIST_MAX)
        return DOES_NOT_APPLY;
    for (size_t i = 0; i < sizeof(engines) / sizeof(*engines) && v == HOLDS; i++) {
        struct hearing h = { .s = s, .engine = engines[i], .why = why };

        h.part = 4 + (s->mem.count + i) % 9;
        v = hear(&h);
        if (v == HOLDS && i < 3)
            v = subset(&h.found, subject_found(s, engines[i]), "more is found in parts", why);
        pair_set_release(&h.found);
    }
    return v;
}

const struct property properties_parts[] = {
    { "mc-finds-what-parts-allow", mc_finds_what_parts_allow, 4 },
    { "schedules-of-parts-hold", schedules_of_parts_hold, 4 },
    { NULL, NULL, 0 },
};
