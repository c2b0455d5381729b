/* cells.h - memory cut into pieces that no access of the trace divides
 *
 * A cell is a range of bytes that every event of the trace, and every range
 * that a call of untraced code lists, covers as a whole or not at all, so what holds for one of its
 * bytes holds for all. Cells are numbered in the order of their addresses; those that an event
 * covers are consecutive. Cost: O(N log N) for N accesses. An empty struct is released as well.
 * Concurrency: none, also not for cells_find().
 */
#ifndef HEDDLE_WITNESS_CELLS_H
#define HEDDLE_WITNESS_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

struct cells {
    uint64_t *start; /* count + 1 entries: cell c is [start[c], start[c + 1]) */
    size_t count;
    uint32_t *recent; /* which ones were looked for last */
};

void cells_init(struct cells *c, const struct trace_mem *t);
void cells_release(struct cells *c);

/* The range an event touches: an access, alloc or free; false for all others. */
bool event_range(const struct event *e, uint64_t *from, uint64_t *to);

/* The first cell at or after an address. */
uint32_t cells_find(const struct cells *c, uint64_t address);

/* What a value of an access says about one of its cells. Both at most 8 bytes wide. */
uint64_t cells_value(const struct cells *c, uint32_t cell, uint64_t address, uint64_t value);

#endif
