/* hide.c - a full trace made incomplete: parts of threads become untraced calls */
#include "hide.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "rng.h"
#include "trace/check/check_trace.h"
#include "trace/check/diag.h"

enum { SEGMENTS_MAX = 6, THREADS_MAX = 8 };

struct segment {
    uint32_t thread;
    bool alone;         /* one event, and the call returns at once */
    size_t first, last; /* its place among the events of its thread */
    size_t call_at,
        ret_at; /* positions before which call and return stand; ret_at SIZE_MAX: none */
};

struct hider {
    const struct trace_mem *full;
    struct rng rng;
    bool writes; /* hide nothing else */
    struct segment segments[SEGMENTS_MAX];
    size_t nsegments;
    size_t *of[THREADS_MAX]; /* thread -> positions of its events */
    size_t length[THREADS_MAX];
    bool *dropped;
    struct hidden *out;
    size_t events_cap, extra_cap, origin_cap;
};

/* ---- which events go ---- */

/* Does the thread end with the lock in its hands? No event would tell that it is free again. */
static bool stays_held(const struct hider *h, const struct event *acquire)
{
    int held = 0;

    for (size_t i = 0; i < h->full->count; i++) {
        const struct event *e = &h->full->events[i];

        if (e->thread == acquire->thread && op_class_of(e->op) == CLASS_LOCK &&
            e->target == acquire->target)
            held += e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED ? 1 : -1;
    }
    return held != 0;
}

static bool can_hide(const struct hider *h, const struct event *e)
{
    if ((e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED) && stays_held(h, e))
        return false;
    if (h->writes && !(op_is_access(e->op) && op_table[e->op].writes))
        return false;
    return e->op != OP_BEGIN && e->op != OP_END && e->op != OP_FENCE && e->op != OP_CALL &&
           e->op != OP_RETURN;
}

/* Segments of a thread are inside each other or apart. */
static bool is_in_the_way(const struct segment *a, const struct segment *b)
{
    if (a->thread != b->thread || a->last < b->first || b->last < a->first)
        return false;
    return !(b->first > a->first && b->last < a->last);
}

/* A full trace that has calls of its own: those stay properly nested. */
static bool cuts_a_call(const struct hider *h, const struct segment *s)
{
    int depth = 0;

    for (size_t i = s->first; i <= s->last; i++) {
        unsigned op = h->full->events[h->of[s->thread][i]].op;

        depth += op == OP_CALL ? 1 : op == OP_RETURN ? -1 : 0;
        if (depth < 0)
            return true;
    }
    return depth != 0;
}

/* The position of a thread's i-th event, or the end of the trace. */
static size_t place(const struct hider *h, uint32_t thread, size_t i)
{
    return i < h->length[thread] ? h->of[thread][i] : h->full->count;
}

/* Nothing of a thread comes before its first event, where its fork may be, or after its last. */
static void place_segment(struct hider *h, struct segment *s)
{
    size_t before = s->first ? place(h, s->thread, s->first - 1) + 1 : 0;
    size_t first = place(h, s->thread, s->first), last = place(h, s->thread, s->last);
    size_t next = place(h, s->thread, s->last + 1);

    s->call_at = first;
    s->ret_at = s->alone ? SIZE_MAX : last + 1;
    if (s->alone)
        return;
    if (s->first && rng_percent(&h->rng, 30))
        s->call_at = before + rng_below(&h->rng, (uint32_t)(first - before) + 1);
    if (s->last + 1 == h->length[s->thread])
        s->ret_at = rng_percent(&h->rng, 20) ? SIZE_MAX : last + 1;
    else if (rng_percent(&h->rng, 50))
        s->ret_at = last + 1 + rng_below(&h->rng, (uint32_t)(next - last));
}

