/* sshb_graph_inside.h - inside of sshb_graph.h: how a graph is stored */
#ifndef HEDDLE_ENGINES_STREAMING_SSHB_GRAPH_INSIDE_H
#define HEDDLE_ENGINES_STREAMING_SSHB_GRAPH_INSIDE_H

#include "engines/streaming/sshb_graph.h"

/* The best two ways out of a component, per lane: first positions, and through
 * which node. */
struct ways_out {
    uint32_t component;
    uint32_t first[GRAPH_LANES], through[GRAPH_LANES], second[GRAPH_LANES];
};

/* A candidate edge, seen from its target. */
struct arrival {
    uint32_t component, from; /* of the source, and the source itself: nodes */
    uint32_t variable, second;
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
    uint32_t *to;              /* targets; each once, both parts sorted */

    uint32_t nslots;
    uint32_t *chain_first, *chain; /* the nodes of a slot */
    uint32_t *cursor;              /* per slot: where the last search in its chain ended */

    uint32_t *component;    /* of a node; numbers in reverse topological order */
    uint32_t *member_first; /* components + 1 */
    uint32_t *member;       /* nodes by component */
    uint32_t *reach;        /* component * lanes + lane: first position reached */

    /* Where edges lead out of a component, each node once. A sink reaches nothing but its own
     * slot; sinks come last and by slots, so that a sweep looks only at those of its slots. */
    uint32_t *out_first;  /* components + 1 */
    uint32_t *out_sinks;  /* component -> its first sink */
    uint32_t *out_cursor; /* component -> its first sink in a slot of the group, or behind it */
    uint32_t *out;        /* nodes */
    bool *is_sink;        /* of a component */

    struct ways_out *ways;
    size_t nways, ways_cap;
    struct map ways_of; /* component -> number in ways */

    /* Made when needed: */
    uint32_t *into_first, *into; /* sources of edges that are no candidates, by target */
    uint32_t *arriving_first;
    struct arrival *arriving; /* candidates by target, component, source and variable */
    uint32_t *visited, visit; /* for the search */
    uint32_t *queue;
    uint64_t work; /* steps of searches so far */
};

/* An edge from a node to the one that is asked about. */
static inline bool graph_has(const uint32_t *to, uint32_t from, uint32_t end, uint32_t node)
{
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;

        if (to[middle] == node)
            return true;
        if (to[middle] < node)
            from = middle + 1;
        else
            end = middle;
    }
    return false;
}

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
