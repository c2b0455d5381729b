/* naive_syncp.c - sync-preserving races by trying all reorderings of a small trace
 *
 * A state is how far each thread has come and who wrote each byte last; states
 * are visited once, depth first. Bytes of one lifetime that the same events
 * touch are one cell.
 */
#include "naive_syncp.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { EVENTS = 62, THREADS = 8, CELLS = 48, NOBODY = 63 };

struct state {
    uint8_t progress[THREADS];
    uint8_t writer[CELLS];
};

struct naive {
    const struct trace_mem *t;
    uint8_t event_of[THREADS][EVENTS];
    uint8_t length[THREADS];
    uint64_t before[EVENTS]; /* that must come before it in every reordering */
    uint64_t cells[CELLS];   /* the events that touch it */
    size_t ncells;
    uint8_t saw[EVENTS][CELLS]; /* the writer of each cell that an event touches */
    struct state *states;
    size_t count, cap;
    uint32_t *table; /* state + 1 */
    size_t size;
    size_t max;
    struct pair_set *out;
};

/* ---- memory ---- */

static uint64_t bytes_of(const struct event *e)
{
    if (e->flags & EV_IGNORED)
        return 0;
    return op_is_access(e->op) ? e->size : e->op == OP_ALLOC || e->op == OP_FREE ? e->value : 0;
}

static bool touches(const struct event *e, uint64_t byte)
{
    return byte >= e->target && byte - e->target < bytes_of(e);
}

static bool is_writer(const struct event *e)
{
    return op_table[e->op].writes || e->op == OP_ALLOC;
}

/* The events that mean the same memory by this byte as event i does. */
static uint64_t same_life(const struct trace_mem *t, uint64_t byte, size_t i)
{
    uint64_t mask = 0;

    for (size_t k = 0; k < t->count; k++) {
        const struct event *e = &t->events[k];

        if (!touches(e, byte))
            continue;
        if (e->op == OP_ALLOC && k > i)
            break;
        if (e->op == OP_ALLOC)
            mask = 0;
        mask |= 1ull << k;
    }
    return mask;
}

static bool add_cell(struct naive *n, uint64_t mask)
{
    for (size_t c = 0; c < n->ncells; c++)
        if (n->cells[c] == mask)
            return true;
    if (n->ncells == CELLS)
        return false;
    n->cells[n->ncells++] = mask;
    return true;
}

static bool make_cells(struct naive *n)
{
    for (size_t i = 0; i < n->t->count; i++) {
        const struct event *e = &n->t->events[i];

        for (uint64_t b = 0; b < bytes_of(e); b++)
            if (!add_cell(n, same_life(n->t, e->target + b, i)))
                return false;
    }
    for (size_t c = 0; c < n->ncells; c++) {
        uint8_t last = NOBODY;

        for (size_t i = 0; i < n->t->count; i++) {
            if (!(n->cells[c] >> i & 1))
                continue;
            n->saw[i][c] = last;
            if (is_writer(&n->t->events[i]))
                last = (uint8_t)i;
        }
    }
    return true;
}

static bool prepare(struct naive *n)
{
    struct relation must;

    if (n->t->count > EVENTS)
        return false;
    for (size_t i = 0; i < n->t->count; i++) {
        const struct event *e = &n->t->events[i];

        if (e->thread >= THREADS)
            return false;
        if (!(e->flags & EV_IGNORED))
            n->event_of[e->thread][n->length[e->thread]++] = (uint8_t)i;
    }
    naive_order(n->t, NAIVE_MUST, &must);
    for (size_t a = 0; a < n->t->count; a++)
        for (size_t b = a + 1; b < n->t->count; b++)
            if (relation_has(&must, a, b))
                n->before[b] |= 1ull << a;
    relation_release(&must);
    return make_cells(n);
}

/* ---- locks ---- */

/* How a thread holds a lock. */
struct hold {
    bool exclusive, shared;
};

static bool is_done(const struct naive *n, const struct state *s, size_t i)
{
    const struct event *e = &n->t->events[i];

    for (size_t k = 0; k < s->progress[e->thread]; k++)
        if (n->event_of[e->thread][k] == i)
            return true;
    return false;
}

