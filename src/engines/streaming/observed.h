/* observed.h - witnesses for races of the observed order (shb)
 *
 * Races whose prefix is longer than
 * options.max_witness, or that lie too far into the trace, are left as they
 * are. Counters tell.
 */
#ifndef HEDDLE_ENGINES_STREAMING_OBSERVED_H
#define HEDDLE_ENGINES_STREAMING_OBSERVED_H

#include "engines/engine.h"

/* Gives the races, which must be schedulable in the observed order, their reorderings. -1: the
 * trace cannot be read. */
int observed_witnesses(struct whole *w, struct engine_result *result, struct error *err);

#endif
