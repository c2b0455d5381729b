/* deadlock.c - sync-preserving deadlocks, with their schedules
 *
 * Tunc, Mathur, Pavlogiannis and Viswanathan, "Sound dynamic deadlock
 * prediction in linear time", PLDI 2023. A ring of requests is a deadlock when
 * the sync-preserving closure (closure.h) of their pasts holds none of them:
 * then that closure, in the order of the trace, is a schedule after which each
 * of the threads has its request next and waits for the next one.
 *
 * The pass over the trace collects requests and what was held at each, the end
 * of it finds the rings (lockgraph.h). Only if there are any, decide() reads
 * the trace again for the closures. A pattern stands for all combinations of
 * instances of its requests; the walk over them is linear (section 5 of the
 * paper), since a closure only grows when an instance is replaced by a later
 * one: a request inside the closure is impossible with any of the others'
 * instances from here on, so it moves on to its next instance outside.
 *
 * Different from the paper: readers-writer locks; acquires that do not wait;
 * all hard edges; sites are part of a request, so that every set of sites is
 * answered; a lock in memory that was allocated anew is another lock; every
 * schedule goes to the checker.
 *
 * Limits: rings beyond the bounds of lockgraph.h are counted, and make the
 * result incomplete. Deadlocks with a request behind the events in memory
 * (whole_limit()) have no schedule and are `maybe` ("witness_too_far").
 */
#include "base/alloc.h"
#include "engines/closure/closure.h"
#include "engines/closure/lockgraph.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_show.h"

#include <stdlib.h>
#include <string.h>

/* An allocation of the memory that a lock is in. */
struct rebirth {
    uint64_t lock; /* event.target */
    uint64_t position;
};

/* Units (effort.h) of a closure that grows, some microseconds at most; of an event that is read but
 * for nothing else. */
enum { UNITS_A_CLOSURE = 100, UNITS_A_READ = 2 };

/* Different sets of sites that are reported; nobody reads more. */
enum { DEADLOCKS_MAX = 10000 };

struct deadlocks {
    struct engine_result *result;
    struct lockgraph graph;

    /* while deciding */
    struct whole *whole;
    struct closure *closure;
    struct closure_set *set;
    struct closure_past *pasts; /* of the graph's instances */
    uint64_t *targets;          /* and which lock each wants: event.target */
    size_t npasts;
    uint64_t last;             /* position of the last instance */
    bool happened;             /* one of the patterns */
    bool fed_all;              /* the closure has all up to there; else the budget was short */
    const struct batch *batch; /* while it is fed */
    size_t next;               /* of the graph's log */
    struct rebirth *rebirths;
    size_t nrebirths, rebirths_cap;
    bool rebirths_known;
    int failed;         /* -1: the trace cannot be read any more */
    struct error error; /* then */
    uint64_t kept;      /* events of schedules */
    uint64_t unconfirmed, undecided, not_kept, too_far, dropped;
};

static void *deadlock_open(struct engine_result *result, const struct engine_options *options)
{
    struct deadlocks *d = xcalloc(1, sizeof(*d));

    (void)options;
    d->result = result;
    return d;
}

static void deadlock_close(void *state)
{
    struct deadlocks *d = state;

    lockgraph_release(&d->graph);
    free(d);
}

static void deadlock_steps(void *state, const struct span *span)
{
    struct deadlocks *d = state;

    lockgraph_steps(&d->graph, span);
}

static void deadlock_finish(void *state)
{
    struct deadlocks *d = state;
    struct lockgraph *g = &d->graph;

    lockgraph_search(g);
    engine_count(d->result, "requests", g->nrequests);
    engine_count(d->result, "patterns", g->npatterns);
    engine_leave(d->result, "search_cut", g->cut);
    engine_leave(d->result, "requests_too_far", g->too_far);
    engine_leave(d->result, "requests_too_deep", g->too_deep);
}

/* ---- the pasts of the requests ---- */

/* Instances come in the order of the log. An acquire that would not have waited (event.h, EV_BARE:
 * trylock, or a lock with a time limit) is none. */
