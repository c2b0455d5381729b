/* naive_cp.c - CP straight from its definition */
#include "naive_cp.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct section {
    size_t acquire, release; /* release: last event of the section */
    size_t over;             /* position from which on others can acquire */
    bool shared;
};

struct rules {
    const struct trace_mem *t;
    struct trace_mem plain; /* the trace with atomics as plain accesses; owned */
    struct section *sections;
    size_t nsections;
    struct relation hb, cp;
};

static bool counts(const struct event *e)
{
    return !(e->flags & EV_IGNORED);
}

static bool is_lock_event(const struct event *e)
{
    return counts(e) && op_class_of(e->op) == CLASS_LOCK && !(e->flags & EV_NESTED);
}

static bool is_acquire(const struct event *e)
{
    return is_lock_event(e) && (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED);
}

/* ---- sections ---- */

/* Does this event end the thread, as far as its locks are concerned? */
static bool ends_thread(const struct event *e, uint32_t thread)
{
    return counts(e) &&
           ((e->op == OP_END && e->thread == thread) || (e->op == OP_JOIN && e->target == thread));
}

static bool is_release_of(const struct event *e, const struct event *acquire)
{
    return is_lock_event(e) && !is_acquire(e) && e->thread == acquire->thread &&
           e->target == acquire->target &&
           (e->op == OP_RELEASE_SHARED) == (acquire->op == OP_ACQUIRE_SHARED);
}

static struct section section_of(const struct trace_mem *t, size_t acquire)
{
    const struct event *a = &t->events[acquire];
    struct section s = { acquire, acquire, t->count, a->op == OP_ACQUIRE_SHARED };

    for (size_t i = acquire + 1; i < t->count; i++) {
        if (counts(&t->events[i]) && t->events[i].thread == a->thread)
            s.release = i;
        if (is_release_of(&t->events[i], a) || ends_thread(&t->events[i], a->thread)) {
            s.over = i;
            break;
        }
    }
    return s;
}

/* Are they on one lock, a before b, and could not have overlapped? */
static bool exclude(const struct rules *r, const struct section *a, const struct section *b)
{
    return r->t->events[a->acquire].target == r->t->events[b->acquire].target &&
           a->over < b->acquire && !(a->shared && b->shared);
}

static bool inside(const struct rules *r, const struct section *s, size_t e)
{
    return e >= s->acquire && e <= s->release && counts(&r->t->events[e]) &&
           r->t->events[e].thread == r->t->events[s->acquire].thread;
}

/* ---- the rules ---- */

static bool contain(const struct rules *r, const struct section *a, const struct section *b,
                    size_t limit, bool (*what)(const struct rules *r, size_t e, size_t f))
{
    for (size_t e = a->acquire; e <= a->release; e++)
        for (size_t f = b->acquire; f <= b->release && f <= limit; f++)
            if (inside(r, a, e) && inside(r, b, f) && what(r, e, f))
                return true;
    return false;
}

static bool conflict(const struct rules *r, size_t e, size_t f)
{
    return naive_conflict(&r->plain, e, f);
}

static bool ordered(const struct rules *r, size_t e, size_t f)
{
    return relation_has(&r->cp, e, f);
}

/* Rule (a) or (b): all edges release of A -> acquire of B; true where one is new. */
static bool section_edges(struct rules *r, size_t limit,
                          bool (*what)(const struct rules *r, size_t e, size_t f))
{
    bool changed = false;

    for (size_t i = 0; i < r->nsections; i++) {
        for (size_t k = 0; k < r->nsections; k++) {
            const struct section *a = &r->sections[i], *b = &r->sections[k];

            if (!exclude(r, a, b) || relation_has(&r->cp, a->release, b->acquire) ||
                !contain(r, a, b, limit, what))
                continue;
            relation_add(&r->cp, a->release, b->acquire);
            changed = true;
        }
    }
    return changed;
}

/* Rule (c). All pairs go forward, so one sweep from the end is enough. */
static void compose(struct rules *r)
{
    size_t n = r->cp.n;

    for (size_t a = n; a-- > 0;) {
        for (size_t b = a + 1; b < n; b++) {
            const struct relation *from = relation_has(&r->hb, a, b) ? &r->cp : NULL;

            for (size_t c = b + 1; from && c < n; c++)
                if (relation_has(from, b, c))
                    relation_add(&r->cp, a, c);
            for (size_t c = b + 1; relation_has(&r->cp, a, b) && c < n; c++)
                if (relation_has(&r->hb, b, c))
                    relation_add(&r->cp, a, c);
        }
    }
}

/* Up to the fixpoint; rule (b) looks at events up to `limit`. */
static void close_rules(struct rules *r, size_t limit)
{
    relation_close(&r->hb);
    do
        compose(r);
    while (section_edges(r, limit, ordered));
}

/* ---- the reduced trace ---- */

static bool synchronises(const struct event *e)
{
    return counts(e) && !(e->flags & EV_NESTED) && !event_begins_semaphore(e) &&
           (op_is_atomic(e->op) ||
            (e->op > OP_WRITE && e->op < OP_ALLOC && e->op != OP_BEGIN && e->op != OP_END));
}

static bool touches(const struct event *e, uint64_t byte)
{
    return counts(e) && byte >= e->target &&
           byte - e->target < (op_is_access(e->op) ? e->size : e->value);
}

