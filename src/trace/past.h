/* past.h - events that stand for a beginning that is gone
 *
 * A flight recorder drops the beginning of a recording (docs/design/endless.md).
 * This follows the events that are dropped, and lists a few that bring threads
 * where they were at the cut, so that what is kept is a trace like any other:
 *   - functions that threads are in, locks they hold, calls of untraced code they
 *     are in; the first `once` of each object; who has entered an open round of a
 *     barrier,
 *   - a barrier of its own, at which all threads that run meet: so all this comes
 *     first in every schedule,
 *   - forks of threads that have not begun,
 *   - in recordings that leave out accesses that repeat: each thread's plain accesses since it last
 *     let go of something. They stand for later ones, and race with what follows. Not those to
 * memory that was allocated or freed since: to what follows it is another variable. Memory is by
 * what is alive, and 20 bytes for each 64 bytes of heap that were ever in use. Concurrency: none.
 */
#ifndef HEDDLE_TRACE_PAST_H
#define HEDDLE_TRACE_PAST_H

#include "trace/trace.h"

/* The name of the barrier: number 0 of the table of objects. */
#define PAST_BARRIER "the end of what was dropped"

struct past;

/* `quiet`: the recording leaves out accesses that repeat (one without values). */
struct past *past_new(bool quiet);
void past_free(struct past *p);

/* The next events, with the marks of check_trace.c and complete lists of calls. */
void past_add(struct past *p, const struct batch *b);
uint64_t past_events(const struct past *p); /* so many */

/* False: a thread has too many accesses since it last let go of something to list them. */
bool past_is_short(const struct past *p);
/* The events that stand for all so far. */
void past_list(const struct past *p, struct trace_mem *out);

#endif
