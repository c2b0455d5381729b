/* effort.h - what work costs, how much of it there is left, when to stop
 */
#ifndef HEDDLE_ENGINES_EFFORT_H
#define HEDDLE_ENGINES_EFFORT_H

#include <stdbool.h>
#include <stdint.h>

struct whole;

/* Effort is counted, not timed, so that a busy machine finds what an idle one does: a unit is about
 * 10 ns of work, as in solve/solver.h. UNITS_A_SECOND is what a processor of 2020 does in one. */
enum { UNITS_A_SECOND = 100000000 };
enum { UNITS_AN_EVENT = 10 /* of a pass over the trace */, UNITS_A_STEP = 3 /* of the checker */ };

/* Of each event that matters: the passes of all engines that predict. */
enum { UNITS_A_PREDICTED_EVENT = 100 };

/* Of each event: of the view and the model over it; and where calls of untraced code bring orders
 * (leveldb: 2 us). */
enum { UNITS_A_VIEWED_EVENT = 50, UNITS_A_CALL_EVENT = 150 };

/* Count work; what there is left, UINT64_MAX: no limit. */
void whole_spend(struct whole *w, uint64_t units);
uint64_t whole_left(const struct whole *w);

/* Report how much of decide() is done, 0 to 1, and ask whether to stop: the user's patience is over
 * or the engine's units are used up. Cheap. */
bool whole_stop(struct whole *w, double done);
/* The same without news of progress. */
bool whole_poll(struct whole *w);
/* Has the user had enough? (Not the budget.) Has the engine that decides been told so? */
bool whole_interrupted(const struct whole *w);
bool whole_was_interrupted(const struct whole *w);

#endif
