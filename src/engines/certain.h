/* certain.h - which reads surely saw the write that the trace says they saw
 *
 * In a trace whose synchronisation is exact but whose plain accesses are not,
 * two unordered accesses may be recorded the wrong way round. Where no two
 * conflicting accesses of a variable are unordered by HB, the order of all its
 * accesses is known, and with it the writer of each read. Reads of variables
 * with a race are uncertain.
 * Cost: fasttrack over the trace, then its first part again; 1 bit an event.
 */
#ifndef HEDDLE_ENGINES_CERTAIN_H
#define HEDDLE_ENGINES_CERTAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/trace.h"

struct certain;

/* For the events before `limit`. Rewinds the trace and reads it; NULL and an error. */
struct certain *certain_new(struct trace *t, uint64_t limit, struct error *err);
void certain_free(struct certain *c);

/* False for a read whose writer is not known for sure. */
bool certain_is(const struct certain *c, uint64_t position);

#endif
