/* values_float.h - floating point, computed for the checker */
#ifndef HEDDLE_WITNESS_VALUES_FLOAT_H
#define HEDDLE_WITNESS_VALUES_FLOAT_H

#include "execution/execution.h"

/* One operation (enum float_op) on operands of `from` bits; a is b where there is one operand.
 * False: the result is not a number, or not defined. */
bool values_float(unsigned op, unsigned from, unsigned to, u128 a, u128 b, u128 *result);

#endif
