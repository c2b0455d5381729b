/* ask.h - what questions to the ordering solver share, whoever asks (predict.c, relax.c) */
#ifndef HEDDLE_ENGINES_PREDICT_ASK_H
#define HEDDLE_ENGINES_PREDICT_ASK_H

#include "engines/predict/model.h"
#include "engines/predict/predict.h"
#include "solve/solver.h"

/* May the two race at all: conflicting accesses of two threads to a common cell? */
bool ask_conflict(const struct view *v, uint32_t a, uint32_t b);
/* The solver's limits; `nodes`: the longest schedule that is of use, 0: any. */
struct solve_budget ask_budget(const struct predict_budget *b, uint64_t nodes);
/* How the last question was answered. */
void ask_count(struct predict_stats *stats, const struct solver *s);
/* The solver's order as events of the view, a and b last; NULL: longer than `max` (0: any length).
 * What lies between the nodes of a thread is put right before its next node. `next` is scratch, one
 * a thread, zeroed. The caller's. */
uint64_t *ask_schedule(const struct model *m, const struct solver *s, uint32_t *next, uint32_t a,
                       uint32_t b, uint64_t max, size_t *count);

#endif
