/* sshb_graph.c - nodes, edges and components of a graph over the events of
 * slots
 *
 * Nodes are numbered by position, so order edges go to larger numbers and
 * only candidate edges may go back. Without any that do the components are
 * the nodes themselves, in reverse order; else Tarjan's algorithm finds them,
 * in reverse topological order as well.
 */
#include "base/alloc.h"
#include "engines/streaming/sshb_graph_inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

static void sshb_graph_mark(struct sshb_graph *g, uint32_t position)
{
    g->mark[position / 64] |= (uint64_t)1 << position % 64;
}

/* Called for each edge of this kind of graph; `order`: it belongs to
 * happens-before. */
typedef void visit_edge(struct sshb_graph *g, struct sshb_point from, struct sshb_point to,
                        bool order);

static void visit_edges(struct sshb_graph *g, const struct sshb_facts *f, enum sshb_graph_kind kind,
                        visit_edge *visit)
{
    for (size_t i = 0; i < f->nedges; i++)
        visit(g, f->edges[i].from, f->edges[i].to, true);
    for (size_t i = 0; i < f->nbirths; i++)
        visit(g, f->births[i].from, f->births[i].to, false);
    for (size_t i = 0; kind == GRAPH_CANDIDATES && i < f->ncandidates; i++)
        visit(g, f->candidates[i].from, f->candidates[i].to, false);
    for (size_t i = 0; kind == GRAPH_CANDIDATES && f->unordered && i < f->nloose; i++)
        visit(g, f->loose[i].from, f->loose[i].to, false);
    for (size_t i = 0; kind != GRAPH_CANDIDATES && i < f->nobserved; i++)
        if (kind == GRAPH_OBSERVED || !f->observed[i].removable)
            visit(g, f->observed[i].from, f->observed[i].to, false);
}

static void mark_ends(struct sshb_graph *g, struct sshb_point from, struct sshb_point to,
                      bool order)
{
    (void)order;
    sshb_graph_mark(g, from.position);
    sshb_graph_mark(g, to.position);
}

static void number_nodes(struct sshb_graph *g, const struct sshb_facts *f,
                         enum sshb_graph_kind kind)
{
    size_t words = f->events / 64 + 1;

    g->mark = xcalloc(words, sizeof(*g->mark));
    g->rank = xcalloc(words, sizeof(*g->rank));
    visit_edges(g, f, kind, mark_ends);
    for (size_t i = 0; i < words; i++) {
        g->rank[i] = g->nodes;
        g->nodes += (uint32_t)__builtin_popcountll(g->mark[i]);
    }
    g->position = xcalloc(g->nodes + 1, sizeof(*g->position));
    g->slot = xcalloc(g->nodes + 1, sizeof(*g->slot));
}

/* ---- edges ---- */

/* first[n + 1] counts the order edges of n, others[n] the others. */
static void count_edge(struct sshb_graph *g, struct sshb_point from, struct sshb_point to,
                       bool order)
{
    uint32_t a = graph_node_at(g, from.position), b = graph_node_at(g, to.position);

    g->position[a] = from.position;
    g->slot[a] = from.slot;
    g->position[b] = to.position;
    g->slot[b] = to.slot;
    if (order)
        g->first[a + 1]++;
    else
        g->others[a]++;
}

/* Both `first` and `others` are at the beginning of what is still to be filled.
 */
static void put_edge(struct sshb_graph *g, struct sshb_point from, struct sshb_point to, bool order)
{
    uint32_t a = graph_node_at(g, from.position), b = graph_node_at(g, to.position);

    g->to[order ? g->first[a]++ : g->others[a]++] = b;
}

