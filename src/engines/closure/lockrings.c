/* lockrings.c - rings of requests that wait for each other
 *
 * Locks are the nodes of a graph, with an edge from each lock held to the one
 * that was requested; or rather, since it leads to the same components, from
 * the last one taken alone: it was itself requested while the others were
 * held. Only requests inside a strongly connected component can
 * be part of a ring, and most programs have none. Rings are then searched
 * depth first, each from its smallest request on, first all of two threads,
 * then all of three, and so on as long as there is a path that could be longer.
 * A path keeps to the rules of lockgraph.h, so what closes is a pattern.
 * The number of rings can be exponential; the search stops after SEARCH_MAX
 * looks.
 */
#include "engines/closure/lockgraph.h"
#include "base/alloc.h"

#include <stdlib.h>

#define NONE UINT32_MAX

/* A request with many locks takes longer to look at: so many are one look more. */
enum { HOLDS_A_LOOK = 256 };

/* Lists packed in one array: those of i are [first[i], first[i + 1]). */
struct lists {
    size_t *first;
    uint32_t *items;
};

struct rings {
    struct lockgraph *g;
    uint32_t nlocks;
    struct lists after; /* lock -> locks requested while it was the last one taken */
    uint32_t *component;
    uint32_t *members_of; /* component -> its number of locks */
    bool *cyclic;         /* request -> could be in a ring */
    struct lists holders; /* lock -> cyclic requests that hold it */
    uint32_t path[RING_MAX];
    uint32_t length; /* of the rings that are looked for */
    bool deeper;     /* there are longer paths */
    bool left_out;   /* some requests are not looked at */
    uint64_t looks;
};

/* ---- components ---- */

static void lists_init(struct lists *l, uint32_t n)
{
    l->first = xcalloc((size_t)n + 2, sizeof(*l->first));
    l->items = NULL;
}

/* After counting into first[i + 1]: sums, and room for the items. */
static void lists_sum(struct lists *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        l->first[i + 1] += l->first[i];
    l->items = xmalloc((l->first[n] + 1) * sizeof(*l->items));
}

/* After filling, which moved each start to the next one's. */
static void lists_settle(struct lists *l, uint32_t n)
{
    for (uint32_t i = n; i > 0; i--)
        l->first[i] = l->first[i - 1];
    l->first[0] = 0;
}

static void lists_release(struct lists *l)
{
    free(l->first);
    free(l->items);
}

static void make_edges(struct rings *x)
{
    const struct lockgraph *g = x->g;

    lists_init(&x->after, x->nlocks);
    for (int fill = 0; fill < 2; fill++) {
        for (size_t i = 0; i < g->nrequests; i++) {
            const struct request *r = &g->requests[i];

            if (fill)
                x->after.items[x->after.first[r->top]++] = r->lock;
            else
                x->after.first[r->top + 1]++;
        }
        if (!fill)
            lists_sum(&x->after, x->nlocks);
    }
    lists_settle(&x->after, x->nlocks);
}

/* Tarjan's algorithm, with a stack of our own: chains of locks may be long. */
struct tarjan {
    uint32_t *index, *low, *stack, *calls;
    size_t *next; /* edge to look at */
    uint32_t count, nstack, ncalls, ncomponents;
};

static void enter_lock(struct tarjan *t, const struct rings *x, uint32_t lock)
{
    t->index[lock] = t->low[lock] = t->count++;
    t->next[lock] = x->after.first[lock];
    t->stack[t->nstack++] = lock;
    t->calls[t->ncalls++] = lock;
}

static void leave_lock(struct tarjan *t, struct rings *x, uint32_t lock)
{
    uint32_t member = NONE;

    t->ncalls--;
    if (t->ncalls) {
        uint32_t caller = t->calls[t->ncalls - 1];

        t->low[caller] = t->low[lock] < t->low[caller] ? t->low[lock] : t->low[caller];
    }
    if (t->low[lock] != t->index[lock])
        return;
    while (member != lock) {
        member = t->stack[--t->nstack];
        x->component[member] = t->ncomponents;
        x->members_of[t->ncomponents]++;
    }
    t->ncomponents++;
}