static void at_acquire(void *arg, const struct step *s, const struct closure_past *past)
{
    struct deadlocks *d = arg;
    struct lockgraph *g = &d->graph;
    const struct event *e = &d->batch->events[s->position - d->batch->first];
    struct request *r;
    size_t i;

    while (d->next < g->nlog && !g->requests[g->log[d->next].request].in_pattern)
        d->next++;
    if (d->next == g->nlog || g->log[d->next].position != s->position)
        return;
    r = &g->requests[g->log[d->next++].request];
    if (e->flags & EV_BARE)
        return;
    i = r->first + r->count++;
    g->instances[i] = (uint32_t)(d->next - 1);
    d->targets[i] = e->target;
    closure_past_keep(d->closure, &d->pasts[i], past);
}

/* Did the ring happen: does each of its threads wait when the trace ends? */
static bool pattern_happened(const struct lockgraph *g, const struct pattern *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!g->requests[g->members[p->first + i]].at_end)
            return false;
    return true;
}

static bool any_happened(const struct lockgraph *g)
{
    for (size_t i = 0; i < g->npatterns; i++)
        if (pattern_happened(g, &g->patterns[i]))
            return true;
    return false;
}

/* Of the budget the walks get a quarter: what has been fed until then is what they see. A deadlock
 * that happened is reported whatever it takes. */
static bool has_units(const struct deadlocks *d, uint64_t all)
{
    return d->happened || all == UINT64_MAX || whole_left(d->whole) > all / 4;
}

/* Has the user had enough, or is the budget used up? */
static bool is_to_stop(const struct deadlocks *d, double done)
{
    bool stop = whole_stop(d->whole, done);

    return d->happened ? whole_interrupted(d->whole) : stop;
}

/* 0, 1 when stopped, -1 when the trace cannot be read. Nothing behind the last request matters. */
static int feed_closure(struct deadlocks *d, struct error *err)
{
    uint64_t all = whole_left(d->whole), done = 0;
    struct batch b;
    struct span span;
    int r = whole_restart(d->whole, err);

    d->batch = &b;
    for (; done <= d->last && r == 0 && has_units(d, all); done += b.count) {
        int got = whole_next(d->whole, &b, &span, err);

        if (got <= 0)
            return got < 0 ? -1 : error_set(err, "the trace changed while it was read");
        closure_feed(d->closure, &b, &span);
        whole_spend(d->whole, UNITS_AN_EVENT * b.count);
        r = is_to_stop(d, 0.7 * (double)done / (double)(d->last + 1));
    }
    d->fed_all = done > d->last;
    d->last = d->fed_all ? d->last : done;
    return r;
}

static int collect_pasts(struct deadlocks *d, struct error *err)
{
    struct lockgraph *g = &d->graph;
    struct closure_hooks hooks = { .arg = d, .acquire = at_acquire };
    int r;

    for (size_t i = 0; i < g->nrequests; i++) {
        struct request *q = &g->requests[i];

        d->npasts += q->all = q->count;
        if (q->count && lockgraph_position(g, q->first + q->count - 1) > d->last)
            d->last = lockgraph_position(g, q->first + q->count - 1);
        q->count = 0; /* at_acquire() counts again */
    }
    d->pasts = xcalloc(d->npasts + 1, sizeof(*d->pasts));
    d->targets = xcalloc(d->npasts + 1, sizeof(*d->targets));
    d->closure = closure_new(true, whole_listed(d->whole), &hooks);
    r = feed_closure(d, err);
    closure_seal(d->closure);
    return r;
}

/* ---- locks in memory that is allocated again ---- */

static int compare_targets(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static int compare_rebirths(const void *a, const void *b)
{
    const struct rebirth *x = a, *y = b;

    if (x->lock != y->lock)
        return x->lock < y->lock ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* The addresses of all locks that are requested in patterns, sorted. */
static uint64_t *list_targets(const struct deadlocks *d, size_t *count)
{
    uint64_t *targets = xmalloc((d->npasts + 1) * sizeof(*targets));
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < d->npasts; i++)
        if (d->targets[i] && !is_named(d->targets[i]))
            targets[n++] = d->targets[i];
    qsort(targets, n, sizeof(*targets), compare_targets);
    for (size_t i = 0; i < n; i++)
        if (!kept || targets[kept - 1] != targets[i])
            targets[kept++] = targets[i];
    *count = kept;
    return targets;
}

static void add_rebirths(struct deadlocks *d, const uint64_t *targets, size_t n,
                         const struct event *e, uint64_t position)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (targets[middle] < e->target)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < n && targets[low] - e->target < e->value; low++) {
        GROW(d->rebirths, d->rebirths_cap, d->nrebirths + 1);
        d->rebirths[d->nrebirths++] = (struct rebirth){ targets[low], position };
    }
}

