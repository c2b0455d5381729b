/* naive_cp.h - CP straight from its definition, for small traces
 *
 * docs/design/cp.md with the choices made there: a matrix of bits, all
 * rules applied until nothing changes. A section that its thread never ends
 * reaches to the thread's last event before it ends or is joined. Cost: O(N^3)
 * a round, tens of events.
 */
#ifndef HEDDLE_TESTS_NAIVE_CP_H
#define HEDDLE_TESTS_NAIVE_CP_H

#include "naive.h"

/* Pairs (a, b) that CP orders; program order is not in it. With a window also all HB-ordered pairs
 * with so many significant events between them; 0: no window. */
void naive_cp(const struct trace_mem *t, size_t window, struct relation *out);

/* Conflicting pairs that CP leaves unordered; with a window only those that are closer. */
void naive_cp_all(const struct trace_mem *t, size_t window, struct pair_set *out);

/* What is left where a reported pair is a hard edge for what comes later: accesses in trace order,
 * each with the earlier ones it is unordered with, the latest first. The relation at an access is
 * CP of the whole trace, the edges so far, and what follows from both by the rules applied to the
 * trace up to that access. */
void naive_cp_sound(const struct trace_mem *t, size_t window, struct pair_set *out);

/* Which events are in the reduced trace. */
void naive_cp_significant(const struct trace_mem *t, bool *significant);

#endif
