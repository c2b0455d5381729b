/* mc.h - mc as a part of other engines */
#ifndef HEDDLE_ENGINES_EXACT_MC_H
#define HEDDLE_ENGINES_EXACT_MC_H

#include "engines/engine.h"

/* What mc's decide() does, with the calls as the deciding engine wants them. -1: the trace cannot
 * be read. */
int mc_run(struct engine_result *result, struct whole *whole, struct error *err);

#endif
