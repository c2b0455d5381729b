/* stripe.c - waiting for a stripe's lock, and giving it back after a fault */
#include "runtime/core/stripe.h"
#include "runtime/untraced/reach_log.h"

#include <sched.h>

HIDDEN void rt_release_all(void);
HIDDEN uint64_t rt_held(void);
HIDDEN void rt_hold_again(uint64_t held);

struct stripe rt_stripes[RING_STRIPES] __attribute__((aligned(4096)));

/* The holder is at most one instruction from giving it back, unless it was preempted. */
void stripe_lock_slow(struct stripe *s)
{
    uint64_t w;
    int tries = 0;

    for (;;) {
        w = __atomic_load_n(&s->word, __ATOMIC_RELAXED);
        if (!(w & 1) && __atomic_compare_exchange_n(&s->word, &w, w | 1, true, __ATOMIC_ACQUIRE,
                                                    __ATOMIC_RELAXED))
            return;
        if (++tries % 64)
            __builtin_ia32_pause();
        else
            sched_yield();
    }
}

/* The operation faulted: it did not happen. Give the lock back without taking a number, for which
 * the merger would wait. */
void rt_release_all(void)
{
    struct rt_thread *t = tls.self;
    struct stripe *s;

    reach_let_go();
    if (!t || !t->held)
        return;
    s = &rt_stripes[t->held - 1];
    t->held = 0;
    if (s->version & 1)
        __atomic_store_n(&s->version, s->version + 1, __ATOMIC_RELEASE);
    __atomic_fetch_sub(&s->word, 1, __ATOMIC_SEQ_CST);
}

/* Only pages that were used become zero pages again. */
void stripes_clear(void)
{
    unsigned i;

    for (i = 0; i < RING_STRIPES; i++)
        if (rt_stripes[i].word | rt_stripes[i].version)
            rt_stripes[i] = (struct stripe){ 0 };
}

/* What rt_release_all() would give back: the stripe + 1, and in bit 32 whether it is for a write.
 */
uint64_t rt_held(void)
{
    struct rt_thread *t = tls.self;

    if (!t || !t->held)
        return 0;
    return t->held | (rt_stripes[t->held - 1].version & 1) << 32;
}

/* A handler has repaired what made the operation fault: it is tried again, under the lock again. */
void rt_hold_again(uint64_t held)
{
    if (held)
        stripe_lock(tls.self, (uint32_t)held - 1, held >> 32);
}
