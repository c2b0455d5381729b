/* recipe_task.c - the questions of one path, or of two; see recipe_task.h */
#include "engines/values/recipe_task.h"
#include "base/alloc.h"
#include "engines/whole.h"
#include "engines/whole_code.h"

#include <stdlib.h>
#include <string.h>

enum {
    PATH_TRIES = 10, /* of a pair of sites in one path */
    OPEN_TRIES = 2   /* the same, with the budget spent: the next would not be easier */
};

/* ---- the changed execution, with where its new events are ---- */

struct place_set {
    struct execution *e;
    struct view *view;
    struct relax *solver;
    uint32_t *place, *other_place;
};

static void set_init(struct place_set *p, const struct recipe_context *c,
                     const struct recipe_task *t)
{
    const struct flip_path *a = flips_get(c->flips, t->path);
    const struct flip_path *b = t->other == NO_PATH ? NULL : flips_get(c->flips, t->other);
    struct relax_options options = { .exact = whole_info(c->whole)->order == TRACE_EXACT };

    p->place = xcalloc(a->nevents + 1, sizeof(*p->place));
    p->other_place = b ? xcalloc(b->nevents + 1, sizeof(*p->other_place)) : NULL;
    p->e = execution_flip(c->e, a, b, p->place, p->other_place);
    p->view = whole_view_of(c->whole, p->e->trace);
    p->solver = relax_new(p->view, p->e, &options);
}

static void set_release(struct place_set *p)
{
    relax_free(p->solver);
    view_free(p->view);
    execution_flip_free(p->e);
    free(p->place);
    free(p->other_place);
}

/* ---- which pairs ---- */

bool recipe_is_settled(const struct recipe_context *c, uint64_t pair)
{
    const uint32_t *known = map_get(&c->decided, pair);

    return (known && (*known == 1 || *known >= 2 + c->tries)) ||
           whole_is_shown(c->whole, (uint32_t)(pair >> 32), (uint32_t)pair) ||
           race_table_find(c->races, (uint32_t)(pair >> 32), (uint32_t)pair);
}

static bool is_found(const struct recipe_task *t, uint64_t pair)
{
    for (size_t i = 0; i < t->nfound; i++)
        if (t->found[i].candidate.pair == pair && t->found[i].accepted)
            return true;
    return false;
}

static bool needs_question(const struct recipe_context *c, struct recipe_task *t, uint64_t pair)
{
    const uint32_t *known = map_get(&c->decided, pair);

    t->tried_enough += known && *known >= 2 + c->tries;
    return !is_found(t, pair) && !recipe_is_settled(c, pair);
}

static void note_tried(struct recipe_task *t, uint64_t pair)
{
    if (t->ntried && t->tried[t->ntried - 1] == pair)
        return;
    GROW(t->tried, t->tried_cap, t->ntried + 1);
    t->tried[t->ntried++] = pair;
}

/* ---- schedules ---- */

/* Position in the trace or, behind its end, among the new events, of one in the changed execution.
 */
static uint64_t position_of(const struct recipe_context *c, const struct recipe_task *t,
                            const struct place_set *p, uint64_t position)
{
    uint64_t count = c->e->trace->count, to = position;
    const uint32_t *places[2] = { p->place, p->other_place };
    uint32_t paths[2] = { t->path, t->other };

    for (unsigned i = 0; i < 2 && places[i]; i++) {
        const struct flip_path *path = flips_get(c->flips, paths[i]);
        uint64_t first = places[i][0], shift = flips_shift(path);

        if (position >= first && position < first + path->nevents)
            return count + (i ? flips_get(c->flips, t->path)->nevents : 0) + position - first;
        if (position >= first)
            to -= shift;
    }
    return to;
}

static void use_positions(const struct recipe_context *c, const struct recipe_task *t,
                          const struct place_set *p, struct relax_answer *a)
{
    for (size_t i = 0; i < a->count; i++)
        a->list[i] = position_of(c, t, p, a->list[i]);
    for (size_t i = 0; i < a->nchanges; i++) {
        a->changes[i].read = position_of(c, t, p, a->changes[i].read);
        if (a->changes[i].writer != CHANGE_FIRST)
            a->changes[i].writer = position_of(c, t, p, a->changes[i].writer);
    }
}

