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
 *
 * Where that is long, all before a, whatever it is, and then what shb orders
 * before b shows the race as well: shb orders nothing of it behind a. Such
 * schedules begin as the trace does, so the checker goes over it once for all
 * of them (whole_show_after()), and what each of them costs is what lies
 * between its two accesses. Nobody reads a schedule of 100,000 events.
 */
#include "engines/streaming/observed.h"
#include "base/alloc.h"
#include "base/sorted.h"
#include "engines/streaming/pairs.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_show.h"
#include "order/memory.h"

#include <stdlib.h>
#include <string.h>

/* Longer schedules begin as the trace does. As --max-witness: those that are shown by default are
 * as short as they can be. */
enum { FOLLOW_FROM = 100000 };

/* A racing access and what shb knows there. */
struct probe {
    uint64_t position;
    struct clock clock;
    bool seen;
};

/* From its event `from` on (an index) a slot is at this time. */
struct change {
    uint32_t time, from;
};

/* What happened on a slot, without impossible events, in the order of the trace. */
struct slot {
    uint32_t *positions;
    size_t count, cap;
    struct change *changes;
    size_t nchanges, changes_cap;
};

struct observed {
    struct race_table *races;
    struct probe *probes; /* sorted by position, each once */
    size_t nprobes, next; /* the next one that the pass meets */
    uint64_t events;      /* number of events needed: up to the last probe */
    struct slot *slots;
    size_t nslots, slots_cap;
    struct pairs *pairs;
    uint64_t *marks; /* a bit for each event, clear between races */
    struct whole *whole;
    bool over; /* no more time */
};

static int compare_probes(const void *a, const void *b)
{
    uint64_t x = ((const struct probe *)a)->position, y = ((const struct probe *)b)->position;

    return x < y ? -1 : x > y;
}

static const struct probe *find_probe(const struct observed *o, uint64_t position)
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

    while (o->next < o->nprobes && o->probes[o->next].position < s->position)
        o->next++;
    if (o->next == o->nprobes || o->probes[o->next].position != s->position)
        return;
    clock_copy(&hb->pool, &o->probes[o->next].clock, &t->clock);
    o->probes[o->next++].seen = true;
}

static void note_event(struct observed *o, const struct clock *c, uint64_t position)
{
    size_t old = o->nslots;
    struct slot *s;

    GROW(o->slots, o->slots_cap, (size_t)c->slot + 1);
    if (c->slot >= old) {
        o->nslots = (size_t)c->slot + 1;
        memset(o->slots + old, 0, (o->nslots - old) * sizeof(*o->slots));
    }
    s = &o->slots[c->slot];
    GROW(s->positions, s->cap, s->count + 1);
    if (!s->nchanges || s->changes[s->nchanges - 1].time != c->time) {
        GROW(s->changes, s->changes_cap, s->nchanges + 1);
        s->changes[s->nchanges++] = (struct change){ c->time, (uint32_t)s->count };
    }
    s->positions[s->count++] = (uint32_t)position;
}

