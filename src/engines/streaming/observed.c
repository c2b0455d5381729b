/* observed.c - witnesses for races of the observed order
 *
 * A race (a, b) of shb can be shown by the events that shb orders before a or
 * before b, in the order in which they were observed, followed by a and b:
 * every read among them keeps its writer, and sections on a lock keep their
 * order. (Mathur, Kini and Viswanathan 2018, Theorem 1.)
 *
 * One pass over the trace computes, with the engine's own core, the slot and
 * time of every event and the clocks of the racing accesses; then an event
 * belongs to the prefix of a race when its time is known to either access.
 * The checker decides what the result is worth, not this file.
 */
#include "engines/streaming/observed.h"
#include "base/alloc.h"
#include "engines/streaming/pairs.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_show.h"
#include "order/memory.h"

#include <stdlib.h>
#include <string.h>

/* A racing access and what shb knows there. */
struct probe {
    uint64_t position;
    struct clock clock;
    bool seen;
};

struct observed {
    struct race_table *races;
    struct probe *probes; /* sorted by position, each once */
    size_t nprobes;
    uint64_t events;       /* number of events needed: up to the last probe */
    uint32_t *slot, *time; /* of each event */
    struct pairs *pairs;
    uint32_t *limit; /* per slot: the time up to which a race needs it */
    struct whole *whole;
    bool over; /* no more time */
};

static int compare_probes(const void *a, const void *b)
{
    uint64_t x = ((const struct probe *)a)->position, y = ((const struct probe *)b)->position;

    return x < y ? -1 : x > y;
}

static struct probe *find_probe(const struct observed *o, uint64_t position)
{
    struct probe key = { .position = position };

    return bsearch(&key, o->probes, o->nprobes, sizeof(key), compare_probes);
}

/* What is further away comes later (long.h). */
static bool in_reach(const struct observed *o, const struct race *r)
{
    return r->second.position < whole_limit(o->whole);
}

static void list_probes(struct observed *o)
{
    size_t kept = 0;

    o->probes = xcalloc(2 * o->races->count, sizeof(*o->probes));
    for (size_t i = 0; i < o->races->count; i++) {
        const struct race *r = &o->races->races[i];

        if (!in_reach(o, r))
            continue;
        o->probes[o->nprobes++] = (struct probe){ r->first.position, CLOCK_EMPTY, false };
        o->probes[o->nprobes++] = (struct probe){ r->second.position, CLOCK_EMPTY, false };
    }
    qsort(o->probes, o->nprobes, sizeof(*o->probes), compare_probes);
    for (size_t i = 0; i < o->nprobes; i++)
        if (!kept || o->probes[kept - 1].position != o->probes[i].position)
            o->probes[kept++] = o->probes[i];
    o->nprobes = kept;
    o->events = kept ? o->probes[kept - 1].position + 1 : 0;
}

/* ---- first pass: clocks ---- */

static void at_access(void *arg, struct hb *hb, const struct step *s, const struct hb_thread *t)
{
    struct observed *o = arg;
    struct probe *p = find_probe(o, s->position);

    if (p && !p->seen) {
        clock_copy(&hb->pool, &p->clock, &t->clock);
        p->seen = true;
    }
}

/* Feed the steps of one batch event by event, noting when each event happens. */
static void time_batch(struct observed *o, const struct batch *b, const struct span *span)
{
    struct span piece = *span;
    const struct step *next = span->steps, *end = span->steps + span->count;

    for (size_t i = 0; i < b->count && b->first + i < o->events; i++) {
        const struct hb_thread *t;

        piece.steps = next;
        while (next < end && next->position == b->first + i)
            next++;
        piece.count = (size_t)(next - piece.steps);
        hb_begin_span(pairs_hb(o->pairs), &piece);
        t = hb_thread(pairs_hb(o->pairs), b->events[i].thread);
        o->slot[b->first + i] = t->clock.slot;
        o->time[b->first + i] = t->clock.time;
        if (piece.count)
            pairs_steps(o->pairs, &piece);
    }
}