static void pick_segment(struct hider *h)
{
    struct segment s = { .thread = rng_below(&h->rng, THREADS_MAX) };
    size_t n = h->length[s.thread];

    if (!n)
        return;
    s.first = rng_below(&h->rng, (uint32_t)n);
    s.last = s.first + rng_below(&h->rng, 5);
    if (s.last >= n)
        s.last = n - 1;
    s.alone = s.first == s.last && rng_percent(&h->rng, 30);
    for (size_t i = 0; i < h->nsegments; i++)
        if (is_in_the_way(&h->segments[i], &s))
            return;
    if (cuts_a_call(h, &s))
        return;
    place_segment(h, &s);
    h->segments[h->nsegments++] = s;
}

/* The innermost segment of a thread's i-th event: later ones are inside earlier ones. */
static int innermost(const struct hider *h, uint32_t thread, size_t i)
{
    for (size_t s = h->nsegments; s-- > 0;)
        if (h->segments[s].thread == thread && h->segments[s].first <= i &&
            i <= h->segments[s].last)
            return (int)s;
    return -1;
}

static void drop_events(struct hider *h)
{
    for (uint32_t t = 0; t < THREADS_MAX; t++) {
        for (size_t i = 0; i < h->length[t]; i++) {
            size_t at = h->of[t][i];

            if (innermost(h, t, i) < 0 || !can_hide(h, &h->full->events[at]))
                continue;
            h->dropped[at] =
                h->writes || !rng_percent(&h->rng, 25) || h->segments[innermost(h, t, i)].alone;
            h->out->events += h->dropped[at];
        }
    }
}

/* ---- what goes into D ---- */

static void add_entry(struct hider *h, uint64_t a, uint64_t b)
{
    struct trace_mem *m = &h->out->mem;

    GROW(m->extra, h->extra_cap, m->nextra + 2);
    m->extra[m->nextra++] = a;
    m->extra[m->nextra++] = b;
}

static void list_event(struct hider *h, const struct event *e)
{
    if (op_is_access(e->op))
        add_entry(h, e->target, e->size);
    else if (e->op == OP_ALLOC || e->op == OP_FREE)
        add_entry(h, e->target, e->value);
    else if (e->op == OP_FORK || e->op == OP_JOIN)
        add_entry(h, D_ENTRY(e->op == OP_FORK ? D_START_KIND : D_THREAD_KIND, e->target), 0);
    else if (e->op >= OP_ACQUIRE && e->op <= OP_AFTER && is_named(e->target))
        add_entry(h, D_ENTRY(D_SYNC_KIND, named_object(e->target)), 0);
    else if (e->op >= OP_ACQUIRE && e->op <= OP_AFTER)
        add_entry(h, e->target, 8);
}

static void list_more(struct hider *h)
{
    if (rng_percent(&h->rng, 5))
        add_entry(h, D_ENTRY(D_ALL_KIND, 0), 0);
    if (rng_percent(&h->rng, 10))
        add_entry(h, NAMED_ADDRESS(rng_below(&h->rng, 3)), 8);
}

static void emit(struct hider *h, const struct event *e, size_t origin)
{
    struct trace_mem *m = &h->out->mem;

    GROW(m->events, h->events_cap, m->count + 1);
    GROW(h->out->origin, h->origin_cap, m->count + 1);
    h->out->origin[m->count] = origin;
    m->events[m->count++] = *e;
}

static void emit_call(struct hider *h, size_t number)
{
    const struct segment *s = &h->segments[number];
    struct event call = { .thread = s->thread, .op = OP_CALL, .site = 1000, .target = number };

    call.value = h->out->mem.nextra;
    for (size_t i = s->first; i <= s->last; i++) {
        size_t at = h->of[s->thread][i];

        if (h->dropped[at] && innermost(h, s->thread, i) == (int)number)
            list_event(h, &h->full->events[at]);
    }
    list_more(h);
    if (s->alone)
        call.flags |= EV_ALONE;
    if (rng_percent(&h->rng, 10))
        call.flags |= EV_LASTS; /* that keeps more order, never less */
    call.old = (h->out->mem.nextra - call.value) / 2;
    emit(h, &call, SIZE_MAX);
}

