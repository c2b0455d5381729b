/* allocation.h - where the memory of a race was allocated
 *
 * The addresses of races are known only after the enriching pass, so this is
 * another one, made only for traces that have allocations: every alloc event
 * is looked up in the sorted list of addresses that are asked for.
 * Of recorded programs the call stack of the allocation is kept too. A thread
 * whose first event after its begin is an allocation got its stack there.
 * Cost: O(log n) an alloc event; for others what following call stacks costs.
 */
#ifndef HEDDLE_REPORT_ALLOCATION_H
#define HEDDLE_REPORT_ALLOCATION_H

#include "report/findings.h"
#include "report/locklife.h"
#include "report/naming.h"

/* A question: which allocation did `address` belong to at `position`? */
struct allocation_query {
    uint64_t address;
    uint64_t position;
    struct finding *race;
    struct allocation_seen *seen; /* the answer so far, while the trace is read */
};

/* Fills in race->allocation where one is found. Reads the trace from its start; `lives` see what is
 * read, up to the position `last` at least. */
int allocations_find(struct naming *naming, struct allocation_query *queries, size_t n,
                     struct locklives *lives, uint64_t last, struct trace *t, struct error *err);

#endif
