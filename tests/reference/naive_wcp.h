/* naive_wcp.h - WCP straight from its definition, for small traces
 *
 * Kini, Mathur and Viswanathan 2017, with the choices of docs/design/wcp.md:
 * all rules are applied to a matrix of bits until nothing changes. A thread
 * that ends, or is joined, inside a section gets a release event there, so
 * the rules see sections with an end. Cost: O(N^4) at worst, tens of events.
 */
#ifndef HEDDLE_TESTS_NAIVE_WCP_H
#define HEDDLE_TESTS_NAIVE_WCP_H

#include "naive.h"

/* Pairs (a, b) that are ordered by WCP; not closed under program order. */
void naive_wcp(const struct trace_mem *t, struct relation *out);

/* Conflicting pairs that neither WCP nor program order puts in order. */
void naive_wcp_all(const struct trace_mem *t, struct pair_set *out);

/* What is left when a reported pair counts as a hard edge from there on: accesses in trace order,
 * each with the earlier ones it is unordered with, the latest first. */
void naive_wcp_sound(const struct trace_mem *t, struct pair_set *out);

#endif
