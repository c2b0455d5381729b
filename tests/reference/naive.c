/* naive.c - orders and race sets straight from the definitions
 *
 * The algorithms HBP and SHBP keep, per variable, sets of accesses and compare
 * clocks; here a variable is a byte, and "k > Th(i)[j]" is a question to the
 * matrix. What the papers do not have: atomics (two of them never race; an
 * atomic access throws only atomic ones out of its set, a plain one both
 * kinds), rmw (belongs to the writes), free (a write).
 */
#include "naive.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- relations ---- */

void relation_init(struct relation *r, size_t n)
{
    r->n = n;
    r->words = n / 64 + 1;
    r->bits = xcalloc(n * r->words + 1, sizeof(*r->bits));
}

void relation_copy(struct relation *to, const struct relation *from)
{
    relation_init(to, from->n);
    memcpy(to->bits, from->bits, from->n * from->words * sizeof(*to->bits));
}

void relation_release(struct relation *r)
{
    free(r->bits);
    *r = (struct relation){ 0 };
}

void relation_close(struct relation *r)
{
    for (size_t a = r->n; a-- > 0;)
        for (size_t b = a + 1; b < r->n; b++)
            if (relation_has(r, a, b))
                for (size_t w = 0; w < r->words; w++)
                    r->bits[a * r->words + w] |= r->bits[b * r->words + w];
}

/* ---- events ---- */

static bool counts(const struct event *e)
{
    return !(e->flags & EV_IGNORED);
}

static bool same_object(const struct event *a, const struct event *b)
{
    return a->target == b->target && op_class_of(a->op) == op_class_of(b->op);
}

static uint64_t bytes_of(const struct event *e)
{
    if (op_is_access(e->op))
        return e->size;
    return e->op == OP_ALLOC || e->op == OP_FREE ? e->value : 0;
}

static bool touches(const struct event *e, uint64_t byte)
{
    return counts(e) && byte >= e->target && byte - e->target < bytes_of(e);
}

static bool is_access(const struct event *e)
{
    return op_is_access(e->op) || e->op == OP_FREE;
}

/* Allocs of the byte up to position i, itself included. */
static size_t lifetime(const struct trace_mem *t, size_t i, uint64_t byte)
{
    size_t n = 0;

    for (size_t k = 0; k <= i; k++)
        n += t->events[k].op == OP_ALLOC && touches(&t->events[k], byte);
    return n;
}

/* The byte was given its content by this event. */
static bool writes_byte(const struct event *e, uint64_t byte)
{
    return (op_table[e->op].writes || e->op == OP_ALLOC) && touches(e, byte);
}

/* ---- program order and threads ---- */

void naive_program_order(const struct trace_mem *t, struct relation *r)
{
    for (size_t a = 0; a < t->count; a++)
        for (size_t b = a + 1; b < t->count; b++)
            if (counts(&t->events[a]) && counts(&t->events[b]) &&
                t->events[a].thread == t->events[b].thread)
                relation_add(r, a, b);
}

static void fork_edges(const struct trace_mem *t, struct relation *r, size_t fork)
{
    for (size_t b = fork + 1; b < t->count; b++) {
        if (counts(&t->events[b]) && t->events[b].thread == t->events[fork].target) {
            relation_add(r, fork, b);
            return;
        }
    }
}

static void join_edges(const struct trace_mem *t, struct relation *r, size_t join)
{
    for (size_t a = 0; a < join; a++)
        if (counts(&t->events[a]) && t->events[a].thread == t->events[join].target)
            relation_add(r, a, join);
}

/* ---- synchronisation objects ---- */

static bool is_outer_release(const struct event *e)
{
    return (e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED) && !(e->flags & EV_NESTED);
}

/* The round an enter belongs to: how many rounds of its barrier were closed before it. A
 * round is closed by the first leave of a thread that entered it. */
static void barrier_rounds(const struct trace_mem *t, size_t *round)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct event *e = &t->events[i];
        size_t closed = 0;

        if (!counts(e) || op_class_of(e->op) != CLASS_BARRIER)
            continue;
        for (size_t k = 0; k < i; k++)
            if (counts(&t->events[k]) && t->events[k].op == OP_BARRIER_LEAVE &&
                same_object(&t->events[k], e) && round[k] != SIZE_MAX && round[k] + 1 > closed)
                closed = round[k] + 1;
        round[i] = closed;
        if (e->op == OP_BARRIER_ENTER)
            continue;
        round[i] = SIZE_MAX; /* a leave is in the round of its thread's last enter */
        for (size_t k = 0; k < i; k++)
            if (counts(&t->events[k]) && t->events[k].op == OP_BARRIER_ENTER &&
                same_object(&t->events[k], e) && t->events[k].thread == e->thread)
                round[i] = round[k];
    }
}

