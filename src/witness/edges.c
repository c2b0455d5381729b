/* edges.c - the hard edges of a trace, in a form that is linear in its length
 *
 * Two passes. The first counts how many members each list will have, so that
 * lists are consecutive; the second walks the trace with the state a reader of
 * the definitions would keep: last event and forks of each thread, rounds of
 * each barrier, release sequence of each cell.
 */
#include "witness/edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

#define NONE UINT32_MAX

struct list {
    uint32_t lo, hi; /* members so far; their room was counted before */
};

/* A barrier: which enters belong to the round that is open. */
struct barrier {
    uint32_t round_start; /* member, first enter of the open round */
    uint32_t round;
};

struct object {
    struct list list;
    struct barrier barrier;
    uint32_t first_once; /* event */
};

/* The release sequence that the last atomic store to a cell belongs to. Heads are the
 * members [run, list.hi): those since the last store that was no rmw, itself included, and
 * `carry`, the latest head before it by its own thread. */
struct sequence {
    struct list list;
    uint32_t run;
    uint32_t carry;       /* event */
    uint32_t base_thread; /* of the last store that was no rmw */
};

struct thread {
    uint32_t last; /* event */
    uint32_t fork; /* latest fork of it that its next event has to follow */
    uint32_t release_fence;
    struct need *pending; /* what relaxed loads read from, for an acquire fence */
    size_t npending, pending_cap;
};

/* A leave has to know the round its thread entered: kept per (thread, barrier). */
struct entered {
    uint32_t lo; /* member, first enter of the round */
    uint32_t round;
};

struct builder {
    struct edges *out;
    const struct trace_mem *t;
    const struct cells *cells;
    struct map object_of;
    struct object *objects;
    size_t nobjects, objects_cap;
    struct sequence *sequences; /* by cell */
    struct thread *threads;
    size_t nthreads;
    uint32_t *next_fork; /* event -> the fork of the same thread before it */
    struct map entered_of;
    struct entered *entered;
    size_t nentered, entered_cap;
    struct map round_end; /* (barrier, round) -> member one past its last enter */
};

uint64_t object_key(const struct event *e)
{
    uint64_t kind = op_is_request(e->op) ? CLASS_LOCK : op_class_of(e->op);

    /* addresses end below bit 57, names live at bit 60: the other bits are free */
    return e->target ^ (kind & 7) << 61 ^ (kind >> 3) << 58;
}

static struct object *edges_object_of(struct builder *b, const struct event *e)
{
    uint32_t *n = map_put(&b->object_of, object_key(e), (uint32_t)b->nobjects);

    if (*n == b->nobjects) {
        GROW(b->objects, b->objects_cap, b->nobjects + 1);
        b->objects[b->nobjects++] = (struct object){ .first_once = NONE };
    }
    return &b->objects[*n];
}

/* Operations whose events are members of their object's list. */
static bool is_source(unsigned op)
{
    return op == OP_BARRIER_ENTER || op == OP_BEFORE;
}

static bool is_atomic_store(unsigned op)
{
    return op == OP_STORE || op == OP_RMW;
}

static void add_need(struct builder *b, struct need n)
{
    GROW(b->out->needs, b->out->needs_cap, b->out->nneeds + 1);
    b->out->needs[b->out->nneeds++] = n;
}

static void need_event(struct builder *b, uint32_t event)
{
    add_need(b, (struct need){ event, NEED_EVENT });
}

static void need_members(struct builder *b, uint32_t lo, uint32_t hi)
{
    if (lo < hi)
        add_need(b, (struct need){ lo, hi });
}

static void list_add(struct builder *b, struct list *l, uint32_t source)
{
    b->out->source[l->hi++] = source;
}

/* ---- threads ---- */

static void at_event(struct builder *b, uint32_t i)
{
    const struct event *e = &b->t->events[i];
    struct thread *th = &b->threads[e->thread];

    for (uint32_t f = th->fork; f != NONE; f = b->next_fork[f])
        need_event(b, f);
    th->fork = NONE;
}

static void at_fork(struct builder *b, uint32_t i)
{
    uint64_t child = b->t->events[i].target;

    if (child >= b->nthreads)
        return;
    b->next_fork[i] = b->threads[child].fork;
    b->threads[child].fork = i;
}

static void at_join(struct builder *b, uint32_t i)
{
    uint64_t child = b->t->events[i].target;

    if (child < b->nthreads && b->threads[child].last != NONE)
        need_event(b, b->threads[child].last);
}

/* ---- barriers ---- */

static uint64_t pair_key(uint64_t a, uint64_t b)
{
    return a << 32 | b;
}

