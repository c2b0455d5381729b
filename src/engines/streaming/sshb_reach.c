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
#include "engines/streaming/sshb_graph_inside.h"

#include <stdlib.h>
#include <string.h>

/* Those of a component that are in the slots of the group. */
static inline void sweep_sinks(struct sshb_graph *g, uint32_t c, uint32_t *reach, uint32_t lanes)
{
    uint32_t end = g->out_first[c + 1], e = g->out_cursor[c];

    while (e < end && g->slot[g->out[e]] < g->base)
        e++;
    g->out_cursor[c] = e;
    for (; e < end && g->slot[g->out[e]] - g->base < lanes; e++) {
        uint32_t lane = g->slot[g->out[e]] - g->base;
        uint32_t position = g->reach[(size_t)g->component[g->out[e]] * lanes + lane];

        reach[lane] = position < reach[lane] ? position : reach[lane];
    }
}

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
        }
        for (uint32_t e = g->out_first[c]; e < g->out_sinks[c]; e++) {
            const uint32_t *next = g->reach + (size_t)g->component[g->out[e]] * lanes;

            for (uint32_t i = 0; i < lanes; i++)
                reach[i] = next[i] < reach[i] ? next[i] : reach[i];
        }
        sweep_sinks(g, c, reach, lanes);
    }
}

void sshb_graph_sweep(struct sshb_graph *g, uint32_t base)
{
    g->base = base;
    g->nways = 0;
    map_clear(&g->ways_of);
    sweep_nodes(g, g->lanes);
    g->work += g->nodes + g->out_first[g->components];
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
    for (uint32_t e = g->out_first[component]; e < g->out_sinks[component]; e++)
        note_way(g, w, g->out[e]);
    for (uint32_t e = g->out_cursor[component];
         e < g->out_first[component + 1] && g->slot[g->out[e]] - g->base < g->lanes; e++)
        note_way(g, w, g->out[e]);
    g->work += g->out_sinks[component] - g->out_first[component];
    return w;
}

static int compare_arrivals(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;

    if (x->component != y->component)
        return x->component < y->component ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->variable < y->variable ? -1 : x->variable > y->variable;
}

/* The candidates by their targets. */
static void turn_candidates(struct sshb_graph *g)
{
    const struct sshb_facts *f = g->facts;

    g->arriving_first = xcalloc(g->nodes + (size_t)2, sizeof(*g->arriving_first));
    g->arriving = xcalloc(f->ncandidates + 1, sizeof(*g->arriving));
    for (size_t i = 0; i < f->ncandidates; i++)
        g->arriving_first[graph_node_at(g, f->candidates[i].to.position) + 2]++;
    for (uint32_t n = 0; n < g->nodes; n++)
        g->arriving_first[n + 2] += g->arriving_first[n + 1];
    for (size_t i = 0; i < f->ncandidates; i++) {
        const struct sshb_candidate *c = &f->candidates[i];
        uint32_t from = graph_node_at(g, c->from.position);

        g->arriving[g->arriving_first[graph_node_at(g, c->to.position) + 1]++] =
            (struct arrival){ g->component[from], from, c->variable, c->second };
    }
    for (uint32_t n = 0; n < g->nodes; n++)
        if (g->arriving_first[n + 1] - g->arriving_first[n] > 1)
            qsort(g->arriving + g->arriving_first[n],
                  g->arriving_first[n + 1] - g->arriving_first[n], sizeof(*g->arriving),
                  compare_arrivals);
}

/* A part of the arrivals at a node. */
struct arrivals {
    const struct arrival *list;
    size_t count;
};

/* Those at r from the component of w, or (`alone`) from w itself. */
static struct arrivals arrivals_from(const struct sshb_graph *g, uint32_t w, uint32_t r, bool alone)
{
    const struct arrival *all = g->arriving + g->arriving_first[r];
    size_t low = 0, high = g->arriving_first[r + 1] - g->arriving_first[r], end = high;
    struct arrival key = { g->component[w], alone ? w : 0, 0, 0 };

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_arrivals(&all[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < end && all[high].component == key.component; high++)
        if (alone && all[high].from != w)
            break;
    return (struct arrivals){ all + low, high - low };
}

/* Happens-before, or memory that the source allocated: no candidate of the target. Numbers of
 * edges with such sources are counted, or their sources put in place. */
static void visit_firm_edges(struct sshb_graph *g, bool put)
{
    for (uint32_t n = 0; n < g->nodes; n++)
        for (uint32_t e = g->first[n]; e < g->first[n + 1]; e++) {
            uint32_t to = g->to[e];

            if (e >= g->others[n] && arrivals_from(g, n, to, true).count)
                continue;
            if (put)
                g->into[g->into_first[to + 1]++] = n;
            else
                g->into_first[to + 2]++;
        }
}

/* The edges by their targets, without candidates. */
static void turn_edges(struct sshb_graph *g)
{
    g->into_first = xcalloc(g->nodes + (size_t)2, sizeof(*g->into_first));
    visit_firm_edges(g, false);
    for (uint32_t n = 0; n < g->nodes; n++)
        g->into_first[n + 2] += g->into_first[n + 1];
    g->into = xcalloc(g->into_first[g->nodes + 1] + (size_t)1, sizeof(*g->into));
    visit_firm_edges(g, true);
    g->visited = xcalloc(g->nodes + (size_t)1, sizeof(*g->visited));
    g->queue = xcalloc(g->nodes + (size_t)1, sizeof(*g->queue));
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

        g->work++;
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

static bool is_candidate(const struct sshb_graph *g, uint32_t w, uint32_t r)
{
    return graph_has(g->to, g->others[w], g->first[w + 1], r);
}

/* Is each variable of the one among those of the other? Both are sorted. */
static bool superseded(struct arrivals by, struct arrivals these)
{
    size_t k = 0;

    for (size_t i = 0; i < these.count; i++) {
        while (k < by.count && by.list[k].variable < these.list[i].variable)
            k++;
        if (k == by.count || by.list[k].variable != these.list[i].variable)
            return false;
    }
    return true;
}

/* Does r have another candidate in the component of w that w does not supersede? */
static bool other_candidate(struct sshb_graph *g, uint32_t w, uint32_t r)
{
    struct arrivals own = arrivals_from(g, w, r, true), all = arrivals_from(g, w, r, false);
    size_t n;

    for (size_t i = 0; i < all.count; i += n) {
        uint32_t b = all.list[i].from;

        for (n = 1; i + n < all.count && all.list[i + n].from == b; n++)
            ;
        g->work += n;
        if (b != w &&
            !(superseded(own, (struct arrivals){ all.list + i, n }) && happens_before(g, b, w)))
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
        return graph_has(g->to, g->first[w], g->others[w], r);
    if (!g->into)
        turn_edges(g);
    g->work += g->into_first[r + 1] - g->into_first[r];
    for (uint32_t i = g->into_first[r]; i < g->into_first[r + 1]; i++)
        if (g->component[g->into[i]] == c)
            return true;
    return other_candidate(g, w, r);
}

/* Does w lead to a later read of the same variable that is in a cycle with r?
 */
static bool second_read_leads(struct sshb_graph *g, uint32_t w, uint32_t r)
{
    struct arrivals own = arrivals_from(g, w, r, true);

    g->work += own.count;
    for (size_t i = 0; i < own.count; i++) {
        struct sshb_point second = { g->slot[r], own.list[i].second };

        if (second.position == SSHB_NONE || (i && second.position == own.list[i - 1].second))
            continue;
        if (sshb_graph_reach(g, second, second.slot) <= g->position[r])
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
