/* gen_flat.h - random traces of any length without any structure
 *
 * Threads, forked at the beginning, take locks (up to two inside each other)
 * and read and write variables, all drawn alike: no discipline, so that
 * nearly every pair of accesses is a question for the ordering solver. How
 * hard they are depends on the number of values: with few, a read has many
 * writes to choose from. Consistent by construction; the same options give
 * the same trace everywhere.
 */
#ifndef HEDDLE_TESTS_GEN_FLAT_H
#define HEDDLE_TESTS_GEN_FLAT_H

#include "gen.h"

struct gen_flat_options {
    uint64_t seed;
    uint32_t events;
    uint32_t threads, locks, variables;
    uint32_t values;         /* different ones that are written; 0: values are not recorded */
    uint32_t branch_percent; /* of events */
    uint32_t lock_percent;   /* of events: acquires and releases */
    uint32_t write_percent;  /* of accesses */
    uint32_t burst;          /* percent: the thread that ran last runs again */
};

/* 1,000 events, 8 threads, 20 locks, 100 variables, no values, no branches. */
void gen_flat_defaults(struct gen_flat_options *o);
void gen_flat(const struct gen_flat_options *o, struct gen_trace *out);

#endif
