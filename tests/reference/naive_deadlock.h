/* naive_deadlock.h - the deadlocks of a small trace, by visiting every state
 *
 * A state is reached by a correct reordering (docs/design/proof.md) in which every
 * read sees the write it saw. With `keep_order` only reorderings count that
 * keep the order of the critical sections they enter: the sync-preserving
 * ones. A deadlock is a state with a ring of threads: each has an acquire next
 * that nothing but a lock keeps from happening, and of the threads of the ring
 * exactly one, the next, holds that lock. What is found are the sets of these
 * acquires.
 * Hard edges come from naive.h; nothing is shared with engines or checker.
 * Limits: NAIVE_EVENTS events, NAIVE_THREADS threads, NAIVE_CELLS groups of
 * bytes that are accessed alike.
 */
#ifndef HEDDLE_TESTS_NAIVE_DEADLOCK_H
#define HEDDLE_TESTS_NAIVE_DEADLOCK_H

#include "naive.h"
#include "trace/trace.h"

enum { NAIVE_EVENTS = 62, NAIVE_THREADS = 8, NAIVE_CELLS = 48 };

struct naive_deadlocks {
    uint64_t *rings; /* sets of positions, a bit each */
    size_t count, cap;
    size_t states;
    bool complete; /* false: over a limit */
};

void naive_deadlocks(const struct trace_mem *t, bool keep_order, size_t max_states,
                     struct naive_deadlocks *out);
void naive_deadlocks_release(struct naive_deadlocks *d);
bool naive_deadlocks_has(const struct naive_deadlocks *d, uint64_t ring);

#endif
