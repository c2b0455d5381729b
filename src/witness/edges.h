/* edges.h - the hard edges of a trace, in a form that is linear in its length
 *
 * An event needs others to come before it. A need is either one event
 * (need.hi == NEED_EVENT, need.lo its position) or all members [lo, hi) of a
 * list: the annotations of an object so far, the enters of a barrier's round, the
 * heads of a release sequence. A member stands for an event (`source`); an
 * event may be several members.
 * Semaphores are counters, and not here (witness_inside.h).
 * docs/design/proof.md lists which events need which.
 * Allocations are not here: witness.c asks each cell whether it is there yet.
 */
#ifndef HEDDLE_WITNESS_EDGES_H
#define HEDDLE_WITNESS_EDGES_H

#include "trace/trace.h"
#include "witness/cells.h"

#define NEED_EVENT UINT32_MAX

struct need {
    uint32_t lo, hi;
};

struct edges {
    struct need *needs; /* by event, in order of position */
    size_t nneeds, needs_cap;
    uint32_t *first_need; /* N + 1 entries */

    uint32_t *source; /* member -> event */
    size_t nmembers;
    uint32_t *member_of;    /* members by source event */
    uint32_t *first_member; /* N + 1 entries, into member_of */
};

void edges_init(struct edges *e, const struct trace_mem *t, const struct cells *cells);
void edges_release(struct edges *e);

/* Key of a synchronisation object: objects of different kinds differ under one name. */
uint64_t object_key(const struct event *e);

#endif
