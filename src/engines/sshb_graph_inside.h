/* sshb_graph_inside.h - inside of sshb_graph.h: how a graph is stored */
#ifndef HEDDLE_ENGINES_SSHB_GRAPH_INSIDE_H
#define HEDDLE_ENGINES_SSHB_GRAPH_INSIDE_H

#include "engines/sshb_graph.h"

/* The best two ways out of a component, per lane: first positions, and through
 * which node. */
struct ways_out {
    uint32_t component;
    uint32_t first[GRAPH_LANES], through[GRAPH_LANES], second[GRAPH_LANES];
};

struct sshb_graph {
    const struct sshb_facts *facts; /* borrowed */
    uint32_t nodes, components, lanes, base;
    size_t cycles;

    uint64_t *mark; /* a bit per position: is a node */
    uint32_t *rank; /* per word of mark: nodes before it */

    uint32_t *position, *slot; /* of a node */
    uint32_t *first;           /* node -> its edges: first[n] .. first[n + 1] - 1 */
    uint32_t *others;          /* node -> where those begin that are not happens-before */
    uint32_t *to;              /* targets */

    uint32_t nslots;
    uint32_t *chain_first, *chain; /* the nodes of a slot */
    uint32_t *cursor;              /* per slot: where the last search in its chain ended */

    uint32_t *component;    /* of a node; numbers in reverse topological order */
    uint32_t *member_first; /* components + 1 */
    uint32_t *member;       /* nodes by component */
    uint32_t *reach;        /* component * lanes + lane: first position reached */

    struct ways_out *ways;
    size_t nways, ways_cap;
    struct map ways_of; /* component -> number in ways */

    /* Made when needed: */
    uint32_t *into_first, *into;         /* sources of edges by target */
    uint32_t *arriving_first, *arriving; /* numbers of candidates by target */
    uint32_t *visited, visit;            /* for the search */
    uint32_t *queue;
};

static inline uint32_t graph_node_at(const struct sshb_graph *g, uint32_t position)
{
    uint64_t before = g->mark[position / 64] & (((uint64_t)1 << position % 64) - 1);

    return g->rank[position / 64] + (uint32_t)__builtin_popcountll(before);
}

static inline bool graph_is_node(const struct sshb_graph *g, uint32_t position)
{
    return g->mark[position / 64] >> position % 64 & 1;
}

#endif
