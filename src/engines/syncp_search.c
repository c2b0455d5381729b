/* syncp_search.c - for every pair of sites, do two of their accesses race?
 *
 * Two accesses race when neither is in the closure of both pasts. That
 * closure grows with either access (along its thread), which makes the
 * question linear for two lists of accesses, each by one thread (the paper's
 * section 5.2, made symmetric): start with the first of each; whichever is in
 * the closure cannot race with the other one or anything after it, so it is
 * dropped, and the closure goes on growing from where it is.
 *
 * A cluster has accesses of many sites. First the two clusters are walked as
 * they are: if nothing races, no pair of their sites does, which is the case
 * for most. Only otherwise each pair of sites has a walk of its own, and only
 * until one is known.
 *
 * A row is a cluster and the later ones of its variable. Rows are shared out
 * among threads; of several finds for a pair of sites the one of the first row
 * is kept, so the number of threads does not change the result.
 */
#include "base/abreast.h"
#include "base/alloc.h"
#include "engines/syncp.h"

#include <stdlib.h>

/* Steps of all walks, for each event of the trace and besides: far more than traces have needed
 * (under 1 an event), and some minutes. Beyond it pairs stay undecided. */
enum { STEPS_PER_EVENT = 20, STEPS_MORE = 50000000 };
/* Steps of one walk, so that a few long lists cannot use up what all the others need. */
enum { STEPS_A_WALK = 16000000 };
/* Steps between two looks at the clock. */
enum { STEPS_A_LOOK = 1024 };

struct search {
    struct collection *c;
    struct whole *whole;
    struct search_result *out;
    pthread_mutex_t lock; /* for what is found */
    /* atomic, by __atomic builtins (<stdatomic.h> has its own enum memory_order): */
    uint32_t next_row;
    uint64_t steps, undecided;
    uint64_t max_steps;
    bool stop; /* no more steps for anybody */
};

/* One thread's share. */
struct walker {
    struct search *s;
    struct closure_set *set;
    uint64_t steps; /* not yet added to the sum */
    uint64_t left;  /* for this walk */
    bool is_main;   /* may ask whole_stop() */
    uint32_t row;
};

/* Accesses of one slot in their order. */
struct list {
    const struct record *records;
    const uint32_t *numbers; /* of records, or NULL: all */
    size_t count;
    bool truncated;
};

static const struct record *get(const struct list *l, size_t i)
{
    return &l->records[l->numbers ? l->numbers[i] : i];
}

static bool is_stopped(const struct search *s)
{
    return __atomic_load_n(&s->stop, __ATOMIC_RELAXED);
}

/* ---- walks ---- */

/* False: the walk is over, undecided. */
static bool may_step(struct walker *w)
{
    return w->left && !is_stopped(w->s);
}

static void count_step(struct walker *w)
{
    struct search *s = w->s;
    uint64_t all;

    w->left--;
    if (++w->steps < STEPS_A_LOOK)
        return;
    all = __atomic_fetch_add(&s->steps, w->steps, __ATOMIC_RELAXED) + w->steps;
    w->steps = 0;
    if (all > s->max_steps)
        __atomic_store_n(&s->stop, true, __ATOMIC_RELAXED);
    if (w->is_main &&
        whole_stop(s->whole, 0.5 + 0.5 * (double)__atomic_load_n(&s->next_row, __ATOMIC_RELAXED) /
                                       (double)s->c->count))
        __atomic_store_n(&s->stop, true, __ATOMIC_RELAXED);
}

