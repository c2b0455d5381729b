/* naive_deadlock.c - exhaustive search for deadlocks
 *
 * A state is the progress of each thread and the last writer of each cell; who
 * holds what follows from the progress. States are kept in a hash table and
 * visited once.
 */
#include "naive_deadlock.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { NOBODY = 63 }; /* as a writer */

struct state {
    uint8_t progress[NAIVE_THREADS];
    uint8_t writer[NAIVE_CELLS];
};

struct search {
    const struct trace_mem *t;
    bool keep_order;
    uint64_t before[NAIVE_EVENTS]; /* what hard edges, lifetimes and program order put first */
    uint8_t events_of[NAIVE_THREADS][NAIVE_EVENTS];
    uint8_t length[NAIVE_THREADS];
    size_t nthreads;
    uint64_t cells[NAIVE_CELLS]; /* the events that touch it */
    size_t ncells;
    uint8_t observed[NAIVE_EVENTS][NAIVE_CELLS]; /* writer before each event */
    struct state *states;
    size_t nstates, states_cap;
    uint32_t *slots; /* state + 1 */
    size_t nslots;
    struct naive_deadlocks *out;
};

static bool takes_part(const struct event *e)
{
    return !(e->flags & EV_IGNORED);
}

static bool is_request(const struct event *e)
{
    return takes_part(e) &&
           (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED || op_is_request(e->op)) &&
           !(e->flags & EV_NESTED);
}

/* ---- memory ---- */

static uint64_t bytes_of(const struct event *e)
{
    return op_is_access(e->op) ? e->size : e->op == OP_ALLOC || e->op == OP_FREE ? e->value : 0;
}

static bool touches(const struct event *e, uint64_t byte)
{
    return takes_part(e) && byte >= e->target && byte - e->target < bytes_of(e);
}

/* The events that touch a byte between two allocations of it, event i among them. */
static uint64_t lifetime_of(const struct trace_mem *t, size_t i, uint64_t byte)
{
    uint64_t mask = 0;

    for (size_t k = 0; k < t->count; k++) {
        if (!touches(&t->events[k], byte))
            continue;
        if (t->events[k].op == OP_ALLOC && k > i)
            return mask;
        if (t->events[k].op == OP_ALLOC)
            mask = 0;
        mask |= 1ull << k;
    }
    return mask;
}

static bool add_cell(struct search *s, uint64_t mask)
{
    for (size_t c = 0; c < s->ncells; c++)
        if (s->cells[c] == mask)
            return true;
    if (s->ncells == NAIVE_CELLS)
        return false;
    s->cells[s->ncells++] = mask;
    return true;
}

static bool make_cells(struct search *s)
{
    for (size_t i = 0; i < s->t->count; i++) {
        const struct event *e = &s->t->events[i];

        for (uint64_t b = e->target; takes_part(e) && b < e->target + bytes_of(e); b++)
            if (!add_cell(s, lifetime_of(s->t, i, b)))
                return false;
    }
    for (size_t c = 0; c < s->ncells; c++) {
        uint8_t last = NOBODY;

        for (size_t i = 0; i < s->t->count; i++) {
            s->observed[i][c] = last;
            if (s->cells[c] >> i & 1 &&
                (op_table[s->t->events[i].op].writes || s->t->events[i].op == OP_ALLOC))
                last = (uint8_t)i;
        }
    }
    return true;
}

/* ---- locks ---- */

static bool same_lock(const struct event *a, const struct event *b)
{
    return op_is_on_lock(a->op) && op_is_on_lock(b->op) && a->target == b->target;
}

static bool exclude(const struct event *a, const struct event *b)
{
    return !(a->op == OP_ACQUIRE_SHARED && b->op == OP_ACQUIRE_SHARED);
}

/* The thread is over after event i: it says so, or is joined before it does anything else. */
static bool ends_with(const struct trace_mem *t, size_t i)
{
    if (t->events[i].op == OP_END)
        return true;
    for (size_t k = i + 1; k < t->count; k++) {
        if (!takes_part(&t->events[k]))
            continue;
        if (t->events[k].thread == t->events[i].thread)
            return false;
        if (t->events[k].op == OP_JOIN && t->events[k].target == t->events[i].thread)
            return true;
    }
    return false;
}

