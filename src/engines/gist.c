/* gist.c - the events of a trace that matter, in the place of all
 *
 * A schedule of the gist becomes one of the trace in two steps. Its length is known from `gaps`:
 * how many events of the same thread were left out before each event. Those that are to be kept are
 * filled in a pass over the trace; most analyses have none, and need no pass.
 */
#include "engines/gist.h"
#include "base/alloc.h"
#include "engines/whole_show.h"
#include "trace/ahead.h"
#include "trace/load.h"

#include <stdlib.h>
#include <string.h>

/* What the source may leave out, while it is read. */
enum wanted {
    WANTED_ALL,
    WANTED_MATTERS, /* synchronisation, and accesses that matter */
    WANTED_SUSPECTS /* and accesses to suspects */
};

#define NEXT_NONE UINT32_MAX

struct gist {
    struct trace *trace;
    struct sieve *sieve;
    int wanted;             /* enum wanted; set while another thread reads ahead */
    const uint64_t *needed; /* sieve_needed(), from the next one on */
    size_t nneeded;
    uint64_t *positions; /* in the trace, ascending */
    uint32_t *gaps;      /* events of its thread that were left out since the one before */
    uint32_t *threads;
    size_t count, positions_cap, gaps_cap, threads_cap;
    uint32_t *pending; /* by thread: left out since its last event, */
    uint32_t *calls;   /* and calls of untraced code that it is in */
    size_t pending_cap, calls_cap;
    /* Threads without an end in the trace that are joined: what they left out behind their last
     * event comes before the join. */
    struct tail {
        uint32_t thread, events;
    } *tails;
    size_t ntails, tails_cap;
    struct map tail_of; /* join -> number in tails */
    uint32_t *next;     /* the next event of the same thread, NEXT_NONE; once a schedule wants it */
    bool has_calls;
    bool keeps_all;
    bool complete; /* else it is that of the beginning of the trace, */
    uint64_t seen; /* so many events, */
    size_t cut;    /* and of what lies behind, from this number on, has suspects only; 0: nothing */
};

/* ---- taking ---- */

/* What untraced code calls is part of its call (docs/design/rdit.md), whatever it accesses. */
static bool is_kept(struct gist *g, struct sieve *s, const struct event *e, uint64_t position)
{
    for (; g->nneeded && *g->needed < position; g->nneeded--)
        g->needed++;

    if (!g->cut && (g->keeps_all || g->calls[e->thread]))
        return true;
    if (e->op == OP_ENTER || e->op == OP_EXIT)
        return false;
    if (g->nneeded && *g->needed == position && !g->cut)
        return true;
    return !(e->flags & EV_SIEVED) || (!g->cut && g->has_calls && sieve_listed(s, e));
}

static void follow_calls(struct gist *g, const struct event *e)
{
    if (e->op == OP_CALL)
        g->calls[e->thread]++;
    else if (e->op == OP_RETURN && g->calls[e->thread])
        g->calls[e->thread]--;
}

static void note(struct gist *g, const struct event *e, uint64_t position)
{
    GROW_LARGE(g->positions, g->positions_cap, g->count + 1);
    GROW_LARGE(g->gaps, g->gaps_cap, g->count + 1);
    GROW_LARGE(g->threads, g->threads_cap, g->count + 1);
    g->positions[g->count] = position;
    g->threads[g->count] = e->thread;
    g->gaps[g->count++] = g->pending[e->thread];
    g->pending[e->thread] = 0;
}

static void note_tail(struct gist *g, const struct event *e)
{
    if (e->op != OP_JOIN || e->target >= g->pending_cap || !g->pending[e->target])
        return;
    GROW(g->tails, g->tails_cap, g->ntails + 1);
    g->tails[g->ntails] = (struct tail){ (uint32_t)e->target, g->pending[e->target] };
    *map_put(&g->tail_of, g->count - 1, 0) = (uint32_t)g->ntails++;
}

