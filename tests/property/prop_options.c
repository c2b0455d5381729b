/* prop_options.c - what is kept of schedules, and how many threads work, changes no verdict
 *
 * Options of output: --no-witness, --max-witness, --jobs. For each engine alone, and for the
 * cascade, the races, their strengths and what stayed undecided are those of a run without them.
 */
#include "properties.h"

#include <string.h>

static const struct {
    const char *name;
    struct engine_options options;
} variants[] = {
    { "--no-witness", { .no_witness = true } },
    { "--max-witness 3", { .max_witness = 3 } },
    { "--jobs 2", { .jobs = 2 } },
    { "--jobs 2 --max-witness 1", { .jobs = 2, .max_witness = 1 } },
};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static bool same_race(const struct race *x, const struct race *y)
{
    return y && x->strength == y->strength && x->count == y->count &&
           x->first.position == y->first.position && x->second.position == y->second.position;
}

static bool same_races(const struct race_table *a, const struct race_table *b)
{
    bool same = a->count == b->count;

    for (size_t i = 0; i < a->count && same; i++)
        same = same_race(&a->races[i],
                         race_table_find(b, a->races[i].first.site, a->races[i].second.site));
    return same;
}

static bool same_deadlocks(const struct deadlock_table *a, const struct deadlock_table *b)
{
    bool same = a->count == b->count;

    for (size_t i = 0; i < a->count && same; i++) {
        const struct deadlock *x = &a->deadlocks[i], *y = &b->deadlocks[i];

        same = x->strength == y->strength && x->nwaits == y->nwaits && x->count == y->count &&
               x->waits[0].request.position == y->waits[0].request.position;
    }
    return same;
}

/* Every race that was shown says how, or how long that was. */
static bool all_are_shown(const struct race_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->races[i].strength == STRENGTH_WITNESSED && !t->races[i].witness &&
            !t->races[i].long_witness)
            return false;
    return true;
}

static enum verdict compare_runs(const struct engine_run *a, const struct engine_run *b,
                                 const char *option, struct buf *why)
{
    const struct engine_result *x = &a->result, *y = &b->result;

    if (same_races(&x->races, &y->races) && same_deadlocks(&x->deadlocks, &y->deadlocks) &&
        x->complete == y->complete && all_are_shown(&y->races))
        return HOLDS;
    buf_addf(why, "%s: %zu races, %zu deadlocks, %s; with %s others: %zu, %zu, %s", a->engine->name,
             x->races.count, x->deadlocks.count, x->complete ? "complete" : "not complete", option,
             y->races.count, y->deadlocks.count, y->complete ? "complete" : "not complete");
    return VIOLATED;
}

static bool analyse(struct subject *s, const struct engine *const *engines, size_t n,
                    const struct engine_options *o, struct analysis *out, struct buf *why)
{
    struct error err = { "" };

    if (trace_rewind(s->trace, &err) == 0 &&
        analysis_run(s->trace, engines, n, o, NULL, out, &err) == 0)
        return true;
    buf_addf(why, "%s", err.text);
    return false;
}

/* All engines at once, each on its own. */
static enum verdict no_engine_is_changed(struct subject *s, struct buf *why)
{
    enum verdict v = HOLDS;

    for (size_t k = 0; k < VARIANTS && v == HOLDS; k++) {
        struct analysis a;

        if (!analyse(s, engine_registry, s->nengines, &variants[k].options, &a, why))
            return VIOLATED;
        for (size_t i = 0; i < a.count && v == HOLDS; i++)
            v = compare_runs(&s->analysis.runs[i], &a.runs[i], variants[k].name, why);
        analysis_release(&a);
    }
    return v;
}

static size_t engines_of_cascade(const struct engine *list[SUBJECT_ENGINES])
{
    size_t n = 0;

    for (size_t i = 0; engine_registry[i]; i++)
        if (!engine_registry[i]->on_request)
            list[n++] = engine_registry[i];
    return n;
}

static enum verdict the_cascade_is_not_changed(struct subject *s, struct buf *why)
{
    const struct engine *engines[SUBJECT_ENGINES];
    size_t n = engines_of_cascade(engines);
    struct engine_options plain = { .cascade = true, .sieve = true };
    struct analysis base, a;
    enum verdict v = HOLDS;

