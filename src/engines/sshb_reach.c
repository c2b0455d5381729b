/* sshb_reach.c - who reaches whom in a graph over the events of slots
 *
 * A component reaches in each slot what its nodes and the components behind
 * its edges reach; these come before it in the order of their numbers.
 *
 * The direct edge. A race (w, r) whose write is a candidate of its read must
 * not be ordered by that edge. If w and r are in one component then r reaches
 * w, and the edge does not matter. Else the path must leave w's component C
 * through another edge (b, c) such that c reaches r. Each b in C is reachable
 * from w without the direct edge, which lies outside C. So per slot the
 * smallest two positions that edges to different nodes c lead to answer the
 * question, except for edges (b, r) to the read itself: such a candidate
 * counts unless it is outdated, that is b happens before w and w is a
 * candidate for the same variable. (The facts hold outdated ones where writes
 * of several threads supersede each other.) That takes a search, inside C,
 * for the few races that depend on it.
 */
#include "base/alloc.h"
#include "engines/sshb_graph_inside.h"

#include <stdlib.h>
#include <string.h>

/* SSE2 has no unsigned minimum. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx2", "default")))
#endif
static void
sweep_nodes(struct sshb_graph *g, uint32_t lanes)
{
    for (uint32_t c = 0; c < g->components; c++) {
        uint32_t *reach = g->reach + (size_t)c * lanes;

        for (uint32_t i = 0; i < lanes; i++)
            reach[i] = SSHB_NONE;
        for (uint32_t m = g->member_first[c]; m < g->member_first[c + 1]; m++) {
            uint32_t n = g->member[m], lane = g->slot[n] - g->base;

            if (lane < lanes && g->position[n] < reach[lane])
                reach[lane] = g->position[n];
            for (uint32_t e = g->first[n]; e < g->first[n + 1]; e++) {
                const uint32_t *next = g->reach + (size_t)g->component[g->to[e]] * lanes;

                for (uint32_t i = 0; i < lanes; i++)
                    reach[i] = next[i] < reach[i] ? next[i] : reach[i];
            }
        }
    }
}

void sshb_graph_sweep(struct sshb_graph *g, uint32_t base)
{
    g->base = base;
    g->nways = 0;
    map_clear(&g->ways_of);
    sweep_nodes(g, g->lanes);
}

static uint32_t reach_of(const struct sshb_graph *g, uint32_t node, uint32_t slot)
{
    return g->reach[(size_t)g->component[node] * g->lanes + (slot - g->base)];
}

/* The first node of a slot at or behind a position; SSHB_NONE. Questions come
 * in the order of the trace, more or less, so the search starts where the last
 * one ended. */
static uint32_t next_node(struct sshb_graph *g, struct sshb_point p)
{
    const uint32_t *chain = g->chain + g->chain_first[p.slot];
    uint32_t count = g->chain_first[p.slot + 1] - g->chain_first[p.slot];
    uint32_t low = g->cursor[p.slot], high = low, step = 1;

    if (graph_is_node(g, p.position))
        return graph_node_at(g, p.position);
    while (low > 0 && g->position[chain[low - 1]] >= p.position) {
        high = low - 1;
        low = low > step ? low - step : 0;
        step *= 2;
    }
    for (step = 1; high < count && g->position[chain[high]] < p.position; step *= 2) {
        low = high + 1;
        high = count - high > step ? high + step : count;
    }
    while (low < high) { /* the answer is in [low, high] */
        uint32_t middle = low + (high - low) / 2;

        if (g->position[chain[middle]] < p.position)
            low = middle + 1;
        else
            high = middle;
    }
    g->cursor[p.slot] = low;
    return low < count ? chain[low] : SSHB_NONE;
}

uint32_t sshb_graph_reach(struct sshb_graph *g, struct sshb_point from, uint32_t slot)
{
    uint32_t n = next_node(g, from);

    return n == SSHB_NONE ? SSHB_NONE : reach_of(g, n, slot);
}

/* ---- paths besides the direct edge ---- */