/* How thread h holds the lock of e in a state. */
static void holds(const struct search *s, const struct state *st, size_t h, const struct event *e,
                  bool *exclusive, bool *shared)
{
    *exclusive = *shared = false;
    for (size_t i = 0; i < st->progress[h]; i++) {
        const struct event *x = &s->t->events[s->events_of[h][i]];

        if (same_lock(x, e) && !(x->flags & EV_NESTED)) {
            if (x->op == OP_ACQUIRE)
                *exclusive = true;
            else if (x->op == OP_ACQUIRE_SHARED)
                *shared = true;
            else if (x->op == OP_RELEASE)
                *(*exclusive ? exclusive : shared) = false;
            else
                *(*shared ? shared : exclusive) = false;
        }
        if (ends_with(s->t, s->events_of[h][i]))
            *exclusive = *shared = false;
    }
}

static bool is_kept_by(const struct search *s, const struct state *st, const struct event *e,
                       size_t h)
{
    bool exclusive, shared;

    if (h == e->thread && !op_is_request(e->op))
        return false;
    holds(s, st, h, e, &exclusive, &shared);
    return exclusive || (shared && (e->op == OP_ACQUIRE || e->op == OP_REQUEST));
}

/* ---- steps ---- */

static int next_of(const struct search *s, const struct state *st, size_t thread)
{
    return st->progress[thread] < s->length[thread] ? s->events_of[thread][st->progress[thread]]
                                                    : -1;
}

static uint64_t executed(const struct search *s, const struct state *st)
{
    uint64_t mask = 0;

    for (size_t t = 0; t < s->nthreads; t++)
        for (size_t i = 0; i < st->progress[t]; i++)
            mask |= 1ull << s->events_of[t][i];
    return mask;
}

/* A section that came later in the trace has been entered already. */
static bool is_too_late(const struct search *s, uint64_t done, int i)
{
    for (size_t k = (size_t)i + 1; s->keep_order && k < s->t->count; k++)
        if (done >> k & 1 && is_request(&s->t->events[k]) &&
            s->t->events[k].thread != s->t->events[i].thread &&
            same_lock(&s->t->events[k], &s->t->events[i]) &&
            exclude(&s->t->events[k], &s->t->events[i]))
            return true;
    return false;
}

static bool may_enter(const struct search *s, const struct state *st, int i)
{
    for (size_t h = 0; h < s->nthreads; h++)
        if (is_kept_by(s, st, &s->t->events[i], h))
            return false;
    return !is_too_late(s, executed(s, st), i);
}

static bool execute(const struct search *s, struct state *st, int i)
{
    const struct event *e = &s->t->events[i];

    if (s->before[i] & ~executed(s, st) || op_is_request(e->op))
        return false;
    if (is_request(e) && !may_enter(s, st, i))
        return false;
    for (size_t c = 0; c < s->ncells; c++) {
        if (!(s->cells[c] >> i & 1))
            continue;
        if (op_table[e->op].reads && st->writer[c] != s->observed[i][c])
            return false;
        if (op_table[e->op].writes || e->op == OP_ALLOC)
            st->writer[c] = (uint8_t)i;
    }
    st->progress[e->thread]++;
    return true;
}

/* ---- rings ---- */

static void add_ring(struct naive_deadlocks *d, uint64_t ring)
{
    if (naive_deadlocks_has(d, ring))
        return;
    GROW(d->rings, d->cap, d->count + 1);
    d->rings[d->count++] = ring;
}

/* Do these threads wait for each other in a ring? Their requests, or 0. */
static uint64_t ring_of(const uint32_t *waits_for, const int *request, uint32_t threads, size_t n)
{
    uint32_t reached = 0;
    uint64_t ring = 0;
    size_t at = 0, start;

    for (size_t t = 0; t < n; t++) {
        if (!(threads >> t & 1))
            continue;
        if (__builtin_popcount(waits_for[t] & threads) != 1)
            return 0;
        ring |= 1ull << request[t];
        at = t;
    }
    start = at;
    while (!(reached >> at & 1)) {
        reached |= 1u << at;
        at = (size_t)__builtin_ctz(waits_for[at] & threads);
    }
    return reached == threads && at == start ? ring : 0;
}

