/* judge.h - which races might be ordered by code that was not traced
 *
 * Engines other than rdit and sb do not see what happens inside calls of
 * untraced code. In the cascade of a trace that has such calls, each race they
 * found is put to the exact solver once more, with the order that the calls may
 * bring (order/view.h, CALL_RULE_PAIRS). What is possible all the same stays; what
 * is not, or cannot be decided, is left out and counted: it may be a race, but
 * nobody who reads the report can trust it. `--engine hb,syncp,wcp,osr` lists it. In a recording
 * an observed race goes only if happens-before with the calls' order orders it.
 * docs/design/cascade.md, "Calls of untraced code".
 */
#ifndef HEDDLE_ENGINES_EXACT_JUDGE_H
#define HEDDLE_ENGINES_EXACT_JUDGE_H

#include "engines/analysis.h"

/* Look at the races of the runs before `rdit`, whose engine decides now. Counters of that run:
 * "judged" (pairs of sites asked), "may_be_ordered_by_calls" (left out), "judged_undecided" (those
 * of them that the solver did not decide), "beyond_judgement" (too far behind in the trace to be
 * asked: they stay). -1: the trace cannot be read. */
int judge(struct analysis *a, size_t rdit, struct whole *w, struct error *err);

#endif
