/* lockgraph.c - which locks threads asked for while they held which others
 *
 * Sections are those of the witness checker (docs/design/proof.md, "Locks"): a
 * release ends the thread's own section, of the kind it names, else of the
 * other; a thread's end, or its join, ends what it still holds.
 */
#include "engines/lockgraph.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void lockgraph_release(struct lockgraph *g)
{
    for (size_t i = 0; i < g->nsets; i++)
        free(g->sets[i].holds);
    for (size_t i = 0; i < g->threads_cap; i++)
        free(g->threads[i].holds);
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

/* ---- the pass ---- */

static void note_request(struct lockgraph *g, const struct step *s, const struct thread_holds *t)
{
    struct request r = { .thread = s->thread,
                         .lock = s->id,
                         .site = s->site,
                         .shared = s->op == OP_ACQUIRE_SHARED || s->op == OP_REQUEST_SHARED,
                         .at_end = op_is_request(s->op) };

    if (s->position >= UINT32_MAX || g->nlog == UINT32_MAX) {
        g->too_far++;
        return;
    }
    r.set = find_set(g, t->holds, t->count);
    GROW(g->log, g->log_cap, g->nlog + 1);
    g->log[g->nlog++] = (struct request_at){ g->nheld, find_request(g, &r), (uint32_t)s->position };
    GROW(g->held, g->held_cap, g->nheld + t->count);
    for (uint32_t i = 0; i < t->count; i++)
        g->held[g->nheld++] = t->holds[i].position;
}

static uint64_t hold_key(uint32_t lock, bool shared)
{
    return lock * 2ull + shared;
}

/* Where the hold is, or would be. */
static uint32_t place_of(const struct thread_holds *t, uint32_t lock, bool shared)
{
    uint32_t i = 0;

    while (i < t->count && hold_key(t->holds[i].lock, t->holds[i].shared) < hold_key(lock, shared))
        i++;
    return i;
}

static bool is_hold(const struct thread_holds *t, uint32_t i, uint32_t lock, bool shared)
{
    return i < t->count && t->holds[i].lock == lock && t->holds[i].shared == shared;
}

static void acquire(struct lockgraph *g, const struct step *s)
{
    struct thread_holds *t = &g->threads[s->thread];
    bool shared = s->op == OP_ACQUIRE_SHARED;
    uint32_t i = place_of(t, s->id, shared);

    if (t->count)
        note_request(g, s, t);
    if (is_hold(t, i, s->id, shared))
        return;
    GROW(t->holds, t->cap, (size_t)t->count + 1);
    memmove(&t->holds[i + 1], &t->holds[i], (t->count - i) * sizeof(*t->holds));
    t->holds[i] = (struct hold){ s->id, s->site, (uint32_t)s->position, shared };
    t->count++;
}

static void release(struct lockgraph *g, const struct step *s)
{
    struct thread_holds *t = &g->threads[s->thread];
    bool shared = s->op == OP_RELEASE_SHARED;
    uint32_t i = place_of(t, s->id, shared);

    if (s->flags & STEP_FOREIGN) {
        GROW(g->handed, g->handed_cap, (size_t)s->id + 1);
        g->handed[s->id] = true;
    }
    if (!is_hold(t, i, s->id, shared))
        i = place_of(t, s->id, !shared);
    if (i == t->count || t->holds[i].lock != s->id)
        return;
    t->count--;
    memmove(&t->holds[i], &t->holds[i + 1], (t->count - i) * sizeof(*t->holds));
}

void lockgraph_steps(struct lockgraph *g, const struct span *span)
{
    GROW(g->threads, g->threads_cap, span->threads);
    for (size_t i = 0; i < span->count; i++) {
        const struct step *s = &span->steps[i];

        if (s->op < OP_ACQUIRE || (s->op > OP_END && !op_is_request(s->op)))
            continue;
        if ((s->op == OP_ACQUIRE || s->op == OP_ACQUIRE_SHARED) && !(s->flags & STEP_NESTED))
            acquire(g, s);
        else if ((s->op == OP_RELEASE || s->op == OP_RELEASE_SHARED) && !(s->flags & STEP_NESTED))
            release(g, s);
        else if (s->op == OP_END)
            g->threads[s->thread].count = 0;
        else if (s->op == OP_JOIN && s->id < g->threads_cap)
            g->threads[s->id].count = 0;
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

const struct hold *lockgraph_blocks(const struct lockgraph *g, const struct request *a,
                                    const struct request *b)
{
    const struct hold_set *s = &g->sets[b->set];

    for (uint32_t i = 0; i < s->count; i++)
        if (s->holds[i].lock == a->lock && !(s->holds[i].shared && a->shared))
            return &s->holds[i];
    return NULL;
}

uint64_t lockgraph_taken(const struct lockgraph *g, size_t instance, const struct hold *h)
{
    const struct request_at *i = &g->log[g->instances[instance]];

    return g->held[i->held + (size_t)(h - g->sets[g->requests[i->request].set].holds)];
}
