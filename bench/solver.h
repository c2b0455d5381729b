/* solver.h - the plain encoding that the solver is measured against (solver_plain.c) */
#ifndef HEDDLE_BENCH_SOLVER_H
#define HEDDLE_BENCH_SOLVER_H

#include "order/view.h"
#include "trace/trace.h"

#include <z3.h>

/* Which of Z3's solvers. */
enum plain_kind { PLAIN_SIMPLE, PLAIN_IDL };

/* Z3's answer for the pair, by a context and a solver made for it alone. Give up after so many
 * seconds. */
Z3_lbool plain_decide(const struct view *v, bool values, uint32_t a, uint32_t b,
                      enum plain_kind kind, double seconds);

#endif
