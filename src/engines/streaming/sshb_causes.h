/* sshb_causes.h - which races follow from another race
 *
 * Sets race.follows and race.cause where the accesses of a race would be
 * ordered, in all occurrences, if those of one other race were atomic.
 */
#ifndef HEDDLE_ENGINES_STREAMING_SSHB_CAUSES_H
#define HEDDLE_ENGINES_STREAMING_SSHB_CAUSES_H

#include "engines/streaming/sshb.h"

/* After the verdicts. */
void sshb_find_causes(struct sshb *p, struct whole *whole);

#endif
