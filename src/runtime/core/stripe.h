/* stripe.h - 65,536 counters that number synchronisation
 *
 * word: the last number given out, shifted by one; bit 0 is a lock. Taking a
 * number is one addition. An atomic operation takes the lock, acts, and gives
 * the lock back and takes its number in a single addition: the numbers of a
 * word's operations are in the order in which they happened.
 * version: odd while an atomic write is under way, another value after it; who
 * reads the same even version before and after a load has seen no write.
 *
 * The lock is held for one machine instruction of the program, while busy, so
 * no handler can find it taken by its own thread; rt_release_all() gives it
 * back when that instruction faults.
 */
#ifndef HEDDLE_RUNTIME_CORE_STRIPE_H
#define HEDDLE_RUNTIME_CORE_STRIPE_H

#include "abi/rt_stripe.h"
#include "runtime/core/state.h"

struct stripe {
    uint64_t word, version;
};
extern HIDDEN struct stripe rt_stripes[RING_STRIPES];

/* The next number of a stripe, for an operation whose object the thread owns. */
static inline uint64_t stripe_take(uint32_t stripe)
{
    return (__atomic_fetch_add(&rt_stripes[stripe].word, 2, __ATOMIC_SEQ_CST) >> 1) + 1;
}

/* Was a number taken from it? */
static inline bool stripe_is_used(uint32_t stripe)
{
    return __atomic_load_n(&rt_stripes[stripe].word, __ATOMIC_SEQ_CST) != 0;
}

HIDDEN void stripe_lock_slow(struct stripe *s);
static inline void stripe_lock(struct rt_thread *t, uint32_t stripe, bool writes)
{
    struct stripe *s = &rt_stripes[stripe];
    uint64_t w = __atomic_load_n(&s->word, __ATOMIC_RELAXED);

    if (unlikely((w & 1) || !__atomic_compare_exchange_n(&s->word, &w, w | 1, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
        stripe_lock_slow(s);
    t->held = stripe + 1;
    if (writes)
        __atomic_store_n(&s->version, s->version + 1, __ATOMIC_SEQ_CST);
}

/* Give it back; returns the operation's number. */
static inline uint64_t stripe_unlock(struct rt_thread *t, uint32_t stripe, bool writes)
{
    struct stripe *s = &rt_stripes[stripe];

    if (writes)
        __atomic_store_n(&s->version, s->version + 1, __ATOMIC_RELEASE);
    t->held = 0;
    return (__atomic_fetch_add(&s->word, 1, __ATOMIC_SEQ_CST) >> 1) + 1;
}

HIDDEN void stripes_clear(void); /* a new recording */

#endif
