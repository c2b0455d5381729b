/* lockgraph.c - which locks threads asked for while they held which others
 *
 * Sections are those of the witness checker (docs/design/proof.md, "Locks"): a
 * release ends the thread's own section, of the kind it names, else of the
 * other; a thread's end, or its join, ends what it still holds.
 */
#include "engines/closure/lockgraph.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void lockgraph_release(struct lockgraph *g)
{
    for (size_t i = 0; i < g->nsets; i++)
        free(g->sets[i].holds);
    for (size_t i = 0; i < g->threads_cap; i++) {
        free(g->threads[i].holds);
        map_release(&g->threads[i].index);
    }
    free(g->sorted);
    free(g->sets);
    free(g->requests);
    free(g->log);
    free(g->held);
    free(g->instances);
    free(g->threads);
    free(g->handed);
    free(g->patterns);
    free(g->members);
    map_release(&g->set_index);
    map_release(&g->request_index);
    *g = (struct lockgraph){ 0 };
}

/* ---- numbers for sets and requests ---- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static bool same_holds(const struct hold *a, const struct hold *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i].lock != b[i].lock || a[i].site != b[i].site || a[i].shared != b[i].shared)
            return false;
    return true;
}

static uint32_t add_set(struct lockgraph *g, const struct hold *holds, uint32_t n)
{
    struct hold_set *s;

    GROW(g->sets, g->sets_cap, g->nsets + 1);
    s = &g->sets[g->nsets];
    s->holds = xmalloc(n * sizeof(*holds));
    memcpy(s->holds, holds, n * sizeof(*holds));
    s->count = n;
    return (uint32_t)g->nsets++;
}

static uint32_t find_set(struct lockgraph *g, const struct hold *holds, uint32_t n)
{
    uint64_t hash = n;

    for (uint32_t i = 0; i < n; i++)
        hash = mix(mix(hash, holds[i].lock * 2ull + holds[i].shared), holds[i].site);
    for (;; hash++) {
        uint32_t *number = map_put(&g->set_index, hash, UINT32_MAX);

        if (*number == UINT32_MAX)
            return *number = add_set(g, holds, n);
        if (g->sets[*number].count == n && same_holds(g->sets[*number].holds, holds, n))
            return *number;
    }
}

static bool same_request(const struct request *a, const struct request *b)
{
    return a->thread == b->thread && a->lock == b->lock && a->site == b->site && a->set == b->set &&
           a->shared == b->shared && a->at_end == b->at_end;
}

static uint32_t find_request(struct lockgraph *g, const struct request *r)
{
    uint64_t hash = mix(mix(mix(r->thread, r->lock * 2ull + r->shared), r->site), r->set);

    for (;; hash++) {
        uint32_t *number = map_put(&g->request_index, hash, UINT32_MAX);

        if (*number == UINT32_MAX) {
            *number = (uint32_t)g->nrequests;
            GROW(g->requests, g->requests_cap, g->nrequests + 1);
            g->requests[g->nrequests++] = *r;
        }
        if (same_request(&g->requests[*number], r))
            return *number;
    }
}

/* ---- the pass: requests ---- */

static uint64_t hold_key(uint32_t lock, bool shared)
{
    return lock * 2ull + shared;
}

static int compare_holds(const void *a, const void *b)
{
    const struct hold *x = a, *y = b;
    uint64_t k = hold_key(x->lock, x->shared), l = hold_key(y->lock, y->shared);

    return k < l ? -1 : k > l;
}

/* Few are the rule: sorted as they are put in. */
enum { FEW = 8 };

/* The set of the last request, with where its locks were taken. */
static void copy_last(struct lockgraph *g, const struct thread_holds *t)
{
    memcpy(g->sorted, g->sets[t->set - 1].holds, t->same * sizeof(*g->sorted));
    for (uint32_t i = 0; i < t->same; i++)
        g->sorted[i].position = g->held[t->held + i];
}

/* What a thread holds as a set. Mostly it is that of its last request and a few more. */
static const struct hold *sorted_holds(struct lockgraph *g, const struct thread_holds *t)
{
    const struct hold *from = t->holds + t->first;
    bool few = t->count - t->same <= FEW;

    GROW(g->sorted, g->sorted_cap, t->count);
    if (!few)
        memcpy(g->sorted, from, t->count * sizeof(*from));
    else if (t->same)
        copy_last(g, t);
    for (uint32_t i = t->same; i < t->count && few; i++) {
        uint32_t k = i;

        for (; k && compare_holds(&g->sorted[k - 1], &from[i]) > 0; k--)
            g->sorted[k] = g->sorted[k - 1];
        g->sorted[k] = from[i];
    }
    if (!few)
        qsort(g->sorted, t->count, sizeof(*g->sorted), compare_holds);
    return g->sorted;
}

