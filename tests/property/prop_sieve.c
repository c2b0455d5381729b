/* prop_sieve.c - an engine of the cascade finds the same with the sieve as without it */
#include "properties.h"

static bool same_races(const struct race_table *a, const struct race_table *b)
{
    bool same = a->count == b->count;

    for (size_t i = 0; i < a->count && same; i++) {
        const struct race *x = &a->races[i];
        const struct race *y = race_table_find(b, x->first.site, x->second.site);

        same = y && x->strength == y->strength && x->first.position == y->first.position &&
               x->second.position == y->second.position;
    }
    return same;
}

static enum verdict compare(struct subject *s, const struct engine *e, struct buf *why)
{
    static const struct engine_options options = { .sieve = true };
    struct error err = { "" };
    struct analysis sieved;
    enum verdict v = HOLDS;

    if (trace_rewind(s->trace, &err) ||
        analysis_run(s->trace, &e, 1, &options, NULL, &sieved, &err)) {
        buf_addf(why, "%s: %s", e->name, err.text);
        return VIOLATED;
    }
    if (!same_races(&subject_result(s, e)->races, &sieved.runs[0].result.races)) {
        buf_addf(why, "%s finds %zu races, behind the sieve other %zu", e->name,
                 subject_result(s, e)->races.count, sieved.runs[0].result.races.count);
        v = VIOLATED;
    }
    analysis_release(&sieved);
    return v;
}

static enum verdict the_sieve_changes_nothing(struct subject *s, struct buf *why)
{
    enum verdict v = HOLDS;

    for (size_t i = 0; i < s->nengines && v == HOLDS; i++)
        if (engine_registry[i] != &engine_lockset)
            v = compare(s, engine_registry[i], why);
    return v;
}

/* ---- suspects ---- */

/* The races of engines that go by hb are the same; what others add or miss is about schedules. */
static enum verdict same_cascade(const struct analysis *a, const struct analysis *b,
                                 struct buf *why)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct race_table *x = &a->runs[i].result.races, *y = &b->runs[i].result.races;

        if (same_races(x, y) && a->runs[i].idle == b->runs[i].idle &&
            a->runs[i].result.deadlocks.count == b->runs[i].result.deadlocks.count)
            continue;
        buf_addf(why, "%s finds %zu races, %zu where all words count that matter",
                 a->runs[i].engine->name, x->count, y->count);
        return VIOLATED;
    }
    return HOLDS;
}

static enum verdict suspects_are_enough(struct subject *s, struct buf *why)
{
    struct engine_options options = { .cascade = true, .sieve = true, .jobs = 1 };
    struct analysis few, all;
    struct error err = { "" };
    enum verdict v;

    if (run_cascade(s, &options, &few, &err)) {
        buf_addf(why, "%s", err.text);
        return VIOLATED;
    }
    options.see_safe = true;
    if (run_cascade(s, &options, &all, &err)) {
        buf_addf(why, "%s", err.text);
        return VIOLATED;
    }
    v = same_cascade(&few, &all, why);
    analysis_release(&few);
    analysis_release(&all);
    return v;
}

const struct property properties_sieve[] = {
    { "suspects-are-enough", suspects_are_enough, 2 },
    { "the-sieve-changes-nothing", the_sieve_changes_nothing, 2 },
    { NULL, NULL, 0 },
};