static int compute_times(struct observed *o, struct trace *t, struct error *err)
{
    struct memory *m = memory_new();
    struct batch b;
    struct span span;
    int r = 0;

    o->slot = xcalloc(o->events, sizeof(*o->slot));
    o->time = xcalloc(o->events, sizeof(*o->time));
    pairs_set_probe(o->pairs, at_access, o);
    for (uint64_t done = 0; done < o->events && (r = trace_next(t, &b, err)) > 0; done += b.count) {
        memory_steps(m, &b, &span);
        time_batch(o, &b, &span);
        whole_spend(o->whole, UNITS_AN_EVENT * b.count);
        if (whole_stop(o->whole, (double)done / (double)o->events / 2))
            break;
    }
    memory_free(m);
    return r < 0 ? -1 : 0;
}

/* ---- one race ---- */

static void raise_limits(struct observed *o, const struct probe *p)
{
    uint32_t n = pairs_hb(o->pairs)->nslots;

    for (uint32_t s = 0; s < n; s++) {
        uint32_t time = s == p->clock.slot ? 0 : clock_tree_get(p->clock.tree, s);

        if (o->limit[s] < time)
            o->limit[s] = time;
    }
}

static bool needed(const struct observed *o, const struct probe *a, const struct probe *b,
                   uint64_t f)
{
    uint32_t slot = o->slot[f];

    return (slot == a->clock.slot && f < a->position) ||
           (slot == b->clock.slot && f < b->position) || o->time[f] <= o->limit[slot];
}

/* The prefix and the two accesses; NULL where there was no time for their clocks. */
static uint64_t *build(struct observed *o, const struct race *r, const struct trace_mem *trace,
                       size_t *count)
{
    const struct probe *a = find_probe(o, r->first.position);
    const struct probe *b = find_probe(o, r->second.position);
    uint64_t *list = NULL;
    size_t n = 0, cap = 0;

    if (!a->seen || !b->seen)
        return NULL;
    whole_spend(o->whole, b->position); /* about 10 ns each */
    memset(o->limit, 0, pairs_hb(o->pairs)->nslots * sizeof(*o->limit));
    raise_limits(o, a);
    raise_limits(o, b);
    for (uint64_t f = 0; f < b->position; f++) {
        if (!needed(o, a, b, f) || f == a->position || trace->events[f].flags & EV_IGNORED)
            continue;
        GROW(list, cap, n + 3);
        list[n++] = f;
    }
    GROW(list, cap, n + 2);
    list[n++] = a->position;
    list[n++] = b->position;
    *count = n;
    return list;
}

static void witness_race(struct observed *o, struct race *r, const struct trace_mem *trace)
{
    struct error why;
    size_t n;
    uint64_t *list;

    list = o->over || !whole_has_room(o->whole) ? NULL : build(o, r, trace, &n);
    if (!list)
        whole_skip(o->whole);
    else
        whole_show(o->whole, r, list, n, &why);
}

static int witness_all(struct observed *o, struct error *err)
{
    struct trace *t = whole_stream(o->whole, err);
    const struct trace_mem *trace;

    if (!t || compute_times(o, t, err) < 0)
        return -1;
    trace = whole_events_before(o->whole, o->events, err);
    if (!trace)
        return -1;
    o->limit = xcalloc(pairs_hb(o->pairs)->nslots, sizeof(*o->limit));
    for (size_t i = 0; i < o->races->count; i++) {
        if (whole_stop(o->whole, 0.5 + (double)i / (double)o->races->count / 2))
            o->over = true;
        if (in_reach(o, &o->races->races[i]))
            witness_race(o, &o->races->races[i], trace);
    }
    return 0;
}

static int witness_run(struct whole *w, struct engine_result *result, struct error *err)
{
    struct engine_result unused = { 0 };
    struct observed o = { .races = &result->races, .whole = w };
    int r = 0;

    list_probes(&o);
    if (o.events) {
        race_table_init(&unused.races);
        o.pairs = pairs_new(&unused, true);
        r = witness_all(&o, err);
        pairs_free(o.pairs);
        race_table_release(&unused.races);
    }
    free(o.probes);
    free(o.slot);
    free(o.time);
    free(o.limit);
    return r;
}

int observed_witnesses(struct whole *w, struct engine_result *result, struct error *err)
{
    if (!whole_can_show(w) || !result->races.count)
        return 0;
    return witness_run(w, result, err);
}