/* A pass of its own, once some requests may meet. 0, or -1 and an error. */
static int find_rebirths(struct deadlocks *d, struct error *err)
{
    size_t n;
    uint64_t *targets = list_targets(d, &n);
    struct trace *t = n ? whole_stream(d->whole, err) : NULL;
    struct batch b = { 0 };
    int r = n ? t ? 1 : -1 : 0;

    while (r > 0 && b.first + b.count <= d->last && (r = trace_next(t, &b, err)) > 0) {
        for (size_t i = 0; i < b.count; i++)
            if (b.events[i].op == OP_ALLOC && !(b.events[i].flags & EV_IGNORED))
                add_rebirths(d, targets, n, &b.events[i], b.first + i);
        whole_spend(d->whole, UNITS_A_READ * b.count);
    }
    if (d->nrebirths)
        qsort(d->rebirths, d->nrebirths, sizeof(*d->rebirths), compare_rebirths);
    free(targets);
    d->rebirths_known = true;
    return r < 0 ? -1 : 0;
}

/* Of several locks at an address, which one is it at this position? */
static size_t which_lock(const struct deadlocks *d, uint64_t lock, uint64_t position)
{
    size_t low = 0, high = d->nrebirths;
    struct rebirth key = { lock, position };

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_rebirths(&d->rebirths[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- one pattern ---- */

struct walk {
    const struct request *requests[RING_MAX];
    size_t at[RING_MAX]; /* instance of each */
    uint32_t count;
    uint64_t units; /* of work */
};

static void walk_init(struct walk *w, const struct lockgraph *g, const struct pattern *p)
{
    w->count = p->count;
    w->units = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        w->requests[i] = &g->requests[g->members[p->first + i]];
        w->at[i] = w->requests[i]->first;
    }
}

static bool deadlock_is_over(const struct walk *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->at[i] == w->requests[i]->first + w->requests[i]->count)
            return true;
    return false;
}

/* Did it end where a request had no more instances that were fed, though there are? */
static bool is_cut_short(const struct walk *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->at[i] == w->requests[i]->first + w->requests[i]->count &&
            w->requests[i]->count == w->requests[i]->all)
            return false;
    return deadlock_is_over(w);
}

/* What request `i` holds and request `before` of the walk waits for. */
static struct access hold_access(const struct deadlocks *d, const struct walk *w, uint32_t i,
                                 uint32_t before)
{
    const struct hold *h = lockgraph_blocks(&d->graph, w->requests[before], w->requests[i]);

    return (struct access){ lockgraph_taken(&d->graph, w->at[i], h), h->site };
}

/* All of them are about the same locks, or the one that is left behind moves on. */
static bool same_locks(struct deadlocks *d, struct walk *w)
{
    if (!d->rebirths_known)
        d->failed = find_rebirths(d, &d->error);
    for (uint32_t i = 0; d->nrebirths && i < w->count; i++) {
        uint32_t k = (i + 1) % w->count;
        uint64_t lock = d->targets[w->at[i]];
        size_t wanted = which_lock(d, lock, lockgraph_position(&d->graph, w->at[i]));
        size_t held = which_lock(d, lock, hold_access(d, w, k, i).position);

        if (is_named(lock) || wanted == held)
            continue;
        w->at[wanted < held ? i : k]++;
        return false;
    }
    return true;
}

/* Requests inside the closure move on to their next instance outside. */
static bool is_outside(const struct deadlocks *d, struct walk *w)
{
    bool outside = true;

    for (uint32_t i = 0; i < w->count; i++) {
        size_t end = w->requests[i]->first + w->requests[i]->count;

        for (; w->at[i] < end && closure_set_has(d->set, &d->pasts[w->at[i]]); w->at[i]++) {
            outside = false;
            w->units++;
        }
    }
    return outside;
}

/* Find the first instances that deadlock; the closure is then the way there. */
static bool walk_pattern(struct deadlocks *d, struct walk *w)
{
    closure_set_clear(d->set);
    w->units += closure_slots(d->closure);
    while (!deadlock_is_over(w) && !d->failed) {
        w->units += UNITS_A_CLOSURE * w->count;
        for (uint32_t i = 0; i < w->count; i++)
            if (!closure_set_add(d->set, &d->pasts[w->at[i]]))
                return false; /* nor with any later instance */
        if (is_outside(d, w) && same_locks(d, w))
            return !d->failed;
    }
    return false;
}