static void at_enter(struct builder *b, uint32_t i)
{
    const struct event *e = &b->t->events[i];
    struct object *o = edges_object_of(b, e);
    uint32_t *n =
        map_put(&b->entered_of, pair_key(o - b->objects, e->thread), (uint32_t)b->nentered);

    if (*n == b->nentered) {
        GROW(b->entered, b->entered_cap, b->nentered + 1);
        b->nentered++;
    }
    b->entered[*n] = (struct entered){ o->barrier.round_start, o->barrier.round };
    list_add(b, &o->list, i);
}

/* The first leave of a round closes it: later enters belong to the next one. */
static void at_leave(struct builder *b, uint32_t i)
{
    const struct event *e = &b->t->events[i];
    struct object *o = edges_object_of(b, e);
    uint32_t *n = map_get(&b->entered_of, pair_key(o - b->objects, e->thread));
    struct entered *in;
    uint32_t *end;

    if (!n)
        return;
    in = &b->entered[*n];
    end = map_put(&b->round_end, pair_key(o - b->objects, in->round), o->list.hi);
    if (in->round == o->barrier.round) {
        o->barrier.round++;
        o->barrier.round_start = o->list.hi;
    }
    need_members(b, in->lo, *end);
}

/* ---- atomics ---- */

/* What a reader of the cell synchronises with: at most two needs. */
static int heads_of(const struct sequence *s, struct need out[2])
{
    int n = 0;

    if (s->run < s->list.hi)
        out[n++] = (struct need){ s->run, s->list.hi };
    if (s->carry != NONE)
        out[n++] = (struct need){ s->carry, NEED_EVENT };
    return n;
}

/* An acquire needs the heads itself, a relaxed load leaves them to an acquire fence. */
static void load_cell(struct builder *b, const struct event *e, uint32_t cell)
{
    struct thread *th = &b->threads[e->thread];
    struct need heads[2];
    int n = heads_of(&b->sequences[cell], heads);

    for (int i = 0; i < n; i++) {
        if (order_acquires(e->order)) {
            add_need(b, heads[i]);
        } else {
            GROW(th->pending, th->pending_cap, th->npending + 1);
            th->pending[th->npending++] = heads[i];
        }
    }
}

/* A store that is no rmw goes on with the sequences of its own thread only. */
static void start_run(struct builder *b, struct sequence *s, uint32_t thread)
{
    uint32_t found = s->base_thread == thread ? s->carry : NONE;

    for (uint32_t m = s->list.hi; m > s->run; m--) {
        if (b->t->events[b->out->source[m - 1]].thread == thread) {
            found = b->out->source[m - 1];
            break;
        }
    }
    s->carry = found;
    s->run = s->list.hi;
    s->base_thread = thread;
}

static void store_cell(struct builder *b, uint32_t i, uint32_t cell)
{
    const struct event *e = &b->t->events[i];
    struct sequence *s = &b->sequences[cell];
    uint32_t source = order_releases(e->order) ? i : b->threads[e->thread].release_fence;

    if (e->op == OP_STORE)
        start_run(b, s, e->thread);
    if (source != NONE)
        list_add(b, &s->list, source);
}

static void end_sequence(struct sequence *s)
{
    s->run = s->list.hi;
    s->carry = NONE;
    s->base_thread = NONE;
}

static void at_memory(struct builder *b, uint32_t i)
{
    const struct event *e = &b->t->events[i];
    uint64_t from, to;

    if (!event_range(e, &from, &to))
        return;
    for (uint32_t c = cells_find(b->cells, from); b->cells->start[c] < to; c++) {
        if (e->op == OP_LOAD || e->op == OP_RMW)
            load_cell(b, e, c);
        if (is_atomic_store(e->op))
            store_cell(b, i, c);
        else if (e->op == OP_WRITE || e->op == OP_ALLOC || e->op == OP_FREE)
            end_sequence(&b->sequences[c]);
    }
}

static void at_fence(struct builder *b, uint32_t i)
{
    const struct event *e = &b->t->events[i];
    struct thread *th = &b->threads[e->thread];

    if (order_acquires(e->order)) {
        for (size_t n = 0; n < th->npending; n++)
            add_need(b, th->pending[n]);
        th->npending = 0;
    }
    if (order_releases(e->order))
        th->release_fence = i;
}

/* ---- the passes ---- */

static void at_object(struct builder *b, uint32_t i)
{
    const struct event *e = &b->t->events[i];
    struct object *o = edges_object_of(b, e);

    switch (e->op) {
    case OP_BARRIER_ENTER:
        at_enter(b, i);
        break;
    case OP_BARRIER_LEAVE:
        at_leave(b, i);
        break;
    case OP_BEFORE:
        list_add(b, &o->list, i);
        break;
    case OP_AFTER:
        need_members(b, o->list.lo, o->list.hi);
        break;
    case OP_ONCE:
        if (o->first_once == NONE)
            o->first_once = i;
        else
            need_event(b, o->first_once);
        break;
    }
}

