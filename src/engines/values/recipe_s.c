/* recipe_s.c - recipe-s: races that only show when a read sees another value
 *
 * RECIPE, section III: branch outcomes and addresses stay, all else is free. All pairs of
 * sites (in the cascade: those that nobody has shown) are put to relax.h, over the
 * execution rebuilt from trace and bitcode. Without bitcode recipe-s is mc, and says so.
 * Calls of untraced code keep what rdit keeps.
 *
 * Limits: the first WHOLE_EVENTS_MAX events; the instances that mc_pairs.c keeps of a
 * pair of sites; the budget of predict.h for each. What stays open is counted.
 */
#include "engines/engine.h"
#include "base/alloc.h"
#include "engines/batches.h"
#include "engines/predict/mc_pairs.h"
#include "engines/values/relax.h"
#include "engines/whole.h"
#include "engines/whole_code.h"

#include <stdlib.h>

/* For the solvers of all threads; with more they take turns. */
#define SOLVERS_BYTES_MAX ((uint64_t)2 << 30)

/* Tasks of a batch: threads wait at its end, and its schedules are held. */
enum { BATCH = 64 };

/* The budget of a question, in mc's: values make it harder, and few questions are left. */
enum { WORK_TIMES = 2 };

/* Besides what the solver counts. */
enum { UNITS_AN_INSTANCE = 1000 };

/* A pair of sites to decide. */
struct task {
    struct mc_pair *pair;
    const struct instance *instances; /* borrowed */
    uint32_t ninstances;
    enum predict_answer answer;
    uint64_t work;
    struct instance feasible;
    struct relax_answer schedule;
};

struct recipe_s {
    struct engine_result *result;
    struct whole *whole;
    const struct event *events;
    struct relax **solvers; /* one a thread; the first owns the model */
    unsigned threads;
    struct task *tasks;
    size_t ntasks;
    uint64_t asked, found, infeasible, undecided, cut, skipped;
};

static void *recipe_s_open(struct engine_result *result, const struct engine_options *options)
{
    struct recipe_s *s = xcalloc(1, sizeof(*s));

    (void)options;
    s->result = result;
    return s;
}

static void recipe_s_close(void *state)
{
    free(state);
}

/* ---- a pair ---- */

/* All instances of a pair together get three times the budget of one, as for mc. */
static void decide_instances(struct relax *r, struct task *t)
{
    struct predict_budget budget = PREDICT_BUDGET;
    uint64_t before = relax_stats(r)->work, one = WORK_TIMES * budget.work;

    t->answer = PREDICT_INFEASIBLE;
    for (uint32_t i = 0; i < t->ninstances && t->answer != PREDICT_FEASIBLE; i++) {
        const struct instance *x = &t->instances[i];
        uint64_t used = relax_stats(r)->work - before;
        enum predict_answer answer;

        t->work = used + UNITS_AN_INSTANCE * (uint64_t)(i + 1);
        if (used >= 3 * one) {
            t->answer = PREDICT_UNDECIDED;
            return;
        }
        budget.work = 3 * one - used < one ? 3 * one - used : one;
        answer = relax_decide(r, x->first, x->second, &budget, &t->schedule);
        if (answer != PREDICT_INFEASIBLE)
            t->answer = answer;
        if (answer == PREDICT_FEASIBLE)
            t->feasible = *x;
    }
    t->work += relax_stats(r)->work - before;
}

static uint64_t work_of(void *state, size_t task)
{
    return ((struct recipe_s *)state)->tasks[task].work;
}

/* ---- answers ---- */

static struct access access_at(const struct recipe_s *s, uint64_t position)
{
    return (struct access){ position, s->events[position].site };
}

static void recipe_s_show(struct recipe_s *s, struct race *r, struct task *t)
{
    struct relax_answer *a = &t->schedule;
    struct error why;

    if (!whole_can_show(s->whole))
        return;
    whole_show_values(s->whole, r, a->list, a->count, a->changes, a->nchanges, &why);
    a->list = NULL; /* theirs now */
    a->changes = NULL;
}

static void decide_task(void *state, unsigned thread, size_t task)
{
    struct recipe_s *s = state;

    decide_instances(s->solvers[thread], &s->tasks[task]);
}

static void use_answer(void *state, size_t task)
{
    struct recipe_s *s = state;
    struct task *t = &s->tasks[task];
    struct access first, second;
    struct race *r;

    s->asked++;
    t->pair->cut &= t->answer == PREDICT_INFEASIBLE;
    s->undecided += t->answer == PREDICT_UNDECIDED || t->answer == PREDICT_TOO_LONG;
    s->infeasible += t->answer == PREDICT_INFEASIBLE && !t->pair->cut;
    if (t->answer == PREDICT_FEASIBLE) {
        s->found++;
        first = access_at(s, t->feasible.first);
        second = access_at(s, t->feasible.second);
        race_table_add(&s->result->races, first, second, STRENGTH_MAYBE);
        r = race_table_find(&s->result->races, first.site, second.site);
        if (r)
            recipe_s_show(s, r, t);
    }
    relax_answer_release(&t->schedule);
}

