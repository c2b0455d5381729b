/* oracle.h - the exact set of predictable races of a small trace
 *
 * Visits every state that a correct reordering (docs/design/proof.md) can reach:
 * progress of each thread, last writer of each byte in each of its lifetimes,
 * and which threads have read something else than recorded. Two conflicting
 * accesses that are both next in some state are a race. Hard edges come from
 * naive.h; nothing is shared with the witness checker or the engines.
 * Limits: ORACLE_EVENTS events, ORACLE_THREADS threads, and ORACLE_CELLS
 * groups of bytes (each of its lifetimes counts) that are accessed alike.
 */
#ifndef HEDDLE_TESTS_ORACLE_H
#define HEDDLE_TESTS_ORACLE_H

#include "naive.h"
#include "order/view.h"
#include "trace/trace.h"

enum { ORACLE_EVENTS = 62, ORACLE_THREADS = 8, ORACLE_CELLS = 48 };

struct oracle_race {
    size_t first, second; /* in trace order */
    uint64_t *witness;    /* owned; ends with the two */
    size_t nwitness;
};

struct oracle {
    struct oracle_race *races;
    size_t count, cap;
    struct pair_set pairs; /* the same as a set */
    size_t states;
    bool complete; /* false: over a limit, the races found so far are right all the same */
};

void oracle_run(const struct trace_mem *t, const struct trace_info *info, size_t max_states,
                struct oracle *out);
/* There a wait comes after the post that it took (order/tokens.h), as engines have it. Here any
 * post lets it on, as the checker has it: */
void oracle_run_counted(const struct trace_mem *t, const struct trace_info *info, size_t max_states,
                        struct oracle *out);
/* The first where calls of untraced code count (docs/design/rdit.md, "Rules"); names may be NULL.
 */
void oracle_run_calls(const struct trace_mem *t, const struct trace_info *info, enum call_rule rule,
                      const struct tables *names, size_t max_states, struct oracle *out);
void oracle_release(struct oracle *o);

/* Follow one given reordering by the oracle's own rules: a second opinion on a witness. */
bool oracle_accepts(const struct trace_mem *t, const struct trace_info *info, const uint64_t *order,
                    size_t n);
bool oracle_accepts_calls(const struct trace_mem *t, const struct trace_info *info,
                          enum call_rule rule, const struct tables *names, const uint64_t *order,
                          size_t n);

#endif
