/* osr_search.c - for every pair of sites, is there a pair of accesses with a reordering?
 *
 * Unlike the sync-preserving closure, the optimistic one does not grow with
 * the accesses, since each has its own pinned sections. So lists of accesses
 * cannot be walked in one go: pairs are tried one by one, and a bounded number
 * of them. For an access the earliest of the other list that is not in its
 * past needs least; then the first in each of the next sections. Of long lists
 * a sample is tried.
 *
 * A row is a cluster and the later ones of its variable. Rows are shared out
 * among threads (rows.h); of several finds for a pair of sites the one of the
 * first row is kept, so the number of threads does not change the result.
 */
#include "engines/closure/osr.h"
#include "base/alloc.h"
#include "base/map.h"
#include "engines/rows.h"
#include "engines/effort.h"
#include "engines/whole.h"

#include <pthread.h>
#include <stdlib.h>

/* Accesses of a list that are tried for one pair of sites in two clusters, and how many of the
 * other list for each. A race that the observed order hides shows in one of the first few; the
 * rest is for lists whose beginnings are special (start-up code). */
enum { TRIED_OF_LIST = 24, FIRST_OF_LIST = 8, TRIED_PER_ACCESS = 4 };
/* Closures of all pairs: 5 to 50 microseconds each. Beyond it pairs stay undecided. */
enum { TRIES_MAX = 2000000 };
/* Events in graphs of all pairs, for each event of the trace and besides: a quarter of a
 * microsecond each. */
enum { ORDER_PER_EVENT = 8, ORDER_MORE = 20000000 };
/* Tries between two looks at the user's patience; units of work in a try, besides one for each
 * slot whenever it goes through all, and in an event of a graph. */
enum { TRIES_A_LOOK = 64, UNITS_A_TRY = 1000, UNITS_IN_GRAPH = 25 };

/* What a row did. */
struct tally {
    uint64_t tries, slots, orders, order_events, reversals, unviewed, undecided, glances;
};

struct search {
    const struct collection *c;
    const struct view *view;
    struct whole *whole;
    struct osr_result *out;
    struct map found;     /* pair of sites -> find */
    pthread_mutex_t lock; /* for found and out */
    struct rows rows;
    struct tally tally[ROWS_A_BLOCK];
};

/* One thread's share. */
struct seeker {
    struct search *s;
    struct osr_set set;
    struct osr_order *order; /* made when needed */
    struct tally *tally;     /* of the row */
    uint64_t most;           /* units for the row */
    bool is_main;            /* may ask whole_poll() */
    uint32_t row;
};

/* Accesses of one slot at one site, in their order. */
struct list {
    const struct cluster *c;
    const uint32_t *numbers;
    size_t count;
};

static const struct record *get(const struct list *l, size_t i)
{
    return &l->c->records[l->numbers[i]];
}

/* ---- one pair ---- */

static uint64_t units_of(const struct tally *t)
{
    return UNITS_A_TRY * t->tries + t->slots + UNITS_IN_GRAPH * t->order_events +
           UNITS_A_GLANCE * t->glances;
}

static bool is_stopped(const struct seeker *k)
{
    return units_of(k->tally) >= k->most || rows_is_stopped(&k->s->rows);
}

static void count_try(struct seeker *k)
{
    if (++k->tally->tries % TRIES_A_LOOK == 0 && k->is_main && whole_poll(k->s->whole))
        __atomic_store_n(&k->s->rows.stopped, true, __ATOMIC_RELAXED);
}

/* Sections have to change places: is there an order? */
static bool find_order(struct seeker *k, const struct record *a, const struct record *b)
{
    struct search *s = k->s;
    uint64_t cost = 0;
    bool found;

    if (!s->view) {
        k->tally->unviewed++;
        return false;
    }
    if (a->past.position >= s->view->count || b->past.position >= s->view->count) {
        k->tally->undecided++;
        return false;
    }
    if (!k->order)
        k->order = osr_order_new(s->view);
    found = osr_order_find(k->order, &k->set, &cost);
    k->tally->orders++;
    k->tally->order_events += cost;
    k->tally->reversals += found;
    return found;
}