/* ---- results ---- */

/* The sites alone: they do not depend on the instances. */
static void pattern_sites(const struct deadlocks *d, const struct walk *w, struct lock_wait *waits)
{
    for (uint32_t i = 0; i < w->count; i++) {
        uint32_t before = (i + w->count - 1) % w->count;

        waits[i].request.site = w->requests[i]->site;
        waits[i].hold.site = lockgraph_blocks(&d->graph, w->requests[before], w->requests[i])->site;
    }
}

/* The ring as it was found, turned so that the earliest request is first. */
static struct lock_wait *make_waits(const struct deadlocks *d, const struct walk *w)
{
    struct lock_wait *waits = xcalloc(w->count, sizeof(*waits));
    uint32_t first = 0;

    for (uint32_t i = 1; i < w->count; i++) /* the log is in the order of the trace */
        first = d->graph.instances[w->at[i]] < d->graph.instances[w->at[first]] ? i : first;
    for (uint32_t i = 0; i < w->count; i++) {
        uint32_t at = (first + i) % w->count, before = (at + w->count - 1) % w->count;

        waits[i].request =
            (struct access){ lockgraph_position(&d->graph, w->at[at]), w->requests[at]->site };
        waits[i].hold = hold_access(d, w, at, before);
        waits[i].lock = d->targets[w->at[at]];
    }
    return waits;
}

/* Are all in memory? The closure has nothing behind the last request: needs and writers come
 * before, and of a lock's sections all but the latest end before that begins. */
static bool is_at_hand(const struct deadlocks *d, const struct lock_wait *waits, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (waits[i].request.position >= whole_limit(d->whole))
            return false;
    return true;
}

/* The schedule, in a list of its own; NULL where its events are not in memory. */
static uint64_t *make_schedule(struct deadlocks *d, const struct lock_wait *waits, uint32_t n,
                               size_t *length)
{
    uint64_t count, *list;

    if (!is_at_hand(d, waits, n)) {
        d->too_far++;
        return NULL;
    }
    count = closure_set_count(d->set);
    list = xmalloc((count + n) * sizeof(*list));
    closure_set_list(d->set, list);
    for (uint32_t i = 0; i < n; i++)
        list[count + i] = waits[i].request.position;
    *length = count + n;
    return list;
}

/* Did it happen? Each of the threads waits when the trace ends. */
static bool happened(const struct walk *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (!w->requests[i]->at_end)
            return false;
    return true;
}

/* A schedule that was accepted stays, unless it is longer than the user wants. */
static void keep_schedule(struct deadlocks *d, struct deadlock *out)
{
    const struct engine_options *o = whole_options(d->whole);

    if (!o->no_witness && d->kept < WITNESS_EVENTS_MAX &&
        (!o->max_witness || out->nwitness <= o->max_witness)) {
        d->kept += out->nwitness;
        return;
    }
    free(out->witness);
    out->witness = NULL;
    out->long_witness = out->nwitness;
    out->nwitness = 0;
    d->not_kept++;
}

/* Show what the walk found; false: the checker refused it. What happened needs no schedule. */
static bool deadlock_show(struct deadlocks *d, const struct walk *w, struct deadlock *out)
{
    struct error why;
    int verdict = -1;

    *out = (struct deadlock){ .waits = make_waits(d, w),
                              .nwaits = w->count,
                              .count = 1,
                              .strength = happened(w) ? STRENGTH_CONFIRMED : STRENGTH_MAYBE };
    if (whole_can_show(d->whole))
        out->witness = make_schedule(d, out->waits, w->count, &out->nwitness);
    if (out->witness && !whole_events(d->whole, &d->error))
        d->failed = verdict = -1;
    else if (out->witness)
        verdict = whole_check_deadlock(d->whole, out->witness, out->nwitness, out->nwaits, &why);
    if (verdict == 1) {
        if (!happened(w))
            out->strength = STRENGTH_WITNESSED;
        keep_schedule(d, out);
        return true;
    }
    free(out->witness);
    out->witness = NULL;
    out->nwitness = 0;
    if (verdict == 0 && !happened(w))
        free(out->waits);
    return verdict != 0 || happened(w);
}

