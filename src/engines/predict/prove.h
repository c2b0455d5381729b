/* prove.h - many questions to the predictor, on several threads and machines
 *
 * A question is a list of instances, pairs of positions; they are tried one
 * after the other until one is feasible. Answers do not depend on the number
 * of threads and machines. A question counts if those before it have not used
 * up the budget (whole_left()); what was answered beyond is thrown away.
 *
 *     struct prover *p = prover_new(whole, 0, 0, err);
 *     n = prover_answer(p, questions, n);      each of the first n then holds its answer
 *     prover_free(p);
 *
 * With a crew in the options (crew.h) other processes take their share of every
 * batch; what they cannot do is done here.
 */
#ifndef HEDDLE_ENGINES_PREDICT_PROVE_H
#define HEDDLE_ENGINES_PREDICT_PROVE_H

#include "engines/predict/predict.h"
#include "engines/race.h"

struct whole;

struct instance {
    uint64_t first, second; /* positions */
};

struct question {
    const struct instance *instances; /* borrowed */
    size_t ninstances;
    uint64_t max_events; /* longest schedule to make; 0: any length */
    uint64_t max_list;   /* longest schedule to hand over: of a longer one only `count`; 0: any */
    /* The answer: that of the feasible instance, else undecided or too long where one was. */
    enum predict_answer answer;
    struct instance feasible;
    uint64_t *list; /* its schedule; the caller's */
    size_t count;
    struct predict_stats stats; /* what the answer took */
    bool skipped;               /* undecided, because the budget was used up, or by the user */
};

/* The first and the last instance of a race, as far as they are at hand and new there
 * (whole_parts.h); one where these are the same. */
size_t race_instances(const struct race *r, const struct whole *w, struct instance out[2]);

/* What questions are about, besides the trace: enough for another process to make the same
 * predictor. What is not in here comes from the command line, which is the same for all. */
struct scope {
    uint32_t call_rule;    /* enum call_rule of the view */
    uint64_t first, count; /* a window; count 0: the whole trace, as whole.h holds it */
};

void predict_stats_add(struct predict_stats *sum, const struct predict_stats *s);

struct prover;

/* Questions about the whole trace, or about a window of it (windows.h; 0 events: the whole, or the
 * part of a long trace that is at hand). NULL and an error: the trace cannot be read. */
struct prover *prover_new(struct whole *w, uint64_t from, uint64_t events, struct error *err);
void prover_free(struct prover *p);

/* Questions to ask at a time, always the same number: enough for all threads, even if some take
 * long. */
size_t prover_batch(const struct prover *p);
/* The number of questions, the first ones, that now have their answer: all of them, or fewer (at
 * least one) where their schedules take too much memory to go on; ask the others again. When the
 * user or the budget stops it (whole_stop()), the rest is undecided, and `skipped`. */
size_t prover_answer(struct prover *p, struct question *questions, size_t n);
/* predictor_unreachable() */
uint32_t prover_unreachable(const struct prover *p);
/* Of all answers together. */
struct predict_stats prover_stats(const struct prover *p);

/* For crew's other side (serve.h): a predictor as prover_new() makes it, clones of it for so many
 * threads as memory allows, and one question. */
struct predictor *scope_predictor(struct whole *w, const struct scope *scope, struct error *err);
unsigned scope_threads(unsigned jobs, const struct predictor *p);
void question_answer(struct question *q, struct predictor *p);

#endif