/* By the independent checker; afterwards positions are the trace's again. */
static bool recipe_task_check(const struct recipe_context *c, const struct recipe_task *t,
                              const struct place_set *p, struct relax_answer *a)
{
    uint64_t *list = xmalloc((a->count + 1) * sizeof(*list));
    struct value_change *changes = xmalloc((a->nchanges + 1) * sizeof(*changes));
    size_t n = a->nchanges;
    struct error why;
    bool accepted;

    memcpy(list, a->list, a->count * sizeof(*list));
    if (n)
        memcpy(changes, a->changes, n * sizeof(*changes));
    use_positions(c, t, p, a);
    accepted = whole_check_flip(c->whole, p->e, list, a->list, a->count, changes, n, &why) == 1;
    free(list);
    free(changes);
    return accepted;
}

/* ---- questions ---- */

static struct predict_budget share_of_budget(unsigned share)
{
    struct predict_budget budget = PREDICT_BUDGET;

    budget.work /= share;
    return budget;
}

/* May the new event be reached? Asked once for each that lies further than what is known. */
static bool is_reached(struct place_set *p, struct reach *r, const uint32_t *place, uint32_t event,
                       unsigned share)
{
    struct predict_budget budget = share_of_budget(share);

    if (event < r->good || event >= r->bad)
        return event < r->good;
    switch (relax_reach(p->solver, place[event], &budget)) {
    case PREDICT_FEASIBLE:
        r->good = event + 1;
        return true;
    case PREDICT_INFEASIBLE:
        r->bad = event;
        return false;
    default:
        r->bad = event;
        r->is_open = true;
        return false;
    }
}

static bool are_reached(struct recipe_task *t, struct place_set *p, const struct candidate *c,
                        unsigned share)
{
    return is_reached(p, &t->reach, p->place, c->event, share) &&
           (t->other == NO_PATH ||
            is_reached(p, &t->other_reach, p->other_place, (uint32_t)c->position, share));
}

static void recipe_task_ask(const struct recipe_context *c, struct recipe_task *t,
                            struct place_set *p, const struct candidate *x)
{
    const struct flip_path *path = flips_get(c->flips, t->path);
    struct predict_budget budget = share_of_budget(c->share);
    uint64_t a = p->place[x->event];
    uint64_t b = p->other_place               ? p->other_place[x->position]
                 : x->position > path->branch ? x->position + flips_shift(path)
                                              : x->position;
    struct relax_answer answer;
    struct found *f;

    t->asked++;
    note_tried(t, x->pair);
    switch (relax_decide(p->solver, a, b, &budget, &answer)) {
    case PREDICT_FEASIBLE:
        GROW(t->found, t->cap, t->nfound + 1);
        f = &t->found[t->nfound++];
        *f = (struct found){ .candidate = *x, .answer = answer };
        f->accepted = recipe_task_check(c, t, p, &f->answer);
        if (t->reach.good <= x->event)
            t->reach.good = x->event + 1;
        break;
    case PREDICT_INFEASIBLE:
        t->infeasible++;
        break;
    default:
        t->undecided++;
    }
}

void recipe_task_decide(const struct recipe_context *c, struct recipe_task *t)
{
    struct candidates own = { 0 };
    const struct candidates *list = &t->wanted;
    struct place_set p = { 0 };
    uint64_t pair = 0, open = 0;
    unsigned times = 0;

    if (t->other == NO_PATH) {
        candidates_of_path(&own, &c->index, t->path);
        list = &own;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct candidate *x = &list->list[i];

        if (x->pair != pair) {
            pair = x->pair;
            times = 0;
            open = t->undecided;
        }
        if (x->event >= t->reach.bad || times >= PATH_TRIES || t->undecided - open >= OPEN_TRIES ||
            !needs_question(c, t, pair))
            continue;
        if (!p.e)
            set_init(&p, c, t);
        if (are_reached(t, &p, x, c->share)) {
            recipe_task_ask(c, t, &p, x);
            times++;
        } else {
            t->unreached++;
        }
    }
    t->undecided += t->reach.is_open || t->other_reach.is_open;
    t->work = p.e ? relax_stats(p.solver)->work : 0;
    t->copied = p.e;
    if (p.e)
        set_release(&p);
    free(own.list);
    t->done = true;
}

void recipe_task_release(struct recipe_task *t)
{
    for (size_t i = 0; i < t->nfound; i++)
        relax_answer_release(&t->found[i].answer);
    free(t->found);
    free(t->tried);
    free(t->wanted.list);
}
