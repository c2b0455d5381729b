/* backend.h - another solver than our own for the predictor's question
 *
 * The question: can two accesses be next at the same time in some correct
 * reordering (docs/design/proof.md)? A backend gets the view, not the problem
 * that model.c makes for our solver, so that it can find mistakes in both.
 * Its schedules pass the same checker as ours.
 *
 * A backend may live in a file that is loaded on demand (base/module.h); then
 * it exports `heddle_backend_NAME`, and `version` says that it belongs to this
 * very program.
 */
#ifndef HEDDLE_ENGINES_PREDICT_BACKEND_H
#define HEDDLE_ENGINES_PREDICT_BACKEND_H

#include "engines/predict/predict.h"

struct predict_backend {
    const char *version; /* HEDDLE_VERSION of its build */
    const char *name;    /* as --solver names it */
    uint64_t bytes;      /* of memory that a state may take, about */
    /* Views and the trace's description are borrowed. One state per thread. The first `kept` events
     * come first and as observed in every reordering (windows.h). */
    void *(*open)(const struct view *v, const struct trace_info *info, uint32_t kept);
    /* As predictor_decide(); the two conflict. */
    enum predict_answer (*decide)(void *state, uint32_t a, uint32_t b,
                                  const struct predict_budget *budget, uint64_t **list,
                                  size_t *count);
    void (*close)(void *state);
};

#endif