/* The set of what a thread holds, with the places where it took it: those of its last request where
 * nothing has changed since. */
static void find_holds(struct lockgraph *g, struct thread_holds *t)
{
    const struct hold *holds;

    if (t->same == t->count)
        return;
    holds = sorted_holds(g, t);
    t->set = find_set(g, holds, t->count) + 1;
    t->same = t->count;
    t->held = g->nheld;
    GROW(g->held, g->held_cap, g->nheld + t->count);
    for (uint32_t i = 0; i < t->count; i++)
        g->held[g->nheld++] = holds[i].position;
}

static bool has_room(struct lockgraph *g, const struct step *s, const struct thread_holds *t)
{
    size_t max = t->count <= DEEP ? HOLDS_MAX : g->deep_max ? g->deep_max : DEEP_HOLDS_MAX;

    if (s->position >= UINT32_MAX || g->nlog == UINT32_MAX) {
        g->too_far++;
        return false;
    }
    if (t->same < t->count && g->nheld + t->count > max) {
        g->too_deep++;
        return false;
    }
    return true;
}

static void note_request(struct lockgraph *g, const struct step *s, struct thread_holds *t)
{
    struct request r = { .thread = s->thread,
                         .lock = s->id,
                         .site = s->site,
                         .shared = s->op == OP_ACQUIRE_SHARED || s->op == OP_REQUEST_SHARED,
                         .at_end = op_is_request(s->op),
                         .top = t->holds[t->first + t->count - 1].lock };

    if (!has_room(g, s, t))
        return;
    find_holds(g, t);
    r.set = t->set - 1;
    GROW(g->log, g->log_cap, g->nlog + 1);
    g->log[g->nlog++] = (struct request_at){ t->held, find_request(g, &r), (uint32_t)s->position };
}

/* ---- the pass: what threads hold ---- */

/* Below this a scan is cheaper than a hash. */
enum { INDEXED_ABOVE = 64 };

static void index_hold(struct thread_holds *t, const struct hold *h, bool held)
{
    if (!t->index.nslots && t->count <= INDEXED_ABOVE)
        return;
    if (!t->index.nslots)
        for (uint32_t i = 0; i < t->count; i++)
            *map_put(&t->index,
                     hold_key(t->holds[t->first + i].lock, t->holds[t->first + i].shared), 0) = 1;
    *map_put(&t->index, hold_key(h->lock, h->shared), 0) = held;
    if (t->count < INDEXED_ABOVE / 2) /* it names every lock that was held since it was made */
        map_release(&t->index);
}

static bool is_held(const struct thread_holds *t, uint32_t lock, bool shared)
{
    const uint32_t *held;

    if (t->index.nslots) {
        held = map_get(&t->index, hold_key(lock, shared));
        return held && *held;
    }
    for (uint32_t i = t->first; i < t->first + t->count; i++)
        if (t->holds[i].lock == lock && t->holds[i].shared == shared)
            return true;
    return false;
}

/* Where a hold that is there is. Locks are released the other way round, or in the order in which
 * they were taken: looked for from both ends. */
static uint32_t lockgraph_place_of(const struct thread_holds *t, uint32_t lock, bool shared)
{
    uint32_t low = t->first, high = t->first + t->count - 1;

    for (;; low++, high--) {
        if (t->holds[high].lock == lock && t->holds[high].shared == shared)
            return high;
        if (t->holds[low].lock == lock && t->holds[low].shared == shared)
            return low;
    }
}

static void add_hold(struct thread_holds *t, struct hold h)
{
    if (t->first && t->first >= t->count) { /* room at the front */
        memmove(t->holds, t->holds + t->first, t->count * sizeof(*t->holds));
        t->first = 0;
    }
    GROW(t->holds, t->cap, (size_t)t->first + t->count + 1);
    t->holds[t->first + t->count++] = h;
    index_hold(t, &h, true);
}

