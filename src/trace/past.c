/* past.c - events that stand for a beginning that is gone
 *
 * Sections and rounds begin and end here by the rules of prefix.c. Other than there nested acquires
 * are kept, too: what is kept of the trace is checked by itself, and must find the releases that
 * belong to them.
 */
#include "trace/past.h"
#include "base/alloc.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

/* Plain accesses of one thread since it last let go of something. 16 MB; the filter drops those
 * that repeat, so it takes a program that walks through memory without any synchronisation. */
enum { QUIET_MAX = 400000 };

/* Memory that was allocated or freed is remembered by lines, that of larger blocks not at all: then
 * the accesses to it are forgotten at once, which is a look at all that there are. */
enum { LINE_BITS = 6, LARGE_BLOCK = 1 << 16 };

struct item {
    struct event event;
    uint64_t position;
    uint64_t *words; /* owned: a call's list */
};

struct list {
    struct item *items;
    size_t count, cap;
};

struct past_thread {
    bool runs;   /* it has begun and not ended */
    bool forked; /* it has not begun */
    struct item fork;
    struct list frames, held, calls; /* innermost last */
    struct list quiet;
};

struct round {
    uint32_t number; /* from 1 */
    struct list enters;
};

struct past {
    bool quiet; /* accesses that repeat are left out */
    struct past_thread *threads;
    size_t threads_cap;
    struct map round_of; /* barrier -> index */
    struct round *rounds;
    size_t nrounds, rounds_cap;
    struct map entered; /* (barrier, thread) -> round */
    struct map once_of;
    struct list onces;
    struct map line_of;    /* line of memory -> index: */
    uint64_t *line_events; /* so many events were over when it was last allocated or freed */
    size_t nlines, lines_cap;
    uint64_t events;
    size_t overflows; /* threads with too long a quiet period */
};

struct past *past_new(bool quiet)
{
    struct past *p = xcalloc(1, sizeof(*p));

    p->quiet = quiet;
    return p;
}

/* ---- lists ---- */

static void past_push(struct list *l, const struct event *e, uint64_t position)
{
    GROW(l->items, l->cap, l->count + 1);
    l->items[l->count++] = (struct item){ *e, position, NULL };
}

static void remove_at(struct list *l, size_t at)
{
    free(l->items[at].words);
    memmove(&l->items[at], &l->items[at + 1], (l->count - at - 1) * sizeof(*l->items));
    l->count--;
}

static void clear(struct list *l)
{
    while (l->count)
        free(l->items[--l->count].words);
}

static void past_release(struct list *l)
{
    clear(l);
    free(l->items);
    *l = (struct list){ 0 };
}

static void thread_over(struct past *p, struct past_thread *t)
{
    p->overflows -= t->quiet.count > QUIET_MAX;
    past_release(&t->frames);
    past_release(&t->held);
    past_release(&t->calls);
    past_release(&t->quiet);
    t->runs = t->forked = false;
}

void past_free(struct past *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->threads_cap; i++)
        thread_over(p, &p->threads[i]);
    for (size_t i = 0; i < p->nrounds; i++)
        past_release(&p->rounds[i].enters);
    past_release(&p->onces);
    free(p->threads);
    free(p->rounds);
    map_release(&p->line_of);
    free(p->line_events);
    map_release(&p->round_of);
    map_release(&p->entered);
    map_release(&p->once_of);
    free(p);
}

/* ---- events ---- */

static struct past_thread *past_thread_of(struct past *p, uint64_t number)
{
    GROW(p->threads, p->threads_cap, (size_t)number + 1);
    return &p->threads[number];
}

static bool is_shared(const struct event *e)
{
    return e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED;
}

static size_t find_held(const struct list *held, const struct event *e, bool shared)
{
    for (size_t i = held->count; i-- > 0;)
        if (held->items[i].event.target == e->target && is_shared(&held->items[i].event) == shared)
            return i;
    return held->count;
}

static void at_lock(struct past_thread *t, const struct event *e, uint64_t position)
{
    size_t at;

    if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED) {
        past_push(&t->held, e, position);
        return;
    }
    at = find_held(&t->held, e, is_shared(e));
    if (at == t->held.count)
        at = find_held(&t->held, e, !is_shared(e));
    if (at < t->held.count)
        remove_at(&t->held, at);
}

static struct round *round_of(struct past *p, const struct event *e, uint32_t *number)
{
    *number = *map_put(&p->round_of, sync_object_key(e->op, e->target), (uint32_t)p->nrounds);
    if (*number == p->nrounds) {
        GROW(p->rounds, p->rounds_cap, p->nrounds + 1);
        p->rounds[p->nrounds++] = (struct round){ .number = 1 };
    }
    return &p->rounds[*number];
}

