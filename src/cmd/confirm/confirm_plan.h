/* confirm_plan.h - from a race and the trace it was found in to the plan of a controlled run
 *
 * The plan (abi/rt_steer.h) says which two accesses are to meet, and which of the order of the
 * race's schedule has to be kept on the way there: the order of critical sections, of semaphores
 * and of atomic operations of different threads. A race without a schedule keeps the order that was
 * recorded. docs/design/confirm.md.
 */
#ifndef HEDDLE_CMD_CONFIRM_CONFIRM_PLAN_H
#define HEDDLE_CMD_CONFIRM_CONFIRM_PLAN_H

#include "abi/rt_steer.h"
#include "report/findings.h"
#include "trace/trace.h"

/* Fill the plan; -1 and an error: this race cannot be asked for, or the trace cannot be read. */
int confirm_plan(struct steer_plan *plan, const struct finding *r, struct trace *t,
                 struct error *err);

/* The plan of the n-th try, from 0: each gives up another part of what the first one insists on. */
void confirm_vary(struct steer_plan *plan, const struct steer_plan *first, unsigned n);
/* What it gives up, in words. */
const char *confirm_variation(unsigned n);

#endif
