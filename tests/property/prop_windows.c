/* prop_windows.c - windows lose nothing but what they must
 *
 * A window's answers are compared with an enumeration of everything that can
 * be done in the window after what came before it, by the oracle's rules. mc
 * with windows finds exactly what its windows allow.
 */
#include "properties.h"

#include <stdlib.h>
#include <string.h>

#include "engines/predict/predict.h"
#include "order/view.h"
#include "witness/witness.h"

enum { LIST_MAX = 64 };

struct walk {
    struct subject *s;
    const struct view *v;
    size_t first, end, a, b;
    uint64_t list[LIST_MAX];
    size_t n;
    uint32_t *done; /* thread -> its events in the list */
};

static bool is_next(const struct walk *w, size_t event)
{
    return w->done[w->v->events[event].thread] == w->v->rank[event];
}

/* The thread's next event, or SIZE_MAX: there is none in the window, or it is one of the two. */
static size_t next_of(const struct walk *w, uint32_t thread)
{
    const struct view *v = w->v;
    uint32_t at = v->thread_first[thread] + w->done[thread];
    size_t e;

    if (at >= v->thread_first[thread + 1])
        return SIZE_MAX;
    e = v->thread_event[at];
    return e >= w->end || e == w->a || e == w->b ? SIZE_MAX : e;
}

static bool accepts(struct walk *w)
{
    w->list[w->n] = w->a;
    w->list[w->n + 1] = w->b;
    return is_next(w, w->a) && is_next(w, w->b) &&
           oracle_accepts_calls(&w->s->mem, w->s->info, CALL_RULE_UNSEEN, NULL, w->list, w->n + 2);
}

/* Is there a way on from here to both next? */
static bool go_on(struct walk *w)
{
    bool found = accepts(w);

    for (uint32_t t = 0; t < w->v->nthreads && !found; t++) {
        size_t e = next_of(w, t);

        if (e == SIZE_MAX)
            continue;
        w->list[w->n++] = e;
        w->done[t]++;
        found = go_on(w);
        w->done[t]--;
        w->n--;
    }
    return found;
}

bool window_allows(struct subject *s, const struct view *v, size_t first, size_t end, size_t a,
                   size_t b)
{
    struct walk w = { .s = s, .v = v, .first = first, .end = end, .a = a, .b = b };
    bool found;

    w.done = calloc((size_t)v->nthreads + 1, sizeof(*w.done));
    for (size_t i = 0; i < first; i++) {
        if (v->rank[i] == VIEW_NONE)
            continue;
        w.list[w.n++] = i;
        w.done[v->events[i].thread]++;
    }
    found = go_on(&w);
    free(w.done);
    return found;
}

static enum verdict judge_schedule(struct subject *s, const struct witness_trace *checker,
                                   const uint64_t *list, size_t n, struct buf *why)
{
    struct error err = { "" };

    if (witness_check(checker, list, n, &err) && oracle_accepts(&s->mem, s->info, list, n))
        return HOLDS;
    buf_addf(why, "the schedule of a window is refused: %s", err.text);
    return VIOLATED;
}

struct court {
    struct subject *s;
    const struct view *view;
    const struct witness_trace *checker;
    struct predictor *predictor;
    const struct pair_set *found; /* by mc with windows */
    size_t first, end;
    struct buf *why;
};

static enum verdict judge_pair(struct court *c, size_t a, size_t b)
{
    struct predict_budget budget = { .conflicts = 100000 };
    bool possible = window_allows(c->s, c->view, c->first, c->end, a, b), listed;
    enum verdict v = HOLDS;
    uint64_t *list;
    size_t n;
    enum predict_answer answer = predictor_decide(c->predictor, a, b, &budget, &list, &n);

    if (answer == PREDICT_FEASIBLE)
        v = judge_schedule(c->s, c->checker, list, n, c->why);
    free(list);
    listed = pair_set_has(c->found, a, b);
    if (answer == (possible ? PREDICT_FEASIBLE : PREDICT_INFEASIBLE) && listed == possible)
        return v;
    buf_addf(c->why, "window [%zu, %zu): events %zu and %zu: %s, the predictor says %d, mc %s",
             c->first, c->end, a, b, possible ? "possible" : "impossible", (int)answer,
             listed ? "finds it" : "does not find it");
    return VIOLATED;
}

static enum verdict judge_window(struct court *c, size_t window)
{
    enum verdict v = HOLDS;