static bool is_race(struct seeker *k, const struct record *a, const struct record *b)
{
    bool closed = osr_set_close(&k->set, &a->past, &b->past);

    k->tally->slots += k->set.seen;
    count_try(k);
    if (!closed)
        return false;
    return !k->set.reversed || find_order(k, a, b);
}

/* ---- pairs of sites ---- */

/* Known from this row or a block before, or shown by another engine. */
static bool osr_search_is_known(struct seeker *k, uint32_t a, uint32_t b)
{
    struct search *s = k->s;
    const uint32_t *find;
    bool known;

    pthread_mutex_lock(&s->lock);
    find = map_get(&s->found, site_pair(a, b));
    known =
        find && (s->out->finds[*find].row == k->row || s->out->finds[*find].row < s->rows.first);
    pthread_mutex_unlock(&s->lock);
    return known || whole_is_shown(s->whole, a, b);
}

static void add_find(struct seeker *k, const struct record *a, const struct record *b)
{
    struct osr_result *out = k->s->out;
    bool forward = a->past.position < b->past.position;
    struct osr_find f = { forward ? *a : *b, forward ? *b : *a, k->row };
    uint32_t *at;

    pthread_mutex_lock(&k->s->lock);
    at = map_put(&k->s->found, site_pair(a->site, b->site), (uint32_t)out->count);
    if (*at == out->count) {
        GROW(out->finds, out->cap, out->count + 1);
        out->finds[out->count++] = f;
    } else if (out->finds[*at].row > f.row) {
        out->finds[*at] = f;
    }
    pthread_mutex_unlock(&k->s->lock);
}

/* Is access x in the past of y? */
static bool is_past(const struct record *x, const struct record *y)
{
    return clock_tree_get(y->past.clock.tree, x->past.clock.slot) >= x->past.clock.time;
}

