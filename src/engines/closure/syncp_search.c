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
 * among threads (rows.h); of several finds for a pair of sites the one of the
 * first row is kept, so the number of threads does not change the result.
 */
#include "base/alloc.h"
#include "engines/rows.h"
#include "engines/closure/syncp.h"
#include "engines/effort.h"
#include "engines/whole.h"

#include <pthread.h>
#include <stdlib.h>

/* Steps of all walks, for each event of the trace and besides: far more than traces have needed
 * (under 1 an event), and some minutes. Beyond it pairs stay undecided. */
enum { STEPS_PER_EVENT = 20, STEPS_MORE = 50000000 };
/* Steps of one walk, so that a few long lists cannot use up what all the others need. */
enum { STEPS_A_WALK = 16000000 };
/* Units of work between two looks at the user's patience, and in a step. */
enum { UNITS_A_LOOK = 1 << 17, UNITS_A_WALK = 100 };
/* A walk begins with an empty set, which takes a unit for each slot, and a step joins a clock: of
 * so many slots in a unit. */
enum { SLOTS_A_UNIT = 16 };
/* As a row: found in an earlier round. */
#define LONG_AGO UINT32_MAX

/* What a row did. */
struct tally {
    uint64_t steps, undecided, units;
};

struct search {
    struct collection *c;
    struct whole *whole;
    struct search_result *out;
    pthread_mutex_t lock; /* for what is found */
    struct rows rows;
    struct tally tally[ROWS_A_BLOCK];
};

