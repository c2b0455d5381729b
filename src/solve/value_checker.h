/* value_checker.h - values that change with the order: what the solver asks of whoever computes
 * them
 *
 * With a value_checker any read may see any write (the problem says so: each touch wants and
 * gives the same), and what must hold are conditions over the values that reads see. After a
 * replay the checker computes them and names what is wrong: a fault is a set of (read, writer)
 * such that the condition cannot hold while these reads see these writers, and the node that
 * must not be executed then. The solver makes a clause of it:
 *     not IN(node) or not SEL(r1, w1) or not SEL(r2, w2) ...
 *
 * Concurrency: a checker belongs to one solver.
 */
#ifndef HEDDLE_SOLVE_VALUE_CHECKER_H
#define HEDDLE_SOLVE_VALUE_CHECKER_H

#include "solve/problem.h"

struct solver;

/* Both are touches; writer SOLVE_NONE: the read sees what was there first. */
struct value_pair {
    uint32_t read, writer;
};

struct value_fault {
    uint32_t node;         /* executed only if the condition holds; SOLVE_NONE: one of the two
                              accesses, so it must hold */
    uint32_t condition;    /* the checker's */
    uint32_t first, count; /* pairs */
};

struct value_faults {
    struct value_fault *faults;
    size_t count, cap;
    struct value_pair *pairs;
    size_t npairs, pairs_cap;
    bool cut; /* some fault has fewer pairs than it should: "no" is not certain */
};

/* What was executed. */
struct value_run {
    const uint32_t *order; /* nodes, without the frozen ones */
    uint32_t count;
    const uint32_t *seen; /* read touch -> the writing touch + 1 it saw, 0: what was there first */
    uint32_t frozen;      /* nodes below came first and as observed */
    uint32_t a, b;        /* the two accesses; SOLVE_NONE: no question */
    uint64_t work;        /* added to by the checker, in the solver's units */
};

struct value_checker {
    void *arg;
    void (*check)(void *arg, struct value_run *run, struct value_faults *out);
    /* Of a fault with one pair: is the condition wrong for sure when the read sees that writer? */
    bool (*is_wrong)(void *arg, uint32_t condition, uint32_t read, uint32_t writer);
    const bool *odd; /* read touch -> in the trace it did not see what its writer wrote */
};

/* From now on values count; the checker is borrowed. Once, before the first question. */
void solver_set_values(struct solver *s, const struct value_checker *c);

#endif
