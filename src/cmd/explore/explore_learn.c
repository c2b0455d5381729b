/* explore_learn.c - which other orders a run shows
 *
 * A run is a sequence of steps. Two steps of different threads conflict if their order can matter:
 * accesses of the same bytes, one of which writes; two acquires of a lock; a wait and a signal. For
 * such a pair the other order is tried: the first thread stops ahead of its step, and everything
 * else that was run goes on up to the second step, but for what needs the stopped thread: locks
 * that it holds, its end, its signals. If the second step itself needs a lock that the stopped
 * thread holds, the thread stops before it takes that lock. What the other threads have read of the
 * stopped one they read differently: then the run may take another way, which is what is looked
 * for; steps that do not depend on such a read come as predicted.
 *
 * Cycles of locks are predicted as a whole: each thread of the cycle stops ahead of its inner lock.
 *
 * Orders are tried best first. Good are: few other orders of the same two places tried; torn
 * sequences (another thread's access between two of one thread that no serial order explains);
 * frees, signals and cycles; reads that see another value than ever; no step that depends on a read
 * that changes; few preemptions. Prefixes with the same happens-before are tried once.
 *
 * Limits: LOOK_BACK conflicting steps back; CANDIDATES_MOST a run; the log's first steps only.
 */
#include "cmd/explore/explore.h"
#include "cmd/explore/explore_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOK_BACK = 48,
    SIGNATURE_MOST = 6, /* instances of a pair of places in a run */
    CANDIDATES_MOST = 4000,
    HELD_MOST = 16,
    CYCLE_MOST = 10,
};

/* ---- pairs ---- */

struct learner {
    struct explorer *x;
    const struct explored *e;
    struct map last; /* address -> 1 + its last step */
    size_t *before;  /* the step before on the same object, + 1 */
    struct map instances;
    size_t made;
};

static uint64_t key_of(const struct explore_step *s)
{
    return is_access(s) ? s->address / EXPLORE_GRANULE * 2 + 1 : s->address * 2;
}

/* The step of the thread that took the lock which it holds at `i`. */
static size_t acquire_before(const struct explored *e, size_t i, uint64_t lock)
{
    for (size_t k = i; k-- > 0;)
        if (e->steps[k].thread == e->steps[i].thread && e->steps[k].address == lock) {
            if (took(&e->steps[k]))
                return k;
            if (unlocks(&e->steps[k]))
                return SIZE_MAX;
        }
    return SIZE_MAX;
}

/* Does the thread hold a lock there? */
static bool holds_lock(const struct explored *e, size_t i)
{
    int depth = 0;

    for (size_t k = 0; k < i; k++)
        if (e->steps[k].thread == e->steps[i].thread)
            depth += took(&e->steps[k]) ? 1 : unlocks(&e->steps[k]) ? -1 : 0;
    return depth > 0;
}

/* An access of the same thread to the same bytes before: another one's between the two may be what
 * no serial order explains. */
static const struct explore_step *local_before(const struct learner *l, size_t i)
{
    const struct explore_step *s = &l->e->steps[i];
    size_t k = l->before[i], n = 0;

    for (; k && n < LOOK_BACK; k = l->before[k - 1], n++)
        if (l->e->steps[k - 1].thread == s->thread && is_access(&l->e->steps[k - 1]))
            return &l->e->steps[k - 1];
    return NULL;
}

static bool is_torn(const struct explore_step *p, const struct explore_step *remote,
                    const struct explore_step *s)
{
    if (writes(remote))
        return !(writes(p) && !reads(p)) || reads(s) || !writes(s);
    return writes(p) && writes(s);
}

static bool is_new_value(struct learner *l, const struct explore_step *read, uint64_t value)
{
    return !map_get(&l->x->values, explore_mix(read->where, value));
}