static void note_way(struct sshb_graph *g, struct ways_out *w, uint32_t to)
{
    const uint32_t *reach = g->reach + (size_t)g->component[to] * g->lanes;

    for (uint32_t i = 0; i < g->lanes; i++) {
        if (w->through[i] == to)
            continue;
        if (reach[i] < w->first[i]) {
            w->second[i] = w->first[i];
            w->first[i] = reach[i];
            w->through[i] = to;
        } else if (reach[i] < w->second[i]) {
            w->second[i] = reach[i];
        }
    }
}

static const struct ways_out *ways_out_of(struct sshb_graph *g, uint32_t component)
{
    uint32_t *number = map_put(&g->ways_of, component, SSHB_NONE);
    struct ways_out *w;

    if (*number != SSHB_NONE)
        return &g->ways[*number];
    *number = (uint32_t)g->nways;
    GROW(g->ways, g->ways_cap, g->nways + 1);
    w = &g->ways[g->nways++];
    memset(w, 0xff, sizeof(*w));
    w->component = component;
    for (uint32_t m = g->member_first[component]; m < g->member_first[component + 1]; m++)
        for (uint32_t e = g->first[g->member[m]]; e < g->first[g->member[m] + 1]; e++)
            if (g->component[g->to[e]] != component)
                note_way(g, w, g->to[e]);
    return w;
}

/* The edges by their targets. */
static void turn_edges(struct sshb_graph *g)
{
    g->into_first = xcalloc(g->nodes + 2, sizeof(*g->into_first));
    g->into = xcalloc(g->first[g->nodes] + 1, sizeof(*g->into));
    for (uint32_t e = 0; e < g->first[g->nodes]; e++)
        g->into_first[g->to[e] + 2]++;
    for (uint32_t n = 0; n < g->nodes; n++)
        g->into_first[n + 2] += g->into_first[n + 1];
    for (uint32_t n = 0; n < g->nodes; n++)
        for (uint32_t e = g->first[n]; e < g->first[n + 1]; e++)
            g->into[g->into_first[g->to[e] + 1]++] = n;
    g->visited = xcalloc(g->nodes + 1, sizeof(*g->visited));
    g->queue = xcalloc(g->nodes + 1, sizeof(*g->queue));
}

/* The candidates by their targets: like turn_edges(), but with what they are
 * about. */
static void turn_candidates(struct sshb_graph *g)
{
    const struct sshb_facts *f = g->facts;

    g->arriving_first = xcalloc(g->nodes + 2, sizeof(*g->arriving_first));
    g->arriving = xcalloc(f->ncandidates + 1, sizeof(*g->arriving));
    for (uint32_t i = 0; i < f->ncandidates; i++)
        g->arriving_first[graph_node_at(g, f->candidates[i].to.position) + 2]++;
    for (uint32_t n = 0; n < g->nodes; n++)
        g->arriving_first[n + 2] += g->arriving_first[n + 1];
    for (uint32_t i = 0; i < f->ncandidates; i++)
        g->arriving[g->arriving_first[graph_node_at(g, f->candidates[i].to.position) + 1]++] = i;
}

/* Does a happen before b? Both are in one component; order edges only go
 * forward. */
static bool happens_before(struct sshb_graph *g, uint32_t a, uint32_t b)
{
    uint32_t head = 0, tail = 0;

    g->visit++;
    g->queue[tail++] = a;
    while (head < tail) {
        uint32_t n = g->queue[head++];

        if (n == b)
            return true;
        for (uint32_t e = g->first[n]; e < g->others[n]; e++) {
            uint32_t m = g->to[e];

            if (m > b || g->component[m] != g->component[b] || g->visited[m] == g->visit)
                continue;
            g->visited[m] = g->visit;
            g->queue[tail++] = m;
        }
    }
    return false;
}

static bool has_edge(const struct sshb_graph *g, uint32_t from, uint32_t end, uint32_t to)
{
    for (uint32_t e = from; e < end; e++)
        if (g->to[e] == to)
            return true;
    return false;
}

