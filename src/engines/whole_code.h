/* whole_code.h - the program's code at hand, for engines that change values and branches
 */
#ifndef HEDDLE_ENGINES_WHOLE_CODE_H
#define HEDDLE_ENGINES_WHOLE_CODE_H

#include "base/error.h"
#include "engines/race.h"

struct execution;
struct trace_mem;
struct view;
struct whole;

/* What the events did, rebuilt from the program's bitcode (execution/execution.h); NULL: the trace
 * is no full recording, code was left out of it, or the program is gone; `why` says it, if not
 * NULL.
 */
const struct execution *whole_execution(struct whole *w, struct error *why);

/* The same as whole_show() for a schedule in which reads see other values, over whole_execution().
 * Takes over both lists. */
int whole_show_values(struct whole *w, struct race *r, uint64_t *list, size_t n,
                      struct value_change *changes, size_t nchanges, struct error *err);

/* whole_show_values() for a race that was shown already: nothing is counted. */
int whole_show_again(struct whole *w, struct race *r, uint64_t *list, size_t n,
                     struct value_change *changes, size_t nchanges, struct error *err);

/* What branches would do that went the other way (execution/flip.h), with the execution they are
 * of; NULL where whole_execution() would be. Both are the caller's. Sites that were not executed
 * are added to the trace's tables. */
struct flips;
struct execution *whole_flips(struct whole *w, struct flips **flips);
/* The view of other events, as the deciding engine wants barriers; the caller's. For any thread. */
struct view *whole_view_of(const struct whole *w, const struct trace_mem *events);
/* Is a schedule of an execution with new events in it a correct one? `original` has the positions
 * in the trace itself, beyond its end for new events. For any thread. 1: accepted. */
int whole_check_flip(struct whole *w, const struct execution *e, const uint64_t *order,
                     const uint64_t *original, size_t n, const struct value_change *changes,
                     size_t nchanges, struct error *err);

#endif
