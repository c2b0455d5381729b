/* naive_wcp.c - WCP straight from its definition */
#include "naive_wcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* The trace with the releases that ending threads owe. */
struct extended {
    struct trace_mem mem;   /* owned */
    struct trace_mem plain; /* the same with atomics made plain; owned */
    size_t *at;             /* original position -> position in mem */
};

struct section {
    size_t acquire, release; /* positions; release SIZE_MAX: never */
    bool shared;
};

struct rules {
    struct extended x;
    struct section *sections;
    size_t nsections;
    struct relation hb, wcp;
};

/* ---- the trace with all releases ---- */

static bool is_lock_op(const struct event *e)
{
    return op_class_of(e->op) == CLASS_LOCK && !(e->flags & (EV_IGNORED | EV_NESTED));
}

static bool is_acquire(const struct event *e)
{
    return is_lock_op(e) && (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED);
}

static bool is_shared(const struct event *e)
{
    return e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED;
}

/* The release that ends the section of an acquire. */
static size_t release_of(const struct trace_mem *t, size_t acquire)
{
    const struct event *a = &t->events[acquire];

    for (size_t i = acquire + 1; i < t->count; i++) {
        const struct event *e = &t->events[i];

        if (is_lock_op(e) && !is_acquire(e) && e->thread == a->thread && e->target == a->target &&
            is_shared(e) == is_shared(a))
            return i;
    }
    return SIZE_MAX;
}

/* Is the thread over right after position i: is it its end, or its last event before a join? */
static bool is_last_of_thread(const struct trace_mem *t, size_t i)
{
    if (t->events[i].flags & EV_IGNORED)
        return false;
    if (t->events[i].op == OP_END)
        return true;
    for (size_t k = i + 1; k < t->count; k++) {
        if (t->events[k].flags & EV_IGNORED)
            continue;
        if (t->events[k].thread == t->events[i].thread)
            return false;
        if (t->events[k].op == OP_JOIN && t->events[k].target == t->events[i].thread)
            return true;
    }
    return false;
}

static void add_owed_releases(const struct trace_mem *t, size_t end, struct extended *x)
{
    for (size_t a = 0; a <= end; a++) {
        const struct event *e = &t->events[a];

        if (!is_acquire(e) || e->thread != t->events[end].thread || release_of(t, a) != SIZE_MAX)
            continue;
        x->mem.events[x->mem.count] = *e;
        x->mem.events[x->mem.count++].op = is_shared(e) ? OP_RELEASE_SHARED : OP_RELEASE;
    }
}

static void extend(const struct trace_mem *t, struct extended *x)
{
    x->mem = *t;
    x->mem.events = xcalloc(2 * t->count + 1, sizeof(struct event));
    x->mem.count = 0;
    x->at = xcalloc(t->count + 1, sizeof(*x->at));
    for (size_t i = 0; i < t->count; i++) {
        x->at[i] = x->mem.count;
        x->mem.events[x->mem.count++] = t->events[i];
        if (is_last_of_thread(t, i))
            add_owed_releases(t, i, x);
    }
    x->plain = x->mem;
    x->plain.events = xcalloc(x->mem.count + 1, sizeof(struct event));
    memcpy(x->plain.events, x->mem.events, x->mem.count * sizeof(struct event));
    for (size_t i = 0; i < x->mem.count; i++)
        if (op_is_atomic(x->mem.events[i].op))
            x->plain.events[i].op = x->mem.events[i].op == OP_LOAD ? OP_READ : OP_WRITE;
}

/* ---- the rules ---- */

static void find_sections(struct rules *r)
{
    const struct trace_mem *t = &r->x.mem;

    r->sections = xcalloc(t->count + 1, sizeof(*r->sections));
    for (size_t i = 0; i < t->count; i++)
        if (is_acquire(&t->events[i]))
            r->sections[r->nsections++] =
                (struct section){ i, release_of(t, i), is_shared(&t->events[i]) };
}

/* Is the event in the section, its acquire and release included? */
static bool inside(const struct rules *r, const struct section *s, size_t e)
{
    const struct event *events = r->x.mem.events;

    return e >= s->acquire && e <= s->release && !(events[e].flags & EV_IGNORED) &&
           events[e].thread == events[s->acquire].thread;
}

/* Is B a later section on the lock of A that A excludes? */
static bool excludes(const struct rules *r, const struct section *a, const struct section *b)
{
    const struct event *events = r->x.mem.events;

    return a->release != SIZE_MAX && a->release < b->acquire && !(a->shared && b->shared) &&
           events[a->acquire].target == events[b->acquire].target;
}