/* The next node of the same slot is the first edge of a node. */
static void count_chains(struct sshb_graph *g)
{
    g->chain_first = xcalloc(g->nslots + 2, sizeof(*g->chain_first));
    g->chain = xcalloc(g->nodes + 1, sizeof(*g->chain));
    g->cursor = xcalloc(g->nslots + 1, sizeof(*g->cursor));
    for (uint32_t n = 0; n < g->nodes; n++)
        g->chain_first[g->slot[n] + 2]++;
    for (uint32_t s = 0; s < g->nslots; s++)
        g->chain_first[s + 2] += g->chain_first[s + 1];
    for (uint32_t n = 0; n < g->nodes; n++)
        g->chain[g->chain_first[g->slot[n] + 1]++] = n;
    for (uint32_t s = 0; s < g->nslots; s++)
        for (uint32_t i = g->chain_first[s]; i + 1 < g->chain_first[s + 1]; i++)
            g->first[g->chain[i] + 1]++;
}

/* From counts to places: first[n], others[n] where the two parts of n's edges
 * begin. */
static uint32_t place_edges(struct sshb_graph *g)
{
    uint32_t total = 0;

    for (uint32_t n = 0; n < g->nodes; n++) {
        uint32_t order = g->first[n + 1], others = g->others[n];

        g->first[n] = total;
        g->others[n] = total + order;
        total += order + others;
        /* first[n + 1] is still read as a count in the next round */
    }
    return total;
}

static void fill_edges(struct sshb_graph *g, const struct sshb_facts *f, enum sshb_graph_kind kind)
{
    uint32_t total;

    g->first = xcalloc(g->nodes + 2, sizeof(*g->first));
    g->others = xcalloc(g->nodes + 1, sizeof(*g->others));
    visit_edges(g, f, kind, count_edge);
    count_chains(g);
    total = place_edges(g);
    g->to = xcalloc(total + 1, sizeof(*g->to));
    for (uint32_t s = 0; s < g->nslots; s++)
        for (uint32_t i = g->chain_first[s]; i + 1 < g->chain_first[s + 1]; i++)
            g->to[g->first[g->chain[i]]++] = g->chain[i + 1];
    visit_edges(g, f, kind, put_edge);
    /* Now first[n] is where the other edges of n begin, others[n] where they end.
     */
    for (uint32_t n = g->nodes; n-- > 0;) {
        uint32_t end = g->others[n];

        g->others[n] = g->first[n];
        g->first[n + 1] = end;
    }
    g->first[0] = 0;
}

static int compare_nodes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Sorts nodes and drops those that are there twice. How many are left? */
static uint32_t sort_nodes(uint32_t *nodes, uint32_t n)
{
    uint32_t kept = 0;

    if (n > 1)
        qsort(nodes, n, sizeof(*nodes), compare_nodes);
    for (uint32_t i = 0; i < n; i++)
        if (!kept || nodes[kept - 1] != nodes[i])
            nodes[kept++] = nodes[i];
    return kept;
}

/* Each variable that two accesses share has a candidate of its own; here one edge is enough. */
static void sort_edges(struct sshb_graph *g)
{
    uint32_t total = 0, begin = 0;

    for (uint32_t n = 0; n < g->nodes; n++) {
        uint32_t middle = g->others[n], end = g->first[n + 1];
        uint32_t order = sort_nodes(g->to + begin, middle - begin);
        uint32_t others = sort_nodes(g->to + middle, end - middle);

        memmove(g->to + total, g->to + begin, order * sizeof(*g->to));
        memmove(g->to + total + order, g->to + middle, others * sizeof(*g->to));
        g->first[n] = total;
        g->others[n] = total + order;
        total += order + others;
        begin = end;
    }
    g->first[g->nodes] = total;
}

/* ---- components ---- */

static bool goes_back(const struct sshb_graph *g)
{
    for (uint32_t n = 0; n < g->nodes; n++)
        for (uint32_t e = g->others[n]; e < g->first[n + 1]; e++)
            if (g->to[e] <= n)
                return true;
    return false;
}

