/* cp_replay.h - inside of the cp engine: following the graph in another pass over the trace
 *
 * As the pass goes on, each thread's `node` and `slot` are those of the
 * present. In sound mode a race is a hard edge from its report on: up to the
 * first race the rows of the solver hold; from then on H and P of each node are
 * computed anew when the pass reaches it, from all edges of the solver, the
 * races so far, and what rule (b) makes of them in the part of the trace passed
 * so far. A race gives its second thread a node of its own.
 */
#ifndef HEDDLE_ENGINES_STREAMING_CP_REPLAY_H
#define HEDDLE_ENGINES_STREAMING_CP_REPLAY_H

#include "engines/streaming/cp_graph.h"

struct cp_replay {
    struct cp *cp;
    size_t next_node, next_closed, next_source, next_move;
    size_t nnodes; /* of the solver; nodes of races come behind */
    bool changing; /* there was a race */
};

void cp_replay_start(struct cp_replay *r, struct cp *c);
/* Everything up to the event at `time`, its own acquire and the hard edges into it included. */
void cp_replay_to(struct cp_replay *r, bool access, uint32_t time);
/* The thread's present event races: it gets a node of its own, the thread's last one. */
void cp_replay_race(struct cp_replay *r, uint32_t thread);
/* The hard edge to that node from an earlier access, given by its thread's node then. */
void cp_replay_edge(struct cp_replay *r, uint32_t thread, uint32_t node, uint32_t slot,
                    uint32_t time);

#endif
