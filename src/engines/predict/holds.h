/* holds.h - the locks that threads hold, event by event
 *
 * A set of locks is a list of numbers in `list`: how many, then lock * 2 + shared of each, sorted.
 * It is named by the index of its first number; 0 is the empty set. Equal sets may have several
 * names. Sets are those before the event.
 * Cost: 4 bytes an event and 4 for each lock held at an acquire or release.
 */
#ifndef HEDDLE_ENGINES_PREDICT_HOLDS_H
#define HEDDLE_ENGINES_PREDICT_HOLDS_H

#include "order/view.h"

struct holds {
    uint32_t *of; /* event -> set */
    uint32_t *list;
    size_t count, cap;
};

void holds_init(struct holds *h, const struct view *v);
void holds_release(struct holds *h);

/* Is a lock in both sets, not shared in both? */
bool holds_common(const struct holds *h, uint32_t a, uint32_t b);
bool holds_same(const struct holds *h, uint32_t a, uint32_t b);

/* The set with lock * 2 + shared; without it. */
uint32_t holds_with(struct holds *h, uint32_t set, uint32_t lock);
uint32_t holds_without(struct holds *h, uint32_t set, uint32_t lock);

#endif