static void visit_lock(struct tarjan *t, struct rings *x, uint32_t root)
{
    enter_lock(t, x, root);
    while (t->ncalls) {
        uint32_t lock = t->calls[t->ncalls - 1], to;

        if (t->next[lock] == x->after.first[lock + 1]) {
            leave_lock(t, x, lock);
            continue;
        }
        to = x->after.items[t->next[lock]++];
        if (t->index[to] == NONE)
            enter_lock(t, x, to);
        else if (x->component[to] == NONE && t->index[to] < t->low[lock])
            t->low[lock] = t->index[to];
    }
}

static void find_components(struct rings *x)
{
    size_t n = (size_t)x->nlocks + 1;
    struct tarjan t = { .index = xmalloc(n * sizeof(uint32_t)),
                        .low = xmalloc(n * sizeof(uint32_t)),
                        .stack = xmalloc(n * sizeof(uint32_t)),
                        .calls = xmalloc(n * sizeof(uint32_t)),
                        .next = xmalloc(n * sizeof(size_t)) };

    x->component = xmalloc(n * sizeof(*x->component));
    x->members_of = xcalloc(n, sizeof(*x->members_of));
    for (uint32_t i = 0; i < x->nlocks; i++)
        t.index[i] = x->component[i] = NONE;
    for (uint32_t i = 0; i < x->nlocks; i++)
        if (t.index[i] == NONE)
            visit_lock(&t, x, i);
    free(t.index);
    free(t.low);
    free(t.stack);
    free(t.calls);
    free(t.next);
}

/* Does a way lead back from the lock requested to a lock held? Then it goes on to the last one
 * taken. A reader that wants to write holds the lock it requests. */
static bool is_cyclic(const struct rings *x, const struct request *r)
{
    const struct hold_set *s = &x->g->sets[r->set];
    uint32_t home = x->component[r->lock];

    uint32_t own = lockgraph_find(s, r->lock);

    if (r->lock < x->g->handed_cap && x->g->handed[r->lock])
        return false;
    return (own < s->count && s->holds[own].lock == r->lock) ||
           (x->component[r->top] == home && x->members_of[home] > 1);
}

/* Which requests are looked at, as far as there is room for the lists of those that hold a lock. */
static void find_cyclic(struct rings *x)
{
    const struct lockgraph *g = x->g;
    uint64_t total = 0;

    x->cyclic = xcalloc(g->nrequests + 1, sizeof(*x->cyclic));
    for (uint32_t i = 0; i < g->nrequests; i++) {
        uint32_t holds = g->sets[g->requests[i].set].count;

        if (!is_cyclic(x, &g->requests[i]))
            continue;
        x->cyclic[i] = total + holds <= HOLDERS_MAX;
        x->left_out |= !x->cyclic[i];
        total += x->cyclic[i] ? holds : 0;
    }
}

static void list_holders(struct rings *x)
{
    const struct lockgraph *g = x->g;

    lists_init(&x->holders, x->nlocks);
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < g->nrequests; i++) {
            const struct hold_set *s = &g->sets[g->requests[i].set];

            for (uint32_t k = 0; k < s->count && x->cyclic[i]; k++) {
                if (k && s->holds[k].lock == s->holds[k - 1].lock)
                    continue; /* held both ways: once is enough */
                if (fill)
                    x->holders.items[x->holders.first[s->holds[k].lock]++] = i;
                else
                    x->holders.first[s->holds[k].lock + 1]++;
            }
        }
        if (!fill)
            lists_sum(&x->holders, x->nlocks);
    }
    lists_settle(&x->holders, x->nlocks);
}

/* ---- rings ---- */

/* Can two threads hold these at the same time? */
static bool compatible(const struct hold_set *a, const struct hold_set *b)
{
    for (uint32_t i = 0, k = 0; i < a->count && k < b->count;) {
        const struct hold *x = &a->holds[i], *y = &b->holds[k];

        if (x->lock == y->lock && !(x->shared && y->shared))
            return false; /* holds of one lock: exclusive before shared, so none is missed */
        if (x->lock <= y->lock)
            i++;
        if (x->lock >= y->lock)
            k++;
    }
    return true;
}

