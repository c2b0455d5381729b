/* prop_z3.c - the Z3 backend's answers are those of the exhaustive search
 *
 * And so, by the-predictor-is-exact, those of our own solver. For every
 * conflicting pair of a trace: feasible exactly where the oracle knows a
 * correct reordering with both next, and then the schedule passes the checker
 * and the oracle's own rules. z3_windows.c compares the two solvers where the
 * oracle cannot go.
 */
#include "properties.h"

#include <stdlib.h>

#include "engines/predict/backend.h"
#include "order/view.h"
#include "witness/witness.h"

extern const struct predict_backend heddle_backend_z3;

struct court {
    struct subject *s;
    struct predictor *predictor;
    struct witness_trace *checker;
    struct buf *why;
};

static bool is_accepted(struct court *c, size_t a, size_t b, const uint64_t *list, size_t n)
{
    struct error err = { "wrong end, or the oracle says so" };

    if (n >= 2 && list[n - 2] == a && list[n - 1] == b &&
        witness_check(c->checker, list, n, &err) == 1 &&
        oracle_accepts(&c->s->mem, c->s->info, list, n))
        return true;
    buf_addf(c->why, "the schedule of %zu and %zu is refused: %s", a, b, err.text);
    return false;
}

static bool judge_pair(struct court *c, size_t a, size_t b)
{
    struct predict_budget budget = { 0 };
    bool possible = pair_set_has(&c->s->oracle.pairs, a, b), fine;
    uint64_t *list;
    size_t n;
    enum predict_answer answer = predictor_decide(c->predictor, a, b, &budget, &list, &n);

    fine = answer == (possible ? PREDICT_FEASIBLE : PREDICT_INFEASIBLE);
    if (!fine)
        buf_addf(c->why, "events %zu and %zu: z3 says %d, the oracle %s", a, b, (int)answer,
                 possible ? "feasible" : "infeasible");
    else if (possible)
        fine = is_accepted(c, a, b, list, n);
    free(list);
    return fine;
}

static enum verdict z3_is_exact(struct subject *s, struct buf *why)
{
    struct court c = { .s = s, .why = why };
    struct view *view;
    bool fine = true;

    if (!s->oracle.complete)
        return DOES_NOT_APPLY;
    view = view_new(&s->mem, CALL_RULE_NONE);
    c.predictor = predictor_new_with(view, s->info, &heddle_backend_z3);
    c.checker = witness_trace_new(&s->mem, s->info);
    for (size_t a = 0; a < s->mem.count && fine; a++)
        for (size_t b = a + 1; b < s->mem.count && fine; b++)
            fine = !naive_conflict(&s->mem, a, b) || judge_pair(&c, a, b);
    predictor_free(c.predictor);
    witness_trace_free(c.checker);
    view_free(view);
    return fine ? HOLDS : VIOLATED;
}

const struct property properties_z3[] = {
    { "z3-is-exact", z3_is_exact, 40 }, /* 15 ms of CPU time a trace */
    { NULL, NULL, 0 },
};
