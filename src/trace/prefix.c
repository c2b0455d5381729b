/* prefix.c - what the beginning of a trace leaves behind for the rest of it
 *
 * Sections, rounds and calls begin and end here by the rules of order/view.c
 * and witness/witness.c, on the marks of check_trace.c.
 */
#include "trace/prefix.h"
#include "base/alloc.h"
#include "trace/prefix_memory.h"

#include <stdlib.h>
#include <string.h>

/* Plain accesses of one thread since its last synchronisation. 100 MB; recordings of programs that
 * compute for minutes without any synchronisation come near. */
enum { QUIET_MAX = 2000000 };

struct list {
    struct prefix_event *items;
    size_t count, cap;
};

struct past_thread {
    struct list held;    /* acquires */
    struct list calls;   /* open ones, innermost last; words are owned */
    struct list lasting; /* calls that have returned but last, and their returns; words are owned */
    struct list quiet;
    struct prefix_event synced; /* op 0: never */
};

struct past_round {
    struct list enters;
    uint32_t number; /* from 1 */
};

struct prefix {
    bool quiet;
    struct past_thread *threads;
    size_t threads_cap;
    struct map round_of; /* barrier -> index */
    struct past_round *rounds;
    size_t nrounds, rounds_cap;
    struct map entered; /* (barrier, thread) -> round */
    struct map once_of;
    struct list onces;
    struct prefix_memory memory;
    struct prefix_event returned; /* some return; op 0: none */
    uint64_t overflows;           /* threads with too long a quiet period */
};

struct prefix *prefix_new(bool quiet)
{
    struct prefix *p = xcalloc(1, sizeof(*p));

    p->quiet = quiet;
    return p;
}

static void prefix_push(struct list *l, const struct event *e, uint64_t position,
                        const uint64_t *words)
{
    GROW(l->items, l->cap, l->count + 1);
    l->items[l->count++] = (struct prefix_event){ *e, position, words };
}

static void remove_at(struct list *l, size_t at)
{
    memmove(&l->items[at], &l->items[at + 1], (l->count - at - 1) * sizeof(*l->items));
    l->count--;
}

static void clear_words(struct list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free((void *)(uintptr_t)l->items[i].words);
    l->count = 0;
}

void prefix_free(struct prefix *p)
{
    if (!p)
        return;
    for (size_t t = 0; t < p->threads_cap; t++) {
        clear_words(&p->threads[t].calls);
        clear_words(&p->threads[t].lasting);
        free(p->threads[t].held.items);
        free(p->threads[t].calls.items);
        free(p->threads[t].lasting.items);
        free(p->threads[t].quiet.items);
    }
    for (size_t i = 0; i < p->nrounds; i++)
        free(p->rounds[i].enters.items);
    free(p->threads);
    free(p->rounds);
    free(p->onces.items);
    map_release(&p->round_of);
    map_release(&p->entered);
    map_release(&p->once_of);
    prefix_memory_release(&p->memory);
    free(p);
}

/* ---- locks ---- */

static bool is_shared(const struct event *e)
{
    return e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED;
}

static size_t find_held(const struct past_thread *t, const struct event *e, bool shared)
{
    for (size_t i = t->held.count; i-- > 0;)
        if (t->held.items[i].event.target == e->target &&
            is_shared(&t->held.items[i].event) == shared)
            return i;
    return t->held.count;
}

static void at_lock(struct past_thread *t, const struct event *e, uint64_t position)
{
    size_t at = find_held(t, e, is_shared(e));

    if (e->flags & EV_NESTED)
        return;
    if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED) {
        if (at == t->held.count)
            prefix_push(&t->held, e, position, NULL);
        return;
    }
    if (at == t->held.count)
        at = find_held(t, e, !is_shared(e));
    if (at < t->held.count)
        remove_at(&t->held, at);
}

/* ---- barriers, once ---- */