static void close_component(struct sshb_graph *g, const uint32_t *stack, uint32_t *depth,
                            uint32_t root, uint32_t *members)
{
    uint32_t n, size = 0;

    do {
        n = stack[--*depth];
        g->component[n] = g->components;
        g->member[(*members)++] = n;
        size++;
    } while (n != root);
    g->components++;
    g->member_first[g->components] = *members;
    g->cycles += size > 1;
}

/* Tarjan's strongly connected components, without recursion: `next` is the edge
 * each open node is at, `low` the oldest open node it reaches (numbers from 1,
 * 0: not visited). */
struct tarjan {
    uint32_t *number, *low, *next;
    uint32_t *stack, depth; /* nodes without a component yet */
    uint32_t *path, length; /* of the search */
    uint32_t visited, members;
};

static void enter(struct sshb_graph *g, struct tarjan *t, uint32_t n)
{
    t->number[n] = t->low[n] = ++t->visited;
    t->next[n] = g->first[n];
    t->stack[t->depth++] = n;
    t->path[t->length++] = n;
}

static void sshb_graph_leave(struct sshb_graph *g, struct tarjan *t, uint32_t n)
{
    t->length--;
    if (t->low[n] == t->number[n])
        close_component(g, t->stack, &t->depth, n, &t->members);
    if (t->length) {
        uint32_t up = t->path[t->length - 1];

        if (t->low[n] < t->low[up] && g->component[n] == SSHB_NONE)
            t->low[up] = t->low[n];
    }
}

static void search_from(struct sshb_graph *g, struct tarjan *t, uint32_t root)
{
    enter(g, t, root);
    while (t->length) {
        uint32_t n = t->path[t->length - 1], m;

        if (t->next[n] == g->first[n + 1]) {
            sshb_graph_leave(g, t, n);
            continue;
        }
        m = g->to[t->next[n]++];
        if (!t->number[m])
            enter(g, t, m);
        else if (g->component[m] == SSHB_NONE && t->number[m] < t->low[n])
            t->low[n] = t->number[m];
    }
}

static void tarjan(struct sshb_graph *g)
{
    size_t n = g->nodes;
    uint32_t *memory = xcalloc(n * 5 + 1, sizeof(*memory));
    struct tarjan t = { .number = memory,
                        .low = memory + n,
                        .next = memory + 2 * n,
                        .stack = memory + 3 * n,
                        .path = memory + 4 * n };

    memset(g->component, 0xff, n * sizeof(*g->component));
    for (uint32_t i = 0; i < g->nodes; i++)
        if (!t.number[i])
            search_from(g, &t, i);
    free(memory);
}

static void find_components(struct sshb_graph *g)
{
    g->component = xcalloc(g->nodes + 1, sizeof(*g->component));
    g->member_first = xcalloc(g->nodes + 1, sizeof(*g->member_first));
    g->member = xcalloc(g->nodes + 1, sizeof(*g->member));
    if (goes_back(g)) {
        tarjan(g);
        return;
    }
    g->components = g->nodes;
    for (uint32_t i = 0; i < g->nodes; i++) {
        g->component[g->nodes - 1 - i] = i;
        g->member[i] = g->nodes - 1 - i;
        g->member_first[i + 1] = i + 1;
    }
}

/* ---- the ways out of components ---- */

