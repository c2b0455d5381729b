/* vindicate.h - schedules for races that come without one (cp, wcp)
 *
 * Each race of the table that has no witness yet is tried, its first and its
 * last instance: first the sync-preserving closure of the two accesses, then
 * the exact search (solve/) on what the two need, within the budget. A schedule
 * that the checker accepts makes the race `witnessed`; the others keep their
 * strength (in the cascade those with no other instance that are proven
 * impossible are left out), and counters say why: "vindicated", "infeasible"
 * (proven: no correct reordering shows these instances; "infeasible_as_recorded" where the
 * order of plain accesses is not exact), "undecided" (budget), and the
 * witness_* counters of observed.c and whole_show.h.
 */
#ifndef HEDDLE_ENGINES_PREDICT_VINDICATE_H
#define HEDDLE_ENGINES_PREDICT_VINDICATE_H

#include "engines/engine.h"

/* -1: the trace cannot be read. */
int vindicate(struct whole *w, struct engine_result *result, struct error *err);

#endif
