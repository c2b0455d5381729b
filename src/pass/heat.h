/* heat.h - which blocks are executed often, as far as the compiler can guess */
#ifndef HEDDLE_PASS_HEAT_H
#define HEDDLE_PASS_HEAT_H

#include <llvm-c/Types.h>
#include <stdint.h>

#include "pass/util.h"

/* Blocks in loops that mostly make no calls: a number that grows with how often they are executed
 * when the function is. */
void find_heat(LLVMValueRef function, struct map *heat);

#endif