static bool is_acquire(const struct event *e)
{
    return (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED) &&
           !(e->flags & (EV_NESTED | EV_IGNORED));
}

/* Is event i the last one of its thread before a join of it? */
static bool ends_by_join(const struct trace_mem *t, size_t i)
{
    for (size_t k = i + 1; k < t->count; k++) {
        const struct event *e = &t->events[k];

        if (e->flags & EV_IGNORED)
            continue;
        if (e->thread == t->events[i].thread)
            return false;
        if (e->op == OP_JOIN && e->target == t->events[i].thread)
            return true;
    }
    return false;
}

/* Event i of the thread, and what it does to its hold of the lock. */
static void change_hold(const struct trace_mem *t, size_t i, uint64_t lock, struct hold *h)
{
    const struct event *e = &t->events[i];

    if (op_class_of(e->op) == CLASS_LOCK && e->target == lock && !(e->flags & EV_NESTED)) {
        if (e->op == OP_ACQUIRE)
            h->exclusive = true;
        else if (e->op == OP_ACQUIRE_SHARED)
            h->shared = true;
        else if (e->op == OP_RELEASE)
            *(h->exclusive ? &h->exclusive : &h->shared) = false;
        else
            *(h->shared ? &h->shared : &h->exclusive) = false;
    }
    if (e->op == OP_END || ends_by_join(t, i))
        *h = (struct hold){ false, false };
}

static struct hold holds(const struct naive *n, const struct state *s, size_t thread, uint64_t lock)
{
    struct hold h = { false, false };

    for (size_t k = 0; k < s->progress[thread]; k++)
        change_hold(n->t, n->event_of[thread][k], lock, &h);
    return h;
}

static bool excludes(const struct event *a, const struct event *b)
{
    return a->target == b->target && (a->op == OP_ACQUIRE || b->op == OP_ACQUIRE);
}

/* Nobody is inside, and no section that came later in the trace has begun already. */
static bool may_acquire(const struct naive *n, const struct state *s, size_t i)
{
    const struct event *e = &n->t->events[i];

    for (size_t h = 0; h < THREADS; h++) {
        struct hold other = holds(n, s, h, e->target);

        if (h != e->thread && (other.exclusive || (other.shared && e->op == OP_ACQUIRE)))
            return false;
    }
    for (size_t k = i + 1; k < n->t->count; k++)
        if (is_acquire(&n->t->events[k]) && excludes(e, &n->t->events[k]) && is_done(n, s, k))
            return false;
    return true;
}

/* ---- the search ---- */

static bool may_come(const struct naive *n, const struct state *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (n->before[i] >> k & 1 && !is_done(n, s, k))
            return false;
    return true;
}

static bool sees_the_same(const struct naive *n, const struct state *s, size_t i)
{
    for (size_t c = 0; c < n->ncells; c++)
        if (n->cells[c] >> i & 1 && s->writer[c] != n->saw[i][c])
            return false;
    return true;
}

static bool execute(const struct naive *n, struct state *s, size_t i)
{
    const struct event *e = &n->t->events[i];

    if (!may_come(n, s, i) || (is_acquire(e) && !may_acquire(n, s, i)) ||
        (op_table[e->op].reads && !sees_the_same(n, s, i)))
        return false;
    for (size_t c = 0; c < n->ncells; c++)
        if (n->cells[c] >> i & 1 && is_writer(e))
            s->writer[c] = (uint8_t)i;
    s->progress[e->thread]++;
    return true;
}

static size_t hash(const struct state *s)
{
    const uint8_t *p = (const uint8_t *)s;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < sizeof(*s); i++)
        h = (h ^ p[i]) * 1099511628211u;
    return (size_t)(h ^ h >> 31);
}