static bool is_candidate(const struct sshb_graph *g, uint32_t w, uint32_t r)
{
    return has_edge(g, g->others[w], g->first[w + 1], r);
}

/* Is the write w another candidate for the same variable of the same read? */
static bool superseded(const struct sshb_graph *g, uint32_t w, uint32_t r, uint32_t variable)
{
    for (uint32_t i = g->arriving_first[r]; i < g->arriving_first[r + 1]; i++) {
        const struct sshb_candidate *c = &g->facts->candidates[g->arriving[i]];

        if (c->variable == variable && c->from.position == g->position[w])
            return true;
    }
    return false;
}

/* Is b a candidate of r? */
static bool arrives_from(const struct sshb_graph *g, uint32_t b, uint32_t r)
{
    for (uint32_t i = g->arriving_first[r]; i < g->arriving_first[r + 1]; i++)
        if (g->facts->candidates[g->arriving[i]].from.position == g->position[b])
            return true;
    return false;
}

static bool other_candidate(struct sshb_graph *g, uint32_t w, uint32_t r)
{
    for (uint32_t i = g->arriving_first[r]; i < g->arriving_first[r + 1]; i++) {
        const struct sshb_candidate *c = &g->facts->candidates[g->arriving[i]];
        uint32_t b = graph_node_at(g, c->from.position);

        if (b != w && g->component[b] == g->component[w] &&
            !(superseded(g, w, r, c->variable) && happens_before(g, b, w)))
            return true;
    }
    return false;
}

/* Does another edge lead from the component of w right to r, one that is not
 * outdated? */
static bool other_edge_to(struct sshb_graph *g, uint32_t w, uint32_t r)
{
    uint32_t c = g->component[w];

    if (g->member_first[c + 1] - g->member_first[c] == 1)
        return has_edge(g, g->first[w], g->others[w], r);
    if (!g->into)
        turn_edges(g);
    for (uint32_t i = g->into_first[r]; i < g->into_first[r + 1]; i++) {
        uint32_t b = g->into[i];

        if (g->component[b] == g->component[w] &&
            (has_edge(g, g->first[b], g->others[b], r) || !arrives_from(g, b, r)))
            return true; /* happens-before, or memory that b allocated */
    }
    return other_candidate(g, w, r);
}

/* Does w lead to a later read of the same variable that is in a cycle with r?
 */
static bool second_read_leads(struct sshb_graph *g, uint32_t w, uint32_t r)
{
    for (uint32_t i = g->arriving_first[r]; i < g->arriving_first[r + 1]; i++) {
        const struct sshb_candidate *c = &g->facts->candidates[g->arriving[i]];
        struct sshb_point second = { c->to.slot, c->second };

        if (c->from.position == g->position[w] && c->second != SSHB_NONE &&
            sshb_graph_reach(g, second, c->to.slot) <= g->position[r])
            return true;
    }
    return false;
}

/* A path from w to r besides the direct edge; they are in different components.
 */
static bool joined_otherwise(struct sshb_graph *g, uint32_t w, uint32_t r)
{
    const struct ways_out *ways = ways_out_of(g, g->component[w]);
    uint32_t lane = g->slot[r] - g->base;
    uint32_t best = ways->through[lane] == r ? ways->second[lane] : ways->first[lane];

    if (best <= g->position[r])
        return true;
    if (!g->arriving)
        turn_candidates(g);
    return second_read_leads(g, w, r) || other_edge_to(g, w, r);
}

bool sshb_graph_joins(struct sshb_graph *g, struct sshb_point a, struct sshb_point b)
{
    uint32_t n = next_node(g, a), m;

    if (n == SSHB_NONE || reach_of(g, n, b.slot) > b.position)
        return false;
    if (g->position[n] != a.position || !graph_is_node(g, b.position))
        return true;
    m = graph_node_at(g, b.position);
    if (g->component[n] == g->component[m] || !is_candidate(g, n, m))
        return true;
    return joined_otherwise(g, n, m);
}