static int score_pair(struct learner *l, size_t i, size_t j, bool changed, const char **why)
{
    const struct explore_step *a = &l->e->steps[i], *b = &l->e->steps[j];
    const struct explore_step *p = is_access(a) ? local_before(l, i) : NULL;
    int score = 100;

    *why = "another order of two accesses";
    if (locks(a)) {
        *why = "another order of critical sections";
        score += holds_lock(l->e, i) ? 0 : 15;
    } else if (a->op == EX_WAIT || b->op == EX_WAIT) {
        *why = "a signal before or after a wait";
        score -= 30;
    } else if (a->op == EX_FREE || b->op == EX_FREE) {
        *why = "a free before an access";
        score -= 20;
    } else if (p && is_torn(p, b, a)) {
        *why = "another thread's access in between";
        score -= 30;
    } else if (reads(b) && writes(a)) {
        *why = "a read before a write";
        score -= is_new_value(l, b, a->before) ? 25 : 5;
    } else if (reads(a) && writes(b)) {
        *why = "a read after a write";
        score -= is_new_value(l, a, b->after) ? 25 : 5;
    }
    if (changed)
        score += 12;
    return score;
}

static struct stops no_stops(void)
{
    struct stops s;

    for (size_t t = 0; t < EXPLORE_THREADS_MAX; t++)
        s.at[t] = SIZE_MAX;
    return s;
}

/* Stop i's thread ahead of `stop`, go on up to j. False: j needs what is left out; `needs` is the
 * lock, or 0. */
static bool reach(struct rest *w, struct learner *l, size_t stop, size_t j, uint64_t *needs)
{
    const struct explored *e = l->e;
    static struct stops stops; /* large */
    unsigned thread = e->steps[j].thread;

    stops = no_stops();
    stops.at[e->steps[stop].thread] = stop;
    rest_init(w, e, &stops);
    for (size_t k = 0; k <= j; k++)
        if (!rest_step(w, k) && e->steps[k].thread == thread) {
            *needs = w->needs;
            return false;
        }
    return true;
}

/* Of the section that the step is in, its acquire; else the step itself: accesses of one section
 * are one and the same to other sections. */
static uint64_t place_of(const struct explored *e, size_t k)
{
    uint64_t released[HELD_MOST];
    size_t n = 0;

    for (size_t i = k; i-- > 0;) {
        const struct explore_step *s = &e->steps[i];
        bool gone = false;

        if (s->thread != e->steps[k].thread)
            continue;
        for (size_t h = 0; h < n; h++)
            gone |= released[h] == s->address;
        if (unlocks(s) && n < HELD_MOST)
            released[n++] = s->address;
        else if (took(s) && !gone)
            return s->where;
    }
    return e->steps[k].where;
}

static void try_pair(struct learner *l, size_t i, size_t j, uint64_t signature)
{
    const struct explored *e = l->e;
    const struct explore_step *a = &e->steps[i], *b = &e->steps[j];
    size_t stop = i;
    struct rest w;
    uint64_t needs = 0;
    bool ok = false;

    for (int tries = 0; tries < 4 && stop != SIZE_MAX && !ok; tries++) {
        ok = e->steps[stop].flags & EX_CHOSEN && reach(&w, l, stop, j, &needs);
        if (ok)
            break;
        if (e->steps[stop].flags & EX_CHOSEN)
            rest_release(&w);
        stop = needs ? acquire_before(e, stop, needs) : SIZE_MAX;
    }
    if (!ok)
        return;
    signature = explore_mix(explore_mix(e->steps[stop].where, place_of(e, j)),
                            a->op == EX_WAIT || b->op == EX_WAIT);
    for (int back = 0; back < 2; back++) {
        struct schedule s = { 0 };
        const char *why;
        /* who has to see the other's state goes on at once; else the second runs on */
        bool first = (reads(a) || b->op == EX_FREE) && is_access(a) && writes(b);
        int score = score_pair(l, i, j, w.changed[b->thread] && w.kept[j], &why);

        if (explorer_knows(l->x, &w, j + 1, (uint64_t)back))
            continue;
        if ((bool)back != first)
            score += 18;
        rest_schedule(&w, j + 1, &s);
        if (back)
            schedule_add(&s, e->done->thread[a->thread].path, 1);
        explorer_put(l->x, &s, score, explore_mix(signature, (uint64_t)back), why);
        l->made++;
    }
    rest_release(&w);
}

static void look_back(struct learner *l, size_t j)
{
    const struct explore_step *b = &l->e->steps[j];
    size_t k = l->before[j], n = 0;

    for (; k && n < LOOK_BACK && l->made < CANDIDATES_MOST; k = l->before[k - 1], n++) {
        const struct explore_step *a = &l->e->steps[k - 1];
        uint64_t signature;
        uint32_t *seen;

        if (!(a->flags & EX_CHOSEN) || !conflict(a, b))
            continue;
        signature = explore_mix(explore_mix(a->where, b->where), a->op * 64u + b->op);
        seen = map_put(&l->instances, signature, 0);
        if ((*seen)++ < SIGNATURE_MOST)
            try_pair(l, k - 1, j, signature);
    }
}

