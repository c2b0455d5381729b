/* solver.h - can two accesses be next at the same time?
 *
 * Decides exactly whether some correct reordering (docs/design/proof.md) leads
 * to a state in which nodes a and b are both next; docs/design/solver.md has
 * the method. A positive answer comes with the reordering.
 *
 * Ownership: a solver borrows its problem. Concurrency: a solver belongs to
 * one thread; any number of solvers may share a problem.
 */
#ifndef HEDDLE_SOLVE_SOLVER_H
#define HEDDLE_SOLVE_SOLVER_H

#include "solve/problem.h"

enum solve_answer { SOLVE_FEASIBLE, SOLVE_INFEASIBLE, SOLVE_UNDECIDED };

/* Where the answer came from, for statistics. */
enum solve_way { SOLVE_BY_NEEDS, SOLVE_BY_OBSERVED, SOLVE_BY_SEARCH, SOLVE_WAYS };

/* 0: no limit. */
struct solve_budget {
    double seconds; /* of this thread's processor time */
    uint64_t conflicts;
    uint64_t nodes; /* more than so many are needed for sure: undecided at once */
    uint64_t work;  /* nodes, knots and clauses looked at, about 10 ns each: the limit that does not
                       depend on the machine */
    uint32_t unfrozen; /* for tests: first try with all frozen but so many nodes before the first of
                          the two accesses; 0: as solver.c sees fit */
};

struct solver;

struct solver *solver_new(const struct problem *p);
void solver_free(struct solver *s);

/* a and b are nodes of different threads; or the same node: can it be next? */
enum solve_answer solver_decide(struct solver *s, uint32_t a, uint32_t b,
                                const struct solve_budget *budget);

/* After SOLVE_FEASIBLE: the nodes to execute, in order; valid until the next question. */
const uint32_t *solver_order(const struct solver *s, uint32_t *count);
/* Of the last question. */
enum solve_way solver_way(const struct solver *s);
/* The last question needs more nodes than the budget allows. */
bool solver_too_long(const struct solver *s);
uint64_t solver_conflicts(const struct solver *s);
uint64_t solver_rounds(const struct solver *s);
uint64_t solver_work(const struct solver *s);

#endif
