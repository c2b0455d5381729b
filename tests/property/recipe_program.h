/* recipe_program.h - small random programs as executions, and an exhaustive search over them
 *
 * A program is a few threads of reads, writes of expressions over what was read, branches,
 * locks, forks. It is run once in a random order, which gives the trace; the execution beside
 * it (execution/execution.h) has the expressions. The reference interprets every order of the
 * program directly: no SAME and OTHER, just numbers, and BAD where nothing tells the number.
 */
#ifndef HEDDLE_TESTS_RECIPE_PROGRAM_H
#define HEDDLE_TESTS_RECIPE_PROGRAM_H

#include "execution/execution.h"
#include "trace/trace.h"

enum { PROGRAM_EVENTS = 24, PROGRAM_THREADS = 4, PROGRAM_BYTES = 32, PROGRAM_LOCKS = 2 };

struct random_program {
    struct trace_mem trace;
    struct trace_info info;
    struct execution e;
    struct exprs x;
    struct event events[PROGRAM_EVENTS + 1];
    struct execution_event about[PROGRAM_EVENTS + 1];
    uint32_t condition_first[PROGRAM_EVENTS + 2];
    struct execution_condition conditions[4 * PROGRAM_EVENTS];
    unsigned threads;
};

void random_program_init(struct random_program *p, uint64_t seed);
void random_program_release(struct random_program *p);
void random_program_print(const struct random_program *p);

/* Pairs of events, first below second, that are both next in some order. */
struct pair_matrix {
    bool at[PROGRAM_EVENTS][PROGRAM_EVENTS];
};
/* False: too many states. */
bool random_program_search(const struct random_program *p, struct pair_matrix *out);
/* Is the order, which ends with the two accesses, possible? */
bool random_program_accepts(const struct random_program *p, const uint64_t *order, size_t n);
/* What a read of the order sees (after random_program_accepts() said yes); false: nothing tells. */
bool random_program_sees(const struct random_program *p, const uint64_t *order, size_t n,
                         uint64_t read, uint64_t *value);

#endif