/* The first of the list that is not in the past of an access. */
static size_t first_unordered(const struct list *l, const struct record *a)
{
    size_t lo = 0, hi = l->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (is_past(get(l, mid), a))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* An access against the other list. */
static bool try_access(struct seeker *k, const struct record *a, const struct list *l)
{
    size_t i = first_unordered(l, a);

    for (int n = 0; n < TRIED_PER_ACCESS && i < l->count; n++) {
        const struct record *b = get(l, i);

        if (is_past(a, b) || is_stopped(k))
            return false;
        if (is_race(k, a, b)) {
            add_find(k, a, b);
            return true;
        }
        while (i < l->count && get(l, i)->changes == b->changes)
            i++;
    }
    return false;
}

/* The n-th access of a list to be tried. */
static size_t sample(size_t n, size_t count)
{
    if (count <= TRIED_OF_LIST || n < FIRST_OF_LIST)
        return n;
    return FIRST_OF_LIST +
           (n - FIRST_OF_LIST) * (count - FIRST_OF_LIST) / (TRIED_OF_LIST - FIRST_OF_LIST);
}

static void try_sites(struct seeker *k, const struct list *a, const struct list *b)
{
    if (osr_search_is_known(k, get(a, 0)->site, get(b, 0)->site))
        return;
    for (size_t n = 0; n < TRIED_OF_LIST; n++) {
        if (n < a->count && try_access(k, get(a, sample(n, a->count)), b))
            return;
        if (n < b->count && try_access(k, get(b, sample(n, b->count)), a))
            return;
    }
    if (a->count > TRIED_OF_LIST || b->count > TRIED_OF_LIST || a->c->truncated ||
        b->c->truncated || is_stopped(k))
        k->tally->undecided++;
}

/* The accesses of the site that begins at *from in by_site; *from moves on. */
static struct list site_list(const struct cluster *c, size_t *from)
{
    struct list l = { c, &c->by_site[*from], 0 };
    uint32_t site = c->records[c->by_site[*from]].site;

    while (*from < c->count && c->records[c->by_site[*from]].site == site) {
        l.count++;
        ++*from;
    }
    return l;
}

static void try_clusters(struct seeker *k, const struct cluster *p, const struct cluster *q)
{
    for (size_t from = 0; from < p->count;) {
        struct list a = site_list(p, &from);

        for (size_t to = 0; to < q->count;) {
            struct list b = site_list(q, &to);

            try_sites(k, &a, &b);
        }
    }
}

static bool can_race(const struct search *s, const struct cluster *p, const struct cluster *q)
{
    return p->slot != q->slot && kinds_conflict(p->kind, q->kind) &&
           !held_sets_protect(&s->c->sets, p->set, q->set);
}

/* ---- rows ---- */

static uint64_t run_row(void *worker, uint32_t row, uint64_t left)
{
    struct seeker *k = worker;
    const struct collection *c = k->s->c;
    const struct cluster *p = &c->clusters[row];

    k->row = row;
    k->tally = &k->s->tally[row - k->s->rows.first];
    k->most = left;
    *k->tally = (struct tally){ 0 };
    for (uint32_t q = p->next; q != CLUSTER_NONE; q = c->clusters[q].next) {
        k->tally->glances++;
        if (p->count && c->clusters[q].count && can_race(k->s, p, &c->clusters[q]))
            try_clusters(k, p, &c->clusters[q]);
    }
    return units_of(k->tally);
}

/* Forget what rows from `end` on have found. */
static void drop_finds(struct osr_result *out, uint32_t end)
{
    size_t n = 0;

    for (size_t i = 0; i < out->count; i++)
        if (out->finds[i].row < end)
            out->finds[n++] = out->finds[i];
    out->count = n;
}

static void use_rows(void *arg, uint32_t first, uint32_t end)
{
    struct search *s = arg;
    struct osr_result *out = s->out;

    for (uint32_t i = first; i < end; i++) {
        struct tally *t = &s->tally[i - first];

        out->tries += t->tries;
        out->orders += t->orders;
        out->order_events += t->order_events;
        out->reversals += t->reversals;
        out->unviewed += t->unviewed;
        out->undecided += t->undecided;
        *t = (struct tally){ 0 };
    }
    if (s->rows.stopped) /* it is the last block */
        drop_finds(out, end);
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

static void run_seekers(struct search *s)
{
    struct seeker *seekers = xcalloc(s->rows.jobs, sizeof(*seekers));

    for (unsigned i = 0; i < s->rows.jobs; i++) {
        seekers[i] = (struct seeker){ .s = s, .is_main = i == 0 };
        osr_set_init(&seekers[i].set, s->c->closure, s->whole);
    }
    s->rows.workers = seekers;
    s->rows.worker_bytes = sizeof(*seekers);
    count_left(s, rows_run(&s->rows));
    for (unsigned i = 0; i < s->rows.jobs; i++) {
        osr_set_release(&seekers[i].set);
        osr_order_free(seekers[i].order);
    }
    free(seekers);
}

static int compare_finds(const void *a, const void *b)
{
    const struct osr_find *x = a, *y = b;

    if (x->b.past.position != y->b.past.position)
        return x->b.past.position < y->b.past.position ? -1 : 1;
    return x->a.past.position < y->a.past.position ? -1 : 1;
}

void osr_search(const struct collection *c, const struct view *v, struct whole *w,
                struct osr_result *out)
{
    struct search s = { .c = c, .view = v, .whole = w, .out = out };
    uint64_t graphs = whole_info(w)->events * ORDER_PER_EVENT + ORDER_MORE;

    *out = (struct osr_result){ 0 };
    s.rows = (struct rows){ .whole = w,
                            .count = (uint32_t)c->count,
                            .limit = (uint64_t)UNITS_A_TRY * TRIES_MAX + UNITS_IN_GRAPH * graphs,
                            .jobs = whole_options(w)->jobs ? whole_options(w)->jobs : 1,
                            .run = run_row,
                            .use = use_rows,
                            .arg = &s };
    pthread_mutex_init(&s.lock, NULL);
    run_seekers(&s);
    pthread_mutex_destroy(&s.lock);
    map_release(&s.found);
    if (out->count)
        qsort(out->finds, out->count, sizeof(*out->finds), compare_finds);
}