static void decide_tasks(struct recipe_s *s)
{
    struct batches b = { .whole = s->whole,
                         .threads = s->threads,
                         .size = BATCH,
                         .decide = decide_task,
                         .work = work_of,
                         .use = use_answer,
                         .arg = s };

    size_t used = batches_run(&b, s->ntasks);

    s->skipped += s->ntasks - used;
    for (; used < s->ntasks; used++)
        relax_answer_release(&s->tasks[used].schedule);
}

/* ---- the engine ---- */

static void add_task(struct recipe_s *s, struct mc_pair *p, const struct instance *list, uint32_t n)
{
    if (n)
        s->tasks[s->ntasks++] = (struct task){
            .pair = p, .instances = list, .ninstances = n, .answer = PREDICT_UNDECIDED
        };
}

static bool is_open(const struct recipe_s *s, const struct mc_pair *p)
{
    return !whole_is_shown(s->whole, p->site, p->other) &&
           !race_table_find(&s->result->races, p->site, p->other);
}

static void make_tasks(struct recipe_s *s, struct mc_pairs *pairs)
{
    s->tasks = xcalloc(pairs->count + 1, sizeof(*s->tasks));
    for (size_t i = 0; i < pairs->count; i++) {
        struct mc_pair *p = &pairs->pairs[i];

        if (is_open(s, p))
            add_task(s, p, p->instances, p->count);
        else
            p->cut = false;
    }
}

/* Pairs of which all instances that were kept are impossible, but not all were. */
static void try_more(struct recipe_s *s, struct mc_pairs *pairs, const struct view *view)
{
    struct mc_more *more = xcalloc(pairs->count + 1, sizeof(*more));
    size_t before = s->asked;

    s->ntasks = 0;
    for (size_t i = 0; i < pairs->count; i++)
        more[i].wanted = pairs->pairs[i].cut;
    mc_pairs_more(pairs, view, 0, more);
    for (size_t i = 0; i < pairs->count; i++) {
        if (more[i].wanted)
            pairs->pairs[i].cut = more[i].stride > 1;
        if (more[i].wanted)
            add_task(s, &pairs->pairs[i], more[i].instances, more[i].count);
    }
    decide_tasks(s);
    s->asked = before; /* the same pairs */
    for (size_t i = 0; i < pairs->count; i++) {
        s->cut += pairs->pairs[i].cut;
        free(more[i].instances);
    }
    free(more);
}

static void make_solvers(struct recipe_s *s, const struct view *view, const struct execution *e)
{
    struct relax_options options = { .exact = whole_info(s->whole)->order == TRACE_EXACT };
    struct relax *first = relax_new(view, e, &options);
    unsigned jobs = whole_options(s->whole)->jobs;

    while (jobs > 1 && jobs * relax_bytes(first) > SOLVERS_BYTES_MAX)
        jobs--;
    if (jobs > s->ntasks)
        jobs = (unsigned)s->ntasks;
    s->threads = jobs ? jobs : 1;
    s->solvers = xcalloc(s->threads, sizeof(struct relax *));
    for (unsigned i = 0; i < s->threads; i++)
        s->solvers[i] = i ? relax_clone(first) : first;
}

static void recipe_s_count_up(struct recipe_s *s, const struct execution *e,
                              const struct mc_pairs *pairs)
{
    engine_count(s->result, "pairs_relaxed", s->asked);
    engine_count(s->result, "by_values", s->found);
    engine_count(s->result, "infeasible_relaxed", s->infeasible);
    engine_leave(s->result, "undecided_relaxed", s->undecided);
    engine_leave(s->result, "instances_cut_relaxed", s->cut);
    engine_leave(s->result, "pairs_skipped_relaxed", s->skipped);
    engine_leave(s->result, "instances_dropped", pairs->dropped);
    if (e->lost)
        engine_count(s->result, "events_not_followed", e->lost);
}

static void relax_pairs(struct recipe_s *s, const struct view *view, const struct execution *e)
{
    struct mc_pairs pairs;

    mc_pairs_find(&pairs, view, 0);
    make_tasks(s, &pairs);
    if (s->ntasks) {
        make_solvers(s, view, e);
        decide_tasks(s);
        if (!s->skipped)
            try_more(s, &pairs, view);
        for (unsigned i = s->threads; i-- > 0;)
            relax_free(s->solvers[i]);
        free(s->solvers);
    }
    recipe_s_count_up(s, e, &pairs);
    free(s->tasks);
    mc_pairs_release(&pairs);
}

static int recipe_s_decide(void *state, struct whole *whole, struct error *err)
{
    struct recipe_s *s = state;
    const struct view *view = whole_view(whole, err);
    const struct execution *e;

    if (!view)
        return -1;
    s->whole = whole;
    s->events = view->events;
    e = whole_execution(whole, NULL);
    if (e) {
        relax_pairs(s, view, e);
        return 0;
    }
    engine_count(s->result, "no_bitcode", 1);
    return whole_options(whole)->cascade ? 0 : engine_decide(&engine_mc, s->result, whole, err);
}

const struct engine engine_recipe_s = {
    .name = "recipe-s",
    .summary = "mc, and reads may see other values if branches and addresses stay the same",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .call_rule = CALL_RULE_PAIRS,
    .needs_code = true,
    .open = recipe_s_open,
    .decide = recipe_s_decide,
    .close = recipe_s_close,
};
