/* prove.h - many questions to the predictor, on several threads
 *
 * A question is a list of instances, pairs of positions; they are tried one
 * after the other until one is feasible. Answers do not depend on the number
 * of threads, but for what runs out of time.
 *
 *     struct prover *p = prover_new(whole, err);
 *     prover_answer(p, questions, n);      each then holds its answer
 *     prover_free(p);
 */
#ifndef HEDDLE_ENGINES_PROVE_H
#define HEDDLE_ENGINES_PROVE_H

#include "engines/predict.h"
#include "engines/whole.h"

struct instance {
    uint64_t first, second; /* positions */
};

struct question {
    const struct instance *instances; /* borrowed */
    size_t ninstances;
    uint64_t max_events; /* longest schedule to make; 0: any length */
    /* The answer: that of the feasible instance, else undecided or too long where one was. */
    enum predict_answer answer;
    struct instance feasible;
    uint64_t *list; /* its schedule; the caller's */
    size_t count;
};

struct prover;

/* NULL and an error: the trace cannot be read. */
struct prover *prover_new(struct whole *w, struct error *err);
void prover_free(struct prover *p);

/* Questions to ask at a time: enough for all threads, few enough for the user to stop. */
size_t prover_batch(const struct prover *p);
void prover_answer(struct prover *p, struct question *questions, size_t n);
/* Of all threads together. */
struct predict_stats prover_stats(const struct prover *p);

#endif
