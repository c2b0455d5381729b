/* flip_join.c - where the outcomes of a branch meet again
 *
 * Immediate post-dominators of the blocks of a function: dominators of the reversed graph
 * whose root is behind all returns (Cooper, Harvey, Kennedy: "A simple, fast dominance
 * algorithm"). Blocks that never end (an endless loop) have the function's end, too; so
 * does everything in functions with computed gotos, whose targets are not listed.
 */
#include "execution/flip_inside.h"
#include "base/alloc.h"

#include <stdlib.h>

struct graph {
    const struct code *c;
    uint32_t n;      /* blocks; the end is number n */
    uint32_t *order; /* node -> its number in postorder of the reversed graph, from 1; 0: not met */
    uint32_t *nodes; /* by that number, descending from the end */
    uint32_t count;
    uint32_t *idom;
};

static const struct inst *last_of(const struct code *c, uint32_t block)
{
    uint32_t end = block + 1 < c->nblocks ? c->blocks[block + 1].first : c->ninsts;

    return end > c->blocks[block].first ? &c->insts[end - 1] : NULL;
}

/* The successors of a block; UINT32_MAX: they are not listed. */
static uint32_t successors(const struct code *c, uint32_t block, const int64_t **to, int64_t two[2])
{
    const struct inst *i = last_of(c, block);
    const struct code_call *call;

    if (!i)
        return 0;
    *to = &c->extras[i->extra];
    switch (i->op) {
    case I_JUMP:
        return 1;
    case I_BRANCH:
        return 2;
    case I_SWITCH:
        return i->noperands;
    case I_CALL:
        call = &c->calls[c->extras[i->extra]];
        if (call->normal == CODE_NONE)
            return 0;
        two[0] = call->normal;
        two[1] = call->unwind;
        *to = two;
        return 2;
    case I_GOTO:
        return UINT32_MAX;
    default:
        return 0;
    }
}

/* Predecessors of the reversed graph's walk: packed lists of who jumps to a node. */
static uint32_t *list_predecessors(const struct code *c, uint32_t *first)
{
    uint32_t n = c->nblocks, *list, *next;
    const int64_t *to = NULL;
    int64_t two[2];

    for (uint32_t b = 0; b < n; b++) {
        uint32_t k = successors(c, b, &to, two);

        first[(k ? (uint32_t)to[0] : n) + 1] += k ? 0 : 1;
        for (uint32_t i = 0; i < k; i++)
            first[to[i] + 1]++;
    }
    for (uint32_t b = 0; b <= n; b++)
        first[b + 1] += first[b];
    list = xmalloc((first[n + 1] + (size_t)1) * sizeof(*list));
    next = xmalloc((n + (size_t)1) * sizeof(*next));
    for (uint32_t b = 0; b <= n; b++)
        next[b] = first[b];
    for (uint32_t b = 0; b < n; b++) {
        uint32_t k = successors(c, b, &to, two);

        if (!k)
            list[next[n]++] = b;
        for (uint32_t i = 0; i < k; i++)
            list[next[to[i]]++] = b;
    }
    free(next);
    return list;
}

static void number_nodes(struct graph *g, const uint32_t *first, const uint32_t *list)
{
    uint32_t *stack = xmalloc((g->n + (size_t)1) * sizeof(*stack)), depth = 1;
    uint32_t *at = xcalloc(g->n + (size_t)1, sizeof(*at));

    stack[0] = g->n;
    g->order[g->n] = UINT32_MAX; /* met, not left */
    while (depth) {
        uint32_t node = stack[depth - 1];

        if (first[node] + at[node] < first[node + 1]) {
            uint32_t next = list[first[node] + at[node]++];

            if (!g->order[next]) {
                g->order[next] = UINT32_MAX;
                stack[depth++] = next;
            }
            continue;
        }
        g->nodes[g->count] = node;
        g->order[node] = ++g->count;
        depth--;
    }
    free(stack);
    free(at);
}

static uint32_t flip_join_meet(const struct graph *g, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (g->order[a] < g->order[b])
            a = g->idom[a];
        while (g->order[b] < g->order[a])
            b = g->idom[b];
    }
    return a;
}

static uint32_t best_of(const struct graph *g, uint32_t node)
{
    const int64_t *to = NULL;
    int64_t two[2];
    uint32_t k = successors(g->c, node, &to, two), best = k ? CODE_NONE : g->n;

    for (uint32_t i = 0; i < k; i++) {
        uint32_t s = (uint32_t)to[i];

        if (g->order[s] && g->idom[s] != CODE_NONE)
            best = best == CODE_NONE ? s : flip_join_meet(g, best, s);
    }
    return best;
}

static void find_dominators(struct graph *g)
{
    bool changed = true;

    g->idom[g->n] = g->n;
    while (changed) {
        changed = false;
        for (uint32_t i = g->count; i-- > 0;) {
            uint32_t node = g->nodes[i], best;

            if (node == g->n)
                continue;
            best = best_of(g, node);
            changed |= best != g->idom[node];
            g->idom[node] = best;
        }
    }
}

static bool has_goto(const struct code *c)
{
    const int64_t *to = NULL;
    int64_t two[2];

    for (uint32_t b = 0; b < c->nblocks; b++)
        if (successors(c, b, &to, two) == UINT32_MAX)
            return true;
    return false;
}

uint32_t *joins_of(const struct code *c)
{
    struct graph g = { .c = c, .n = c->nblocks };
    size_t n = c->nblocks + (size_t)1;
    uint32_t *first = xcalloc(n + 2, sizeof(*first)), *list;

    g.idom = xmalloc(n * sizeof(*g.idom));
    for (size_t i = 0; i < n; i++)
        g.idom[i] = CODE_NONE;
    if (!has_goto(c)) {
        g.order = xcalloc(n, sizeof(*g.order));
        g.nodes = xmalloc(n * sizeof(*g.nodes));
        list = list_predecessors(c, first);
        number_nodes(&g, first, list);
        find_dominators(&g);
        free(list);
        free(g.order);
        free(g.nodes);
    }
    free(first);
    for (uint32_t i = 0; i < c->nblocks; i++)
        if (g.idom[i] == c->nblocks)
            g.idom[i] = CODE_NONE;
    return g.idom;
}