static void barrier_edges(const struct trace_mem *t, struct relation *r)
{
    size_t *round = xcalloc(t->count + 1, sizeof(*round));

    barrier_rounds(t, round);
    for (size_t a = 0; a < t->count; a++)
        for (size_t b = a + 1; b < t->count; b++)
            if (counts(&t->events[a]) && counts(&t->events[b]) &&
                t->events[a].op == OP_BARRIER_ENTER && t->events[b].op == OP_BARRIER_LEAVE &&
                same_object(&t->events[a], &t->events[b]) && round[a] == round[b])
                relation_add(r, a, b);
    free(round);
}

static bool is_first_once(const struct trace_mem *t, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (counts(&t->events[k]) && t->events[k].op == OP_ONCE &&
            same_object(&t->events[k], &t->events[i]))
            return false;
    return true;
}

static void object_edges(const struct trace_mem *t, struct relation *r, size_t a, size_t b)
{
    const struct event *x = &t->events[a], *y = &t->events[b];

    if (!counts(x) || !counts(y) || !same_object(x, y))
        return;
    if (x->op == OP_BEFORE && y->op == OP_AFTER)
        relation_add(r, a, b);
    if (x->op == OP_ONCE && y->op == OP_ONCE && is_first_once(t, a))
        relation_add(r, a, b);
}

/* ---- semaphores ---- */

static bool is_post(const struct event *e, const struct event *of)
{
    return counts(e) && e->op == OP_SEM_POST && !event_begins_semaphore(e) && same_object(e, of);
}

/* The first event of the semaphore that event i is about: where it was last initialised, or 0. */
static size_t semaphore_start(const struct trace_mem *t, size_t i)
{
    size_t k = i;

    while (k > 0 && !(counts(&t->events[k]) && event_begins_semaphore(&t->events[k]) &&
                      same_object(&t->events[k], &t->events[i])))
        k--;
    return k;
}

void naive_posts(const struct trace_mem *t, struct relation *r)
{
    for (size_t i = 0; i < t->count; i++) {
        if (!counts(&t->events[i]) || t->events[i].op != OP_SEM_WAIT)
            continue;
        for (size_t k = semaphore_start(t, i); k < i; k++)
            if (is_post(&t->events[k], &t->events[i]))
                relation_add(r, k, i);
    }
}

/* The post that the wait at i takes, of those that are left: its thread's latest, else the oldest;
 * SIZE_MAX: none is left. */
static size_t taken_post(const struct trace_mem *t, size_t i, const bool *taken)
{
    size_t start = semaphore_start(t, i), oldest = SIZE_MAX;

    for (size_t k = i; k-- > start;) {
        if (taken[k] || !is_post(&t->events[k], &t->events[i]))
            continue;
        if (t->events[k].thread == t->events[i].thread)
            return k;
        oldest = k;
    }
    return oldest;
}

void naive_taken(const struct trace_mem *t, struct relation *r)
{
    bool *taken = xcalloc(t->count + 1, sizeof(*taken));

    for (size_t i = 0; i < t->count; i++) {
        size_t post;

        if (!counts(&t->events[i]) || t->events[i].op != OP_SEM_WAIT)
            continue;
        post = taken_post(t, i, taken);
        if (post == SIZE_MAX)
            continue;
        taken[post] = true;
        relation_add(r, post, i);
    }
    free(taken);
}

/* ---- atomics ---- */

static bool stores_byte(const struct event *e, uint64_t byte)
{
    return (e->op == OP_STORE || e->op == OP_RMW) && touches(e, byte);
}

/* Is s in the release sequence that h heads (or would head), at this byte? */
static bool in_sequence(const struct trace_mem *t, size_t h, size_t s, uint64_t byte)
{
    for (size_t i = h + 1; i <= s; i++) {
        const struct event *e = &t->events[i];

        if (!writes_byte(e, byte))
            continue;
        if (!stores_byte(e, byte))
            return false;
        if (e->op != OP_RMW && e->thread != t->events[h].thread)
            return false;
    }
    return true;
}