/* Has the thread done the same to this byte since it last synchronised? */
static bool byte_repeats(const struct trace_mem *t, size_t i, uint64_t byte)
{
    for (size_t k = i; k-- > 0;) {
        const struct event *e = &t->events[k];

        if (e->op == OP_ALLOC && touches(e, byte))
            return false;
        if (e->thread == t->events[i].thread && synchronises(e))
            return false;
        if (e->thread == t->events[i].thread && e->op == t->events[i].op && touches(e, byte))
            return true;
    }
    return false;
}

void naive_cp_significant(const struct trace_mem *t, bool *significant)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct event *e = &t->events[i];

        significant[i] = synchronises(e) || (e->op == OP_FREE && e->value && counts(e));
        if (!counts(e) || (e->op != OP_READ && e->op != OP_WRITE))
            continue;
        for (uint64_t byte = e->target; byte < e->target + e->size; byte++)
            significant[i] |= !byte_repeats(t, i, byte);
    }
}

/* Number of significant events up to each. */
static size_t *make_ranks(const struct trace_mem *t)
{
    size_t *rank = xcalloc(t->count + 1, sizeof(*rank)), n = 0;
    bool *significant = xcalloc(t->count + 1, sizeof(*significant));

    naive_cp_significant(t, significant);
    for (size_t i = 0; i < t->count; i++)
        rank[i] = n += significant[i];
    free(significant);
    return rank;
}

/* ---- the relation ---- */

static void make_plain(struct rules *r)
{
    r->plain = *r->t;
    r->plain.events = xcalloc(r->t->count + 1, sizeof(struct event));
    for (size_t i = 0; i < r->t->count; i++) {
        r->plain.events[i] = r->t->events[i];
        if (op_is_atomic(r->t->events[i].op))
            r->plain.events[i].op = r->t->events[i].op == OP_LOAD ? OP_READ : OP_WRITE;
    }
}

/* Hard edges between threads, and what releases that end no section pass on. */
static void add_hard_edges(struct rules *r)
{
    size_t n = r->t->count;

    naive_hard_edges(r->t, &r->cp);
    naive_taken(r->t, &r->cp);
    for (size_t a = 0; a < n; a++) {
        const struct event *x = &r->t->events[a];
        bool foreign = is_lock_event(x) && !is_acquire(x);

        for (size_t i = 0; i < r->nsections && !(x->flags & EV_FOREIGN); i++)
            foreign &= r->sections[i].release != a;
        for (size_t b = a + 1; b < n; b++) {
            const struct event *y = &r->t->events[b];

            if (foreign && is_acquire(y) && y->target == x->target)
                relation_add(&r->cp, a, b);
            if (x->thread == y->thread)
                relation_remove(&r->cp, a, b);
        }
    }
}

static void add_window(struct rules *r, size_t window)
{
    size_t *rank = make_ranks(r->t);

    for (size_t a = 0; a < r->t->count; a++)
        for (size_t b = a + 1; b < r->t->count; b++)
            if (relation_has(&r->hb, a, b) && rank[b] - rank[a] >= window)
                relation_add(&r->cp, a, b);
    free(rank);
}

static void rules_init(struct rules *r, const struct trace_mem *t, size_t window)
{
    *r = (struct rules){ .t = t };
    make_plain(r);
    r->sections = xcalloc(t->count + 1, sizeof(*r->sections));
    for (size_t i = 0; i < t->count; i++)
        if (is_acquire(&t->events[i]))
            r->sections[r->nsections++] = section_of(t, i);
    naive_order(t, NAIVE_HB_HARD, &r->hb);
    relation_init(&r->cp, t->count);
    add_hard_edges(r);
    if (window)
        add_window(r, window);
    section_edges(r, t->count, conflict);
    close_rules(r, t->count);
}

static void rules_release(struct rules *r)
{
    free(r->plain.events);
    free(r->sections);
    relation_release(&r->hb);
    relation_release(&r->cp);
}

void naive_cp(const struct trace_mem *t, size_t window, struct relation *out)
{
    struct rules r;

    rules_init(&r, t, window);
    relation_copy(out, &r.cp);
    rules_release(&r);
}

void naive_cp_all(const struct trace_mem *t, size_t window, struct pair_set *out)
{
    struct rules r;
    size_t *rank = make_ranks(t);

    rules_init(&r, t, window);
    pair_set_init(out, t->count);
    for (size_t a = 0; a < t->count; a++)
        for (size_t b = a + 1; b < t->count; b++)
            if (naive_conflict(t, a, b) && !relation_has(&r.cp, a, b) &&
                !(window && rank[b] - rank[a] >= window))
                pair_set_add(out, a, b);
    rules_release(&r);
    free(rank);
}

void naive_cp_sound(const struct trace_mem *t, size_t window, struct pair_set *out)
{
    struct rules r;
    size_t *rank = make_ranks(t);

    rules_init(&r, t, window);
    pair_set_init(out, t->count);
    for (size_t b = 0; b < t->count; b++) {
        close_rules(&r, b);
        for (size_t a = b; a-- > 0;) {
            if (!naive_conflict(t, a, b) || relation_has(&r.cp, a, b) ||
                (window && rank[b] - rank[a] >= window))
                continue;
            pair_set_add(out, a, b);
            relation_add(&r.cp, a, b);
            relation_add(&r.hb, a, b);
            close_rules(&r, b);
        }
    }
    rules_release(&r);
    free(rank);
}