static void remove_hold(struct thread_holds *t, uint32_t place)
{
    struct hold h = t->holds[place];

    if (place - t->first < t->same)
        t->same = 0;
    t->count--;
    if (place == t->first)
        t->first = t->count ? t->first + 1 : 0;
    else
        memmove(&t->holds[place], &t->holds[place + 1],
                (t->first + t->count - place) * sizeof(*t->holds));
    index_hold(t, &h, false);
}

static void drop_holds(struct thread_holds *t)
{
    t->first = t->count = t->same = 0;
    map_release(&t->index);
}

static void lockgraph_acquire(struct lockgraph *g, const struct step *s)
{
    struct thread_holds *t = &g->threads[s->thread];
    bool shared = s->op == OP_ACQUIRE_SHARED;

    if (t->count)
        note_request(g, s, t);
    if (!is_held(t, s->id, shared))
        add_hold(t, (struct hold){ s->id, s->site, (uint32_t)s->position, shared });
}

static void release_in_lockgraph(struct lockgraph *g, const struct step *s)
{
    struct thread_holds *t = &g->threads[s->thread];
    bool shared = s->op == OP_RELEASE_SHARED;

    if (s->flags & STEP_FOREIGN) {
        GROW(g->handed, g->handed_cap, (size_t)s->id + 1);
        g->handed[s->id] = true;
    }
    if (!is_held(t, s->id, shared))
        shared = !shared;
    if (is_held(t, s->id, shared))
        remove_hold(t, lockgraph_place_of(t, s->id, shared));
}

void lockgraph_steps(struct lockgraph *g, const struct span *span)
{
    GROW(g->threads, g->threads_cap, span->threads);
    for (size_t i = 0; i < span->count; i++) {
        const struct step *s = &span->steps[i];

        if (s->op < OP_ACQUIRE || (s->op > OP_END && !op_is_request(s->op)))
            continue;
        if ((s->op == OP_ACQUIRE || s->op == OP_ACQUIRE_SHARED) && !(s->flags & STEP_NESTED))
            lockgraph_acquire(g, s);
        else if ((s->op == OP_RELEASE || s->op == OP_RELEASE_SHARED) && !(s->flags & STEP_NESTED))
            release_in_lockgraph(g, s);
        else if (s->op == OP_END)
            drop_holds(&g->threads[s->thread]);
        else if (s->op == OP_JOIN && s->id < g->threads_cap)
            drop_holds(&g->threads[s->id]);
        else if (op_is_request(s->op) && g->threads[s->thread].count)
            note_request(g, s, &g->threads[s->thread]);
    }
}

/* ---- after the pass ---- */

/* Instances by request, of those in patterns: count, then fill. */
static void list_instances(struct lockgraph *g)
{
    size_t total = 0;

    for (size_t i = 0; i < g->nlog; i++)
        g->requests[g->log[i].request].count += g->requests[g->log[i].request].in_pattern;
    for (size_t i = 0; i < g->nrequests; i++) {
        g->requests[i].first = total;
        total += g->requests[i].count;
        g->requests[i].count = 0;
    }
    g->instances = xmalloc((total + 1) * sizeof(*g->instances));
    for (size_t i = 0; i < g->nlog; i++) {
        struct request *r = &g->requests[g->log[i].request];

        if (r->in_pattern)
            g->instances[r->first + r->count++] = (uint32_t)i;
    }
}

void lockgraph_search(struct lockgraph *g)
{
    lockgraph_rings(g);
    for (size_t i = 0; i < g->nmembers; i++)
        g->requests[g->members[i]].in_pattern = true;
    if (g->npatterns)
        list_instances(g);
}

uint32_t lockgraph_find(const struct hold_set *s, uint32_t lock)
{
    uint32_t low = 0, high = s->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (s->holds[middle].lock < lock)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct hold *lockgraph_blocks(const struct lockgraph *g, const struct request *a,
                                    const struct request *b)
{
    const struct hold_set *s = &g->sets[b->set];

    for (uint32_t i = lockgraph_find(s, a->lock); i < s->count && s->holds[i].lock == a->lock; i++)
        if (!(s->holds[i].shared && a->shared))
            return &s->holds[i];
    return NULL;
}

uint64_t lockgraph_taken(const struct lockgraph *g, size_t instance, const struct hold *h)
{
    const struct request_at *i = &g->log[g->instances[instance]];

    return g->held[i->held + (size_t)(h - g->sets[g->requests[i->request].set].holds)];
}