/* All that an acquire at `to` synchronises with when a load reads from s. */
static void heads_to(const struct trace_mem *t, struct relation *r, size_t s, uint64_t byte,
                     size_t to)
{
    for (size_t h = 0; h <= s; h++) {
        const struct event *e = &t->events[h];

        if (!stores_byte(e, byte) || !in_sequence(t, h, s, byte))
            continue;
        if (order_releases(e->order))
            relation_add(r, h, to);
        for (size_t f = 0; f < h; f++)
            if (counts(&t->events[f]) && t->events[f].op == OP_FENCE &&
                t->events[f].thread == e->thread && order_releases(t->events[f].order))
                relation_add(r, f, to);
    }
}

static void load_edges(const struct trace_mem *t, struct relation *r, size_t load)
{
    const struct event *e = &t->events[load];

    for (uint64_t byte = e->target; byte < e->target + e->size; byte++) {
        size_t s = load;

        while (s-- > 0 && !writes_byte(&t->events[s], byte))
            ;
        if (s == SIZE_MAX || !stores_byte(&t->events[s], byte))
            continue;
        if (order_acquires(e->order))
            heads_to(t, r, s, byte, load);
        for (size_t f = load + 1; f < t->count; f++)
            if (counts(&t->events[f]) && t->events[f].op == OP_FENCE &&
                t->events[f].thread == e->thread && order_acquires(t->events[f].order))
                heads_to(t, r, s, byte, f);
    }
}

void naive_hard_edges(const struct trace_mem *t, struct relation *r)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct event *e = &t->events[i];

        if (!counts(e))
            continue;
        if (e->op == OP_FORK)
            fork_edges(t, r, i);
        else if (e->op == OP_JOIN)
            join_edges(t, r, i);
        else if (e->op == OP_LOAD || e->op == OP_RMW)
            load_edges(t, r, i);
        for (size_t b = i + 1; b < t->count; b++)
            object_edges(t, r, i, b);
    }
    barrier_edges(t, r);
}

void naive_lifetimes(const struct trace_mem *t, struct relation *r)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct event *e = &t->events[i];

        if (!counts(e) || e->op != OP_ALLOC)
            continue;
        for (uint64_t byte = e->target; byte < e->target + e->value; byte++) {
            size_t life = lifetime(t, i, byte);

            for (size_t k = i + 1; k < t->count; k++)
                if (touches(&t->events[k], byte) && lifetime(t, k, byte) == life)
                    relation_add(r, i, k);
        }
    }
}

/* ---- locks and reads ---- */

/* How a thread holds a lock just before position i. */
static void held_at(const struct trace_mem *t, uint32_t thread, size_t i, const struct event *lock,
                    bool *exclusive, bool *shared)
{
    *exclusive = *shared = false;
    for (size_t k = 0; k < i; k++) {
        const struct event *e = &t->events[k];

        if (!counts(e) || e->thread != thread || e->flags & EV_NESTED)
            continue;
        if (e->op == OP_END)
            *exclusive = *shared = false;
        if (!same_object(e, lock))
            continue;
        if (e->op == OP_ACQUIRE || e->op == OP_RELEASE)
            *exclusive = e->op == OP_ACQUIRE;
        if (e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED)
            *shared = e->op == OP_ACQUIRE_SHARED;
    }
}

/* From a release (of either kind) at `from` to the acquires after `since`. */
static void release_edges(const struct trace_mem *t, struct relation *r, size_t from, size_t since,
                          const struct event *lock, bool exclusive)
{
    for (size_t b = since + 1; b < t->count; b++) {
        const struct event *y = &t->events[b];

        if (!counts(y) || y->flags & EV_NESTED || !same_object(lock, y))
            continue;
        if (y->op == OP_ACQUIRE || (y->op == OP_ACQUIRE_SHARED && exclusive))
            relation_add(r, from, b);
    }
}

/* A thread that ends, or is joined without having said so, gives up what it holds: its last
 * event is the release. */
static void abandoned_edges(const struct trace_mem *t, struct relation *r, uint32_t thread,
                            size_t end)
{
    size_t last = end;
    bool exclusive, shared;

    while (t->events[last].thread != thread || !counts(&t->events[last]))
        if (last-- == 0)
            return;
    for (size_t i = 0; i < end; i++) {
        if (!counts(&t->events[i]) || op_class_of(t->events[i].op) != CLASS_LOCK ||
            t->events[i].thread != thread)
            continue;
        held_at(t, thread, end, &t->events[i], &exclusive, &shared);
        if (exclusive || shared)
            release_edges(t, r, last, end, &t->events[i], exclusive);
    }
}

