/* model.h - the ordering solver's problem (solve/problem.h) made from a view
 *
 * Leaves out every event that cannot make a difference: accesses to cells
 * that one thread alone touches or nobody writes, locks of one thread,
 * branches without a new read before them, enter and exit.
 * Ownership: the model owns the problem's arrays and borrows the view.
 * Memory: 4 bytes an event, about 100 bytes a node.
 */
#ifndef HEDDLE_ENGINES_PREDICT_MODEL_H
#define HEDDLE_ENGINES_PREDICT_MODEL_H

#include "order/view.h"
#include "solve/problem.h"
#include "trace/trace.h"

struct model {
    const struct view *view; /* borrowed */
    struct problem problem;
    uint32_t *node_of;   /* event -> node, SOLVE_NONE */
    uint32_t *event_of;  /* node -> event */
    uint32_t *view_cell; /* the problem's cells -> the view's */
};

void model_init(struct model *m, const struct view *v, const struct trace_info *info);
/* The same where any read may see any write (solve/value_checker.h). `cells`: those of the view
 * that count as shared even if only one thread touches them. */
void model_init_free(struct model *m, const struct view *v, const bool *cells);
void model_release(struct model *m);

#endif