/* The first who leaves a round closes it. */
static void at_barrier(struct past *p, const struct event *e, uint64_t position)
{
    uint32_t number, *entered;
    struct round *r = round_of(p, e, &number);

    entered = map_put(&p->entered, (uint64_t)number << 32 | e->thread, 0);
    if (e->op == OP_BARRIER_ENTER) {
        past_push(&r->enters, e, position);
        *entered = r->number;
        return;
    }
    if (*entered == r->number) {
        r->enters.count = 0;
        r->number++;
    }
    *entered = 0;
}

static void at_once(struct past *p, const struct event *e, uint64_t position)
{
    uint32_t next = (uint32_t)p->onces.count;

    if (*map_put(&p->once_of, sync_object_key(e->op, e->target), next) == next)
        past_push(&p->onces, e, position);
}

static void at_call(struct past_thread *t, const struct event *e, uint64_t position,
                    const uint64_t *extra)
{
    size_t bytes = 2 * (size_t)e->old * sizeof(*extra);

    if (e->op == OP_RETURN) {
        if (t->calls.count)
            remove_at(&t->calls, t->calls.count - 1);
        return;
    }
    past_push(&t->calls, e, position);
    t->calls.items[t->calls.count - 1].words = xmalloc(bytes + 1);
    if (bytes)
        memcpy(t->calls.items[t->calls.count - 1].words, extra + e->value, bytes);
}

static void at_thread(struct past *p, const struct event *e, uint64_t position)
{
    if (e->op == OP_END) {
        thread_over(p, past_thread_of(p, e->thread));
    } else if (e->op == OP_JOIN) {
        thread_over(p, past_thread_of(p, e->target));
    } else if (e->op == OP_FORK) {
        struct past_thread *t = past_thread_of(p, e->target);

        t->forked = !t->runs;
        t->fork = (struct item){ *e, position, NULL };
    }
}

static void at_stack(struct past_thread *t, const struct event *e, uint64_t position)
{
    if (e->op == OP_ENTER)
        past_push(&t->frames, e, position);
    else if (t->frames.count)
        t->frames.count--;
}

static void follow_quiet(struct past *p, struct past_thread *t, const struct event *e,
                         uint64_t position)
{
    if (event_ends_quiet(e)) {
        p->overflows -= t->quiet.count > QUIET_MAX;
        t->quiet.count = 0;
    } else if (p->quiet && (e->op == OP_READ || e->op == OP_WRITE) && t->quiet.count <= QUIET_MAX) {
        past_push(&t->quiet, e, position);
        p->overflows += t->quiet.count > QUIET_MAX;
    }
}

/* ---- memory that is new ---- */

/* An access to memory that was freed or allocated afterwards is one to another variable. */
static void forget_accesses(struct list *l, uint64_t from, uint64_t to)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->count; i++) {
        const struct event *e = &l->items[i].event;

        if (e->target >= to || e->target + e->size <= from)
            l->items[kept++] = l->items[i];
    }
    l->count = kept;
}

static void renew_lines(struct past *p, const struct event *e, uint64_t position)
{
    uint64_t last = (e->target + e->value - 1) >> LINE_BITS;

    for (uint64_t line = e->target >> LINE_BITS; line <= last; line++) {
        uint32_t *at = map_put(&p->line_of, line, (uint32_t)p->nlines);

        if (*at == p->nlines) {
            GROW(p->line_events, p->lines_cap, p->nlines + 1);
            p->nlines++;
        }
        p->line_events[*at] = position + 1;
    }
}

/* The memory of an alloc or free. A list that is too long stays so until its thread lets go. */
static void renew(struct past *p, const struct event *e, uint64_t position)
{
    if (!p->quiet || !e->value)
        return;
    if (e->value <= LARGE_BLOCK) {
        renew_lines(p, e, position);
        return;
    }
    for (size_t i = 0; i < p->threads_cap; i++)
        if (p->threads[i].quiet.count <= QUIET_MAX)
            forget_accesses(&p->threads[i].quiet, e->target, e->target + e->value);
}

static bool is_renewed(const struct past *p, const struct item *x)
{
    uint64_t last = (x->event.target + x->event.size - 1) >> LINE_BITS;

    for (uint64_t line = x->event.target >> LINE_BITS; line <= last; line++) {
        const uint32_t *at = map_get(&p->line_of, line);

        if (at && p->line_events[*at] > x->position)
            return true;
    }
    return false;
}