void naive_lock_edges(const struct trace_mem *t, struct relation *r)
{
    for (size_t a = 0; a < t->count; a++) {
        const struct event *x = &t->events[a];

        if (!counts(x))
            continue;
        if (is_outer_release(x))
            release_edges(t, r, a, a, x, x->op == OP_RELEASE);
        else if (x->op == OP_END)
            abandoned_edges(t, r, x->thread, a);
        else if (x->op == OP_JOIN)
            abandoned_edges(t, r, (uint32_t)x->target, a);
    }
}

void naive_reads_from(const struct trace_mem *t, struct relation *r)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct event *e = &t->events[i];

        if (!counts(e) || !op_table[e->op].reads)
            continue;
        for (uint64_t byte = e->target; byte < e->target + e->size; byte++) {
            size_t w = i;

            while (w-- > 0 && !writes_byte(&t->events[w], byte))
                ;
            if (w != SIZE_MAX && t->events[w].op != OP_ALLOC)
                relation_add(r, w, i);
        }
    }
}

void naive_order(const struct trace_mem *t, enum naive_order which, struct relation *r)
{
    relation_init(r, t->count);
    naive_program_order(t, r);
    naive_hard_edges(t, r);
    if (which == NAIVE_HB || which == NAIVE_SHB)
        naive_posts(t, r);
    else if (which != NAIVE_COUNTED)
        naive_taken(t, r);
    if (which != NAIVE_HB && which != NAIVE_HB_HARD)
        naive_lifetimes(t, r);
    if (which != NAIVE_MUST && which != NAIVE_COUNTED)
        naive_lock_edges(t, r);
    if (which == NAIVE_SHB)
        naive_reads_from(t, r);
    relation_close(r);
}

/* ---- conflicts ---- */

bool naive_conflict(const struct trace_mem *t, size_t a, size_t b)
{
    const struct event *x = &t->events[a], *y = &t->events[b];

    if (!counts(x) || !counts(y) || !is_access(x) || !is_access(y) || x->thread == y->thread)
        return false;
    if (!op_table[x->op].writes && !op_table[y->op].writes)
        return false;
    if (op_is_atomic(x->op) && op_is_atomic(y->op))
        return false;
    for (uint64_t byte = x->target; byte < x->target + bytes_of(x); byte++)
        if (touches(y, byte) && lifetime(t, a, byte) == lifetime(t, b, byte))
            return true;
    return false;
}

bool naive_common_lock(const struct trace_mem *t, size_t a, size_t b)
{
    bool ea, sa, eb, sb;

    for (size_t i = 0; i < t->count; i++) {
        if (op_class_of(t->events[i].op) != CLASS_LOCK)
            continue;
        held_at(t, t->events[a].thread, a, &t->events[i], &ea, &sa);
        held_at(t, t->events[b].thread, b, &t->events[i], &eb, &sb);
        if ((ea && (eb || sb)) || (eb && (ea || sa)))
            return true;
    }
    return false;
}

/* ---- sets of pairs ---- */

void pair_set_init(struct pair_set *p, size_t n)
{
    relation_init(&p->has, n);
    p->count = 0;
}

void pair_set_release(struct pair_set *p)
{
    relation_release(&p->has);
}

void pair_set_add(struct pair_set *p, size_t a, size_t b)
{
    if (pair_set_has(p, a, b))
        return;
    relation_add(&p->has, a < b ? a : b, a < b ? b : a);
    p->count++;
}

bool pair_set_minus(const struct pair_set *p, const struct pair_set *q, size_t *a, size_t *b)
{
    for (*a = 0; *a < p->has.n; ++*a)
        for (*b = *a + 1; *b < p->has.n; ++*b)
            if (pair_set_has(p, *a, *b) && !pair_set_has(q, *a, *b))
                return true;
    return false;
}

void naive_unordered(const struct trace_mem *t, const struct relation *r, struct pair_set *out)
{
    pair_set_init(out, t->count);
    for (size_t a = 0; a < t->count; a++)
        for (size_t b = a + 1; b < t->count; b++)
            if (naive_conflict(t, a, b) && !relation_has(r, a, b))
                pair_set_add(out, a, b);
}

void naive_lockset(const struct trace_mem *t, struct pair_set *out)
{
    pair_set_init(out, t->count);
    for (size_t a = 0; a < t->count; a++)
        for (size_t b = a + 1; b < t->count; b++)
            if (naive_conflict(t, a, b) && !naive_common_lock(t, a, b))
                pair_set_add(out, a, b);
}

/* ---- Algorithms 3 and 4 ---- */