static void grow_table(struct naive *n)
{
    n->size = n->size ? 2 * n->size : 256;
    free(n->table);
    n->table = xcalloc(n->size, sizeof(*n->table));
    for (size_t i = 0; i < n->count; i++) {
        size_t at = hash(&n->states[i]) & (n->size - 1);

        while (n->table[at])
            at = (at + 1) & (n->size - 1);
        n->table[at] = (uint32_t)i + 1;
    }
}

static void add_state(struct naive *n, const struct state *s)
{
    size_t at;

    if (2 * (n->count + 1) > n->size)
        grow_table(n);
    at = hash(s) & (n->size - 1);
    for (; n->table[at]; at = (at + 1) & (n->size - 1))
        if (!memcmp(&n->states[n->table[at] - 1], s, sizeof(*s)))
            return;
    GROW(n->states, n->cap, n->count + 1);
    n->states[n->count++] = *s;
    n->table[at] = (uint32_t)n->count;
}

static void visit(struct naive *n, struct state now)
{
    for (size_t t = 0; t < THREADS; t++) {
        struct state next = now;
        size_t a = n->event_of[t][now.progress[t]];

        if (now.progress[t] == n->length[t])
            continue;
        for (size_t u = t + 1; u < THREADS; u++) {
            size_t b = n->event_of[u][now.progress[u]];

            if (now.progress[u] < n->length[u] && naive_conflict(n->t, a, b) &&
                may_come(n, &now, a) && may_come(n, &now, b))
                pair_set_add(n->out, a, b);
        }
        if (execute(n, &next, a))
            add_state(n, &next);
    }
}

bool naive_syncp(const struct trace_mem *t, size_t max_states, struct pair_set *out)
{
    struct naive *n = xcalloc(1, sizeof(*n));
    struct state first;
    bool complete;

    n->t = t;
    n->out = out;
    pair_set_init(out, t->count);
    complete = prepare(n);
    memset(&first, 0, sizeof(first));
    memset(first.writer, NOBODY, sizeof(first.writer));
    if (complete)
        add_state(n, &first);
    for (size_t i = 0; i < n->count && n->count < max_states; i++)
        visit(n, n->states[i]);
    complete &= n->count < max_states;
    free(n->states);
    free(n->table);
    free(n);
    return complete;
}

/* ---- closures ---- */

/* The event that ends the section that begins at i, or -1. */
static int section_end(const struct trace_mem *t, size_t i)
{
    const struct event *acquire = &t->events[i];
    struct hold h = { false, false };

    for (size_t k = 0; k < t->count; k++) {
        if (t->events[k].thread != acquire->thread || t->events[k].flags & EV_IGNORED)
            continue;
        change_hold(t, k, acquire->target, &h);
        if (k >= i && !(acquire->op == OP_ACQUIRE ? h.exclusive : h.shared))
            return (int)k;
    }
    return -1;
}

/* The ends that sections in the set need; false: one has none. */
static bool end_sections(const struct trace_mem *t, uint64_t *set)
{
    for (size_t a = 0; a < t->count; a++) {
        for (size_t b = a + 1; b < t->count; b++) {
            const struct event *x = &t->events[a], *y = &t->events[b];
            int end;

            if (!is_acquire(x) || !is_acquire(y) || x->thread == y->thread || !excludes(x, y) ||
                !(*set >> a & 1) || !(*set >> b & 1))
                continue;
            end = section_end(t, a);
            if (end < 0)
                return false;
            *set |= 1ull << end;
        }
    }
    return true;
}

bool naive_closure(const struct trace_mem *t, const size_t *of, size_t n, uint64_t *set)
{
    struct relation needs;
    uint64_t before = 1;
    bool possible = true;

    naive_order(t, NAIVE_MUST, &needs);
    *set = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < of[i]; a++)
            *set |= (uint64_t)relation_has(&needs, a, of[i]) << a;
    naive_reads_from(t, &needs);
    while (possible && *set != before) {
        before = *set;
        for (size_t b = t->count; b-- > 0;)
            for (size_t a = 0; a < b && *set >> b & 1; a++)
                *set |= (uint64_t)relation_has(&needs, a, b) << a;
        possible = end_sections(t, set);
    }
    relation_release(&needs);
    return possible;
}
