/* recipe.c - recipe: races with code that was not executed
 *
 * RECIPE, section IV. First all that recipe-s finds (in the cascade it has run already).
 * Then paths behind outcomes that branches did not take (program/flip.h) are put into the
 * execution one at a time, and the pairs of a new access and an access of another thread to
 * the same bytes are decided by relax.h, as any pair of recipe-s. Then two at a time, of
 * different threads, where no thread took either outcome: both accesses are new. Every
 * schedule is checked before its race counts, over the same execution.
 *
 * In the order of their promise: outcomes that nobody took, that this thread did not take,
 * others. Batches of paths on several threads; the answers are used in the order of the
 * paths, so they do not depend on the number of threads.
 *
 * Limits: EVENTS_MAX events; those of flip.h; TRIES questions for a pair of sites; PATH_PAIRS_MAX
 * pairs of paths; the budget below for each question. What stays open is counted.
 */
#include "engines/engine.h"
#include "base/abreast.h"
#include "base/alloc.h"
#include "engines/recipe_pairs.h"
#include "engines/relax.h"
#include "engines/whole.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_PER_THREAD = 8,
    TRIES = 24, /* of one pair of sites, over all paths: the same code is met again and again */
    PATH_PAIRS_MAX = 2000,
    EVENTS_MAX = 2000000, /* each path copies the execution: 0.5 GB, some seconds */
    WORK_SHARE = 4        /* of the budget of a pair of recorded accesses: there are many more */
};

/* For the copies of the execution that threads hold. */
#define COPIES_BYTES_MAX ((uint64_t)2 << 30)

/* A race found in a path. */
struct found {
    struct candidate candidate;
    struct relax_answer answer; /* positions of the changed execution */
    bool accepted;
    struct error why;
};

/* A path, or two. */
struct task {
    uint32_t path, other; /* UINT32_MAX: none */
    struct found *found;
    size_t nfound, cap;
    uint64_t asked, infeasible, undecided, tried_enough;
    uint64_t *tried; /* pairs of sites that were asked, once each */
    size_t ntried, tried_cap;
    bool done;
};

struct recipe {
    struct engine_result *result;
    struct whole *whole;
    const struct execution *e;
    struct flips *flips;
    const struct view *view;
    struct access_index index;
    struct map
        decided; /* pair of sites (hashed) -> 1 found, 2 + times tried; between batches only */
    struct task *tasks;
    size_t ntasks, tasks_cap, next, end;
    unsigned threads;
    pthread_mutex_t lock; /* protects `next` */
    bool stopped;
    uint64_t total; /* events of all schedules */
    uint64_t asked, found, both, infeasible, undecided, refused, cut, skipped, paths;
};