static void edges_visit(struct builder *b, uint32_t i)
{
    const struct event *e = &b->t->events[i];
    struct thread *th = &b->threads[e->thread];

    at_event(b, i);
    if (e->op == OP_FORK)
        at_fork(b, i);
    else if (e->op == OP_JOIN)
        at_join(b, i);
    else if (e->op == OP_FENCE)
        at_fence(b, i);
    else if (e->op >= OP_BARRIER_ENTER && e->op <= OP_AFTER)
        at_object(b, i);
    else
        at_memory(b, i);
    th->last = i;
}

/* Reserve a consecutive piece of the members for every list. */
static void count_members(struct builder *b)
{
    uint32_t *stores = xcalloc(b->cells->count + 1, sizeof(*stores)), at = 0;
    uint64_t from, to;

    for (size_t i = 0; i < b->t->count; i++) {
        const struct event *e = &b->t->events[i];

        if (e->flags & EV_IGNORED)
            continue;
        if (is_source(e->op))
            edges_object_of(b, e)->list.hi++;
        if (is_atomic_store(e->op) && event_range(e, &from, &to))
            for (uint32_t c = cells_find(b->cells, from); b->cells->start[c] < to; c++)
                stores[c]++;
    }
    for (size_t o = 0; o < b->nobjects; o++) {
        uint32_t n = b->objects[o].list.hi;

        b->objects[o].list = (struct list){ at, at };
        b->objects[o].barrier.round_start = at;
        at += n;
    }
    b->sequences = xcalloc(b->cells->count + 1, sizeof(*b->sequences));
    for (size_t c = 0; c < b->cells->count; c++) {
        b->sequences[c] = (struct sequence){ { at, at }, at, NONE, NONE };
        at += stores[c];
    }
    b->out->nmembers = at;
    b->out->source = xmalloc((at + 1) * sizeof(*b->out->source));
    memset(b->out->source, 0xff, (at + 1) * sizeof(*b->out->source));
    free(stores);
}

static void make_threads(struct builder *b)
{
    for (size_t i = 0; i < b->t->count; i++)
        if (b->t->events[i].thread >= b->nthreads)
            b->nthreads = (size_t)b->t->events[i].thread + 1;
    b->threads = xcalloc(b->nthreads + 1, sizeof(*b->threads));
    for (size_t i = 0; i < b->nthreads; i++)
        b->threads[i] = (struct thread){ .last = NONE, .fork = NONE, .release_fence = NONE };
}

/* Which members an event is: a counting sort by source. Room that was not used has none. */
static void index_members(struct edges *e, size_t n)
{
    e->first_member = xcalloc(n + 2, sizeof(*e->first_member));
    e->member_of = xmalloc((e->nmembers + 1) * sizeof(*e->member_of));
    for (size_t m = 0; m < e->nmembers; m++)
        if (e->source[m] != NONE)
            e->first_member[e->source[m] + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        e->first_member[i] += e->first_member[i - 1];
    for (size_t m = 0; m < e->nmembers; m++)
        if (e->source[m] != NONE)
            e->member_of[e->first_member[e->source[m] + 1]++] = (uint32_t)m;
}

void edges_init(struct edges *e, const struct trace_mem *t, const struct cells *cells)
{
    struct builder b = { .out = e, .t = t, .cells = cells };

    *e = (struct edges){ 0 };
    make_threads(&b);
    count_members(&b);
    b.next_fork = xmalloc((t->count + 1) * sizeof(*b.next_fork));
    e->first_need = xmalloc((t->count + 1) * sizeof(*e->first_need));
    for (size_t i = 0; i < t->count; i++) {
        e->first_need[i] = (uint32_t)e->nneeds;
        if (!(t->events[i].flags & EV_IGNORED))
            edges_visit(&b, (uint32_t)i);
    }
    e->first_need[t->count] = (uint32_t)e->nneeds;
    index_members(e, t->count);

    for (size_t i = 0; i < b.nthreads; i++)
        free(b.threads[i].pending);
    free(b.threads);
    free(b.objects);
    free(b.sequences);
    free(b.next_fork);
    free(b.entered);
    map_release(&b.object_of);
    map_release(&b.entered_of);
    map_release(&b.round_end);
}

void edges_release(struct edges *e)
{
    free(e->needs);
    free(e->first_need);
    free(e->source);
    free(e->member_of);
    free(e->first_member);
    *e = (struct edges){ 0 };
}
