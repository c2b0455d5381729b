/* long.c - the rest of a trace that is longer than what is held in memory */
#include "engines/long.h"
#include "base/seconds.h"
#include "engines/exact/judge.h"
#include "engines/showable.h"
#include "engines/predict/vindicate.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_parts.h"
#include "engines/whole_run.h"

struct long_work {
    struct analysis *a;
    size_t from, to;
    struct whole *whole;
    uint64_t *left;
    const struct showable *showable; /* or NULL: all parts may be worth a look */
    uint64_t parts, seen;            /* so far; the position up to which */
};

static bool searches(const struct engine *e)
{
    return e == &engine_mc || e == &engine_rdit || e == &engine_sb;
}

/* Do its races get schedules by the solver? */
static bool is_shown_here(const struct engine *e)
{
    return e == &engine_shb || e == &engine_syncp || e == &engine_osr || e == &engine_wcp ||
           e == &engine_cp;
}

/* Of races whose schedule is beyond what was held. */
static uint64_t unshown(const struct long_work *l, const struct engine_run *run)
{
    const struct race_table *t = &run->result.races;
    uint64_t n = 0;

    for (size_t i = 0; i < t->count; i++)
        n += t->races[i].strength > STRENGTH_WITNESSED &&
             t->races[i].last_second >= whole_limit(l->whole);
    return n;
}

static bool takes_part(const struct long_work *l, const struct engine_run *run)
{
    if (run->idle || run->settled || run->turn != l->a->turn)
        return false;
    return searches(run->engine) ||
           (is_shown_here(run->engine) && whole_can_show(l->whole) && unshown(l, run));
}

static size_t participants(const struct long_work *l, size_t from)
{
    size_t n = 0;

    for (size_t i = from; i < l->to; i++)
        n += takes_part(l, &l->a->runs[i]);
    return n;
}

/* Of what is left for this part and those to come. More parts than there are units for their views,
 * and as many for questions, are too many: the later ones are not looked at. */
static uint64_t share(const struct long_work *l, size_t engine)
{
    uint64_t events = whole_info(l->whole)->events, step = whole_part_step(l->whole);
    uint64_t view = whole_view_units(l->whole, l->a->runs[engine].engine, 2 * step);
    size_t parts = (size_t)((events - l->seen) / step) + 1;
    uint64_t worth = *l->left / (2 * view * participants(l, engine) + 1) + 1;

    parts = worth < parts ? (size_t)worth : parts;
    return budget_share(budget_share(*l->left, parts), participants(l, engine));
}

static int decide_part(struct long_work *l, size_t i, struct error *err)
{
    struct engine_run *run = &l->a->runs[i];
    double start = seconds_now();
    int r;

    analysis_take(l->a, i);
    whole_begin(l->whole, run->engine, share(l, i));
    r = searches(run->engine) ? engine_decide(run->engine, &run->result, l->whole, err)
                              : vindicate(l->whole, &run->result, err);
    whole_end(l->whole, &run->result);
    if (r == 0 && whole_options(l->whole)->cascade && run->engine == &engine_rdit) {
        budget_use(l->left, l->whole);
        whole_begin(l->whole, run->engine, share(l, i));
        r = judge(l->a, i, l->whole, err);
    }
    budget_use(l->left, l->whole);
    run->seconds += seconds_now() - start;
    analysis_give(l->a, i);
    return r;
}

/* Can something new in the part be shown? */
static bool is_useful(const struct long_work *l)
{
    return !l->showable || l->parts >= l->showable->nuseful || l->showable->useful[l->parts];
}

/* Are there units to read one more part? */
static bool affords_part(const struct long_work *l)
{
    uint64_t reading = UNITS_AN_EVENT * whole_part_step(l->whole);

    if (*l->left == UINT64_MAX)
        return true;
    if (*l->left <= reading)
        return false;
    *l->left -= reading;
    return true;
}

/* All parts for which there is time; 1 when the user had enough. */
static int go_through(struct long_work *l, struct error *err)
{
    bool stopped = false;
    int r = 0;

    while (!stopped && affords_part(l) && (r = whole_next_part(l->whole, err)) > 0) {
        const struct trace_mem *mem = whole_events(l->whole, err);

        for (size_t i = l->from; i < l->to && r > 0 && is_useful(l); i++)
            if (takes_part(l, &l->a->runs[i]) && decide_part(l, i, err) < 0)
                r = -1;
        l->parts++;
        l->seen = whole_position(l->whole, mem->count - 1) + 1;
        if (r < 0)
            break;
        stopped = whole_interrupted(l->whole);
    }
    return r < 0 ? -1 : stopped;
}

static void long_count_up(const struct long_work *l, struct engine_run *run)
{
    uint64_t events = whole_info(l->whole)->events;
    struct engine_result *result = &run->result;

    if (is_shown_here(run->engine) && unshown(l, run))
        engine_leave(result, "witness_too_far", unshown(l, run));
    if (!searches(run->engine))
        return;
    if (!whole_options(l->whole)->window) {
        engine_leave(result, "window", whole_part_step(l->whole));
        engine_count(result, "windows", l->parts + 1);
    }
    if (l->seen < events)
        engine_leave(result, "events_not_seen", events - l->seen);
    result->complete = false;
}

/* Those that look at the beginning only say so. */
static void count_unseen(const struct long_work *l)
{
    for (size_t i = l->from; i < l->to; i++) {
        struct engine_run *run = &l->a->runs[i];

        if (run->idle || run->turn != l->a->turn ||
            (run->engine != &engine_recipe && run->engine != &engine_recipe_s))
            continue;
        engine_leave(&run->result, "events_not_seen",
                     whole_info(l->whole)->events - whole_limit(l->whole));
    }
}

int long_decide(struct analysis *a, size_t from, size_t to, struct whole *w,
                const struct showable *showable, uint64_t *left, struct error *err)
{
    struct long_work l = { a, from, to, w, left, showable, 0, 0 };
    int r;

    if (!whole_has_parts(w) || (showable && !showable_has_parts(showable)))
        return 0;
    count_unseen(&l);
    if (!participants(&l, from))
        return 0;
    l.seen = whole_limit(w);
    r = go_through(&l, err);
    whole_end_parts(w);
    for (size_t i = from; i < to && r >= 0; i++)
        if (!a->runs[i].idle && !a->runs[i].settled && a->runs[i].turn == a->turn) {
            bool ready = a->runs[i].ready;

            analysis_take(a, i);
            long_count_up(&l, &a->runs[i]);
            if (ready)
                analysis_give(a, i);
        }
    return r;
}
