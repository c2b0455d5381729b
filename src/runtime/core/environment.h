/* environment.h - reading the environment, once, when the runtime starts */
#ifndef HEDDLE_RUNTIME_CORE_ENVIRONMENT_H
#define HEDDLE_RUNTIME_CORE_ENVIRONMENT_H

#include "runtime/core/rt.h"

HIDDEN void options_read(void);
/* Instead, in a program with more rights than whoever started it has: our variables are taken out
 * of the environment unread, as the dynamic linker does with its own, so that nothing that the
 * program starts with these rights obeys them either. */
HIDDEN void options_drop(void);

#endif
