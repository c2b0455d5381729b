/* needs.h - the hard edges of a trace, one event at a time
 *
 * For each event, in trace order: which events of other threads have to come
 * before it in every correct reordering (docs/design/proof.md, "Hard edges";
 * alloc -> use included). Only edges that are not implied by earlier ones:
 * every thread has a clock of what it needs so far, a source that the clock
 * knows already gives no edge.
 *
 * A source of edges (posts of a semaphore, enters of a round, heads of a
 * release sequence) is a frontier: its events, at most a few of each thread,
 * since a later event of a thread implies the earlier ones.
 *
 * Cost: O(1) for an event that does not synchronise, else what is new in the
 * frontier since the thread looked at it last; edges O(T) an event at worst
 * (a barrier of T threads has T * T edges a round).
 * Ownership: everything belongs to the struct. Concurrency: none.
 */
#ifndef HEDDLE_ORDER_NEEDS_H
#define HEDDLE_ORDER_NEEDS_H

#include "base/map.h"
#include "order/clock.h"
#include "trace/event.h"

struct needs;

struct needs *needs_new(uint32_t nthreads);
void needs_free(struct needs *n);

/* The next event. `cells` are the cells it touches, numbers of the caller's choice; of an alloc
 * they are new. Returns the events needed, valid until the next call. */
const uint32_t *needs_event(struct needs *n, uint32_t position, const struct event *e,
                            const uint32_t *cells, uint32_t ncells, uint32_t *count);

#endif