static void look_for_rings(struct search *s, const struct state *st)
{
    uint32_t waits_for[NAIVE_THREADS] = { 0 };
    int request[NAIVE_THREADS] = { 0 };

    for (size_t t = 0; t < s->nthreads; t++) {
        int i = next_of(s, st, t);

        if (i < 0 || !is_request(&s->t->events[i]) || s->before[i] & ~executed(s, st))
            continue;
        request[t] = i;
        for (size_t h = 0; h < s->nthreads; h++)
            waits_for[t] |= (uint32_t)is_kept_by(s, st, &s->t->events[i], h) << h;
    }
    for (uint32_t threads = 1; threads < 1u << s->nthreads; threads++) {
        uint64_t ring = ring_of(waits_for, request, threads, s->nthreads);

        if (ring)
            add_ring(s->out, ring);
    }
}

/* ---- the search ---- */

static uint64_t hash_state(const struct state *st)
{
    const uint8_t *p = (const uint8_t *)st;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < sizeof(*st); i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h ^ h >> 31;
}

static void rehash(struct search *s, size_t n)
{
    free(s->slots);
    s->nslots = n;
    s->slots = xcalloc(n, sizeof(*s->slots));
    for (size_t i = 0; i < s->nstates; i++) {
        size_t at = hash_state(&s->states[i]) & (n - 1);

        while (s->slots[at])
            at = (at + 1) & (n - 1);
        s->slots[at] = (uint32_t)i + 1;
    }
}

static void add_state(struct search *s, const struct state *st)
{
    size_t at;

    if (2 * (s->nstates + 1) > s->nslots)
        rehash(s, s->nslots ? 2 * s->nslots : 64);
    at = hash_state(st) & (s->nslots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->nslots - 1))
        if (!memcmp(&s->states[s->slots[at] - 1], st, sizeof(*st)))
            return;
    GROW(s->states, s->states_cap, s->nstates + 1);
    s->states[s->nstates++] = *st;
    s->slots[at] = (uint32_t)s->nstates;
}

static bool search_init(struct search *s)
{
    const struct trace_mem *t = s->t;
    struct relation must;

    if (t->count > NAIVE_EVENTS || !make_cells(s))
        return false;
    for (size_t i = 0; i < t->count; i++) {
        uint32_t th = t->events[i].thread;

        if (th >= NAIVE_THREADS)
            return false;
        s->nthreads = th >= s->nthreads ? th + 1 : s->nthreads;
        if (takes_part(&t->events[i]))
            s->events_of[th][s->length[th]++] = (uint8_t)i;
    }
    naive_order(t, NAIVE_MUST, &must);
    for (size_t a = 0; a < t->count; a++)
        for (size_t b = a + 1; b < t->count; b++)
            if (relation_has(&must, a, b))
                s->before[b] |= 1ull << a;
    relation_release(&must);
    return true;
}

void naive_deadlocks(const struct trace_mem *t, bool keep_order, size_t max_states,
                     struct naive_deadlocks *out)
{
    struct search *s = xcalloc(1, sizeof(*s));
    struct state st;

    *out = (struct naive_deadlocks){ 0 };
    s->t = t;
    s->keep_order = keep_order;
    s->out = out;
    if (search_init(s)) {
        memset(&st, 0, sizeof(st));
        memset(st.writer, NOBODY, s->ncells);
        add_state(s, &st);
        for (size_t i = 0; i < s->nstates && s->nstates < max_states; i++) {
            look_for_rings(s, &s->states[i]);
            for (size_t th = 0; th < s->nthreads; th++) {
                int e = next_of(s, &s->states[i], th);

                st = s->states[i];
                if (e >= 0 && execute(s, &st, e))
                    add_state(s, &st);
            }
        }
        out->states = s->nstates;
        out->complete = s->nstates < max_states;
    }
    free(s->states);
    free(s->slots);
    free(s);
}

void naive_deadlocks_release(struct naive_deadlocks *d)
{
    free(d->rings);
    *d = (struct naive_deadlocks){ 0 };
}

bool naive_deadlocks_has(const struct naive_deadlocks *d, uint64_t ring)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->rings[i] == ring)
            return true;
    return false;
}