static void add_in_past(struct past *p, const struct event *e, uint64_t position,
                        const uint64_t *extra)
{
    struct past_thread *t = past_thread_of(p, e->thread);

    t->runs = true;
    t->forked = false;
    follow_quiet(p, t, e, position);
    if (e->op == OP_ALLOC || e->op == OP_FREE)
        renew(p, e, position);
    switch (op_class_of(e->op)) {
    case CLASS_LOCK:
        at_lock(t, e, position);
        break;
    case CLASS_BARRIER:
        at_barrier(p, e, position);
        break;
    case CLASS_ONCE:
        at_once(p, e, position);
        break;
    case CLASS_CALL:
        at_call(t, e, position, extra);
        break;
    case CLASS_THREAD:
        at_thread(p, e, position);
        break;
    case CLASS_STACK:
        at_stack(t, e, position);
        break;
    default:
        break;
    }
}

void past_add(struct past *p, const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (!(b->events[i].flags & EV_IGNORED))
            add_in_past(p, &b->events[i], b->first + i, b->extra);
    p->events += b->count;
}

uint64_t past_events(const struct past *p)
{
    return p->events;
}

bool past_is_short(const struct past *p)
{
    return !p->overflows;
}

/* ---- the list ---- */

struct output {
    struct list list; /* words are borrowed */
    size_t sorted;    /* so many are where they belong */
};

static void put_all(struct output *o, const struct list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        past_push(&o->list, &l->items[i].event, l->items[i].position);
        o->list.items[o->list.count - 1].words = l->items[i].words;
    }
}

static void put_quiet(const struct past *p, struct output *o, const struct list *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (!is_renewed(p, &l->items[i]))
            past_push(&o->list, &l->items[i].event, l->items[i].position);
}

static int by_position(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return (x->position > y->position) - (x->position < y->position);
}

/* What was added since the last time, in the order in which it happened. */
static void sort(struct output *o)
{
    if (o->list.count > o->sorted)
        qsort(o->list.items + o->sorted, o->list.count - o->sorted, sizeof(*o->list.items),
              by_position);
    o->sorted = o->list.count;
}

static void put_barrier(const struct past *p, struct output *o, enum op op)
{
    for (size_t i = 0; i < p->threads_cap; i++)
        if (p->threads[i].runs)
            past_push(&o->list,
                      &(struct event){ .op = (uint8_t)op,
                                       .thread = (uint32_t)i,
                                       .site = SITE_NONE,
                                       .target = NAMED_OBJECT(0) },
                      i);
    o->sorted = o->list.count;
}

/* A thread whose creator is gone is forked by another one: somebody has to come before it. */
static void put_forks(const struct past *p, struct output *o)
{
    uint32_t any = 0;

    while (any + 1 < p->threads_cap && !p->threads[any].runs)
        any++;
    for (size_t i = 0; i < p->threads_cap; i++) {
        struct event e = p->threads[i].fork.event;

        if (!p->threads[i].forked)
            continue;
        if (!p->threads[e.thread].runs)
            e.thread = any;
        past_push(&o->list, &e, p->threads[i].fork.position);
    }
}

static void write_out(const struct list *l, struct trace_mem *out)
{
    size_t words = 0;

    *out = (struct trace_mem){ .events = xcalloc(l->count + 1, sizeof(*out->events)),
                               .count = l->count };
    for (size_t i = 0; i < l->count; i++)
        words += l->items[i].words ? 2 * (size_t)l->items[i].event.old : 0;
    out->extra = xcalloc(words + 1, sizeof(*out->extra));
    for (size_t i = 0; i < l->count; i++) {
        const struct item *item = &l->items[i];
        struct event *e = &out->events[i];

        *e = item->event;
        e->flags &= EV_STORED_FLAGS;
        if (e->op != OP_CALL)
            continue;
        e->value = out->nextra;
        memcpy(out->extra + out->nextra, item->words, 2 * (size_t)e->old * sizeof(*out->extra));
        out->nextra += 2 * (size_t)e->old;
    }
}

void past_list(const struct past *p, struct trace_mem *out)
{
    struct output o = { 0 };

    for (size_t i = 0; i < p->threads_cap; i++) {
        put_all(&o, &p->threads[i].frames);
        put_all(&o, &p->threads[i].held);
        put_all(&o, &p->threads[i].calls);
    }
    put_all(&o, &p->onces);
    for (size_t i = 0; i < p->nrounds; i++)
        put_all(&o, &p->rounds[i].enters);
    sort(&o);
    put_barrier(p, &o, OP_BARRIER_ENTER);
    put_barrier(p, &o, OP_BARRIER_LEAVE);
    put_forks(p, &o);
    for (size_t i = 0; i < p->threads_cap; i++)
        put_quiet(p, &o, &p->threads[i].quiet);
    sort(&o);
    write_out(&o.list, out);
    free(o.list.items);
}
