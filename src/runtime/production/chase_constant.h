/* chase_constant.h - memory that nobody can write: waiting for it would be in vain */
#ifndef HEDDLE_RUNTIME_PRODUCTION_CHASE_CONSTANT_H
#define HEDDLE_RUNTIME_PRODUCTION_CHASE_CONSTANT_H

#include "runtime/core/rt.h"

/* Is it in a part of the program's own file that is mapped for reading only? Those of libraries are
 * not known. Takes no lock. */
HIDDEN bool constant_is(uint64_t address);

#endif
