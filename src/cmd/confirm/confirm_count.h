/* confirm_count.h - threads and events of a trace by names that other runs share (abi/rt_steer.h)
 *
 *     struct counting c = { 0 };
 *     counting_begin(&c, first_event.thread);
 *     k = counting_take(&c, &event)          each event, in trace order
 *     counting_release(&c);
 *
 * A thread is its creation path, an event the n-th of its kind in its thread, as the runtime counts
 * while a controlled run goes on (runtime/steer/steer.c).
 */
#ifndef HEDDLE_CMD_CONFIRM_CONFIRM_COUNT_H
#define HEDDLE_CMD_CONFIRM_CONFIRM_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "trace/event.h"

struct counter {
    uint32_t thread, op, site; /* SITE_NONE: of any place; OP_LOAD: all atomics */
    uint32_t count;
    uint32_t key; /* the caller's: in the plan + 1 */
};

struct counted_thread {
    uint64_t path; /* 0: not known */
    uint32_t creator, children;
    uint32_t number; /* of its creator's children */
    bool fresh;      /* its next event tells of its stack */
};

struct counting {
    struct counted_thread *threads;
    size_t nthreads, threads_cap;
    struct map by_key;
    struct counter *counters;
    size_t ncounters, counters_cap;
};

void counting_release(struct counting *c); /* a zeroed struct is empty */

/* The thread of the trace's first event is the root. */
void counting_begin(struct counting *c, uint32_t first_thread);
/* The event's counter, valid until the next event; NULL: events like it are not counted. */
struct counter *counting_take(struct counting *c, const struct event *e);

static inline bool counting_is_atomic(unsigned op)
{
    return op == OP_LOAD || op == OP_STORE || op == OP_RMW;
}

#endif
