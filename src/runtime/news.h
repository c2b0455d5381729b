/* news.h - does an acquire tell the thread anything that it did not know?
 *
 * A thread's releases are counted. Who acquires from release n of thread u knows
 * all that u did before it, hence everything behind u's earlier releases, too.
 * So each thread keeps, of the threads it acquired from, the highest number, and
 * each stripe of atomics the last release on it. An acquire of one that is known
 * adds no order: it need not start a new epoch of the filter. A list whose nodes
 * are linked with release stores and followed with acquire loads is read without
 * one, once its reader holds what the writers released last.
 *
 * Knowledge is got from atomics, from locks, and from the begin and end of
 * threads; what reaches a thread through a third one is not seen. All this may
 * forget, which costs an epoch. It errs the other way only where a plain write
 * or a relaxed store has ended a release sequence unseen (memory used again):
 * then an epoch goes on over an acquire, which hides no race
 * (docs/design/recording.md, "Epochs").
 *
 * Concurrency: a stripe's fields are used under its lock; a handover is two words
 * that agree or are not used.
 */
#ifndef HEDDLE_RUNTIME_NEWS_H
#define HEDDLE_RUNTIME_NEWS_H

#include "runtime/stripe.h"

enum { RELEASE_SHIFT = 40, HANDOVERS = 1 << 12 };

/* Several threads released here, and the last did not know of the others: always news. */
#define RELEASE_MIXED UINT64_MAX

/* What the last release of an object was, for acquires of the same object; others may have taken
 * its place. */
struct handover {
    uint64_t release, check; /* object ^ release */
};
extern HIDDEN struct handover rt_handovers[HANDOVERS];

static inline uint64_t news_thread(const struct rt_thread *t)
{
    return (t->number + UINT64_C(1)) & 0x7fffff;
}

static inline uint64_t news_next(struct rt_thread *t)
{
    return news_thread(t) << RELEASE_SHIFT | ++t->releases;
}

static inline bool news_is_known(const struct rt_thread *t, uint64_t release)
{
    uint64_t thread = release >> RELEASE_SHIFT, known = t->known[thread % NEWS_KNOWN];

    return !release || thread == news_thread(t) ||
           (known >> RELEASE_SHIFT == thread && known >= release);
}

static inline void news_learn(struct rt_thread *t, uint64_t release)
{
    if (release != RELEASE_MIXED && !news_is_known(t, release))
        t->known[(release >> RELEASE_SHIFT) % NEWS_KNOWN] = release;
}

/* ---- atomics; the stripe is locked ---- */

/* The operation acquires what was released at p: is it news? */
static inline bool news_acquired(struct rt_thread *t, const struct stripe *s, const void *p,
                                 unsigned order)
{
    if (!order_acquires(order) || news_is_known(t, s->release))
        return false;
    if (s->object == (uintptr_t)p)
        news_learn(t, s->release);
    return true;
}

/* The operation has written p. After a release fence every store releases, what the fence had. */
static inline void news_written(struct rt_thread *t, struct stripe *s, const void *p,
                                unsigned order, bool is_rmw)
{
    bool releases = order_releases(order);

    if (releases || t->fenced) {
        s->release = news_is_known(t, s->release) ? news_next(t) : RELEASE_MIXED;
        s->object = releases ? (uintptr_t)p : 0;
    } else if (!is_rmw && s->object == (uintptr_t)p) {
        s->object = 0; /* the sequence ends here */
    }
}

/* ---- locks and threads ---- */

static inline struct handover *news_slot(uint64_t object)
{
    return &rt_handovers[object * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

static inline void news_hand_over(struct rt_thread *t, uint64_t object)
{
    struct handover *h = news_slot(object);
    uint64_t release = news_next(t);

    __atomic_store_n(&h->release, release, __ATOMIC_RELAXED);
    __atomic_store_n(&h->check, object ^ release, __ATOMIC_RELAXED);
}

static inline void news_take_over(struct rt_thread *t, uint64_t object)
{
    struct handover *h = news_slot(object);
    uint64_t release = __atomic_load_n(&h->release, __ATOMIC_RELAXED);

    if ((__atomic_load_n(&h->check, __ATOMIC_RELAXED) ^ release) == object)
        news_learn(t, release);
}

#endif
