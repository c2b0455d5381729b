/* sshb_values.h - do recorded values contradict the recorded order?
 *
 * Where a read has a value that the last write before it in the trace did
 * not write, it saw another write, and the recorded order is wrong there.
 */
#ifndef HEDDLE_ENGINES_STREAMING_SSHB_VALUES_H
#define HEDDLE_ENGINES_STREAMING_SSHB_VALUES_H

#include "base/error.h"
#include "engines/streaming/sshb_facts.h"

struct whole;

/* Reads the trace again and makes contradicted observed edges removable. -1 and
 * an error where the trace cannot be read. */
int sshb_look_at_values(struct sshb_facts *f, struct whole *whole, struct error *err);

#endif