/* Sinks behind the others, by slots. */
static uint64_t out_key(const struct sshb_graph *g, uint32_t node)
{
    return g->is_sink[g->component[node]] ? (uint64_t)(g->slot[node] + 1) << 32 | node : node;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The keys of the nodes that edges of a component lead to; how many? */
static size_t list_out(const struct sshb_graph *g, uint32_t component, uint64_t **keys, size_t *cap)
{
    size_t n = 0;

    for (uint32_t m = g->member_first[component]; m < g->member_first[component + 1]; m++) {
        uint32_t node = g->member[m];

        GROW(*keys, *cap, n + (g->first[node + 1] - g->first[node]));
        for (uint32_t e = g->first[node]; e < g->first[node + 1]; e++)
            if (g->component[g->to[e]] != component)
                (*keys)[n++] = out_key(g, g->to[e]);
    }
    if (n > 1)
        qsort(*keys, n, sizeof(**keys), compare_keys);
    return n;
}

/* All in one slot, and behind it nothing but sinks of that slot? */
static bool is_sink(const struct sshb_graph *g, uint32_t component)
{
    uint32_t slot = g->slot[g->member[g->member_first[component]]];

    for (uint32_t m = g->member_first[component]; m < g->member_first[component + 1]; m++)
        if (g->slot[g->member[m]] != slot)
            return false;
    for (uint32_t i = g->out_first[component]; i < g->out_first[component + 1]; i++)
        if (g->slot[g->out[i]] != slot || i < g->out_sinks[component])
            return false;
    return true;
}

/* Components come in reverse topological order, so what their edges lead to is known. */
static void find_ways_out(struct sshb_graph *g)
{
    uint64_t *keys = NULL;
    size_t cap = 0;
    uint32_t total = 0;

    g->out_first = xcalloc(g->components + (size_t)1, sizeof(*g->out_first));
    g->out_sinks = xcalloc(g->components + (size_t)1, sizeof(*g->out_sinks));
    g->out_cursor = xcalloc(g->components + (size_t)1, sizeof(*g->out_cursor));
    g->is_sink = xcalloc(g->components + (size_t)1, sizeof(*g->is_sink));
    g->out = xcalloc(g->first[g->nodes] + (size_t)1, sizeof(*g->out));
    for (uint32_t c = 0; c < g->components; c++) {
        size_t n = list_out(g, c, &keys, &cap);

        g->out_sinks[c] = SSHB_NONE;
        for (size_t i = 0; i < n; i++) {
            if (i && keys[i] == keys[i - 1])
                continue;
            if (keys[i] >> 32 && g->out_sinks[c] == SSHB_NONE)
                g->out_sinks[c] = total;
            g->out[total++] = (uint32_t)keys[i];
        }
        if (g->out_sinks[c] == SSHB_NONE)
            g->out_sinks[c] = total;
        g->out_cursor[c] = g->out_sinks[c];
        g->out_first[c + 1] = total;
        g->is_sink[c] = is_sink(g, c);
    }
    free(keys);
}

struct sshb_graph *sshb_graph_new(const struct sshb_facts *f, enum sshb_graph_kind kind)
{
    struct sshb_graph *g = xcalloc(1, sizeof(*g));

    g->facts = f;
    g->nslots = f->hb->nslots;
    g->lanes = g->nslots <= 8 ? 8 : GRAPH_LANES;
    number_nodes(g, f, kind);
    fill_edges(g, f, kind);
    sort_edges(g);
    find_components(g);
    find_ways_out(g);
    g->reach = xmalloc(((size_t)g->components * g->lanes + 1) * sizeof(*g->reach));
    return g;
}

void sshb_graph_free(struct sshb_graph *g)
{
    free(g->mark);
    free(g->rank);
    free(g->position);
    free(g->slot);
    free(g->first);
    free(g->others);
    free(g->to);
    free(g->chain_first);
    free(g->chain);
    free(g->cursor);
    free(g->component);
    free(g->member_first);
    free(g->member);
    free(g->reach);
    free(g->out_first);
    free(g->out_sinks);
    free(g->out_cursor);
    free(g->out);
    free(g->is_sink);
    free(g->ways);
    free(g->into_first);
    free(g->into);
    free(g->arriving_first);
    free(g->arriving);
    free(g->visited);
    free(g->queue);
    map_release(&g->ways_of);
    free(g);
}

size_t sshb_graph_nodes(const struct sshb_graph *g)
{
    return g->nodes;
}

uint64_t sshb_graph_work(const struct sshb_graph *g)
{
    return g->work;
}

size_t sshb_graph_cycles(const struct sshb_graph *g)
{
    return g->cycles;
}
