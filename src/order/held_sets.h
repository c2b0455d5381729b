/* held_sets.h - the sets of locks that threads hold, as numbers
 *
 * Equal sets have equal numbers, 0 is the empty set.
 * A zeroed struct has no sets; held_sets_init() comes first.
 */
#ifndef HEDDLE_ORDER_HELD_SETS_H
#define HEDDLE_ORDER_HELD_SETS_H

#include <stdbool.h>

#include "base/map.h"
#include "order/step.h"

/* A held lock: object * 2 + shared. Sets are sorted. */
struct held_set {
    uint32_t *locks;
    uint32_t count;
};

struct held_thread {
    uint32_t set;
    uint32_t changes; /* another number after each acquire and release, of any thread */
};

struct held_sets {
    struct held_set *sets;
    size_t count, cap;
    struct map index;  /* hash of a set -> its number; the next free hash where that is taken */
    struct map moves;  /* set and lock -> set after taking it, or after dropping it */
    struct map common; /* two sets -> what is in both */
    uint32_t changes;  /* handed out */
    struct held_thread *threads;
    size_t threads_cap;
};

void held_sets_init(struct held_sets *h);
void held_sets_release(struct held_sets *h);

void held_sets_acquire(struct held_sets *h, const struct step *s);
void held_sets_release_lock(struct held_sets *h, const struct step *s);
void held_sets_over(struct held_sets *h, uint32_t thread);

/* A thread's set and the number of changes; a thread that never took a lock has 0, 0. */
static inline struct held_thread held_sets_of(const struct held_sets *h, uint32_t thread)
{
    return thread < h->threads_cap ? h->threads[thread] : (struct held_thread){ 0 };
}

/* What is in both sets, in the same way. */
uint32_t held_sets_common(struct held_sets *h, uint32_t a, uint32_t b);

/* The general case of held_sets_protect(). */
bool held_sets_meet(const struct held_sets *h, uint32_t a, uint32_t b);

/* Is there a lock in both, and not shared in both? */
static inline bool held_sets_protect(const struct held_sets *h, uint32_t a, uint32_t b)
{
    return a && b && held_sets_meet(h, a, b);
}

#endif
