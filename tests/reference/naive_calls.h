/* naive_calls.h - the rules on calls of untraced code, by loops over all pairs
 *
 * docs/design/rdit.md, "Rules". What a call may touch and what an event
 * touches are short lists of things; whether two lists have a thing in common
 * is looked up byte by byte or name by name. Up to NAIVE_PAIRS calls.
 */
#ifndef HEDDLE_TESTS_NAIVE_CALLS_H
#define HEDDLE_TESTS_NAIVE_CALLS_H

#include "naive.h"
#include "order/view.h"

enum { NAIVE_PAIRS = 64 };

/* Adds "must come before" of the rules on order; false: too many calls. Names may be NULL. */
bool naive_calls(const struct trace_mem *t, enum call_rule kind, const struct tables *names,
                 struct relation *r);

/* Did some read see what a call of untraced code wrote? */
bool naive_has_by_call(const struct trace_mem *t);
/* Does the call of this event, or the one it returns from, list the byte? */
bool naive_lists_byte(const struct trace_mem *t, enum call_rule kind, size_t event, uint64_t byte);
/* Is the event inside a call of its thread? */
bool naive_in_call(const struct trace_mem *t, size_t event);

#endif