/* ---- what a read could have seen ---- */

/* All of the stops are reached, and then j. A lock that a stopped thread holds and another one
 * needs moves its stop ahead of that lock. */
static bool reach_all(struct rest *w, struct learner *l, struct stops *stops, size_t j)
{
    const struct explored *e = l->e;
    unsigned thread = e->steps[j].thread;

    for (int tries = 0; tries < 8; tries++) {
        uint32_t *holder;
        size_t k = 0;

        rest_init(w, e, stops);
        while (k <= j && (rest_step(w, k) || e->steps[k].thread != thread))
            k++;
        if (k > j)
            return true;
        holder = w->needs ? map_get(&w->holder, w->needs + 1) : NULL;
        if (holder && *holder && stops->at[*holder - 1] != SIZE_MAX)
            stops->at[*holder - 1] = acquire_before(e, stops->at[*holder - 1], w->needs);
        else
            holder = NULL;
        k = holder && *holder ? stops->at[*holder - 1] : SIZE_MAX;
        rest_release(w);
        if (k == SIZE_MAX)
            return false;
    }
    return false;
}

static void try_value(struct learner *l, size_t j, const struct stops *before, uint64_t signature,
                      bool is_new)
{
    static struct stops stops;
    struct schedule s = { 0 };
    struct rest w;

    stops = *before;
    if (!reach_all(&w, l, &stops, j))
        return;
    if (!explorer_knows(l->x, &w, j + 1, 3)) {
        rest_schedule(&w, j + 1, &s);
        explorer_put(l->x, &s, (is_new ? 55 : 85) + (w.changed[l->e->steps[j].thread] ? 12 : 0),
                     signature, "a read that sees an older write");
        l->made++;
    }
    rest_release(&w);
}

/* Older writes than the one that it saw, if there are several to be held back. */
static void look_for_values(struct learner *l, size_t j)
{
    static struct stops stops;
    const struct explored *e = l->e;
    const struct explore_step *r = &e->steps[j];
    uint64_t seen = r->before;
    size_t n = 0, writers = 0;

    stops = no_stops();
    for (size_t k = l->before[j]; k && n < 4 * LOOK_BACK; k = l->before[k - 1], n++) {
        const struct explore_step *s = &e->steps[k - 1];
        uint64_t signature = explore_mix(explore_mix(r->where, s->before), 77);

        if (!writes(s) || !overlap(s, r))
            continue;
        if (s->thread == r->thread || !(s->flags & EX_CHOSEN))
            return;
        stops.at[s->thread] = k - 1;
        writers++; /* one alone is a pair (above) */
        if (s->before == seen || s->bytes != r->bytes || writers < 2)
            continue;
        seen = s->before;
        if ((*map_put(&l->instances, signature, 0))++ < SIGNATURE_MOST)
            try_value(l, j, &stops, signature, is_new_value(l, r, seen));
    }
}

static void link_steps(struct learner *l)
{
    l->before = xcalloc(l->e->nsteps + 1, sizeof(*l->before));
    for (size_t k = 0; k < l->e->nsteps; k++) {
        const struct explore_step *s = &l->e->steps[k];
        uint32_t *last;

        if (s->op == EX_FORK || s->op == EX_BEGIN || s->op == EX_END || s->op == EX_JOIN ||
            s->op == EX_YIELD || s->op == EX_EXIT)
            continue;
        last = map_put(&l->last, key_of(s) + 1, 0);
        l->before[k] = *last;
        *last = (uint32_t)k + 1;
    }
}

/* ---- cycles of locks ---- */

struct inner {
    size_t step;
    uint16_t thread;
    uint64_t held, wanted;
};

struct cycles {
    struct inner *all;
    size_t count, cap;
    size_t path[CYCLE_MOST];
    size_t length, found;
};

static void add_inner(struct cycles *c, const struct inner *n)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->all[i].thread == n->thread && c->all[i].held == n->held &&
            c->all[i].wanted == n->wanted)
            return;
    GROW(c->all, c->cap, c->count + 1);
    c->all[c->count++] = *n;
}