static struct past_round *round_of(struct prefix *p, uint64_t key, uint32_t *number)
{
    *number = *map_put(&p->round_of, key, (uint32_t)p->nrounds);
    if (*number == p->nrounds) {
        GROW(p->rounds, p->rounds_cap, p->nrounds + 1);
        p->rounds[p->nrounds++] = (struct past_round){ .number = 1 };
    }
    return &p->rounds[*number];
}

static void at_barrier(struct prefix *p, const struct event *e, uint64_t position)
{
    uint32_t number, *entered;
    struct past_round *r = round_of(p, sync_object_key(e->op, e->target), &number);

    entered = map_put(&p->entered, (uint64_t)number << 32 | e->thread, 0);
    if (e->op == OP_BARRIER_ENTER) {
        prefix_push(&r->enters, e, position, NULL);
        *entered = r->number;
    } else {
        if (*entered == r->number) {
            r->enters.count = 0;
            r->number++;
        }
        *entered = 0;
    }
}

static void at_once(struct prefix *p, const struct event *e, uint64_t position)
{
    uint32_t next = (uint32_t)p->onces.count;

    if (*map_put(&p->once_of, sync_object_key(e->op, e->target), next) == next)
        prefix_push(&p->onces, e, position, NULL);
}

/* ---- calls ---- */

static void at_call(struct past_thread *t, const struct event *e, uint64_t position,
                    const uint64_t *extra)
{
    size_t bytes = 2 * (size_t)e->old * sizeof(*extra);
    uint64_t *words = xmalloc(bytes + 1);

    if (bytes)
        memcpy(words, extra + e->value, bytes);
    prefix_push(e->flags & EV_ALONE ? &t->lasting : &t->calls, e, position, words);
    if ((e->flags & (EV_ALONE | EV_LASTS)) == EV_ALONE) { /* over at once */
        free(words);
        t->lasting.count--;
    }
}

static void at_return(struct past_thread *t, const struct event *e, uint64_t position)
{
    struct prefix_event call;

    if (!t->calls.count)
        return;
    call = t->calls.items[--t->calls.count];
    if (!(call.event.flags & EV_LASTS)) {
        free((void *)(uintptr_t)call.words);
        return;
    }
    prefix_push(&t->lasting, &call.event, call.position, call.words);
    prefix_push(&t->lasting, e, position, NULL);
}

/* ---- memory ---- */

static void at_memory(struct prefix *p, const struct event *e, uint64_t position)
{
    struct event stored = *e;

    if (op_is_access(e->op)) {
        if (!op_table[e->op].writes)
            return;
        if (e->op == OP_RMW)
            stored.op = OP_STORE;
        prefix_memory_write(&p->memory, &stored, position, e->target, e->size);
    } else if (is_named(e->target)) {
        prefix_memory_write(&p->memory, e, position, e->target, e->value);
    } else {
        prefix_memory_forget(&p->memory, e->target, e->value);
    }
}

/* ---- quiet periods ---- */

static void follow_quiet(struct prefix *p, struct past_thread *t, const struct event *e,
                         uint64_t position)
{
    if (event_ends_quiet(e)) {
        p->overflows -= t->quiet.count > QUIET_MAX;
        t->quiet.count = 0;
        t->synced = (struct prefix_event){
            { .op = OP_FENCE, .order = ORDER_RELAXED, .thread = e->thread, .site = e->site },
            position,
            NULL
        };
        clear_words(&t->lasting);
    } else if (p->quiet && (e->op == OP_READ || e->op == OP_WRITE) && t->quiet.count <= QUIET_MAX) {
        prefix_push(&t->quiet, e, position, NULL);
        p->overflows += t->quiet.count > QUIET_MAX;
    }
}

bool prefix_is_complete(const struct prefix *p)
{
    return !p->overflows;
}

/* ---- an event ---- */

static struct past_thread *prefix_thread_of(struct prefix *p, uint64_t number)
{
    GROW(p->threads, p->threads_cap, (size_t)number + 1);
    return &p->threads[number];
}

