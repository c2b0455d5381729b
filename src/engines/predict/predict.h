/* predict.h - can these two accesses race in some correct reordering?
 *
 * The solver (solve/) over a view, with schedules in terms of the trace's
 * positions.
 *
 *     struct predictor *p = predictor_new(view, info);
 *     if (predictor_decide(p, a, b, &budget, &list, &n) == PREDICT_FEASIBLE) ...
 *
 * Ownership: a predictor borrows the view; clones borrow the first one's
 * model and go before it. Concurrency: one predictor per thread.
 */
#ifndef HEDDLE_ENGINES_PREDICT_PREDICT_H
#define HEDDLE_ENGINES_PREDICT_PREDICT_H

#include "order/view.h"
#include "solve/solver.h"
#include "trace/trace.h"

enum predict_answer {
    PREDICT_FEASIBLE,
    PREDICT_INFEASIBLE, /* proven: no correct reordering has both next */
    PREDICT_UNDECIDED,  /* out of budget */
    PREDICT_TOO_LONG    /* the schedule has more events than max_events */
};

struct predict_budget {
    double seconds;      /* of processor time; 0: none */
    uint64_t conflicts;  /* of the search; 0: any number */
    uint64_t max_events; /* of a schedule; 0: any length */
    uint64_t work;       /* of the search, in units of solve/solver.h; 0: no limit */
    uint32_t unfrozen;   /* solve/solver.h */
};

/* About 200 ms, counted in work so that the answers are the same on every machine, busy or not;
 * measured in docs/design/solver.md. */
#define PREDICT_BUDGET ((struct predict_budget){ .work = 8000000 })

/* Questions by what answered them. */
struct predict_stats {
    uint64_t by_needs, by_observed, by_search;
    uint64_t by_backend; /* another solver */
    uint64_t conflicts, rounds, work;
};

struct predictor;
struct predict_backend; /* backend.h */

struct predictor *predictor_new(const struct view *v, const struct trace_info *info);
/* The same with another solver than our own; NULL: our own. */
struct predictor *predictor_new_with(const struct view *v, const struct trace_info *info,
                                     const struct predict_backend *backend);
/* Of a window (windows.h) alone: schedules begin with what came before it, as observed. Positions
 * are those of the whole trace; pairs that are not in the window are infeasible. */
struct predictor *predictor_new_window(const struct view *whole, const struct trace_info *info,
                                       uint64_t first, uint64_t count);
struct predictor *predictor_new_window_with(const struct view *whole, const struct trace_info *info,
                                            uint64_t first, uint64_t count,
                                            const struct predict_backend *backend);
/* All schedules begin with so many events, the first of the view, and do not list them
 * (trace/parts.h). Only with a window behind them. */
void predictor_fix(struct predictor *p, uint64_t events);
/* For another thread: shares what does not change. */
struct predictor *predictor_clone(const struct predictor *p);
void predictor_free(struct predictor *p);
/* Memory that a clone takes, about. */
uint64_t predictor_bytes(const struct predictor *p);
/* Threads whose last event can never happen: some where recorded values contradict the recorded
 * order, because a write was not recorded. */
uint32_t predictor_unreachable(const struct predictor *p);

/* a and b are positions. PREDICT_FEASIBLE: *list holds the schedule, the two last; the caller
 * frees it. Pairs that conflict in no byte are infeasible. */
enum predict_answer predictor_decide(struct predictor *p, uint64_t a, uint64_t b,
                                     const struct predict_budget *budget, uint64_t **list,
                                     size_t *count);
const struct predict_stats *predictor_stats(const struct predictor *p);

#endif
