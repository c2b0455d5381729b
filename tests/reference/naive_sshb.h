/* naive_sshb.h - Definitions 6 and 11 of sshb-inaccurate-traces.txt, by brute
 * force
 *
 * Candidates from their definition, byte by byte; a path by search. What the
 * paper does not have: hard edges belong to happens-before, an alloc comes
 * before the uses of its memory (in the graph, not in happens-before), rmws
 * read and write, a free writes, an atomic read has one atomic candidate.
 */
#ifndef HEDDLE_TESTS_NAIVE_SSHB_H
#define HEDDLE_TESTS_NAIVE_SSHB_H

#include "naive.h"

/* The conflicting pairs that happens-before leaves unordered and no path joins.
 */
void naive_guaranteed(const struct trace_mem *t, struct pair_set *out);
/* The candidates of a read at one byte, W1 and W2 together: positions; returns
 * how many. */
size_t naive_candidates(const struct trace_mem *t, const struct relation *hb, size_t read,
                        uint64_t byte, size_t *out);

#endif