void prefix_add(struct prefix *p, const struct event *e, uint64_t position, const uint64_t *extra)
{
    struct past_thread *t;

    if (e->flags & EV_IGNORED)
        return;
    t = prefix_thread_of(p, e->thread);
    follow_quiet(p, t, e, position);
    switch (op_class_of(e->op)) {
    case CLASS_ACCESS:
    case CLASS_ATOMIC:
    case CLASS_MEMORY:
        at_memory(p, e, position);
        break;
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
        if (e->op == OP_CALL)
            at_call(t, e, position, extra);
        else
            at_return(t, e, position);
        if (e->op == OP_RETURN || e->flags & EV_ALONE)
            p->returned = (struct prefix_event){ *e, position, NULL };
        break;
    case CLASS_THREAD:
        if (e->op == OP_END)
            t->held.count = 0;
        else if (e->op == OP_JOIN && e->target < p->threads_cap)
            p->threads[e->target].held.count = 0;
        break;
    default:
        break;
    }
}

/* ---- the list ---- */

static void add_all(struct list *out, const struct list *l)
{
    for (size_t i = 0; i < l->count; i++)
        prefix_push(out, &l->items[i].event, l->items[i].position, l->items[i].words);
}

static void add_one(struct list *out, const struct prefix_event *e)
{
    if (e->event.op)
        prefix_push(out, &e->event, e->position, e->words);
}

static void add_writer(void *arg, struct prefix_writer *w)
{
    if (!w->listed)
        prefix_push(arg, &w->event, w->position, NULL);
    w->listed = true;
}

static void add_writers(struct prefix *p, struct list *out, const struct event *rest, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (op_is_access(rest[i].op) && !(rest[i].flags & EV_IGNORED))
            prefix_memory_owners(&p->memory, rest[i].target, rest[i].size, add_writer, out);
    for (size_t i = 1; i <= p->memory.nwriters; i++)
        p->memory.writers[i].listed = false;
}

/* What is there twice has two reasons; a fence is there only where nothing else is. */
static int compare_events(const void *a, const void *b)
{
    const struct prefix_event *x = a, *y = b;

    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return (x->event.op == OP_FENCE) - (y->event.op == OP_FENCE);
}

static void sort_out(struct list *l)
{
    size_t n = 0;

    if (l->count)
        qsort(l->items, l->count, sizeof(*l->items), compare_events);
    for (size_t i = 0; i < l->count; i++)
        if (!n || l->items[n - 1].position != l->items[i].position)
            l->items[n++] = l->items[i];
    l->count = n;
}

/* Calls that are over may have written anything. */
static void add_anything(const struct prefix *p, struct list *out)
{
    static const uint64_t all[2] = { D_ENTRY(D_ALL_KIND, 0), 0 };
    struct event e = p->returned.event;

    if (!e.op)
        return;
    e.flags = 0;
    e.op = OP_CALL;
    e.old = 1;
    prefix_push(out, &e, p->returned.position, all);
    e.op = OP_RETURN;
    e.old = 0;
    prefix_push(out, &e, p->returned.position, NULL);
}

struct prefix_event *prefix_list(struct prefix *p, const struct event *rest, size_t count,
                                 size_t *n)
{
    struct list out = { 0 };

    for (size_t t = 0; t < p->threads_cap; t++) {
        const struct past_thread *x = &p->threads[t];

        add_all(&out, &x->held);
        add_all(&out, &x->calls);
        add_all(&out, &x->lasting);
        if (p->quiet) {
            add_one(&out, &x->synced);
            add_all(&out, &x->quiet);
        }
    }
    for (size_t i = 0; i < p->nrounds; i++)
        add_all(&out, &p->rounds[i].enters);
    add_all(&out, &p->onces);
    add_writers(p, &out, rest, count);
    sort_out(&out);
    add_anything(p, &out);
    *n = out.count;
    return out.items;
}