static void emit_return(struct hider *h, size_t number)
{
    struct event ret = {
        .thread = h->segments[number].thread, .op = OP_RETURN, .site = 1001, .target = number
    };

    emit(h, &ret, SIZE_MAX);
}

/* An event of the full trace, with its own list of entries if it is a call. */
static void emit_event(struct hider *h, size_t at)
{
    struct event e = h->full->events[at];

    if (e.op == OP_CALL) {
        uint64_t from = e.value;

        e.value = h->out->mem.nextra;
        for (uint64_t k = 0; k < e.old; k++)
            add_entry(h, h->full->extra[from + 2 * k], h->full->extra[from + 2 * k + 1]);
    }
    if (op_class_of(e.op) == CLASS_CALL)
        e.target += SEGMENTS_MAX;
    emit(h, &e, at);
}

/* Returns of inner segments first, calls of outer ones first. */
static void weave(struct hider *h)
{
    for (size_t at = 0; at <= h->full->count; at++) {
        for (size_t s = h->nsegments; s-- > 0;)
            if (h->segments[s].ret_at == at)
                emit_return(h, s);
        for (size_t s = 0; s < h->nsegments; s++)
            if (h->segments[s].call_at == at)
                emit_call(h, s);
        if (at < h->full->count && !h->dropped[at])
            emit_event(h, at);
    }
}

static void mark(struct hider *h, const struct tables *tables)
{
    struct hidden *o = h->out;
    struct diags diags = { 0 };
    struct batch b = { .events = o->mem.events, .count = o->mem.count, .extra = o->mem.extra };
    struct check *c;

    o->info.format = "hidden";
    o->info.events = o->mem.count;
    o->info.order = TRACE_EXACT;
    c = check_new(tables, &o->info, &diags);
    check_batch(c, &b);
    check_finish(c);
    check_free(c);
    diags_release(&diags);
}

/* Two segments in a row share the room between their events: the first returns first. */
static void settle(struct hider *h)
{
    for (size_t s = 0; s < h->nsegments; s++)
        for (size_t o = 0; o < h->nsegments; o++)
            if (h->segments[s].thread == h->segments[o].thread &&
                h->segments[o].last < h->segments[s].first && !h->segments[o].alone &&
                h->segments[o].ret_at > h->segments[s].call_at)
                h->segments[s].call_at = h->segments[o].ret_at;
}

static void hide_some(const struct trace_mem *full, const struct tables *tables, uint64_t seed,
                      bool writes, struct hidden *out)
{
    struct hider h = { .full = full, .out = out, .writes = writes };
    uint32_t tries;

    *out = (struct hidden){ 0 };
    rng_init(&h.rng, seed);
    h.dropped = xcalloc(full->count + 1, sizeof(*h.dropped));
    for (uint32_t t = 0; t < THREADS_MAX; t++)
        h.of[t] = xcalloc(full->count + 1, sizeof(**h.of));
    for (size_t i = 0; i < full->count; i++) {
        uint32_t t = full->events[i].thread;

        if (t < THREADS_MAX && !(full->events[i].flags & EV_IGNORED))
            h.of[t][h.length[t]++] = i;
    }
    tries = 1 + rng_below(&h.rng, 12);
    for (uint32_t i = 0; i < tries && h.nsegments < SEGMENTS_MAX; i++)
        pick_segment(&h);
    settle(&h);
    drop_events(&h);
    weave(&h);
    mark(&h, tables);
    for (uint32_t t = 0; t < THREADS_MAX; t++)
        free(h.of[t]);
    free(h.dropped);
}

void hide(const struct trace_mem *full, const struct tables *tables, uint64_t seed,
          struct hidden *out)
{
    hide_some(full, tables, seed, false, out);
}

void hide_writes(const struct trace_mem *full, const struct tables *tables, uint64_t seed,
                 struct hidden *out)
{
    hide_some(full, tables, seed, true, out);
}

void hidden_release(struct hidden *h)
{
    trace_mem_release(&h->mem);
    free(h->origin);
    *h = (struct hidden){ 0 };
}