/* NULL: the event joins no such thread. */
static const struct tail *tail_at(const struct gist *g, uint64_t event)
{
    const uint32_t *at = map_get(&g->tail_of, event);

    return at ? &g->tails[*at] : NULL;
}

static void leave_out(struct gist *g, const struct event *e)
{
    uint64_t n = g->pending[e->thread] + event_positions(e);

    g->pending[e->thread] = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Up to the first event that there is no room for; what is left of the batch. */
static struct batch take_events(struct gist *g, struct sieve *s, struct loader *l,
                                const struct batch *b, size_t most)
{
    uint64_t position = b->first;
    size_t kept = 0, i;

    for (i = 0; i < b->count; i++) {
        const struct event *e = &b->events[i];
        uint64_t positions = event_positions(e);

        GROW(g->pending, g->pending_cap, (size_t)e->thread + 1);
        GROW(g->calls, g->calls_cap, (size_t)e->thread + 1);
        if (e->op && is_kept(g, s, e, position)) {
            if (g->count == most)
                break;
            note(g, e, position);
            note_tail(g, e);
            b->events[kept] = *e;
            b->events[kept++].flags &= (uint16_t)~EV_SIEVED;
        } else {
            leave_out(g, e);
        }
        follow_calls(g, e);
        position += positions;
    }
    if (kept)
        loader_add(l, b, 0, kept);
    return (struct batch){ b->events + i, b->count - i, position, b->extra, 0 };
}

static void gist_free(struct gist *g)
{
    free(g->positions);
    free(g->gaps);
    free(g->threads);
    free(g->pending);
    free(g->calls);
    free(g->tails);
    free(g->next);
    map_release(&g->tail_of);
    free(g);
}

/* What was read becomes the trace, or is forgotten. */
static struct gist *finish_taking(struct gist *g, struct loader *l, bool good)
{
    if (good) {
        if (!g->cut)
            g->seen = g->count ? g->positions[g->count - 1] + 1 : 0;
        trace_hold(g->trace, &l->mem);
    } else {
        trace_mem_release(&l->mem);
        gist_free(g);
    }
    loader_release(l);
    return good ? g : NULL;
}

/* What is sieved already stays so: every suspect matters. False: there was no room for all. */
static bool take_batch(struct gist *g, struct sieve *s, struct loader *l,
                       const struct gist_limits *limits, struct batch b)
{
    if (!g->cut) {
        sieve_mark(s, &b);
        b = take_events(g, s, l, &b, limits->max);
        if (!b.count || !limits->suspects)
            return !b.count;
        g->cut = g->count;
        g->seen = b.first;
        __atomic_store_n(&g->wanted, WANTED_SUSPECTS, __ATOMIC_RELAXED);
    }
    sieve_mark_suspects(s, &b);
    return !take_events(g, s, l, &b, g->cut + limits->suspects).count;
}

/* Asked by the thread that reads. */
static bool drops(void *arg, const struct event *e)
{
    const struct gist *g = arg;

    switch (__atomic_load_n(&g->wanted, __ATOMIC_RELAXED)) {
    case WANTED_MATTERS:
        return sieve_drops(g->sieve, e);
    case WANTED_SUSPECTS:
        return sieve_drops_all_but_suspects(g->sieve, e);
    default:
        return false;
    }
}

int gist_take(struct gist **out, struct trace *t, struct sieve *s, const struct gist_limits *limits,
              unsigned threads, const struct analysis_hooks *hooks, struct error *err)
{
    struct gist *g = xcalloc(1, sizeof(*g));
    const struct trace_thin thin = { drops, g };
    struct loader l = { 0 };
    struct ahead *a;
    bool stopped = false, fits = true;
    struct batch b;
    int r = 1;

    g->trace = t;
    g->has_calls = trace_info(t)->calls;
    g->keeps_all = limits->of == GIST_BEGINNING;
    g->sieve = s;
    g->nneeded = sieve_needed(s, &g->needed);
    g->wanted = g->has_calls || g->keeps_all ? WANTED_ALL : WANTED_MATTERS;
    trace_thin(t, &thin);
    a = ahead_new(t, threads, NULL);
    while (!stopped && fits && (r = ahead_next(a, &b, err)) > 0) {
        fits = take_batch(g, s, &l, limits, b);
        stopped = hooks && hooks->progress && hooks->progress(hooks->arg, ahead_info(a));
    }
    ahead_free(a);
    trace_thin(t, NULL);
    g->complete = fits && !g->cut;
    *out = finish_taking(g, &l,
                         r >= 0 && !stopped && (fits || (limits->of != GIST_OF_ALL && !g->cut)));
    if (r < 0 || stopped)
        return r < 0 ? -1 : 1;
    return trace_rewind(t, err);
}

uint64_t gist_missing(const struct gist *g)
{
    return g->complete ? 0 : trace_held_of(g->trace) - g->seen;
}

size_t gist_cut(const struct gist *g)
{
    return g->cut;
}

const uint64_t *gist_positions(const struct gist *g)
{
    return g->positions;
}

/* ---- schedules ---- */

/* A schedule of the gist that is to be one of the trace. */
struct filling {
    uint64_t **list; /* of a race or deadlock */
    size_t *n;
    size_t last; /* so many events at its end stay together: the race, the requests */
    uint64_t length;
};

struct fillings {
    struct filling *all;
    size_t count, cap;
    struct map wanted; /* event of the gist -> where its gap is in `others`, + 1 */
    uint64_t *others;  /* events that were left out: number, positions */
    size_t nothers, others_cap;
    uint64_t end;    /* behind the last event that is wanted */
    uint64_t length; /* of all */
};

static void link_events(struct gist *g)
{
    struct map next = { 0 };

    g->next = xmalloc((g->count + 1) * sizeof(*g->next));
    for (size_t i = g->count; i-- > 0;) {
        uint32_t *at = map_put(&next, g->threads[i], NEXT_NONE);

        g->next[i] = *at;
        *at = (uint32_t)i;
    }
    map_release(&next);
}

/* Where a thread stops in a schedule, before its last events: the event of the gist that it has not
 * come to. What was left out before that belongs to the schedule, too: the thread is at the end of
 * its quiet period. By place in the list; NEXT_NONE: it goes on. */
static uint32_t *stops_of(struct gist *g, const uint64_t *list, size_t n, size_t last)
{
    uint32_t *stops = xmalloc((n + 1) * sizeof(*stops));
    struct map seen = { 0 };

    if (!g->next)
        link_events(g);
    for (size_t i = n; i-- > 0;) {
        uint32_t *at = map_put(&seen, g->threads[list[i]], 0);
        bool stops_here = !*at && i < n - last;

        *at = 1;
        stops[i] = stops_here ? g->next[list[i]] : NEXT_NONE;
    }
    map_release(&seen);
    return stops;
}

/* Of a thread that a schedule joins twice the tail comes once. */
static const struct tail *first_tail(const struct gist *g, uint64_t event, struct map *joined)
{
    const struct tail *t = tail_at(g, event);
    uint32_t *known = t ? map_put(joined, t->thread, 0) : NULL;

    return known && !(*known)++ ? t : NULL;
}

static uint64_t full_length(const struct gist *g, const uint64_t *list, size_t n,
                            const uint32_t *stops)
{
    struct map joined = { 0 };
    uint64_t length = n;

    for (size_t i = 0; i < n; i++) {
        const struct tail *t = first_tail(g, list[i], &joined);

        length += g->gaps[list[i]] + (t ? t->events : 0);
        length += stops[i] != NEXT_NONE ? g->gaps[stops[i]] : 0;
    }
    map_release(&joined);
    return length;
}

/* In `wanted`: not the gap before the event but the tail of the thread that it joins. */
#define TAIL_OF ((uint64_t)1 << 62)

static void want_gap(const struct gist *g, struct fillings *f, uint64_t event, uint64_t key)
{
    map_put(&f->wanted, key, 0);
    if (g->positions[event] >= f->end)
        f->end = g->positions[event] + 1;
}

/* Longer ones are not kept, as whole_show() has it; nor are those beyond what all may have. */
static void want(struct gist *g, struct fillings *f, uint64_t **list, size_t *n,
                 uint64_t *long_witness, size_t last, uint64_t max)
{
    uint32_t *stops;
    uint64_t length;

    if (!*list)
        return;
    stops = stops_of(g, *list, *n, last);
    length = full_length(g, *list, *n, stops);
    if (length > max || f->length + length > WITNESS_EVENTS_MAX) {
        free(*list);
        *list = NULL;
        *n = 0;
        *long_witness = length;
        free(stops);
        return;
    }
    f->length += length;
    GROW(f->all, f->cap, f->count + 1);
    f->all[f->count++] = (struct filling){ list, n, last, length };
    for (size_t i = 0; i < *n; i++) {
        uint64_t event = (*list)[i];

        if (g->gaps[event])
            want_gap(g, f, event, event);
        if (tail_at(g, event))
            want_gap(g, f, event, TAIL_OF | event);
        if (stops[i] != NEXT_NONE && g->gaps[stops[i]])
            want_gap(g, f, stops[i], stops[i]);
    }
    free(stops);
}

/* What was left out of a thread since its last event of the gist, as far as a schedule may want it.
 */
struct others {
    uint64_t *positions;
    size_t count, cap;
};

static void keep_others(struct fillings *f, uint64_t key, const struct others *o)
{
    uint32_t *at = map_get(&f->wanted, key);

    if (!at || !o->count)
        return;
    GROW(f->others, f->others_cap, f->nothers + o->count + 1);
    *at = (uint32_t)f->nothers + 1;
    f->others[f->nothers++] = o->count;
    memcpy(f->others + f->nothers, o->positions, o->count * sizeof(*o->positions));
    f->nothers += o->count;
}

/* The pass over the trace: which events the gaps are. */
static int find_others(const struct gist *g, struct fillings *f, uint64_t max, struct error *err)
{
    struct others *threads = NULL;
    size_t threads_cap = 0, next = 0;
    struct batch b = { .count = 0 };
    int r = trace_rewind(g->trace, err);

    while (r >= 0 && b.first + b.count < f->end && (r = trace_next(g->trace, &b, err)) > 0)
        for (size_t i = 0; i < b.count; i++) {
            struct others *o;

            GROW(threads, threads_cap, (size_t)b.events[i].thread + 1);
            o = &threads[b.events[i].thread];
            if (next < g->count && g->positions[next] == b.first + i) {
                const struct tail *t = tail_at(g, next);

                if (t && t->thread < threads_cap)
                    keep_others(f, TAIL_OF | next, &threads[t->thread]);
                keep_others(f, next++, o);
                o->count = 0;
            } else if (o->count <= max) {
                GROW(o->positions, o->cap, o->count + 1);
                o->positions[o->count++] = b.first + i;
            }
        }
    for (size_t i = 0; i < threads_cap; i++)
        free(threads[i].positions);
    free(threads);
    return r < 0 ? -1 : 0;
}

/* In `next` of fill(): the thread's first event in the schedule, by its index there. */
#define FIRST_OF ((uint64_t)1 << 63)

static size_t put_gap(const struct fillings *f, uint64_t key, uint64_t *out)
{
    const uint32_t *at = map_get(&f->wanted, key);
    size_t n = at && *at ? (size_t)f->others[*at - 1] : 0;

    if (n)
        memcpy(out, &f->others[*at], n * sizeof(*out));
    return n;
}

/* The next event of each thread in a schedule, by event. */
static void link_threads(const struct gist *g, const uint64_t *list, size_t n, struct map *next,
                         struct map *last)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t *before = map_put(last, g->threads[list[i]], UINT32_MAX);

        if (*before != UINT32_MAX)
            *map_put(next, list[*before], 0) = (uint32_t)i;
        else if (g->gaps[list[i]])
            *map_put(next, FIRST_OF | i, 0) = (uint32_t)i;
        *before = (uint32_t)i;
    }
}

