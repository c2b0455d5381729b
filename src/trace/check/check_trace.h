/* check_trace.h - does the sequence of events make sense?
 *
 * Sources guarantee that each event is well formed; this is the one place
 * that looks at the sequence, for all formats. It marks events and records
 * diagnoses, and it never adds, removes or moves an event, so positions are
 * those of the file. docs/design/checking.md lists every rule and why it is
 * sound; the principle is that an ordering edge is kept where in doubt,
 * because dropping one makes a false alarm.
 *
 * Marks, and what later stages make of them:
 *   EV_NESTED   inner acquire or release of a recursive lock: no effect
 *   EV_IGNORED  left out of every analysis: fork or join of itself, join of a
 *               thread nobody knows, return that matches no open call
 *   EV_FOREIGN  a release that does not cleanly end the lock's latest
 *               section: ADD its clock to the lock's, do not replace it. A
 *               thread that holds the lock all the same gives it up here.
 * A thread that ends (or is joined) holding a lock releases it there; no
 * event says so. An acquire therefore comes after all that the lock's last
 * holder did, also where no release stands in between.
 *
 * Cost: about 1 ns for an event that is neither a lock nor a thread nor a
 * call event; those take array look-ups, and one hash where a lock is an
 * address, is shared, or was misused.
 * Memory: threads, locks, and pairs of rwlock and reader.
 */
#ifndef HEDDLE_TRACE_CHECK_CHECK_TRACE_H
#define HEDDLE_TRACE_CHECK_CHECK_TRACE_H

#include "trace/trace.h"

struct check;

/* All borrowed. Sets info's values, branches, calls as events show them, and its order to
 * TRACE_UNKNOWN where two threads hold one lock. */
struct check *check_new(const struct tables *tables, struct trace_info *info, struct diags *diags);
void check_free(struct check *c);

/* The next events; batch.first must be right. */
void check_batch(struct check *c, struct batch *b);
/* The trace is over: note what is still open. */
void check_finish(struct check *c);
/* Start again from the first event; what was diagnosed before is not diagnosed twice. */
void check_rewind(struct check *c);

#endif