/* The sets cw(x) and cr(x) of one byte x: positions. */
struct byte_sets {
    size_t *writes, *reads;
    size_t nwrites, nreads;
};

/* What an access is compared with: "k > Th(i)[j]". */
static void compare(const struct trace_mem *t, const struct relation *known, const size_t *set,
                    size_t n, size_t i, struct pair_set *out)
{
    for (size_t k = 0; k < n; k++) {
        const struct event *x = &t->events[set[k]], *y = &t->events[i];

        if (x->thread == y->thread || (op_is_atomic(x->op) && op_is_atomic(y->op)))
            continue;
        if (!relation_has(known, set[k], i))
            pair_set_add(out, set[k], i);
    }
}

/* The set with i in it and without what happened before i, as far as i stands for it. */
static size_t replace(const struct trace_mem *t, const struct relation *known, size_t *set,
                      size_t n, size_t i)
{
    size_t kept = 0;

    for (size_t k = 0; k < n; k++) {
        bool covers = !op_is_atomic(t->events[i].op) || op_is_atomic(t->events[set[k]].op);

        if (!(covers && relation_has(known, set[k], i)))
            set[kept++] = set[k];
    }
    set[kept++] = i;
    return kept;
}

static void visit_byte(const struct trace_mem *t, const struct relation *before,
                       const struct relation *after, struct byte_sets *s, size_t i,
                       struct pair_set *out)
{
    const struct event *e = &t->events[i];

    compare(t, before, s->writes, s->nwrites, i, out);
    if (!op_table[e->op].writes) {
        s->nreads = replace(t, after, s->reads, s->nreads, i);
        return;
    }
    compare(t, before, s->reads, s->nreads, i, out);
    s->nwrites = replace(t, after, s->writes, s->nwrites, i);
}

/* One byte through the whole trace. */
static void run_byte(const struct trace_mem *t, const struct relation *before,
                     const struct relation *after, uint64_t byte, struct pair_set *out)
{
    struct byte_sets s = { .writes = xcalloc(t->count + 1, sizeof(size_t)),
                           .reads = xcalloc(t->count + 1, sizeof(size_t)) };

    for (size_t i = 0; i < t->count; i++) {
        if (!touches(&t->events[i], byte))
            continue;
        if (t->events[i].op == OP_ALLOC)
            s.nwrites = s.nreads = 0;
        else
            visit_byte(t, before, after, &s, i, out);
    }
    free(s.writes);
    free(s.reads);
}

/* `before`: what the thread of an access knows when it is checked; `after`: when it is put
 * into its set. They differ for reads in SHB. */
static void run_pairs(const struct trace_mem *t, const struct relation *before,
                      const struct relation *after, struct pair_set *out)
{
    pair_set_init(out, t->count);
    for (size_t i = 0; i < t->count; i++) {
        const struct event *e = &t->events[i];

        for (uint64_t byte = e->target; byte < e->target + bytes_of(e); byte++) {
            bool seen = !counts(e);

            for (size_t k = 0; k < i && !seen; k++)
                seen = touches(&t->events[k], byte);
            if (!seen)
                run_byte(t, before, after, byte, out);
        }
    }
}

void naive_hbp(const struct trace_mem *t, struct pair_set *out)
{
    struct relation hb;

    naive_order(t, NAIVE_HB, &hb);
    run_pairs(t, &hb, &hb, out);
    relation_release(&hb);
}

/* SHB without the reads-from edges into the last event of a path. The alloc of the memory
 * stays: whatever a racing access reads, there has to be something to read. */
static void shb_before_reading(const struct trace_mem *t, const struct relation *shb,
                               struct relation *r)
{
    struct relation direct;

    relation_init(&direct, t->count);
    naive_program_order(t, &direct);
    naive_hard_edges(t, &direct);
    naive_posts(t, &direct);
    naive_lifetimes(t, &direct);
    naive_lock_edges(t, &direct);
    relation_copy(r, &direct);
    for (size_t b = 0; b < t->count; b++)
        for (size_t p = 0; p < b; p++)
            for (size_t a = 0; relation_has(&direct, p, b) && a < p; a++)
                if (relation_has(shb, a, p))
                    relation_add(r, a, b);
    relation_release(&direct);
}

void naive_shbp(const struct trace_mem *t, struct pair_set *out)
{
    struct relation shb, before;

    naive_order(t, NAIVE_SHB, &shb);
    shb_before_reading(t, &shb, &before);
    run_pairs(t, &before, &shb, out);
    relation_release(&shb);
    relation_release(&before);
}