/* The first access from i on that the set does not contain. */
static size_t skip(const struct closure_set *x, const struct list *l, size_t i)
{
    size_t lo = i, step = 1, hi;

    while (lo + step <= l->count && closure_set_has(x, &get(l, lo + step - 1)->past)) {
        lo += step;
        step *= 2;
    }
    hi = lo + step <= l->count ? lo + step : l->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (closure_set_has(x, &get(l, mid)->past))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

enum answer { NO_RACE, RACE, UNDECIDED, TRUNCATED };

/* One of the lists is over. If it is complete, nothing of it races, whatever the other goes on
 * with. */
static enum answer end_of_walk(const struct list *a, const struct list *b, size_t i, size_t j)
{
    if ((i == a->count && !a->truncated) || (j == b->count && !b->truncated))
        return NO_RACE;
    return TRUNCATED;
}

/* Is there a race between the lists? Then *i and *j are the first. */
static enum answer walk(struct walker *w, const struct list *a, const struct list *b, size_t *i,
                        size_t *j)
{
    struct closure_set *x = w->set;

    *i = *j = 0;
    w->left = STEPS_A_WALK;
    closure_set_clear(x);
    closure_set_add(x, &get(a, 0)->past);
    closure_set_add(x, &get(b, 0)->past);
    for (;;) {
        bool has_a = closure_set_has(x, &get(a, *i)->past);
        bool has_b = closure_set_has(x, &get(b, *j)->past);

        count_step(w);
        if (!has_a && !has_b)
            return RACE;
        if (has_a)
            *i = skip(x, a, *i);
        if (has_b)
            *j = skip(x, b, *j);
        if (*i == a->count || *j == b->count)
            return end_of_walk(a, b, *i, *j);
        if (!may_step(w))
            return UNDECIDED;
        if (has_a)
            closure_set_add(x, &get(a, *i)->past);
        if (has_b)
            closure_set_add(x, &get(b, *j)->past);
    }
}

/* ---- pairs of sites ---- */

/* Known from this row or one before, or shown by another engine. */
static bool is_known(struct walker *w, uint32_t a, uint32_t b)
{
    struct search *s = w->s;
    const uint32_t *find;
    bool known;

    pthread_mutex_lock(&s->lock);
    find = map_get(&s->out->known, site_pair(a, b));
    known = find && s->out->finds[*find].row <= w->row;
    pthread_mutex_unlock(&s->lock);
    return known || whole_is_shown(s->whole, a, b);
}

static void add_find(struct walker *w, const struct record *a, const struct record *b)
{
    struct search *s = w->s;
    struct search_result *out = s->out;
    bool forward = a->past.position < b->past.position;
    struct find f = { .a = forward ? *a : *b, .b = forward ? *b : *a, .row = w->row };
    uint32_t *at;

    pthread_mutex_lock(&s->lock);
    at = map_put(&out->known, site_pair(a->site, b->site), (uint32_t)out->count);
    if (*at == out->count) {
        GROW(out->finds, out->cap, out->count + 1);
        out->finds[out->count++] = f;
    } else if (out->finds[*at].row > f.row) {
        out->finds[*at] = f;
    }
    pthread_mutex_unlock(&s->lock);
}

/* The accesses of the site that begins at *from in by_site; *from moves on. */
static struct list site_list(const struct cluster *c, size_t *from)
{
    struct list l = { c->records, &c->by_site[*from], 0, c->truncated };
    uint32_t site = c->records[c->by_site[*from]].site;

    while (*from < c->count && c->records[c->by_site[*from]].site == site) {
        l.count++;
        ++*from;
    }
    return l;
}

static void walk_site_pair(struct walker *w, const struct list *a, const struct list *b,
                           struct watched *life)
{
    size_t i, j;

    if (is_known(w, get(a, 0)->site, get(b, 0)->site))
        return;
    switch (walk(w, a, b, &i, &j)) {
    case RACE:
        add_find(w, get(a, i), get(b, j));
        break;
    case UNDECIDED:
        __atomic_fetch_add(&w->s->undecided, 1, __ATOMIC_RELAXED);
        break;
    case TRUNCATED:
        __atomic_store_n(&life->open, true, __ATOMIC_RELAXED);
        break;
    case NO_RACE:
        break;
    }
}

static void walk_sites(struct walker *w, const struct cluster *p, const struct cluster *q)
{
    for (size_t from = 0; from < p->count;) {
        struct list a = site_list(p, &from);

        for (size_t to = 0; to < q->count;) {
            struct list b = site_list(q, &to);

            walk_site_pair(w, &a, &b, &w->s->c->lives[p->life]);
        }
    }
}

static bool is_one_site(const struct cluster *c)
{
    return c->records[c->by_site[0]].site == c->records[c->by_site[c->count - 1]].site;
}

static bool can_race(const struct search *s, const struct cluster *p, const struct cluster *q)
{
    return p->slot != q->slot && kinds_conflict(p->kind, q->kind) &&
           !held_sets_protect(&s->c->sets, p->set, q->set);
}

static void walk_clusters(struct walker *w, const struct cluster *p, const struct cluster *q)
{
    struct list a = { p->records, NULL, p->count, false };
    struct list b = { q->records, NULL, q->count, false };
    size_t i, j;

    if (is_stopped(w->s)) {
        __atomic_fetch_add(&w->s->undecided, 1, __ATOMIC_RELAXED);
        return;
    }
    if (p->truncated || q->truncated || (is_one_site(p) && is_one_site(q)) ||
        walk(w, &a, &b, &i, &j) != NO_RACE)
        walk_sites(w, p, q);
}

/* ---- rows ---- */

static void *run_walker(void *arg)
{
    struct walker *w = arg;
    const struct collection *c = w->s->c;

    w->set = closure_set_new(c->closure);
    while ((w->row = __atomic_fetch_add(&w->s->next_row, 1, __ATOMIC_RELAXED)) < c->count) {
        const struct cluster *p = &c->clusters[w->row];

        for (uint32_t q = p->next; q != CLUSTER_NONE; q = c->clusters[q].next)
            if (p->count && c->clusters[q].count && can_race(w->s, p, &c->clusters[q]))
                walk_clusters(w, p, &c->clusters[q]);
    }
    closure_set_free(w->set);
    __atomic_fetch_add(&w->s->steps, w->steps, __ATOMIC_RELAXED);
    return NULL;
}

static void run_walkers(struct search *s, unsigned jobs)
{
    struct walker *walkers = xcalloc(jobs, sizeof(*walkers));

    for (unsigned i = 0; i < jobs; i++)
        walkers[i] = (struct walker){ .s = s, .is_main = i == 0 };
    abreast(jobs, run_walker, walkers, sizeof(*walkers));
    free(walkers);
}

void syncp_search(struct collection *c, struct whole *w, struct search_result *out)
{
    struct search s = { .c = c, .whole = w, .out = out };
    unsigned jobs = whole_options(w)->jobs;

    for (size_t i = 0; i < out->count; i++)
        out->finds[i].row = 0;
    s.max_steps = whole_info(w)->events * STEPS_PER_EVENT + STEPS_MORE;
    pthread_mutex_init(&s.lock, NULL);
    run_walkers(&s, jobs ? jobs : 1);
    pthread_mutex_destroy(&s.lock);
    out->steps += s.steps;
    out->undecided += s.undecided;
}

void search_result_release(struct search_result *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->finds[i].schedule);
    free(r->finds);
    map_release(&r->known);
}