static void add(struct rules *r, size_t a, size_t b, bool *changed)
{
    *changed |= !relation_has(&r->wcp, a, b);
    relation_add(&r->wcp, a, b);
}

/* (a') release of A -> the conflicting event inside B. */
static void rule_a(struct rules *r, const struct section *a, const struct section *b, bool *changed)
{
    for (size_t e = a->acquire; e <= a->release; e++)
        for (size_t f = b->acquire; f <= b->release && f < r->x.mem.count; f++)
            if (inside(r, a, e) && inside(r, b, f) && naive_conflict(&r->x.plain, e, f))
                add(r, a->release, f, changed);
}

/* (b') release of A -> release of B when they contain ordered events. */
static void rule_b(struct rules *r, const struct section *a, const struct section *b, bool *changed)
{
    for (size_t e = a->acquire; e <= a->release && b->release != SIZE_MAX; e++)
        for (size_t f = b->acquire; f <= b->release; f++)
            if (inside(r, a, e) && inside(r, b, f) && relation_has(&r->wcp, e, f))
                add(r, a->release, b->release, changed);
}

/* (c) HB ; WCP and WCP ; HB. */
static void rule_c(struct rules *r, bool *changed)
{
    size_t n = r->x.mem.count;

    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            for (size_t c = b + 1; c < n; c++)
                if ((relation_has(&r->hb, a, b) && relation_has(&r->wcp, b, c)) ||
                    (relation_has(&r->wcp, a, b) && relation_has(&r->hb, b, c)))
                    add(r, a, c, changed);
}

static void close_rules(struct rules *r)
{
    bool changed = true;

    relation_close(&r->hb);
    while (changed) {
        changed = false;
        for (size_t i = 0; i < r->nsections; i++) {
            for (size_t k = 0; k < r->nsections; k++) {
                if (!excludes(r, &r->sections[i], &r->sections[k]))
                    continue;
                rule_a(r, &r->sections[i], &r->sections[k], &changed);
                rule_b(r, &r->sections[i], &r->sections[k], &changed);
            }
        }
        rule_c(r, &changed);
    }
}

static void rules_init(struct rules *r, const struct trace_mem *t)
{
    *r = (struct rules){ 0 };
    extend(t, &r->x);
    find_sections(r);
    naive_order(&r->x.mem, NAIVE_HB_HARD, &r->hb);
    relation_init(&r->wcp, r->x.mem.count);
    naive_hard_edges(&r->x.mem, &r->wcp);
    naive_taken(&r->x.mem, &r->wcp);
    for (size_t a = 0; a < r->x.mem.count; a++) /* within a thread they are program order */
        for (size_t b = a + 1; b < r->x.mem.count; b++)
            if (r->x.mem.events[a].thread == r->x.mem.events[b].thread)
                relation_remove(&r->wcp, a, b);
    close_rules(r);
}

static void rules_release(struct rules *r)
{
    free(r->x.mem.events);
    free(r->x.plain.events);
    free(r->x.at);
    free(r->sections);
    relation_release(&r->hb);
    relation_release(&r->wcp);
}

void naive_wcp(const struct trace_mem *t, struct relation *out)
{
    struct rules r;

    rules_init(&r, t);
    relation_init(out, t->count);
    for (size_t a = 0; a < t->count; a++)
        for (size_t b = a + 1; b < t->count; b++)
            if (relation_has(&r.wcp, r.x.at[a], r.x.at[b]))
                relation_add(out, a, b);
    rules_release(&r);
}

void naive_wcp_all(const struct trace_mem *t, struct pair_set *out)
{
    struct relation wcp;

    naive_wcp(t, &wcp);
    naive_unordered(t, &wcp, out);
    relation_release(&wcp);
}

void naive_wcp_sound(const struct trace_mem *t, struct pair_set *out)
{
    struct rules r;

    pair_set_init(out, t->count);
    rules_init(&r, t);
    for (size_t b = 0; b < t->count; b++) {
        for (size_t a = b; a-- > 0;) {
            if (!naive_conflict(t, a, b) || relation_has(&r.wcp, r.x.at[a], r.x.at[b]))
                continue;
            pair_set_add(out, a, b);
            relation_add(&r.wcp, r.x.at[a], r.x.at[b]);
            relation_add(&r.hb, r.x.at[a], r.x.at[b]);
            close_rules(&r);
        }
    }
    rules_release(&r);
}
