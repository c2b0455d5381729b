/* prop_gist.c - whoever decides on what matters of a trace decides as on all of it
 *
 * Engines that see the gist (engines/gist.h) in the place of the trace report
 * what they report of the whole, with positions of the trace, and the checker of the whole trace
 * accepts their schedules. (They may show more: of an access that is left out nobody asks whether
 * its thread was stopped before it.) Where memory holds only the gist of a beginning, nothing is
 * reported that is not reported otherwise, and hb's races are all there unless calls
 * of untraced code may order them.
 */
#include "properties.h"

enum { FEW_EVENTS = 12 };

/* Does it speak of events of the trace? */
static bool is_placed(const struct subject *s, const struct race *r)
{
    return r->second.position < s->mem.count &&
           s->mem.events[r->first.position].site == r->first.site &&
           s->mem.events[r->second.position].site == r->second.site;
}

/* Calls of untraced code may order the two, and nobody could judge: what lies behind the beginning
 * that is held stays (the report says so). */
static bool is_beyond_judgement(const struct subject *s, const struct race *r)
{
    return s->info->calls && r->second.position >= FEW_EVENTS;
}

/* Does somebody in b speak of each race in a that has no schedule, and say as much? (Who does may
 * differ: what one engine has shown others do not look at.) */
static enum verdict is_within(const struct subject *s, const struct analysis *a,
                              const struct analysis *b, bool as_much, const char *who,
                              struct buf *why)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct race_table *t = &a->runs[i].result.races;

        for (size_t k = 0; k < t->count; k++) {
            const struct race *r = &t->races[k];
            uint32_t x = r->first.site, y = r->second.site;

            if ((cascade_strength(b, x, y) <=
                     (as_much ? cascade_strength(a, x, y) : STRENGTH_MAYBE) ||
                 (!as_much && (r->witness || is_beyond_judgement(s, r)))) &&
                is_placed(s, r))
                continue;
            buf_addf(why, "%s: %s has events %d and %d as strong as %d, not %d", who,
                     a->runs[i].engine->name, (int)r->first.position, (int)r->second.position,
                     (int)cascade_strength(a, x, y), (int)cascade_strength(b, x, y));
            return VIOLATED;
        }
    }
    return HOLDS;
}

/* Engines that need suspects alone see all of the trace, however little of it is held. */
static enum verdict misses_none(const struct analysis *all, const struct analysis *little,
                                struct buf *why)
{
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->runs[i].result.races.count; k++) {
            const struct race *r = &all->runs[i].result.races.races[k];

            if (all->runs[i].engine != &engine_hb ||
                race_table_find(&little->runs[i].result.races, r->first.site, r->second.site))
                continue;
            buf_addf(why, "little memory: hb misses events %d and %d", (int)r->first.position,
                     (int)r->second.position);
            return VIOLATED;
        }
    return HOLDS;
}

/* Those that predict, named by the user. */
static int run_named(struct subject *s, const struct engine_options *options, struct analysis *a,
                     struct error *err)
{
    static const struct engine *const engines[] = { &engine_syncp, &engine_wcp, &engine_osr,
                                                    &engine_mc };

    return trace_rewind(s->trace, err) || analysis_run(s->trace, engines, 4, options, NULL, a, err);
}

/* They look at a beginning as well, and find nothing else there. */
static enum verdict compare_named(struct subject *s, struct buf *why)
{
    struct engine_options options = { .sieve = true, .jobs = 1, .gist_from = UINT64_MAX };
    struct analysis all, little;
    struct error err = { "" };
    enum verdict v;

    if (run_named(s, &options, &all, &err)) {
        buf_addf(why, "%s", err.text);
        return VIOLATED;
    }
    options.gist_from = 1;
    options.memory = 512 * FEW_EVENTS;
    if (run_named(s, &options, &little, &err)) {
        buf_addf(why, "%s", err.text);
        analysis_release(&all);
        return VIOLATED;
    }
    v = is_within(s, &little, &all, false, "named, little memory", why);
    if (v == HOLDS && !s->info->calls) /* whose rule is rdit's alone */
        v = cascade_schedules_hold(s, &little, why);
    analysis_release(&all);
    analysis_release(&little);
    return v;
}

static enum verdict compare(struct subject *s, struct buf *why)
{
    struct engine_options options = { .cascade = true, .sieve = true, .jobs = 1 };
    struct analysis all, gist, little;
    struct error err = { "" };
    enum verdict v;

    options.gist_from = UINT64_MAX;
    if (run_cascade(s, &options, &all, &err)) {
        buf_addf(why, "%s", err.text);
        return VIOLATED;
    }
    options.gist_from = 1;
    if (run_cascade(s, &options, &gist, &err)) {
        buf_addf(why, "%s", err.text);
        return VIOLATED;
    }
    options.memory = 512 * FEW_EVENTS;
    if (run_cascade(s, &options, &little, &err)) {
        buf_addf(why, "%s", err.text);
        return VIOLATED;
    }
    v = is_within(s, &all, &gist, true, "all events", why);
    if (v == HOLDS)
        v = is_within(s, &gist, &all, false, "the gist", why);
    if (v == HOLDS)
        v = cascade_schedules_hold(s, &gist, why);
    if (v == HOLDS)
        v = is_within(s, &little, &all, false, "little memory", why);
    if (v == HOLDS)
        v = cascade_schedules_hold(s, &little, why);
    if (v == HOLDS)
        v = s->info->calls ? HOLDS : misses_none(&all, &little, why);
    analysis_release(&all);
    analysis_release(&gist);
    analysis_release(&little);
    return v;
}

static enum verdict the_gist_is_enough(struct subject *s, struct buf *why)
{
    struct trace_info *info = (struct trace_info *)(uintptr_t)s->info;
    enum trace_order order = info->order;
    enum verdict v;

    if (info->values || info->branches || order == TRACE_UNKNOWN)
        return DOES_NOT_APPLY;
    v = compare(s, why);
    if (v == HOLDS)
        v = compare_named(s, why);
    info->order = TRACE_SYNC_EXACT;
    if (v == HOLDS)
        v = compare(s, why);
    if (v == HOLDS)
        v = compare_named(s, why);
    info->order = order;
    return v;
}

const struct property properties_gist[] = {
    { "the-gist-is-enough", the_gist_is_enough, 1 },
    { NULL, NULL, 0 },
};
