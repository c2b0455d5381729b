/* execution.h - a full-mode trace in memory, with an expression for what each event did
 *
 * The walk (program.h) kept as arrays, by position: what recipe-s solves over, what recipe
 * changes (a branch taken the other way: execution_flip() in flip.h gives another execution),
 * and what the checker of witnesses evaluates.
 *
 * Memory: 40 bytes an event and 32 a node, besides the trace. Read only once built; several
 * threads may read it at the same time.
 */
#ifndef HEDDLE_PROGRAM_EXECUTION_H
#define HEDDLE_PROGRAM_EXECUTION_H

#include "program/program.h"
#include "trace/trace.h"

/* What must keep its value for the rest of its thread to be what it is (STEP_FIXED, and the
 * addresses of accesses that vary). */
struct execution_fixed {
    expr value;
    u128 recorded;
};

struct execution_event {
    uint8_t kind;             /* enum step_kind */
    bool known;               /* the walk placed it; false: what it does is as recorded, its reads
                                 before it in the thread are pinned */
    expr address, value, old; /* as in struct step */
    uint64_t outcome;         /* branch */
    uint32_t fixed_first;     /* fixed[fixed_first .. next event's fixed_first): needed before it */
};

struct execution {
    const struct trace_mem *trace; /* borrowed */
    struct exprs *x;
    struct execution_event *events; /* trace->count + 1, the last one only ends the list of fixed */
    struct execution_fixed *fixed;
    size_t nfixed;
    uint64_t walked, outside, lost; /* as in struct walk_stats */
};

/* NULL: the trace has no code (no full build, files gone); err says why. */
struct execution *execution_new(const struct trace_mem *trace, const struct tables *tables,
                                struct error *err);
void execution_free(struct execution *e);

#endif
