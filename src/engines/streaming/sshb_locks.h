/* sshb_locks.h - do the accesses of a race hold a lock in common?
 *
 * Where lock events are not in the order in which they happened, a missing
 * edge between two sections of one lock could make their accesses look like
 * a race. What each thread holds is right all the same: that is program
 * order. (the SSHB paper, section 6.3.)
 */
#ifndef HEDDLE_ENGINES_STREAMING_SSHB_LOCKS_H
#define HEDDLE_ENGINES_STREAMING_SSHB_LOCKS_H

#include "base/error.h"
#include "engines/streaming/sshb_facts.h"

struct whole;

/* Reads the trace again and sets SSHB_COVERED where no path orders a pair but a
 * lock does. -1 and an error where the trace cannot be read. */
int sshb_look_at_locks(struct sshb_facts *f, struct whole *whole, struct error *err);

#endif
