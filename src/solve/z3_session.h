/* z3_session.h - one question after the other to the SMT solver Z3
 *
 * A thin layer over Z3's C interface: clauses over booleans and differences of
 * integers, a time limit, a model. What it takes off its users: which of Z3's
 * solvers is the right one, its life cycles, its signal handler, its errors
 * (they make the answer "unknown", never an abort), and that a context only
 * ever grows.
 *
 *     z3_begin(z);                          forget the last question
 *     z3_clause(z, lits, n); ...            assert
 *     if (z3_check(z, seconds) == Z3_L_TRUE) ... z3_is_true(z, x) ...
 *
 * Expressions are Z3_ast, valid until the next z3_begin(). Numbers name
 * variables: z3_bool(z, 7) is always the same one, and not z3_int(z, 7).
 *
 * Only what is loaded on demand (heddle-z3.so) and tests may use it: libz3 is
 * 23 MB and costs 1.2 ms at the start of a process.
 * Concurrency: a session belongs to one thread; sessions know nothing of each other.
 */
#ifndef HEDDLE_SOLVE_Z3_SESSION_H
#define HEDDLE_SOLVE_Z3_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <z3.h>

struct z3 {
    Z3_context context;
    Z3_solver solver;
    Z3_model model; /* of the last question that has one */
    Z3_ast yes, no;
    Z3_sort boolean, integer;
    uint64_t asserted; /* clauses since the context was made */
};

/* Numbers of variables must be below this. */
#define Z3_NAMES_MAX (1u << 30)

void z3_init(struct z3 *z);
void z3_release(struct z3 *z);
void z3_begin(struct z3 *z);

/* Z3_L_TRUE: there is a model, Z3_L_FALSE: there is none, Z3_L_UNDEF: out of time (0: none) or
 * memory. */
Z3_lbool z3_check(struct z3 *z, double seconds);
bool z3_is_true(const struct z3 *z, Z3_ast boolean);
int64_t z3_number(const struct z3 *z, Z3_ast integer);

Z3_ast z3_bool(struct z3 *z, uint32_t name);
Z3_ast z3_int(struct z3 *z, uint32_t name);
/* Constants stay constants. */
Z3_ast z3_not(struct z3 *z, Z3_ast x);
Z3_ast z3_and(struct z3 *z, Z3_ast x, Z3_ast y);
/* At least one of them; changes the array. */
void z3_clause(struct z3 *z, Z3_ast *lits, size_t n);

#endif