/* What was left out comes right behind the event before it: a thread that stops there has come to
 * the end of its quiet period (witness.h). */
static void fill(struct gist *g, const struct fillings *f, const struct filling *x)
{
    uint64_t *full = xcalloc(x->length + 1, sizeof(*full)), *list = *x->list;
    size_t n = *x->n, meet = n - x->last, to = 0;
    uint32_t *stops = stops_of(g, list, n, x->last);
    struct map next = { 0 }, last = { 0 }, joined = { 0 };
    const uint32_t *after;

    link_threads(g, list, n, &next, &last);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; k < (i == meet ? n : i + 1); k++) /* nothing comes between the last */
            if (i <= meet && map_get(&next, FIRST_OF | k))
                to += put_gap(f, list[k], full + to);
        if (first_tail(g, list[i], &joined))
            to += put_gap(f, TAIL_OF | list[i], full + to);
        full[to++] = g->positions[list[i]];
        after = map_get(&next, list[i]);
        if (after)
            to += put_gap(f, list[*after], full + to);
        if (stops[i] != NEXT_NONE)
            to += put_gap(f, stops[i], full + to);
    }
    free(stops);
    map_release(&next);
    map_release(&last);
    map_release(&joined);
    free(list);
    *x->list = full;
    *x->n = to;
}

