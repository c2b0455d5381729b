/* sshb_graph.h - who reaches whom in a graph over the events of slots
 *
 * Nodes are the ends of edges; the nodes of a slot are connected in the order
 * of their positions. Cycles are condensed, then each component keeps, for a
 * group of GRAPH_LANES slots at a time, the first position it reaches in
 * each. So a question costs O(1), all of them together are near-linear in
 * the graph (times slots / lanes).
 *
 *     graph = sshb_graph_new(facts, GRAPH_CANDIDATES);
 *     for (base = 0; base < nslots; base += GRAPH_LANES) {
 *         sshb_graph_sweep(graph, base);
 *         ...sshb_graph_reach() for points in slots base .. base + GRAPH_LANES
 * - 1...
 *     }
 */
#ifndef HEDDLE_ENGINES_STREAMING_SSHB_GRAPH_H
#define HEDDLE_ENGINES_STREAMING_SSHB_GRAPH_H

#include "engines/streaming/sshb_facts.h"

enum { GRAPH_LANES = 16 };

enum sshb_graph_kind {
    GRAPH_CANDIDATES, /* order edges and all candidates */
    GRAPH_OBSERVED,   /* order edges and what the recorded order says: SHB */
    GRAPH_CERTAIN     /* of that only what no other candidate can remove */
};

struct sshb_graph;

struct sshb_graph *sshb_graph_new(const struct sshb_facts *f, enum sshb_graph_kind kind);
void sshb_graph_free(struct sshb_graph *g);

size_t sshb_graph_nodes(const struct sshb_graph *g);
size_t sshb_graph_cycles(const struct sshb_graph *g); /* components of more than one node */

/* Steps that its questions and sweeps have taken so far, for those who have a budget. */
uint64_t sshb_graph_work(const struct sshb_graph *g);

/* Make ready for questions about targets in this group of slots; groups in ascending order. */
void sshb_graph_sweep(struct sshb_graph *g, uint32_t base);
/* The first position in the slot that a path from the point leads to;
 * SSHB_NONE. */
uint32_t sshb_graph_reach(struct sshb_graph *g, struct sshb_point from, uint32_t slot);
/* Is there a path from a to b (in a slot of the group) other than a candidate
 * edge between them? */
bool sshb_graph_joins(struct sshb_graph *g, struct sshb_point a, struct sshb_point b);

#endif
