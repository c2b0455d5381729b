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

const struct property properties_sieve[] = {
    { "the-sieve-changes-nothing", the_sieve_changes_nothing, 2 },
    { NULL, NULL, 0 },
};
