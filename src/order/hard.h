/* hard.h - what must come before an event by program order and needs alone
 *
 * Clocks (clock.h) say how many events of each thread an event needs; neighbours of a thread that
 * need the same of the others share one, and clocks share what they have in common. Nothing about
 * locks or values: so it holds whatever reads see.
 * Cost: a join for each need that brings news, 4 bytes an event. Read only after hard_new().
 */
#ifndef HEDDLE_ORDER_HARD_H
#define HEDDLE_ORDER_HARD_H

#include "order/view.h"

struct hard;

/* The view is borrowed. NULL: it would take more than `most` bytes. */
struct hard *hard_new(const struct view *v, uint64_t most);
void hard_free(struct hard *h);

/* How many events of the thread must be executed before the event is. */
uint32_t hard_needs(const struct hard *h, uint32_t event, uint32_t thread);

#endif
