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
#include "engines/engine.h"
#include "trace/trace.h"

struct certain;
struct sieve;
struct showable;

/* What the first pass looked at: what matters, or only suspects (sieve.h). */
struct certain_marks {
    struct sieve *sieve; /* or NULL: all */
    bool suspects;
};

/* For the events before `limit`. Rewinds the trace and reads it; NULL and an error. */
struct certain *certain_new(struct trace *t, uint64_t limit, struct error *err);
/* The same where somebody reads the trace anyway: an engine (engine.h) that finds no races, for the
 * first pass; then the second one, with the same marks. The state of the engine becomes the
 * result, or is gone (NULL and an error). `out`, if not NULL, is what schedules can hold, with
 * parts that begin every `step` events behind the first `beginning`. */
extern const struct engine engine_certain;
struct certain *certain_finish(void *state, struct trace *t, const struct certain_marks *marks,
                               uint64_t beginning, uint64_t step, struct showable *out,
                               struct error *err);
/* All reads of so many events are certain but these. */
struct certain *certain_but(uint64_t events, const uint64_t *uncertain, size_t n);
void certain_free(struct certain *c);

/* False for a read whose writer is not known for sure. */
bool certain_is(const struct certain *c, uint64_t position);

#endif
