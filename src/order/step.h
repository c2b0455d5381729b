/* step.h - the trace as engines see it
 *
 * An event becomes one step for each variable it touches (none for events
 * that touch nothing an engine knows, such as enter and exit). Variables are
 * dense numbers for disjoint sets of bytes; memory.h makes them:
 *   STEP_FRESH  the variable's number was not in use before this step (or
 *               was used for memory that is gone): forget what you know of it.
 *               If its memory lies in a block that was freed and not
 *               allocated again, its last write is that free.
 *   STEP_GROUP  the first of several steps of one event. The parts of an
 *               event happen at once: splits first, then compare all of them
 *               before any of them is recorded or learns anything.
 *   OP_SPLIT    not an event: variable `id` is new and has the same history
 *               as variable `from` had up to here, because from now on
 *               their bytes are accessed separately. Copy the state.
 *   OP_FREE     stands behind the writes to the variables of a freed block,
 *               for those that nobody has touched yet; one for each block
 *               of the range. STEP_FRESH: the block is new, cut out of block
 *               `from` - 1, or (`from` 0) of memory nobody saw allocated.
 * Numbers are recycled, so the arrays an engine keeps are bounded by the
 * memory that is live at one time.
 */
#ifndef HEDDLE_ORDER_STEP_H
#define HEDDLE_ORDER_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

enum { OP_SPLIT = OP_COUNT }; /* a step's op: enum op, or this */

enum step_flag {
    STEP_FRESH = 1 << 0,
    STEP_NESTED = 1 << 1,  /* inner acquire or release of a recursive lock: no effect */
    STEP_FOREIGN = 1 << 2, /* release of a lock the thread does not hold */
    STEP_GROUP = 1 << 3    /* the first of several steps of one event */
};

struct step {
    uint64_t position;
    uint32_t thread;
    uint32_t site;
    uint32_t id;   /* access: variable; sync: object; fork, join: thread; alloc, free: block */
    uint32_t from; /* split: the old variable; fresh: block + 1, 0 none */
    uint8_t op;
    uint8_t order; /* enum memory_order */
    uint16_t flags;
};

/* Engines prefetch the state of the variable this many steps ahead: about the time a load from
 * the last cache level takes. (fasttrack on 50,000 variables: 30 % faster.) */
enum { STEPS_AHEAD = 12 };

/* A piece of the trace, and how many numbers are in use at its end. */
struct span {
    const struct step *steps;
    size_t count;
    uint32_t threads, variables, objects;
};

/* Number of steps of the event that starts here. */
static inline size_t step_group(const struct span *span, size_t i)
{
    size_t n = 1;

    while (i + n < span->count && span->steps[i + n].position == span->steps[i].position)
        n++;
    return n;
}

/* Number of steps from here on that the event at this position has; there may be none. */
static inline size_t steps_of(const struct span *span, size_t at, uint64_t position)
{
    size_t n = 0;

    while (at + n < span->count && span->steps[at + n].position == position)
        n++;
    return n;
}

#endif