/* Feed the steps of one batch event by event, noting when each event happens. */
static void time_batch(struct observed *o, const struct batch *b, const struct span *span)
{
    struct span piece = *span;
    const struct step *next = span->steps, *end = span->steps + span->count;

    for (size_t i = 0; i < b->count && b->first + i < o->events; i++) {
        const struct event *e = &b->events[i];

        piece.steps = next;
        while (next < end && next->position == b->first + i)
            next++;
        piece.count = (size_t)(next - piece.steps);
        hb_begin_span(pairs_hb(o->pairs), &piece);
        if (!(e->flags & EV_IGNORED))
            note_event(o, &hb_thread(pairs_hb(o->pairs), e->thread)->clock, b->first + i);
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

/* ---- what a race needs ---- */

/* How many events of a slot come before a position. */
static size_t before_position(const struct slot *s, uint64_t position)
{
    return sorted_first_from_32(s->positions, s->count, position);
}

/* How many of them an access comes after, in the order of shb. */
static size_t before_access(const struct slot *s, uint32_t slot, const struct probe *p)
{
    uint32_t time = clock_tree_get(p->clock.tree, slot);
    size_t low = 0, high = s->nchanges;

    if (slot == p->clock.slot)
        return before_position(s, p->position);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->changes[middle].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->nchanges ? s->changes[low].from : s->count;
}

static size_t before_either(const struct observed *o, uint32_t slot, const struct probe *a,
                            const struct probe *b)
{
    size_t x = before_access(&o->slots[slot], slot, a), y = before_access(&o->slots[slot], slot, b);

    return x > y ? x : y;
}

static void mark(struct observed *o, const struct slot *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        o->marks[s->positions[i] / 64] |= 1ull << s->positions[i] % 64;
}

/* What was marked in [from, to), then the two accesses; nothing is marked any more. */
static uint64_t *list_marked(struct observed *o, uint64_t from, uint64_t to, size_t n,
                             const struct race *r)
{
    uint64_t *list = xcalloc(n + 2, sizeof(*list));
    size_t done = 0;

    for (uint64_t word = from / 64; word <= to / 64; word++) {
        for (uint64_t bits = o->marks[word]; bits; bits &= bits - 1)
            list[done++] = word * 64 + (uint64_t)__builtin_ctzll(bits);
        o->marks[word] = 0;
    }
    list[done++] = r->first.position;
    list[done++] = r->second.position;
    return list;
}

/* ---- one race ---- */

/* As few events as can be: what comes before either. */
static void show_alone(struct observed *o, struct race *r, size_t n, const struct probe *a,
                       const struct probe *b)
{
    struct error why;

    whole_spend(o->whole, b->position / 64 + n);
    for (uint32_t s = 0; s < o->nslots; s++)
        mark(o, &o->slots[s], 0, before_either(o, s, a, b));
    whole_show(o->whole, r, list_marked(o, 0, b->position, n, r), n + 2, &why);
}

/* All before the first access, and what comes before the second one. */
static bool show_after_all(struct observed *o, struct race *r, const struct probe *a,
                           const struct probe *b)
{
    size_t before = 0, n = 0;
    struct error why;

    for (uint32_t s = 0; s < o->nslots; s++) {
        size_t from = before_position(&o->slots[s], a->position);
        size_t to = before_access(&o->slots[s], s, b);

        before += from;
        if (to <= from)
            continue;
        mark(o, &o->slots[s], from, to);
        n += to - from;
    }
    whole_spend(o->whole, (b->position - a->position) / 64 + n);
    return whole_show_after(o->whole, r, a->position, before,
                            list_marked(o, a->position, b->position, n, r), n + 2, &why) == 1;
}

/* The two passes over races: short schedules first, then those that follow the trace, the earlier
 * ones first. */
static bool is_for_later(const struct observed *o, size_t n)
{
    uint64_t from = whole_options(o->whole)->follow_from;

    return n + 2 > (from ? from : FOLLOW_FROM) && whole_can_follow(o->whole);
}

static size_t count_needed(const struct observed *o, const struct probe *a, const struct probe *b)
{
    size_t n = 0;

    for (uint32_t s = 0; s < o->nslots; s++)
        n += before_either(o, s, a, b);
    return n;
}

/* False: it is for later. */
static bool witness_race(struct observed *o, struct race *r, bool later)
{
    const struct probe *a = find_probe(o, r->first.position);
    const struct probe *b = find_probe(o, r->second.position);
    size_t n;

    if (o->over || !a->seen || !b->seen || !whole_has_room(o->whole)) {
        whole_skip(o->whole);
        return true;
    }
    whole_spend(o->whole, o->nslots);
    n = count_needed(o, a, b);
    if (!later && is_for_later(o, n))
        return false;
    if (!later || !show_after_all(o, r, a, b))
        show_alone(o, r, n, a, b);
    return true;
}

static int compare_races(const void *a, const void *b)
{
    const struct race *x = *(struct race *const *)a, *y = *(struct race *const *)b;

    return x->first.position < y->first.position ? -1 : x->first.position > y->first.position;
}

static void witness_races(struct observed *o)
{
    struct race **later = xcalloc(o->races->count, sizeof(struct race *));
    size_t nlater = 0;

    for (size_t i = 0; i < o->races->count; i++) {
        struct race *r = &o->races->races[i];

        if (whole_stop(o->whole, 0.5 + (double)i / (double)o->races->count / 4))
            o->over = true;
        if (in_reach(o, r) && !witness_race(o, r, false))
            later[nlater++] = r;
    }
    qsort(later, nlater, sizeof(struct race *), compare_races);
    for (size_t i = 0; i < nlater; i++) {
        if (whole_stop(o->whole, 0.75 + (double)i / (double)nlater / 4))
            o->over = true;
        witness_race(o, later[i], true);
    }
    free(later);
}

static int witness_all(struct observed *o, struct error *err)
{
    struct trace *t = whole_stream(o->whole, err);

    if (!t || compute_times(o, t, err) < 0 || !whole_events_before(o->whole, o->events, err))
        return -1;
    o->marks = xcalloc(o->events / 64 + 1, sizeof(*o->marks));
    witness_races(o);
    return 0;
}

static void observed_release(struct observed *o)
{
    for (size_t i = 0; i < o->nslots; i++) {
        free(o->slots[i].positions);
        free(o->slots[i].changes);
    }
    free(o->slots);
    free(o->marks);
    free(o->probes);
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
    observed_release(&o);
    return r;
}

int observed_witnesses(struct whole *w, struct engine_result *result, struct error *err)
{
    if (!whole_can_show(w) || !result->races.count)
        return 0;
    return witness_run(w, result, err);
}
