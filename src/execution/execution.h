/* execution.h - a full-mode trace in memory, with an expression for what each event did
 *
 * The walk (program.h) kept as arrays, by position: what recipe-s solves over, what recipe
 * changes (a branch taken the other way: flip.h gives another execution), and what the checker
 * of witnesses evaluates.
 *
 * Conditions. Event i of a thread is what it is (and is there at all) if the thread's conditions
 * up to i hold: those in conditions[condition_first[k] .. condition_first[k + 1]) for all k <= i
 * of the thread. A branch is a condition of the thread's next event, an address of its own event.
 * A condition holds when its value is `recorded`; where that is not known (`is_known`): when all
 * reads below it see what they saw.
 *
 * Memory: 40 bytes an event, 32 a node and 48 a condition, besides the trace. Read only once
 * built; several threads may read it at the same time.
 */
#ifndef HEDDLE_EXECUTION_EXECUTION_H
#define HEDDLE_EXECUTION_EXECUTION_H

#include "execution/expr.h"
#include "execution/first.h"
#include "trace/trace.h"

struct flips;
struct program;
struct sharing;

enum condition_kind {
    CONDITION_BRANCH,  /* the outcome of the branch at `event` */
    CONDITION_ADDRESS, /* of the access at `event` */
    CONDITION_FIXED    /* STEP_FIXED, met before `event`: an index, a length, a target, an argument
                          of code that has no bitcode */
};

/* What must stay as it was for the thread to go on as it did. Only what varies is listed. */
struct execution_condition {
    u128 recorded;
    expr value;
    uint32_t event; /* position */
    uint8_t kind;   /* enum condition_kind */
    bool is_known;
    /* The recorded execution did not meet it (flip.h): it does not hold because nothing has
     * changed, it must be computed, and be `recorded`. */
    bool is_new;
};

struct execution_event {
    expr address; /* 0: nothing is known, or it does not matter */
    expr value;   /* read: what it read (a READ of its own, or the thread's last write); write,
                     update: what it writes, 8 bits a byte; branch: the condition, or what a switch
                     looks at; result. 0: nothing is known */
    expr old;     /* update: what it read */
    uint32_t pieces, npieces; /* write of more than 16 bytes: execution.pieces of piece_bytes each
                                 (the last one: the rest); 0: nothing is known of it */
    uint32_t cases, ncases;   /* switch: execution.cases of outcomes 1, 2 ...; ncases 0: a branch */
    uint32_t outcome;         /* branch */
    uint8_t kind;             /* enum step_kind of program.h */
    bool known; /* the walk placed it and agreed with the record. false: the reads before it in its
                   thread must see what they saw, and what it writes is what was recorded */
    uint8_t piece_bytes;
    bool is_new; /* of code that was not executed (flip.h): no recorded read saw what it writes */
};

struct execution {
    const struct trace_mem *trace; /* borrowed */
    struct exprs *x;
    struct execution_event *events;         /* trace->count */
    uint32_t *condition_first;              /* trace->count + 1 */
    struct execution_condition *conditions; /* by event */
    expr *cases;
    size_t ncases;
    expr *pieces;
    size_t npieces;
    uint64_t walked, outside, lost; /* as in struct walk_stats */
    struct firsts first;            /* of the variables that the walk met */
};

/* NULL: the trace has no code (no full build, files gone); err says why. */
/* Is any of the program's code at hand? */
bool execution_has_code(const struct tables *tables);
struct execution *execution_new(const struct trace_mem *trace, const struct tables *tables,
                                struct error *err);
/* The same of an open program, with what is private; and what branches would do that went the other
 * way, if that is wanted (flip.h). */
struct execution *execution_make(const struct trace_mem *trace, struct program *p,
                                 struct sharing *sharing, struct flips *flips);
void execution_free(struct execution *e);
/* What was in memory at the beginning, at most 8 bytes of one variable; false: not known. */
bool execution_first_value(const struct execution *e, uint64_t address, uint64_t bytes,
                           uint64_t *value);

#endif
