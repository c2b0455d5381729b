/* relax.h - can two accesses race when reads may see other values? (recipe-s)
 *
 * As predict.h, but over an execution (execution/execution.h): a read may see any write, values
 * are computed, and what must stay as it was are the conditions of what is executed: branch
 * outcomes, addresses, fixed values. docs/design/recipe.md has the model.
 *
 *     struct relax *r = relax_new(view, execution, &options);
 *     if (relax_decide(r, a, b, &budget, &answer) == PREDICT_FEASIBLE) ... answer.list ...
 *     relax_answer_release(&answer);
 *
 * The execution need not be the trace's own: whatever the view was made of.
 * Ownership: borrows view and execution; clones borrow the first one's model and go before it.
 * Concurrency: one relax per thread; a clone for each.
 */
#ifndef HEDDLE_ENGINES_VALUES_RELAX_H
#define HEDDLE_ENGINES_VALUES_RELAX_H

#include "engines/predict/predict.h"
#include "engines/race.h"
#include "execution/execution.h"

struct relax_options {
    bool exact; /* the order of plain accesses is what happened (TRACE_EXACT) */
};

struct relax_answer {
    uint64_t *list; /* the schedule, the two accesses last; owned */
    size_t count;
    struct value_change
        *changes; /* reads that see another value, in the order of the list; owned */
    size_t nchanges;
};

struct relax;

struct relax *relax_new(const struct view *v, const struct execution *e,
                        const struct relax_options *options);
struct relax *relax_clone(const struct relax *r);
void relax_free(struct relax *r);
uint64_t relax_bytes(const struct relax *r); /* that a clone takes, about */

/* a and b are positions in the execution's trace. */
enum predict_answer relax_decide(struct relax *r, uint64_t a, uint64_t b,
                                 const struct predict_budget *budget, struct relax_answer *answer);
/* Can the access be next at all? Nothing else is asked of it. */
enum predict_answer relax_reach(struct relax *r, uint64_t a, const struct predict_budget *budget);
void relax_answer_release(struct relax_answer *answer);
const struct predict_stats *relax_stats(const struct relax *r);

/* The reads of a schedule that see another value than they did; *n of them, the caller frees. */
struct value_change *relax_changes(struct relax *r, const uint64_t *list, size_t count, size_t *n);

#endif
