/* rt_stripe.h - which counter gives a synchronisation operation its number
 *
 * Sequence numbers count per stripe, not per object (docs/format/hdl.md,
 * "Stripes"): 65,536 counters need no table of objects in the recorded
 * process. Two objects that share a stripe are ordered more than they need be,
 * in the order in which things really happened.
 * Shared by the runtime, which counts, and the merger, which waits.
 */
#ifndef HEDDLE_ABI_RT_STRIPE_H
#define HEDDLE_ABI_RT_STRIPE_H

#include <stdint.h>

#define RING_STRIPES (1u << 16)

/* The class numbers of docs/format/hdl.md, "Merging"; enum op_class of trace/event.h is the same.
 */
enum ring_class {
    STRIPE_PLAIN = 1,
    STRIPE_ATOMIC,
    STRIPE_FENCE,
    STRIPE_LOCK,
    STRIPE_THREAD,
    STRIPE_CONDITION,
    STRIPE_BARRIER,
    STRIPE_SEMAPHORE,
    STRIPE_ONCE,
    STRIPE_ANNOTATION,
    STRIPE_MEMORY,
    STRIPE_CALL,
    STRIPE_BRANCH,
    STRIPE_STACK,
    STRIPE_LINK,
    STRIPE_REQUEST
};

/* The target is the event's, except: begin and end count on their own thread's number, and
 * atomics on their word of 8 bytes, so that atomics of different sizes on one word share a count.
 */
static inline uint64_t ring_stripe_hash(unsigned op_class, uint64_t target)
{
    if (op_class == STRIPE_ATOMIC)
        target &= ~UINT64_C(7);
    return (target ^ (uint64_t)op_class << 58) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint32_t ring_stripe(unsigned op_class, uint64_t target)
{
    return (uint32_t)(ring_stripe_hash(op_class, target) >> 48);
}

/* The class of an operation (enum op of trace/event.h) that carries a sequence number. */
static inline unsigned ring_class(unsigned op)
{
    return op <= 2    ? STRIPE_PLAIN
           : op <= 5  ? STRIPE_ATOMIC
           : op <= 6  ? STRIPE_FENCE
           : op <= 11 ? STRIPE_LOCK
           : op <= 15 ? STRIPE_THREAD
           : op <= 18 ? STRIPE_CONDITION
           : op <= 20 ? STRIPE_BARRIER
           : op <= 22 ? STRIPE_SEMAPHORE
           : op <= 23 ? STRIPE_ONCE
           : op <= 25 ? STRIPE_ANNOTATION
           : op <= 27 ? STRIPE_MEMORY
           : op <= 29 ? STRIPE_CALL
           : op <= 30 ? STRIPE_BRANCH
           : op <= 32 ? STRIPE_STACK
           : op <= 34 ? STRIPE_LINK
           : op <= 35 ? STRIPE_BRANCH
                      : STRIPE_REQUEST;
}

#endif
