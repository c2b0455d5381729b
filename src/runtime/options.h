/* options.h - reading the environment, once, when the runtime starts */
#ifndef HEDDLE_RUNTIME_OPTIONS_H
#define HEDDLE_RUNTIME_OPTIONS_H

#include "runtime/rt.h"

HIDDEN void options_read(void);

#endif