    c->predictor = predictor_new_window(c->view, c->s->info, c->first, c->end - c->first);
    for (size_t a = c->first; a < c->first + window && a < c->end && v == HOLDS; a++)
        for (size_t b = a + 1; b <= a + window && b < c->end && v == HOLDS; b++)
            if (naive_conflict(&c->s->mem, a, b))
                v = judge_pair(c, a, b);
    predictor_free(c->predictor);
    return v;
}

static bool was_refused(const struct engine_result *r)
{
    for (size_t i = 0; i < r->ncounters; i++)
        if (strcmp(r->counters[i].name, "witness_refused") == 0)
            return true;
    return false;
}

/* What mc (or rdit, sb) finds with a window; -1: cannot, or a schedule was refused. */
static int run(struct subject *s, const struct engine *engine, size_t window,
               struct pair_set *found, struct buf *why)
{
    const struct engine *const engines[] = { engine };
    struct engine_options options = { .window = window, .jobs = 2 };
    struct analysis a;
    struct error err = { "" };
    bool refused;

    if (trace_rewind(s->trace, &err) ||
        analysis_run(s->trace, engines, 1, &options, NULL, &a, &err)) {
        buf_addf(why, "cannot analyse again: %s", err.text);
        return -1;
    }
    pair_set_init(found, s->mem.count);
    for (size_t i = 0; i < a.runs[0].result.races.count; i++) {
        const struct race *r = &a.runs[0].result.races.races[i];

        pair_set_add(found, r->first.position, r->second.position);
    }
    refused = was_refused(&a.runs[0].result);
    analysis_release(&a);
    if (refused)
        buf_addf(why, "a schedule of %s with windows is refused", engine->name);
    return refused ? -1 : 0;
}

/* Windows of up to six events: with more there are too many ways to go. */
static enum verdict windows_find_what_they_allow(struct subject *s, struct buf *why)
{
    size_t window = 2 + s->mem.count % 2;
    struct pair_set found;
    struct court c = { .s = s, .why = why, .found = &found };
    struct witness_trace *checker;
    struct view *view;
    enum verdict v = HOLDS;

    if (!s->oracle.complete || s->mem.count + 2 > LIST_MAX || s->mem.count <= window)
        return DOES_NOT_APPLY;
    if (run(s, &engine_mc, window, &found, why) < 0)
        return VIOLATED;
    v = subset(&found, subject_found(s, &engine_mc), "mc finds more with windows", why);
    c.view = view = view_new(&s->mem, CALL_RULE_NONE);
    c.checker = checker = witness_trace_new(&s->mem, s->info);
    witness_trace_set_calls(checker, CALLS_UNSEEN, NULL);
    for (; c.first < s->mem.count && v == HOLDS; c.first += window) {
        c.end = c.first + 2 * window < s->mem.count ? c.first + 2 * window : s->mem.count;
        v = judge_window(&c, window);
    }
    witness_trace_free(checker);
    view_free(view);
    pair_set_release(&found);
    return v;
}

static enum verdict a_large_window_changes_nothing(struct subject *s, struct buf *why)
{
    struct pair_set found;
    enum verdict v;

    if (!s->oracle.complete || s->mem.count < 2)
        return DOES_NOT_APPLY;
    if (run(s, &engine_mc, s->mem.count - 1, &found, why) < 0)
        return VIOLATED;
    v = both(subset(&found, subject_found(s, &engine_mc), "mc finds more with a window", why),
             subset(subject_found(s, &engine_mc), &found, "mc finds less with a window", why));
    pair_set_release(&found);
    return v;
}

static enum verdict windows_of(struct subject *s, const struct engine *engine, struct buf *why)
{
    struct pair_set found;
    enum verdict v;

    if (run(s, engine, 3 + s->mem.count % 5, &found, why) < 0)
        return VIOLATED;
    v = subset(&found, subject_found(s, engine), "more is found with windows", why);
    pair_set_release(&found);
    return v;
}

static enum verdict barriers_hold_in_windows(struct subject *s, struct buf *why)
{
    if (!s->oracle.complete || s->info->order != TRACE_EXACT || !s->info->calls)
        return DOES_NOT_APPLY;
    return both(windows_of(s, &engine_rdit, why), windows_of(s, &engine_sb, why));
}

const struct property properties_windows[] = {
    { "windows-find-what-they-allow", windows_find_what_they_allow, 5 },
    { "a-large-window-changes-nothing", a_large_window_changes_nothing, 10 },
    { "barriers-hold-in-windows", barriers_hold_in_windows, 1 },
    { NULL, NULL, 0 },
};