/* May the request come next on the path, of which the last one waits for it? */
static bool fits(const struct rings *x, uint32_t depth, uint32_t number)
{
    const struct lockgraph *g = x->g;
    const struct request *r = &g->requests[number];

    for (uint32_t i = 0; i < depth; i++) {
        const struct request *p = &g->requests[x->path[i]];

        if (p->thread == r->thread || !compatible(&g->sets[p->set], &g->sets[r->set]))
            return false;
        if ((lockgraph_blocks(g, p, r) != NULL) != (i + 1 == depth))
            return false;
        if (i > 0 && lockgraph_blocks(g, r, p))
            return false;
    }
    return true;
}

static void lockrings_emit(struct rings *x)
{
    struct lockgraph *g = x->g;

    if (g->npatterns == PATTERNS_MAX) {
        g->cut = true;
        return;
    }
    GROW(g->patterns, g->patterns_cap, g->npatterns + 1);
    g->patterns[g->npatterns++] = (struct pattern){ g->nmembers, x->length };
    for (uint32_t i = 0; i < x->length; i++) {
        GROW(g->members, g->members_cap, g->nmembers + 1);
        g->members[g->nmembers++] = x->path[i];
    }
}

static void extend(struct rings *x, uint32_t depth)
{
    const struct request *start = &x->g->requests[x->path[0]];
    uint32_t lock = x->g->requests[x->path[depth - 1]].lock;

    for (size_t i = x->holders.first[lock]; i < x->holders.first[lock + 1] && !x->g->cut; i++) {
        uint32_t next = x->holders.items[i];

        x->looks += 1 + x->g->sets[x->g->requests[next].set].count / HOLDS_A_LOOK;
        if (x->looks > SEARCH_MAX)
            x->g->cut = true;
        if (next <= x->path[0] || !x->cyclic[next] || !fits(x, depth, next))
            continue;
        x->path[depth] = next;
        if (!lockgraph_blocks(x->g, &x->g->requests[next], start)) {
            if (depth + 1 < x->length)
                extend(x, depth + 1);
            else
                x->deeper = true;
        } else if (depth + 1 == x->length) {
            lockrings_emit(x);
        }
    }
}

/* Threads that wait for themselves: larger rings with them have a smaller one inside. */
static void search_alone(struct rings *x)
{
    x->length = 1;
    for (uint32_t i = 0; i < x->g->nrequests && !x->g->cut; i++) {
        const struct request *r = &x->g->requests[i];

        if (!r->at_end || !x->cyclic[i] || !lockgraph_blocks(x->g, r, r))
            continue;
        x->path[0] = i;
        lockrings_emit(x);
        x->cyclic[i] = false;
    }
}

static void lockrings_search(struct rings *x)
{
    search_alone(x);
    x->deeper = true;
    for (x->length = 2; x->deeper && !x->g->cut && x->length <= RING_MAX; x->length++) {
        x->deeper = false;
        for (uint32_t i = 0; i < x->g->nrequests && !x->g->cut; i++) {
            if (!x->cyclic[i])
                continue;
            x->path[0] = i;
            extend(x, 1);
        }
    }
    x->g->cut |= x->deeper || x->left_out;
}

void lockgraph_rings(struct lockgraph *g)
{
    struct rings x = { .g = g };

    for (size_t i = 0; i < g->nsets; i++)
        for (uint32_t k = 0; k < g->sets[i].count; k++)
            x.nlocks =
                x.nlocks > g->sets[i].holds[k].lock ? x.nlocks : g->sets[i].holds[k].lock + 1;
    for (size_t i = 0; i < g->nrequests; i++)
        x.nlocks = x.nlocks > g->requests[i].lock ? x.nlocks : g->requests[i].lock + 1;
    make_edges(&x);
    find_components(&x);
    find_cyclic(&x);
    list_holders(&x);
    lockrings_search(&x);
    lists_release(&x.after);
    lists_release(&x.holders);
    free(x.component);
    free(x.members_of);
    free(x.cyclic);
}
