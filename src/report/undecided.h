/* undecided.h - what an engine left undecided, in words
 *
 * An engine counts what it leaves (engines/engine.h, engine_leave()); here each such counter has
 * its sentence, the same in every format.
 */
#ifndef HEDDLE_REPORT_UNDECIDED_H
#define HEDDLE_REPORT_UNDECIDED_H

#include "base/buf.h"
#include "report/findings.h"

/* The counter of an engine that could not see what the trace has lost. All have it then, and the
 * last line of a report says it once. */
#define UNDECIDED_CUT "trace_cut"

/* Add to `b` the next thing that the engine left, "3 pairs of locations were not decided: ...";
 * false: there is nothing more. *at is 0 at first. An engine that is not complete has at least
 * one. */
bool undecided_next(const struct findings_engine *e, size_t *at, struct buf *b);

#endif
