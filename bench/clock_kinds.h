/* clock_kinds.h - four representations of vector clocks behind one set of calls
 *
 * For bench/clocks.c, which chose the one in src/order/clock.h. A set of
 * clocks has `threads` clocks of threads, numbered from 0, then `objects`
 * clocks of locks, forks and last writes. A thread's own time starts at 1
 * and ticks after each time it publishes, so (thread, time) names one
 * snapshot; all four skip a snapshot that is known already in O(1).
 */
#ifndef HEDDLE_BENCH_CLOCK_KINDS_H
#define HEDDLE_BENCH_CLOCK_KINDS_H

#include <stdint.h>

struct clock_kind {
    const char *name;
    void *(*open)(uint32_t threads, uint32_t objects);
    /* Acquire, join, read: the thread learns all that the object knows. */
    void (*learn)(void *state, uint32_t thread, uint32_t object);
    /* Release, fork: the object, all of which the thread knows, becomes its snapshot; tick. */
    void (*publish)(void *state, uint32_t thread, uint32_t object);
    /* Write: the same for an object that may know things the thread does not. */
    void (*replace)(void *state, uint32_t thread, uint32_t object);
    /* The time a clock (thread, or threads + object) has for a thread. */
    uint32_t (*get)(const void *state, uint32_t clock, uint32_t of_thread);
    void (*close)(void *state);
};

extern const struct clock_kind kind_dense;  /* an array */
extern const struct clock_kind kind_sparse; /* sorted pairs (thread, time) */
extern const struct clock_kind kind_tree;   /* tree clocks, ASPLOS 2022 */
extern const struct clock_kind kind_shared; /* ours: shared radix trees */

#endif
