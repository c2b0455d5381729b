/* recipe.c - recipe: races with code that was not executed
 *
 * RECIPE, section IV. First all that recipe-s finds (in the cascade it has run already).
 * Then paths behind outcomes that branches did not take (execution/flip.h) are put into the
 * execution one at a time, and the pairs of a new access and an access of another thread to
 * the same bytes are decided by relax.h, as any pair of recipe-s (recipe_task.c). Then two at a
 * time, of different threads: both accesses are new (recipe_double.c). Every schedule is checked
 * before its race counts, over the same execution.
 *
 * In the order of their promise: outcomes that nobody took, that this thread did not take,
 * others. Batches of paths on several threads; the answers are used in the order of the
 * paths, so they do not depend on the number of threads.
 *
 * Limits: a trace whose copy takes COPY_BYTES_MAX has no flips, one of millions of events
 * fewer copies (for the most promising paths); those of flip.h; TRIES paths for a pair of sites;
 * PATH_PAIRS_MAX pairs of paths; the budget of recipe_task.c for each question. What stays open is
 * counted.
 */
#include "engines/engine.h"
#include "base/alloc.h"
#include "engines/batches.h"
#include "engines/values/recipe_task.h"
#include "engines/whole.h"
#include "engines/whole_code.h"
#include "engines/whole_show.h"

#include <malloc.h>
#include <stdlib.h>

enum {
    BATCH = 32,
    TRIES = 48,        /* paths for a pair of sites: the same code is met again and again */
    DOUBLE_TRIES = 48, /* pairs of paths for it */
    FIRST_SHARE = 32,  /* of the budget of a pair of recorded accesses: there are many more */
    SECOND_SHARE = 1,  /* for what that leaves open */
    PATH_PAIRS_MAX = 4000,
    COPIES_MIN = 64, /* of a long trace */
    UNITS_A_TASK = 1000,
    UNITS_A_COPY = 25 /* an event */
};

/* For questions with SECOND_SHARE, all together: some seconds. */
#define SECOND_WORK_MAX ((uint64_t)300 << 20)

/* For the copies of the execution that threads hold; for one of them, else there are no flips. */
#define COPIES_BYTES_MAX ((uint64_t)2 << 30)
#define COPY_BYTES_MAX   ((uint64_t)3 << 30)

/* A task with anything to ask copies the execution, a quarter of a microsecond an event: for the
 * events of all copies, in each round, some 10 s. */
#define COPIED_EVENTS_MAX ((uint64_t)32 << 20)

struct recipe {
    struct engine_result *result;
    struct whole *whole;
    const struct view *view;
    struct recipe_context c;
    struct path_reach *reach; /* of paths */
    bool *open;               /* of paths: some question was not decided */
    uint64_t work, work_max;
    uint64_t copies, copies_max; /* of these tasks */
    uint64_t left;               /* questions of single paths that were not decided */
    struct recipe_task *tasks;
    size_t ntasks, tasks_cap;
    unsigned threads;
    bool stopped;
    uint64_t total;    /* events of all schedules */
    uint64_t not_kept; /* schedules */
    uint64_t asked, found, both, infeasible, undecided, refused, cut, skipped, paths, unreached;
};

static void *recipe_open(struct engine_result *result, const struct engine_options *options)
{
    struct recipe *s = xcalloc(1, sizeof(*s));

    (void)options;
    s->result = result;
    return s;
}

static void recipe_close(void *state)
{
    free(state);
}

/* ---- answers ---- */

/* Where the decision is. */
static uint32_t site_of(const struct recipe *s, const struct flip_path *p)
{
    uint32_t site = SITE_NONE;

    for (size_t i = 0; p->by_value && i < p->nevents && site == SITE_NONE; i++)
        site = p->events[i].event.site;
    return site == SITE_NONE ? s->c.e->trace->events[p->branch].site : site;
}

static struct race_flip flip_of(const struct recipe *s, uint32_t path, uint32_t access)
{
    const struct flip_path *p = flips_get(s->c.flips, path);
    struct race_flip f = { .branch = p->branch,
                           .outcome = p->outcome,
                           .by_value = p->by_value,
                           .site = site_of(s, p),
                           .first = s->c.e->trace->count,
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
        (o->max_witness && a->count > o->max_witness)) {
        r->long_witness = a->count;
        s->not_kept++;
        return;
    }
    s->total += a->count;
    r->witness = a->list;
    r->nwitness = a->count;
    r->changes = a->changes;
    r->nchanges = a->nchanges;
    *a = (struct relax_answer){ 0 };
}