static void *recipe_open(struct engine_result *result, const struct engine_options *options)
{
    struct recipe *s = xcalloc(1, sizeof(*s));

    (void)options;
    s->result = result;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

static void recipe_close(void *state)
{
    struct recipe *s = state;

    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- one path, or two ---- */

/* The changed execution, with where its new events are. */
struct place_set {
    struct execution *e;
    struct view *view;
    struct relax *solver;
    uint32_t *place, *other_place;
};

static void set_init(struct place_set *p, const struct recipe *s, const struct task *t)
{
    const struct flip_path *a = flips_get(s->flips, t->path);
    const struct flip_path *b = t->other == UINT32_MAX ? NULL : flips_get(s->flips, t->other);
    struct relax_options options = { .exact = whole_info(s->whole)->order == TRACE_EXACT };

    p->place = xcalloc(a->nevents + 1, sizeof(*p->place));
    p->other_place = b ? xcalloc(b->nevents + 1, sizeof(*p->other_place)) : NULL;
    p->e = execution_flip(s->e, a, b, p->place, p->other_place);
    p->view = whole_view_of(s->whole, p->e->trace);
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

static bool is_found(const struct task *t, uint64_t pair)
{
    for (size_t i = 0; i < t->nfound; i++)
        if (t->found[i].candidate.pair == pair && t->found[i].accepted)
            return true;
    return false;
}

/* Does the pair need no question? */
static bool is_settled(const struct recipe *s, struct task *t, uint64_t pair)
{
    const uint32_t *known = map_get(&s->decided, pair);

    if (known && *known >= 2 + TRIES)
        t->tried_enough++;
    return is_found(t, pair) || (known && (*known == 1 || *known >= 2 + TRIES)) ||
           whole_is_shown(s->whole, (uint32_t)(pair >> 32), (uint32_t)pair) ||
           race_table_find(&s->result->races, (uint32_t)(pair >> 32), (uint32_t)pair);
}

static void note_tried(struct task *t, uint64_t pair)
{
    if (t->ntried && t->tried[t->ntried - 1] == pair)
        return;
    GROW(t->tried, t->tried_cap, t->ntried + 1);
    t->tried[t->ntried++] = pair;
}

/* Position in the trace or, behind its end, among the new events, of one in the changed execution.
 */
static uint64_t position_of(const struct recipe *s, const struct task *t, const struct place_set *p,
                            uint64_t position)
{
    uint64_t count = s->e->trace->count, to = position;
    const uint32_t *places[2] = { p->place, p->other_place };
    uint32_t paths[2] = { t->path, t->other };

    for (unsigned i = 0; i < 2 && places[i]; i++) {
        const struct flip_path *path = flips_get(s->flips, paths[i]);
        uint64_t first = places[i][0], shift = flips_shift(path);

        if (position >= first && position < first + path->nevents)
            return count + (i ? flips_get(s->flips, t->path)->nevents : 0) + position - first;
        if (position >= first)
            to -= shift;
    }
    return to;
}

static void use_positions(const struct recipe *s, const struct task *t, const struct place_set *p,
                          struct relax_answer *a)
{
    for (size_t i = 0; i < a->count; i++)
        a->list[i] = position_of(s, t, p, a->list[i]);
    for (size_t i = 0; i < a->nchanges; i++) {
        a->changes[i].read = position_of(s, t, p, a->changes[i].read);
        if (a->changes[i].writer != CHANGE_FIRST)
            a->changes[i].writer = position_of(s, t, p, a->changes[i].writer);
    }
}

/* By the independent checker; afterwards positions are the trace's again. */
static void check(const struct recipe *s, const struct task *t, const struct place_set *p,
                  struct found *f)
{
    struct relax_answer *a = &f->answer;
    uint64_t *list = xmalloc((a->count + 1) * sizeof(*list));
    struct value_change *changes = xmalloc((a->nchanges + 1) * sizeof(*changes));
    size_t n = a->nchanges;

    memcpy(list, a->list, a->count * sizeof(*list));
    if (n)
        memcpy(changes, a->changes, n * sizeof(*changes));
    use_positions(s, t, p, a);
    f->accepted =
        whole_check_flip(s->whole, p->e, list, a->list, a->count, changes, n, &f->why) == 1;
    free(list);
    free(changes);
}

static void ask(struct recipe *s, struct task *t, struct place_set *p, const struct candidate *c)
{
    const struct flip_path *path = flips_get(s->flips, t->path);
    struct predict_budget budget = PREDICT_BUDGET;
    uint64_t a = p->place[c->event];
    uint64_t b = p->other_place               ? p->other_place[c->position]
                 : c->position > path->branch ? c->position + flips_shift(path)
                                              : c->position;
    struct relax_answer answer;
    struct found *f;

    budget.work /= WORK_SHARE;
    t->asked++;
    note_tried(t, c->pair);
    switch (relax_decide(p->solver, a, b, &budget, &answer)) {
    case PREDICT_FEASIBLE:
        GROW(t->found, t->cap, t->nfound + 1);
        f = &t->found[t->nfound++];
        *f = (struct found){ .candidate = *c, .answer = answer };
        check(s, t, p, f);
        break;
    case PREDICT_INFEASIBLE:
        t->infeasible++;
        break;
    default:
        t->undecided++;
    }
}

static void find_candidates(const struct recipe *s, const struct task *t, struct candidates *c)
{
    if (t->other == UINT32_MAX)
        candidates_of_path(c, &s->index, flips_get(s->flips, t->path));
    else
        candidates_of_paths(c, flips_get(s->flips, t->path), flips_get(s->flips, t->other));
}

static void decide_task(struct recipe *s, struct task *t)
{
    struct candidates c = { 0 };
    struct place_set p = { 0 };

    find_candidates(s, t, &c);
    for (size_t i = 0; i < c.count; i++) {
        if (is_settled(s, t, c.list[i].pair))
            continue;
        if (!p.e)
            set_init(&p, s, t);
        ask(s, t, &p, &c.list[i]);
    }
    if (p.e)
        set_release(&p);
    free(c.list);
    t->done = true;
}

/* ---- threads ---- */

struct worker {
    struct recipe *s;
    bool watches; /* looks whether to stop */
};

static struct task *next_task(struct recipe *s)
{
    struct task *t = NULL;

    pthread_mutex_lock(&s->lock);
    if (s->next < s->end && !s->stopped)
        t = &s->tasks[s->next++];
    pthread_mutex_unlock(&s->lock);
    return t;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct recipe *s = w->s;
    struct task *t;

    while ((t = next_task(s))) {
        decide_task(s, t);
        if (w->watches && whole_stop(s->whole, (double)s->next / (double)s->ntasks)) {
            pthread_mutex_lock(&s->lock);
            s->stopped = true;
            pthread_mutex_unlock(&s->lock);
        }
    }
    return NULL;
}

static void run_batch(struct recipe *s)
{
    struct worker *workers = xcalloc(s->threads, sizeof(*workers));

    for (unsigned i = 0; i < s->threads; i++)
        workers[i] = (struct worker){ s, i == 0 };
    abreast(s->threads, work, workers, sizeof(*workers));
    free(workers);
}

/* ---- answers ---- */

static struct race_flip flip_of(const struct recipe *s, uint32_t path, uint32_t access)
{
    const struct flip_path *p = flips_get(s->flips, path);
    struct race_flip f = { .branch = p->branch,
                           .outcome = p->outcome,
                           .site = s->e->trace->events[p->branch].site,
                           .first = s->e->trace->count,
                           .path = path,
                           .access = access,
                           .nevents = p->nevents };

    f.events = xcalloc(p->nevents + 1, sizeof(*f.events));
    for (size_t i = 0; i < p->nevents; i++)
        f.events[i] = p->events[i].event;
    return f;
}

static void keep_schedule(struct recipe *s, struct race *r, struct relax_answer *a)
{
    const struct engine_options *o = whole_options(s->whole);

    if (o->no_witness || s->total >= WITNESS_EVENTS_MAX ||
        (o->max_witness && a->count > o->max_witness))
        return;
    s->total += a->count;
    r->witness = a->list;
    r->nwitness = a->count;
    r->changes = a->changes;
    r->nchanges = a->nchanges;
    *a = (struct relax_answer){ 0 };
}

static void add_race(struct recipe *s, const struct task *t, struct found *f)
{
    const struct flip_path *p = flips_get(s->flips, t->path);
    bool both = t->other != UINT32_MAX;
    const struct flip_path *q = both ? flips_get(s->flips, t->other) : NULL;
    const struct candidate *c = &f->candidate;
    struct access a = { p->branch, p->events[c->event].event.site }, b;
    bool swap;
    struct race *r;

    b.position = both ? q->branch : c->position;
    b.site = both ? q->events[c->position].event.site : s->view->events[c->position].site;
    swap = b.position < a.position;
    race_table_add(&s->result->races, swap ? b : a, swap ? a : b, STRENGTH_WITNESSED);
    r = race_table_find(&s->result->races, a.site, b.site);
    if (!r || r->nflips || r->witness)
        return;
    s->found++;
    s->both += both;
    r->flips = xcalloc(2, sizeof(*r->flips));
    r->nflips = both ? 2 : 1;
    r->flips[0] = flip_of(s, t->path, c->event);
    r->flips[0].is_second = swap;
    if (both) {
        r->flips[1] = flip_of(s, t->other, (uint32_t)c->position);
        r->flips[1].is_second = !swap;
        r->flips[1].first += p->nevents;
    }
    keep_schedule(s, r, &f->answer);
}

static void use_task(struct recipe *s, struct task *t)
{
    s->paths += t->done;
    s->asked += t->asked;
    s->infeasible += t->infeasible;
    s->undecided += t->undecided;
    s->cut += t->tried_enough;
    for (size_t i = 0; i < t->nfound; i++) {
        struct found *f = &t->found[i];

        s->refused += !f->accepted;
        if (f->accepted && !race_table_find(&s->result->races, (uint32_t)(f->candidate.pair >> 32),
                                            (uint32_t)f->candidate.pair)) {
            add_race(s, t, f);
            *map_put(&s->decided, f->candidate.pair, 1) = 1;
        }
        relax_answer_release(&f->answer);
    }
    for (size_t i = 0; i < t->ntried; i++) {
        uint32_t *known = map_put(&s->decided, t->tried[i], 2);

        *known += *known != 1;
    }
    free(t->found);
    free(t->tried);
}

static void run_tasks(struct recipe *s)
{
    size_t batch = (size_t)s->threads * BATCH_PER_THREAD;

    s->next = 0;
    for (size_t from = 0; from < s->ntasks; from = s->end) {
        s->end = s->ntasks - from < batch ? s->ntasks : from + batch;
        run_batch(s);
        for (size_t i = from; i < s->end; i++) {
            s->skipped += !s->tasks[i].done;
            use_task(s, &s->tasks[i]);
        }
        if (s->stopped || whole_poll(s->whole)) {
            s->stopped = true;
            s->skipped += s->ntasks - s->end;
            break;
        }
    }
    s->ntasks = 0;
}

/* ---- which ---- */

static void add_task(struct recipe *s, uint32_t path, uint32_t other)
{
    GROW(s->tasks, s->tasks_cap, s->ntasks + 1);
    s->tasks[s->ntasks++] = (struct task){ .path = path, .other = other };
}

/* Lower is better. */
static unsigned rank_of(const struct flip_path *p)
{
    return p->never ? 0 : p->here_never ? 1 : 2;
}

static void single_tasks(struct recipe *s)
{
    for (unsigned rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < flips_count(s->flips); i++)
            if (rank_of(flips_get(s->flips, i)) == rank)
                add_task(s, (uint32_t)i, UINT32_MAX);
}

static bool may_meet(const struct flip_path *a, const struct flip_path *b)
{
    struct candidates c = { 0 };
    bool some;

    if (a->thread == b->thread || !a->never || !b->never)
        return false;
    candidates_of_paths(&c, a, b);
    some = c.count > 0;
    free(c.list);
    return some;
}

static void double_tasks(struct recipe *s)
{
    size_t n = flips_count(s->flips);

    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            if (!may_meet(flips_get(s->flips, i), flips_get(s->flips, k)))
                continue;
            if (s->ntasks == PATH_PAIRS_MAX) {
                s->cut++;
                return;
            }
            add_task(s, (uint32_t)i, (uint32_t)k);
        }
}

/* ---- the engine ---- */

static void choose_threads(struct recipe *s)
{
    uint64_t bytes = 250ull * s->e->trace->count + 100ull * s->e->x->count;
    unsigned jobs = whole_options(s->whole)->jobs;

    while (jobs > 1 && jobs * bytes > COPIES_BYTES_MAX)
        jobs--;
    s->threads = jobs ? jobs : 1;
}

static void count_up(struct recipe *s)
{
    const struct flip_stats *f = flips_stats(s->flips);

    engine_count(s->result, "flips_tried", f->tried);
    engine_count(s->result, "flip_paths", f->paths);
    engine_count(s->result, "flip_events", f->events);
    engine_count(s->result, "flip_paths_searched", s->paths);
    engine_count(s->result, "flip_questions", s->asked);
    engine_count(s->result, "by_flips", s->found);
    if (s->both)
        engine_count(s->result, "by_two_flips", s->both);
    if (s->undecided)
        engine_count(s->result, "flips_undecided", s->undecided);
    if (s->refused)
        engine_count(s->result, "flips_refused", s->refused);
    if (s->cut)
        engine_count(s->result, "flips_cut", s->cut);
    if (s->skipped)
        engine_count(s->result, "flip_paths_skipped", s->skipped);
    s->result->complete &= !s->undecided && !s->cut && !s->skipped;
}

static void search_flips(struct recipe *s)
{
    access_index_init(&s->index, s->e->trace);
    choose_threads(s);
    single_tasks(s);
    run_tasks(s);
    if (!s->stopped) {
        double_tasks(s);
        run_tasks(s);
    }
    count_up(s);
    free(s->tasks);
    map_release(&s->decided);
    access_index_release(&s->index);
}

static int run_recipe_s(struct recipe *s, struct error *err)
{
    void *state = engine_recipe_s.open(s->result, whole_options(s->whole));
    int r = engine_recipe_s.decide(state, s->whole, err);

    engine_recipe_s.close(state);
    return r;
}

static int recipe_decide(void *state, struct whole *whole, struct error *err)
{
    struct recipe *s = state;
    struct execution *e;

    s->whole = whole;
    if (!whole_options(whole)->cascade && run_recipe_s(s, err) < 0)
        return -1;
    s->view = whole_view(whole, err);
    if (!s->view)
        return -1;
    e = s->view->count <= EVENTS_MAX ? whole_flips(whole, &s->flips) : NULL;
    if (s->view->count > EVENTS_MAX && whole_execution(whole, NULL)) {
        engine_count(s->result, "too_long_for_flips", s->view->count);
        s->result->complete = false;
    }
    if (e) {
        s->e = e;
        search_flips(s);
    }
    flips_free(s->flips);
    execution_free(e);
    return 0;
}

const struct engine engine_recipe = {
    .name = "recipe",
    .summary = "recipe-s, and races with code behind branches that went the other way",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .barriers = BARRIERS_PAIRS,
    .needs_code = true,
    .open = recipe_open,
    .decide = recipe_decide,
    .close = recipe_close,
};
