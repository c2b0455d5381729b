/* long.h - the rest of a trace that is longer than what is held in memory
 *
 * After the engines have decided about the beginning (whole_limit() events),
 * the rest comes in parts (trace/parts.h) that overlap by half. In each, for
 * every engine in its turn: mc, rdit and sb ask about the pairs that are new
 * there, races of other engines that have no schedule yet get one by the exact
 * solver, and rdit judges. All before the part stays as recorded, so what is
 * found is possible; what would need another past is not found.
 *
 * Two accesses at most half a part apart are together in a part, and are asked
 * about in the first one that has both.
 */
#ifndef HEDDLE_ENGINES_LONG_H
#define HEDDLE_ENGINES_LONG_H

#include "engines/analysis.h"

struct showable;

/* For the engines [from, to) of the analysis whose turn it is, after their decide(). *left: units,
 * are used up. 0, 1 when stopped, -1 and an error. Does nothing where the trace is short enough;
 * with `showable` (or NULL) only parts that are worth a look. */
int long_decide(struct analysis *a, size_t from, size_t to, struct whole *w,
                const struct showable *showable, uint64_t *left, struct error *err);

#endif