static void add_race(struct recipe *s, const struct recipe_task *t, struct found *f)
{
    const struct flip_path *p = flips_get(s->c.flips, t->path);
    bool both = t->other != NO_PATH;
    const struct flip_path *q = both ? flips_get(s->c.flips, t->other) : NULL;
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

static void use_found(struct recipe *s, const struct recipe_task *t, struct found *f)
{
    uint64_t pair = f->candidate.pair;

    s->refused += !f->accepted;
    if (f->accepted &&
        !race_table_find(&s->result->races, (uint32_t)(pair >> 32), (uint32_t)pair)) {
        add_race(s, t, f);
        *map_put(&s->c.decided, pair, 1) = 1;
    }
}

static void decide_task(void *state, unsigned thread, size_t task)
{
    struct recipe *s = state;

    (void)thread;
    if ((!s->work_max || s->work < s->work_max) &&
        s->copies < s->copies_max) /* change between batches only */
        recipe_task_decide(&s->c, &s->tasks[task]);
}

static uint64_t work_of(void *state, size_t task)
{
    const struct recipe *s = state;
    const struct recipe_task *t = &s->tasks[task];

    return UNITS_A_TASK + t->work + (t->copied ? UNITS_A_COPY * s->c.e->trace->count : 0);
}

static void use_task(void *state, size_t task)
{
    struct recipe *s = state;
    struct recipe_task *t = &s->tasks[task];

    s->paths += t->done;
    s->skipped += !t->done;
    s->asked += t->asked;
    s->infeasible += t->infeasible;
    s->undecided += t->undecided;
    s->unreached += t->unreached;
    s->cut += t->tried_enough;
    for (size_t i = 0; i < t->nfound; i++)
        use_found(s, t, &t->found[i]);
    for (size_t i = 0; i < t->ntried; i++) {
        uint32_t *known = map_put(&s->c.decided, t->tried[i], 2);

        *known += *known != 1;
    }
    s->work += t->work;
    s->copies += t->copied;
    if (t->done && t->other == NO_PATH) {
        s->reach[t->path].good = t->reach.good;
        s->reach[t->path].bad = t->reach.is_open ? UINT32_MAX : t->reach.bad;
        s->open[t->path] = t->undecided > 0;
    }
    recipe_task_release(t);
}

static void run_tasks(struct recipe *s)
{
    struct batches b = { .whole = s->whole,
                         .threads = s->threads,
                         .size = BATCH,
                         .decide = decide_task,
                         .work = work_of,
                         .use = use_task,
                         .arg = s };
    size_t used;

    s->copies = 0;
    used = batches_run(&b, s->ntasks);
    s->stopped |= used < s->ntasks;
    s->skipped += s->ntasks - used;
    for (size_t i = used; i < s->ntasks; i++)
        recipe_task_release(&s->tasks[i]);
    s->ntasks = 0;
}

/* ---- which ---- */

static struct recipe_task *add_task(struct recipe *s, uint32_t path, uint32_t other)
{
    GROW(s->tasks, s->tasks_cap, s->ntasks + 1);
    s->tasks[s->ntasks] = (struct recipe_task){
        .path = path, .other = other, .reach.bad = UINT32_MAX, .other_reach.bad = UINT32_MAX
    };
    return &s->tasks[s->ntasks++];
}

/* Lower is better. */
static unsigned rank_of(const struct flip_path *p)
{
    return p->never ? 0 : p->here_never ? 1 : 2;
}

static void single_tasks(struct recipe *s)
{
    s->c.tries = TRIES;
    s->c.share = FIRST_SHARE;
    for (unsigned rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < flips_count(s->c.flips); i++)
            if (rank_of(flips_get(s->c.flips, i)) == rank)
                add_task(s, (uint32_t)i, NO_PATH);
}

/* Those that are not decided, with more effort. */
static void open_tasks(struct recipe *s)
{
    s->undecided -= s->left; /* they count when they are again */
    s->c.tries = 2 * TRIES;
    s->c.share = SECOND_SHARE;
    s->work = 0;
    s->work_max = SECOND_WORK_MAX;
    for (unsigned rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < flips_count(s->c.flips); i++)
            if (s->open[i] && rank_of(flips_get(s->c.flips, i)) == rank)
                add_task(s, (uint32_t)i, NO_PATH);
}

static bool is_settled(const void *context, uint64_t pair)
{
    return recipe_is_settled(context, pair);
}

static void double_tasks(struct recipe *s)
{
    struct double_candidates d;
    struct recipe_task *t = NULL;

    s->c.tries = UINT32_MAX - 2; /* they are few, and chosen */
    s->c.share = FIRST_SHARE;
    double_candidates_find(&d, &s->c.index, s->reach, DOUBLE_TRIES, is_settled, &s->c);
    for (size_t i = 0; i < d.count; i++) {
        const struct double_candidate *x = &d.list[i];

        if (!t || t->path != x->path || t->other != x->other) {
            if (s->ntasks == PATH_PAIRS_MAX) {
                s->cut++;
                break;
            }
            t = add_task(s, x->path, x->other);
        }
        GROW(t->wanted.list, t->wanted.cap, t->wanted.count + 1);
        t->wanted.list[t->wanted.count++] = (struct candidate){ x->event, x->other_event, x->pair };
    }
    s->cut += d.cut;
    free(d.list);
}

/* ---- the engine ---- */

/* What a copy takes, with its view and solver. */
static uint64_t copy_bytes(const struct execution *e)
{
    return 250ull * e->trace->count + 100ull * e->x->count;
}

static void choose_threads(struct recipe *s)
{
    uint64_t bytes = copy_bytes(s->c.e);
    unsigned jobs = whole_options(s->whole)->jobs;

    while (jobs > 1 && jobs * bytes > COPIES_BYTES_MAX)
        jobs--;
    s->threads = jobs ? jobs : 1;
}

static void recipe_count_up(struct recipe *s)
{
    const struct flip_stats *f = flips_stats(s->c.flips);

    engine_count(s->result, "flips_tried", f->tried);
    engine_count(s->result, "flip_paths", f->paths);
    engine_count(s->result, "flip_events", f->events);
    engine_count(s->result, "flip_paths_searched", s->paths);
    engine_count(s->result, "flip_questions", s->asked);
    engine_count(s->result, "flips_unreached", s->unreached);
    engine_count(s->result, "by_flips", s->found);
    if (s->both)
        engine_count(s->result, "by_two_flips", s->both);
    if (s->not_kept)
        engine_count(s->result, "witness_not_kept", s->not_kept);
    if (s->refused)
        engine_count(s->result, "flips_refused", s->refused);
    engine_leave(s->result, "flips_undecided", s->undecided);
    engine_leave(s->result, "flips_cut", s->cut);
    engine_leave(s->result, "flip_paths_skipped", s->skipped);
}

/* Copies come and go by the hundred. To have their memory from the system anew each time was a
 * quarter of the time. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 16 << 20);
}

static void search_flips(struct recipe *s)
{
    size_t n = flips_count(s->c.flips);

    keep_memory();
    s->c.whole = s->whole;
    s->c.races = &s->result->races;
    s->reach = xmalloc((n + 1) * sizeof(*s->reach));
    s->open = xcalloc(n + 1, sizeof(*s->open));
    for (size_t i = 0; i < n; i++)
        s->reach[i] = (struct path_reach){ 0, UINT32_MAX };
    access_index_init(&s->c.index, s->c.e->trace, s->view, s->c.flips);
    choose_threads(s);
    s->copies_max = COPIED_EVENTS_MAX / (s->c.e->trace->count + 1);
    if (s->copies_max < COPIES_MIN)
        s->copies_max = COPIES_MIN;
    single_tasks(s);
    run_tasks(s);
    s->left = s->undecided;
    if (!s->stopped) {
        double_tasks(s);
        run_tasks(s);
    }
    if (!s->stopped) {
        open_tasks(s);
        run_tasks(s);
    }
    recipe_count_up(s);
    free(s->tasks);
    free(s->reach);
    free(s->open);
    map_release(&s->c.decided);
    access_index_release(&s->c.index);
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
    const struct execution *recorded;
    struct execution *e;

    s->whole = whole;
    if (!whole_options(whole)->cascade && run_recipe_s(s, err) < 0)
        return -1;
    s->view = whole_view(whole, err);
    if (!s->view)
        return -1;
    recorded = whole_execution(whole, NULL);
    if (recorded && copy_bytes(recorded) > COPY_BYTES_MAX) {
        engine_leave(s->result, "too_long_for_flips", s->view->count);
        return 0;
    }
    e = recorded ? whole_flips(whole, &s->c.flips) : NULL;
    if (e) {
        s->c.e = e;
        search_flips(s);
    }
    flips_free(s->c.flips);
    execution_free(e);
    return 0;
}

const struct engine engine_recipe = {
    .name = "recipe",
    .summary = "recipe-s, and races with code on the other side of a branch",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .call_rule = CALL_RULE_PAIRS,
    .needs_code = true,
    .open = recipe_open,
    .decide = recipe_decide,
    .close = recipe_close,
};
