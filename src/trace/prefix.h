/* prefix.h - what the beginning of a trace leaves behind for the rest of it
 *
 * A part of a long trace is looked at alone, after all that came before it as
 * it was recorded. Of that little counts: this keeps it while the trace goes
 * by, and lists it as events that stand for everything before:
 *   - the last writer of each byte (an rmw as a store: what it read is past),
 *   - acquires of locks that are held,
 *   - who has entered a barrier's round that is open; the first `once`,
 *   - calls of untraced code that are open. Those that have returned may have
 *     written anything: one call and return at the end say so.
 *   - In recordings that leave out repeated accesses (quiet periods, docs/design/
 *     proof.md): each thread's plain accesses since its last synchronisation,
 *     and a fence for that one.
 * Needs of what came before are satisfied, so nothing else orders what follows.
 * Content of memory from malloc that nobody wrote is unknown, as it is of
 * memory that was there at first: allocs and frees only make bytes unknown,
 * but for named variables, which begin with 0.
 *
 * Memory: by what is alive, not by events. Concurrency: none.
 */
#ifndef HEDDLE_TRACE_PREFIX_H
#define HEDDLE_TRACE_PREFIX_H

#include "trace/trace.h"

struct prefix;

struct prefix_event {
    struct event event;    /* of a call: `value` is not used */
    uint64_t position;     /* in the trace */
    const uint64_t *words; /* a call's D, borrowed; `event.old` entries of two words */
};

struct prefix *prefix_new(bool quiet);
void prefix_free(struct prefix *p);

/* The next event; `extra` as in struct batch. */
void prefix_add(struct prefix *p, const struct event *e, uint64_t position, const uint64_t *extra);

/* False: more had to be kept than is sensible, and some was not. */
bool prefix_is_complete(const struct prefix *p);

/* The events that stand for all so far, in their order; only those writers that `rest` can see. The
 * list is the caller's; it is good until the next prefix_add(). */
struct prefix_event *prefix_list(struct prefix *p, const struct event *rest, size_t count,
                                 size_t *n);

#endif
