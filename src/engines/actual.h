/* actual.h - which races are data races of the recorded execution itself
 *
 * By C11 5.1.2.4 two conflicting accesses of different threads are a data race
 * where neither happens before the other. A recording whose synchronisation is
 * exact says so of its own execution, whatever its reads have seen: such a race
 * is `observed`. docs/design/actual.md has the conditions and why they suffice.
 */
#ifndef HEDDLE_ENGINES_ACTUAL_H
#define HEDDLE_ENGINES_ACTUAL_H

#include "engines/analysis.h"

/* Does the engine compare accesses with happens-before, and nothing more? */
bool actual_engine(const struct engine *e);
/* Give the races of such engines their strength, at the end of an analysis that has read the whole
 * trace. Where calls of untraced code are in the trace, only those that the judge has found
 * unordered with them (race.apart_with_calls). */
void actual_mark(struct analysis *a, const struct trace *t);

#endif