    if (!analyse(s, engines, n, &plain, &base, why))
        return VIOLATED;
    for (size_t k = 0; k < VARIANTS && v == HOLDS; k++) {
        struct engine_options o = variants[k].options;

        o.cascade = o.sieve = true;
        if (!analyse(s, engines, n, &o, &a, why))
            return VIOLATED;
        for (size_t i = 0; i < n && v == HOLDS; i++)
            v = compare_runs(&base.runs[i], &a.runs[i], variants[k].name, why);
        analysis_release(&a);
    }
    analysis_release(&base);
    return v;
}

/* Races of a run are among those of another. */
static bool are_among(const struct race_table *a, const struct race_table *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (!race_table_find(b, a->races[i].first.site, a->races[i].second.site))
            return false;
    return true;
}

/* With less effort there is less, and it is said. */
static enum verdict compare_with_all(const struct subject *s, const struct analysis *a,
                                     struct buf *why)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct engine_result *all = &s->analysis.runs[i].result, *some = &a->runs[i].result;

        if (are_among(&some->races, &all->races) &&
            (!some->complete || !all->complete || same_races(&all->races, &some->races)))
            continue;
        buf_addf(why, "%s: %zu of %zu races, %s", a->runs[i].engine->name, some->races.count,
                 all->races.count, some->complete ? "complete" : "not complete");
        return VIOLATED;
    }
    return HOLDS;
}

/* Work is counted: how far it gets does not depend on threads and on what is kept. */
static enum verdict effort_is_the_same_for_all(struct subject *s, struct buf *why)
{
    static const uint64_t efforts[] = { 1, 3000, 10000, 30000, 100000, 300000, 1000000 };
    uint64_t work = efforts[s->text.len % (sizeof(efforts) / sizeof(efforts[0]))];
    struct engine_options plain = { .work = work };
    struct analysis base, a;
    enum verdict v;

    if (!analyse(s, engine_registry, s->nengines, &plain, &base, why))
        return VIOLATED;
    v = compare_with_all(s, &base, why);
    for (size_t k = 0; k < VARIANTS && v == HOLDS; k++) {
        struct engine_options o = variants[k].options;

        o.work = work;
        if (!analyse(s, engine_registry, s->nengines, &o, &a, why))
            return VIOLATED;
        for (size_t i = 0; i < a.count && v == HOLDS; i++)
            v = compare_runs(&base.runs[i], &a.runs[i], variants[k].name, why);
        analysis_release(&a);
    }
    analysis_release(&base);
    return v;
}

/* What no reordering shows and happens-before orders is listed by no engine of the cascade. */
static enum verdict the_cascade_lists_nothing_impossible(struct subject *s, struct buf *why)
{
    const struct engine *engines[SUBJECT_ENGINES];
    size_t n = engines_of_cascade(engines);
    struct engine_options plain = { .cascade = true, .sieve = true };
    struct analysis a;
    enum verdict v = HOLDS;

    if (!s->exact || s->info->calls || !subject_mc(s)->complete)
        return DOES_NOT_APPLY;
    if (!analyse(s, engines, n, &plain, &a, why))
        return VIOLATED;
    for (size_t i = 0; i < n && v == HOLDS; i++)
        for (size_t k = 0; k < a.runs[i].result.races.count && v == HOLDS; k++) {
            const struct race *r = &a.runs[i].result.races.races[k];
            uint64_t x = r->first.position, y = r->second.position;

            if (!engines[i]->predicts || engines[i]->needs_code ||
                pair_set_has(&s->hb_unordered, x, y) || pair_set_has(&subject_mc(s)->pairs, x, y))
                continue;
            buf_addf(why, "%s lists (%llu, %llu), which cannot be", engines[i]->name,
                     (unsigned long long)x, (unsigned long long)y);
            v = VIOLATED;
        }
    analysis_release(&a);
    return v;
}

const struct property properties_options[] = {
    { "the-cascade-lists-nothing-impossible", the_cascade_lists_nothing_impossible, 4 },
    { "effort-is-the-same-for-all", effort_is_the_same_for_all, 8 },
    { "output-options-change-no-engine", no_engine_is_changed, 8 },
    { "output-options-change-no-cascade", the_cascade_is_not_changed, 8 },
    { NULL, NULL, 0 },
};