/* ---- returning ---- */

static void map_race(const struct gist *g, struct race *r)
{
    r->first.position = g->positions[r->first.position];
    r->second.position = g->positions[r->second.position];
    r->last_first = g->positions[r->last_first];
    r->last_second = g->positions[r->last_second];
}

static void map_deadlock(const struct gist *g, struct deadlock *d)
{
    for (size_t i = 0; i < d->nwaits; i++) {
        d->waits[i].request.position = g->positions[d->waits[i].request.position];
        d->waits[i].hold.position = g->positions[d->waits[i].hold.position];
    }
}

static void map_result(struct gist *g, struct engine_result *r, struct fillings *f, uint64_t max)
{
    for (size_t i = 0; i < r->races.count; i++) {
        struct race *x = &r->races.races[i];

        map_race(g, x);
        want(g, f, &x->witness, &x->nwitness, &x->long_witness, 2, max);
    }
    for (size_t i = 0; i < r->deadlocks.count; i++) {
        struct deadlock *x = &r->deadlocks.deadlocks[i];

        map_deadlock(g, x);
        want(g, f, &x->witness, &x->nwitness, &x->long_witness, x->nwaits, max);
    }
}

static int fill_all(struct gist *g, struct fillings *f, uint64_t max, struct error *err)
{
    int r = f->end ? find_others(g, f, max, err) : 0;

    for (size_t i = 0; r == 0 && i < f->count; i++)
        fill(g, f, &f->all[i]);
    free(f->all);
    free(f->others);
    map_release(&f->wanted);
    return r;
}

int gist_return(struct gist *g, struct analysis *a, const struct engine_options *o,
                struct error *err)
{
    uint64_t max = o->max_witness ? o->max_witness : WITNESS_EVENTS_MAX;
    struct fillings f = { 0 };
    int r = 0;

    trace_let_go(g->trace);
    for (size_t i = 0; a && i < a->count; i++) {
        bool ready = a->runs[i].ready;

        if (!a->runs[i].levels)
            continue;
        analysis_take(a, i);
        map_result(g, &a->runs[i].result, &f, max);
        a->runs[i].levels = 0;
        if (ready)
            analysis_give(a, i);
    }
    if (a)
        r = fill_all(g, &f, max, err);
    gist_free(g);
    return r;
}