static void find_inner(struct cycles *c, const struct explored *e)
{
    uint64_t(*held)[HELD_MOST] = xcalloc(EXPLORE_THREADS_MAX, sizeof(*held));
    unsigned *n = xcalloc(EXPLORE_THREADS_MAX, sizeof(*n));

    for (size_t k = 0; k < e->nsteps; k++) {
        const struct explore_step *s = &e->steps[k];
        unsigned t = s->thread;

        if (took(s)) {
            for (unsigned h = 0; h < n[t]; h++)
                if (c->count < 4096)
                    add_inner(c, &(struct inner){ k, s->thread, held[t][h], s->address });
            if (n[t] < HELD_MOST)
                held[t][n[t]++] = s->address;
        } else if (unlocks(s)) {
            for (unsigned h = 0; h < n[t]; h++)
                if (held[t][h] == s->address) {
                    held[t][h] = held[t][--n[t]];
                    break;
                }
        }
    }
    free(held);
    free(n);
}

static void try_cycle(struct learner *l, const struct cycles *c)
{
    static struct stops stops;
    const struct explored *e = l->e;
    struct schedule s = { 0 };
    struct rest w;
    uint64_t signature = 0;
    size_t end = 0;
    bool ok = true;

    stops = no_stops();
    for (size_t i = 0; i < c->length; i++) {
        const struct inner *n = &c->all[c->path[i]];

        stops.at[n->thread] = n->step;
        end = n->step > end ? n->step : end;
        signature += explore_mix(e->steps[n->step].where, 5);
    }
    rest_init(&w, e, &stops);
    for (size_t k = 0; k < end && ok; k++)
        if (!rest_step(&w, k) && k < stops.at[e->steps[k].thread] &&
            stops.at[e->steps[k].thread] != SIZE_MAX)
            ok = false; /* one of them does not get there */
    if (ok && !explorer_knows(l->x, &w, end, 2)) {
        rest_schedule(&w, end, &s);
        explorer_put(l->x, &s, 20, signature, "a cycle of locks");
    } else {
        schedule_release(&s);
    }
    rest_release(&w);
}

static bool has_thread(const struct cycles *c, uint16_t thread)
{
    for (size_t i = 0; i < c->length; i++)
        if (c->all[c->path[i]].thread == thread)
            return true;
    return false;
}

static void follow(struct learner *l, struct cycles *c)
{
    const struct inner *first = &c->all[c->path[0]], *last = &c->all[c->path[c->length - 1]];

    if (last->wanted == first->held && c->length > 1) {
        c->found++;
        try_cycle(l, c);
        return;
    }
    for (size_t i = c->path[0] + 1; i < c->count && c->length < CYCLE_MOST && c->found < 64; i++)
        if (c->all[i].held == last->wanted && !has_thread(c, c->all[i].thread)) {
            c->path[c->length++] = i;
            follow(l, c);
            c->length--;
        }
}

static void find_cycles(struct learner *l)
{
    struct cycles c = { 0 };

    find_inner(&c, l->e);
    for (size_t i = 0; i < c.count && c.found < 64; i++) {
        c.path[0] = i;
        c.length = 1;
        follow(l, &c);
    }
    free(c.all);
}

/* ---- learning ---- */

static void note_values(struct learner *l)
{
    for (size_t k = 0; k < l->e->nsteps; k++)
        if (reads(&l->e->steps[k]))
            map_put(&l->x->values, explore_mix(l->e->steps[k].where, l->e->steps[k].before), 1);
}

static void note_class(struct learner *l)
{
    struct classifier c = { 0 };

    for (size_t k = 0; k < l->e->nsteps; k++)
        classifier_add(&c, l->e, &l->e->steps[k]);
    if ((*map_put(&l->x->classes, classifier_class(&c, l->e->done->nthreads), 0))++)
        l->x->same++;
    classifier_release(&c);
}

void explorer_learn(struct explorer *x, const struct explored *e)
{
    struct learner l = { .x = x, .e = e };

    note_values(&l);
    note_class(&l);
    link_steps(&l);
    find_cycles(&l);
    for (size_t j = 0; j < e->nsteps && l.made < CANDIDATES_MOST; j++)
        if (e->steps[j].flags & EX_CHOSEN) {
            look_back(&l, j);
            if (reads(&e->steps[j]))
                look_for_values(&l, j);
        }
    free(l.before);
    map_release(&l.last);
    map_release(&l.instances);
}
