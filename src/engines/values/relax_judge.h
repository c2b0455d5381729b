/* relax_judge.h - races of mc and rdit whose schedules change an address */
#ifndef HEDDLE_ENGINES_VALUES_RELAX_JUDGE_H
#define HEDDLE_ENGINES_VALUES_RELAX_JUDGE_H

#include "engines/analysis.h"

/* Are this run's schedules to be judged by values? */
bool relax_judges(const struct engine_run *run, const struct whole *w);
/* In a trace with branches mc and rdit let a read see anything up to its thread's next branch. What
 * the thread touches until then may depend on it: a schedule that changes such an address, or
 * whatever else must stay, shows nothing. Where the program's code is at hand, the schedules are
 * checked with values, and pairs for which there is none go. -1: the trace cannot be read. */
int relax_judge(struct engine_run *run, struct whole *w, struct error *err);

#endif
