/* unseen.h - reads of values that nobody in the trace wrote
 *
 * A value that appears in memory without a recorded write of it was written by code that is not
 * traced. unseen_mark() finds reads of such values and marks those (EV_UNSEEN) of which it is known
 * where they came from:
 *   - a call of untraced code that can reach the byte (its D lists it) was under way after the last
 *     event that saw the memory as it was before;
 *   - recordings only: no other thread has touched the memory since it was allocated. Then a system
 *     function without a model wrote there, in the thread itself.
 * Where the order of accesses is not exact, a read is marked only if `sure` says that the accesses
 * to what it reads are in their order, or no write in the trace can have been the one.
 * What engines make of the marks is in docs/design/unseen.md.
 *
 * Cost: a look at a hash table for each access (50 ns); where some value is odd, a second pass.
 * Memory: 40 bytes a word of 8 bytes that is accessed, freed at the end.
 * Concurrency: none; writes only event.flags.
 */
#ifndef HEDDLE_TRACE_CALLS_UNSEEN_H
#define HEDDLE_TRACE_CALLS_UNSEEN_H

#include "trace/trace.h"

struct unseen_input {
    bool beginning; /* the events are there from the first of the trace on: older marks go */
    bool (*sure)(void *arg, size_t event); /* for traces whose order is not exact */
    void *arg;
};

/* Reads, by what became of them. */
struct unseen_counts {
    uint64_t by_call, own; /* marked */
    uint64_t unknown;      /* never right: nothing says who wrote what they saw */
};

struct unseen_counts unseen_mark(struct trace_mem *t, const struct trace_info *info,
                                 const struct unseen_input *in);

#endif