/* The stronger of two with the same sites stays. */
static void deadlock_keep(struct deadlocks *d, struct deadlock *known, struct deadlock *found)
{
    if (!known) {
        deadlock_table_add(&d->result->deadlocks, found);
        return;
    }
    if (found->strength < known->strength) {
        struct deadlock weaker = *known;

        *known = *found;
        *found = weaker;
    }
    known->count++;
    free(found->waits);
    free(found->witness);
}

static void decide_pattern(struct deadlocks *d, const struct pattern *p)
{
    struct lock_wait sites[RING_MAX];
    struct deadlock *known, found;
    struct walk w;

    walk_init(&w, &d->graph, p);
    pattern_sites(d, &w, sites);
    known = deadlock_table_find(&d->result->deadlocks, sites, w.count);
    if (known && (known->strength == STRENGTH_CONFIRMED ||
                  (known->strength == STRENGTH_WITNESSED && !happened(&w))))
        known->count++;
    else if (!known && d->result->deadlocks.count == DEADLOCKS_MAX)
        d->dropped++;
    else if (walk_pattern(d, &w) && deadlock_show(d, &w, &found))
        deadlock_keep(d, known, &found);
    else if (!d->fed_all && is_cut_short(&w))
        d->undecided++;
    else
        d->unconfirmed++;
    whole_spend(d->whole, w.units);
}

/* Those that happened, or the others; how many there was no time for. */
static size_t decide_those(struct deadlocks *d, bool happened)
{
    const struct lockgraph *g = &d->graph;
    size_t left = 0;

    for (size_t i = 0; i < g->npatterns; i++) {
        if (pattern_happened(g, &g->patterns[i]) != happened)
            continue;
        if (left || d->failed ||
            (!happened && whole_stop(d->whole, 0.7 + 0.3 * (double)i / (double)g->npatterns)))
            left++;
        else
            decide_pattern(d, &g->patterns[i]);
    }
    return left;
}

static void decide_patterns(struct deadlocks *d)
{
    size_t left;

    d->set = closure_set_new(d->closure);
    left = decide_those(d, true) + decide_those(d, false);
    closure_set_free(d->set);
    engine_count(d->result, "unconfirmed_patterns", d->unconfirmed);
    if (d->not_kept)
        engine_count(d->result, "witness_not_kept", d->not_kept);
    engine_leave(d->result, "undecided_patterns", left + d->undecided);
    engine_leave(d->result, "witness_too_far", d->too_far);
    engine_leave(d->result, "patterns_dropped", d->dropped);
}

static void release_pasts(struct deadlocks *d)
{
    for (size_t i = 0; i < d->graph.nrequests; i++) {
        const struct request *r = &d->graph.requests[i];

        for (size_t k = 0; k < r->count && r->in_pattern; k++)
            closure_past_drop(d->closure, &d->pasts[r->first + k]);
    }
    closure_free(d->closure);
    free(d->pasts);
    free(d->targets);
    free(d->rebirths);
}

static int deadlock_decide(void *state, struct whole *whole, struct error *err)
{
    struct deadlocks *d = state;
    int r;

    d->whole = whole;
    d->happened = any_happened(&d->graph);
    if (!d->graph.npatterns)
        return 0;
    if (!whole_can_show(whole) && !whole_options(whole)->find_only) {
        engine_count(d->result, "unconfirmed_patterns", d->graph.npatterns);
        return 0;
    }
    r = collect_pasts(d, err);
    if (r == 0) {
        decide_patterns(d);
        r = d->failed;
        *err = r ? d->error : *err;
    } else if (r > 0) {
        engine_leave(d->result, "undecided_patterns", d->graph.npatterns);
    }
    release_pasts(d);
    return r < 0 ? -1 : 0;
}

bool deadlock_finds_nothing(const void *engine)
{
    return !((const struct deadlocks *)engine)->graph.npatterns;
}

const struct engine engine_deadlock = {
    .name = "deadlock",
    .summary = "deadlocks of reorderings that keep the order of critical "
               "sections",
    .proves = STRENGTH_MAYBE,
    .sees_all = true,
    .open = deadlock_open,
    .steps = deadlock_steps,
    .finish = deadlock_finish,
    .decide = deadlock_decide,
    .close = deadlock_close,
};
