/* naive_syncp.h - sync-preserving races by trying all reorderings of a small trace
 *
 * From the definition (Mathur, Pavlogiannis, Viswanathan 2021): a correct
 * reordering in which every read sees the write it saw, and two acquires of
 * one lock that are both in it, not both shared, come in the order of the
 * trace. Two conflicting accesses that are both next after one are a race.
 * Every such sequence is followed, event by event; that the order of the trace
 * would do is what the engine relies on, not this.
 * Limits: 62 events, 8 threads, 48 groups of bytes that are accessed alike.
 */
#ifndef HEDDLE_TESTS_NAIVE_SYNCP_H
#define HEDDLE_TESTS_NAIVE_SYNCP_H

#include "naive.h"

/* The races; false: over a limit. */
bool naive_syncp(const struct trace_mem *t, size_t max_states, struct pair_set *out);

/* The least set of events, a bit each, that holds all that must come before the given ones and is
 * closed: what its events need, the writers its reads saw, and of every two sections of different
 * threads that it enters, not both shared, the end of the earlier. False: one has no end. At most
 * 64 events. */
bool naive_closure(const struct trace_mem *t, const size_t *of, size_t n, uint64_t *set);

#endif
