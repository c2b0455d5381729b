/* exclude.h - code that is taken out of a finished trace (docs/design/exclude.md)
 *
 * A stage of the reader, before check_trace.c. The events of excluded functions are
 * marked EV_EXCLUDED | EV_IGNORED and have no effect any more; the calls of
 * such functions become calls of untraced code (OP_CALL, OP_RETURN: "barrier
 * pairs"), whose D is all that the events of that call touch. No event moves:
 * the `enter` becomes the call, the `exit` the return, and where there is no
 * such event the first and the last of a row of excluded events. A row of one
 * is a call with EV_ALONE, which returns at once.
 *
 * D must be known at the call, so a first pass over the trace learns:
 *     x = exclude_new(globs, tables, order);
 *     for each batch: exclude_learn(x, &b);
 *     exclude_ready(x);
 * Then every batch, in any order and as often as one likes: exclude_batch(x, &b).
 *
 * Memory: a bit an event, some 60 bytes and 16 for each entry of D a pair.
 * Cost: an event 40 ns in the first pass, decoding included; 1-2 ns afterwards.
 * Ownership: x owns what it learned, borrows globs and tables.
 */
#ifndef HEDDLE_TRACE_CALLS_EXCLUDE_H
#define HEDDLE_TRACE_CALLS_EXCLUDE_H

#include "trace/calls/globs.h"
#include "trace/trace.h"

struct exclude;

struct exclude *exclude_new(struct globs *globs, struct tables *tables, enum trace_order order);
void exclude_free(struct exclude *x);

const struct exclude_stats *exclude_stats(const struct exclude *x);

/* The events in their order; batch.first must be right. */
void exclude_learn(struct exclude *x, const struct batch *b);
void exclude_ready(struct exclude *x);

/* Mark and change the events of a batch; batch.first must be right. The entries of its calls live
 * until the next one. */
void exclude_batch(struct exclude *x, struct batch *b);

#endif