/* One thread's share. */
struct walker {
    struct search *s;
    struct closure_set *set;
    struct tally *tally; /* of the row */
    uint64_t most;       /* units for the row */
    uint64_t left;       /* for this walk */
    bool is_main;        /* may ask whole_poll() */
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

static bool is_stopped(const struct walker *w)
{
    return w->tally->units >= w->most || rows_is_stopped(&w->s->rows);
}

/* ---- walks ---- */

/* False: the walk is over, undecided. */
static bool may_step(const struct walker *w)
{
    return w->left && !is_stopped(w);
}

static void spend(struct walker *w, uint64_t units)
{
    uint64_t before = w->tally->units;

    w->tally->units += units;
    if (w->tally->units / UNITS_A_LOOK != before / UNITS_A_LOOK && w->is_main &&
        whole_poll(w->s->whole))
        __atomic_store_n(&w->s->rows.stopped, true, __ATOMIC_RELAXED);
}

static void count_step(struct walker *w)
{
    w->left--;
    w->tally->steps++;
    spend(w, UNITS_A_WALK + closure_slots(w->s->c->closure) / SLOTS_A_UNIT);
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
    spend(w, closure_slots(w->s->c->closure));
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

static bool is_known_to(const struct walker *w, uint32_t row)
{
    return row == LONG_AGO || row == w->row || row < w->s->rows.first;
}

/* Known from this row or a block before, or shown by another engine. */
static bool syncp_search_is_known(struct walker *w, uint32_t a, uint32_t b)
{
    struct search *s = w->s;
    const uint32_t *find;
    bool known;

    pthread_mutex_lock(&s->lock);
    find = map_get(&s->out->known, site_pair(a, b));
    known = find && is_known_to(w, s->out->finds[*find].row);
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

    if (syncp_search_is_known(w, get(a, 0)->site, get(b, 0)->site))
        return;
    if (is_stopped(w)) {
        w->tally->undecided++;
        return;
    }
    switch (walk(w, a, b, &i, &j)) {
    case RACE:
        add_find(w, get(a, i), get(b, j));
        break;
    case UNDECIDED:
        w->tally->undecided++;
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

    if (is_stopped(w)) {
        w->tally->undecided++;
        return;
    }
    if (p->truncated || q->truncated || (is_one_site(p) && is_one_site(q)) ||
        walk(w, &a, &b, &i, &j) != NO_RACE)
        walk_sites(w, p, q);
}

/* ---- rows ---- */

static uint64_t run_row(void *worker, uint32_t row, uint64_t left)
{
    struct walker *w = worker;
    const struct collection *c = w->s->c;
    const struct cluster *p = &c->clusters[row];

    w->row = row;
    w->tally = &w->s->tally[row - w->s->rows.first];
    w->most = left + 1;
    *w->tally = (struct tally){ 0 };
    for (uint32_t q = p->next; q != CLUSTER_NONE; q = c->clusters[q].next) {
        spend(w, UNITS_A_GLANCE);
        if (p->count && c->clusters[q].count && can_race(w->s, p, &c->clusters[q]))
            walk_clusters(w, p, &c->clusters[q]);
    }
    return w->tally->units;
}

/* Forget what rows from `end` on have found. */
static void drop_finds(struct search_result *out, uint32_t end)
{
    size_t n = 0;

    map_clear(&out->known);
    for (size_t i = 0; i < out->count; i++) {
        const struct find *f = &out->finds[i];

        if (f->row != LONG_AGO && f->row >= end)
            continue;
        *map_put(&out->known, site_pair(f->a.site, f->b.site), 0) = (uint32_t)n;
        out->finds[n++] = *f;
    }
    out->count = n;
}

static void use_rows(void *arg, uint32_t first, uint32_t end)
{
    struct search *s = arg;

    for (uint32_t i = first; i < end; i++) {
        s->out->steps += s->tally[i - first].steps;
        s->out->undecided += s->tally[i - first].undecided;
        s->tally[i - first] = (struct tally){ 0 };
    }
    if (s->rows.stopped)
        drop_finds(s->out, end);
}

static void init_walkers(struct search *s, struct walker *walkers, unsigned jobs)
{
    for (unsigned i = 0; i < jobs; i++)
        walkers[i] =
            (struct walker){ .s = s, .set = closure_set_new(s->c->closure), .is_main = i == 0 };
}

/* Rows that nobody came to. */
static void count_left(struct search *s, uint32_t from)
{
    const struct collection *c = s->c;
    uint32_t *later = collection_later(c);
    uint64_t looks = 0;

    for (uint32_t row = from; row < c->count; row++) {
        looks += later[row];
        if (looks > GLANCES_LEFT) {
            s->out->undecided += later[row];
            continue;
        }
        for (uint32_t q = c->clusters[row].next; q != CLUSTER_NONE; q = c->clusters[q].next)
            s->out->undecided += can_race(s, &c->clusters[row], &c->clusters[q]);
    }
    free(later);
}

void syncp_search(struct collection *c, struct whole *w, struct search_result *out)
{
    struct search s = { .c = c, .whole = w, .out = out };
    unsigned jobs = whole_options(w)->jobs ? whole_options(w)->jobs : 1;
    struct walker *walkers = xcalloc(jobs, sizeof(*walkers));

    for (size_t i = 0; i < out->count; i++)
        out->finds[i].row = LONG_AGO;
    s.rows = (struct rows){ .whole = w,
                            .count = (uint32_t)c->count,
                            .limit = UNITS_A_WALK *
                                     (whole_info(w)->events * STEPS_PER_EVENT + STEPS_MORE),
                            .jobs = jobs,
                            .workers = walkers,
                            .worker_bytes = sizeof(*walkers),
                            .run = run_row,
                            .use = use_rows,
                            .arg = &s };
    pthread_mutex_init(&s.lock, NULL);
    init_walkers(&s, walkers, jobs);
    count_left(&s, rows_run(&s.rows));
    for (unsigned i = 0; i < jobs; i++)
        closure_set_free(walkers[i].set);
    free(walkers);
    pthread_mutex_destroy(&s.lock);
}

void search_result_release(struct search_result *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->finds[i].schedule);
    free(r->finds);
    map_release(&r->known);
}
