/* call_rules.h - what calls of untraced code ask of a reordering
 *
 * For each event the events that must come before it by the rules on order of
 * docs/design/rdit.md, and for each call and return the cells it may write
 * that somebody has written since the last one could. All else follows.
 * Cost: O((touches + entries of all D) * log N) time, times the calls that are
 * open at once where these have something in common.
 */
#ifndef HEDDLE_WITNESS_CALL_RULES_H
#define HEDDLE_WITNESS_CALL_RULES_H

#include "trace/trace.h"
#include "witness/cells.h"
#include "witness/witness.h"

/* Up to here, and no further, a recorder may take an access for a repetition of an earlier one; the
 * checker's own idea of event_ends_quiet(). */
static inline bool ends_quiet(const struct event *e)
{
    if (op_is_access(e->op))
        return op_is_atomic(e->op) && e->op != OP_LOAD && order_releases(e->order);
    return e->op != OP_ENTER && e->op != OP_EXIT && e->op != OP_ALLOC && e->op != OP_FREE &&
           e->op != OP_AFTER && e->op != OP_CALL && e->op != OP_RETURN && e->op != OP_BRANCH &&
           e->op != OP_LINK && e->op != OP_OBJECT && e->op != OP_RESULT;
}

struct call_rules {
    uint32_t *first_need, *need; /* N + 1 entries; events */
    size_t nneeds, needs_cap;
    uint32_t *first_cell, *cell; /* the same for cells of calls and returns */
    size_t ncells, cells_cap;
    uint32_t *call; /* event -> the innermost call it is in, its own if it is one; UINT32_MAX */
};

/* `unmatched` says of each event whether it releases what its thread does not hold in that way. */
void call_rules_init(struct call_rules *b, const struct trace_mem *t, const struct cells *cells,
                     enum witness_calls rule, const struct tables *names, const bool *unmatched);
void call_rules_release(struct call_rules *b);

#endif
