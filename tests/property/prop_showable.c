/* prop_showable.c - of a recording, what no schedule can hold is needed by nobody
 *
 * The trace is taken for a recording, with plain accesses in uncertain order.
 * The cascade, which lets engines that only add schedules see what schedules can
 * hold (engines/showable.h), reports what it reports when they see all; and its
 * schedules are accepted by the checker of the whole trace. The same for engines that do not look
 * where the one they follow has proven that there is nothing (engine.follows), in any trace.
 */
#include "properties.h"

static int run(struct subject *s, bool see_all, struct analysis *a, struct error *err)
{
    const struct engine_options options = {
        .cascade = true, .sieve = true, .jobs = 1, .see_all = see_all
    };

    return run_cascade(s, &options, a, err);
}

/* Is all of a in b? */
static enum verdict compare(const struct analysis *a, const struct analysis *b, const char *who,
                            struct buf *why)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct race_table *t = &a->runs[i].result.races;

        for (size_t k = 0; k < t->count; k++) {
            uint32_t x = t->races[k].first.site, y = t->races[k].second.site;
            enum strength here = cascade_strength(a, x, y), there = cascade_strength(b, x, y);

            if (there <= here)
                continue;
            buf_addf(why, "%s: %s says more of events %d and %d: %d, not %d", who,
                     a->runs[i].engine->name, (int)t->races[k].first.position,
                     (int)t->races[k].second.position, (int)here, (int)there);
            return VIOLATED;
        }
    }
    return HOLDS;
}

static bool has_fence(const struct subject *s)
{
    for (size_t i = 0; i < s->mem.count; i++)
        if (s->mem.events[i].op == OP_FENCE)
            return true;
    return false;
}

static enum verdict compare_both(struct subject *s, struct buf *why)
{
    struct analysis all, some;
    struct error err = { "" };
    enum verdict v;

    if (run(s, true, &all, &err) || run(s, false, &some, &err)) {
        buf_addf(why, "%s", err.text);
        return VIOLATED;
    }
    /* What stands behind a release fence may count for more than it need be. */
    v = has_fence(s) ? HOLDS : compare(&all, &some, "who sees all", why);
    if (v == HOLDS)
        v = compare(&some, &all, "who sees what can be shown", why);
    if (v == HOLDS)
        v = cascade_schedules_hold(s, &some, why);
    analysis_release(&all);
    analysis_release(&some);
    return v;
}

/* An engine that was told that there is nothing would have found nothing, and the others find what
 * they find. */
static enum verdict compare_settled(const struct analysis *all, const struct analysis *some,
                                    struct buf *why)
{
    for (size_t i = 0; i < all->count; i++) {
        size_t there = all->runs[i].result.races.count, here = some->runs[i].result.races.count;

        if (there == here)
            continue;
        buf_addf(why, "%s finds %zu races, not %zu", all->runs[i].engine->name, there, here);
        return VIOLATED;
    }
    return HOLDS;
}

/* Without the limits of recordings the two differ only in who follows whom. */
static enum verdict following_changes_nothing(struct subject *s, struct buf *why)
{
    struct analysis all, some;
    struct error err = { "" };
    enum verdict v;

    if (run(s, true, &all, &err) || run(s, false, &some, &err)) {
        buf_addf(why, "%s", err.text);
        return VIOLATED;
    }
    v = compare_settled(&all, &some, why);
    if (v == HOLDS)
        v = compare(&all, &some, "who follows nobody", why);
    if (v == HOLDS)
        v = compare(&some, &all, "who follows", why);
    analysis_release(&all);
    analysis_release(&some);
    return v;
}

static enum verdict what_cannot_be_shown_is_not_needed(struct subject *s, struct buf *why)
{
    struct trace_info *info = (struct trace_info *)(uintptr_t)s->info;
    enum trace_order order = info->order;
    enum verdict v;

    if (info->values || info->branches || info->calls || order == TRACE_UNKNOWN)
        return DOES_NOT_APPLY;
    info->order = TRACE_SYNC_EXACT;
    v = compare_both(s, why);
    info->order = order;
    return v;
}

const struct property properties_showable[] = {
    { "what-cannot-be-shown-is-not-needed", what_cannot_be_shown_is_not_needed, 1 },
    { "following-changes-nothing", following_changes_nothing, 1 },
    { NULL, NULL, 0 },
};
