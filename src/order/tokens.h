/* tokens.h - which post of a semaphore a wait takes
 *
 * A wait needs one post, not all that came before it (docs/design/proof.md, "Semaphores"). Where
 * every wait comes after a post of its own that no other wait has, a reordering has enough posts at
 * each wait; so such pairs are hard edges. A wait takes the latest post of its own thread that is
 * left, else the oldest of all, else one from before the trace. Who initialises a semaphore posts
 * its first value; what was posted before that counts no more.
 *
 *     slot = tokens_post(&t, object, thread)   keep what the post knows at [slot]
 *     slot = tokens_take(&t, object, thread)   what it knew; TOKEN_NONE: it needs nothing here
 *
 * Slots are small numbers that are used again: look at it before the next post.
 * Cost: O(1). Memory: 24 bytes a post that is left, and an entry a thread and semaphore.
 */
#ifndef HEDDLE_ORDER_TOKENS_H
#define HEDDLE_ORDER_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define TOKEN_NONE UINT32_MAX

/* A post that is left, in the lists of its semaphore and of its thread there. Both are in the order
 * of the trace, so what is taken is at an end of its thread's. */
struct token {
    uint32_t older, newer;         /* of the semaphore; `newer` also of the free slots */
    uint32_t own_older, own_newer; /* of the thread */
    uint32_t object, thread;
};

struct tokens {
    struct token *list;
    size_t count, cap;
    uint32_t free;        /* slot + 1 */
    struct map ends_of;   /* object -> its oldest and newest in `ends` */
    struct map newest_of; /* (object, thread) -> slot + 1; 0: none left */
    struct token_ends {
        uint32_t oldest, newest;
    } *ends;
    size_t nends, ends_cap;
};

/* A zeroed struct has none. */
void tokens_release(struct tokens *t);

uint32_t tokens_post(struct tokens *t, uint32_t object, uint32_t thread);
uint32_t tokens_take(struct tokens *t, uint32_t object, uint32_t thread);

#endif
