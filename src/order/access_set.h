/* access_set.h - the last accesses to a variable that are not ordered with each other
 *
 * The sets cw and cr of the SSHB paper (Algorithms 1, 3, 4):
 * at most one access a slot; a new access throws out the ones that happened
 * before it. Where more than ACCESS_SET_MAX threads access a variable without
 * order, a new one takes the place of another: each access is compared with all
 * of them, which would be the square of the threads.
 * Cost: O(1) for a set of one, and for a thread that accesses again without
 * having learned anything since; else O(size). Sets above INDEXED_ABOVE
 * find a slot's entry through a hash.
 * A zeroed struct is an empty set; access_set_clear() releases.
 */
#ifndef HEDDLE_ORDER_ACCESS_SET_H
#define HEDDLE_ORDER_ACCESS_SET_H

#include "order/hb.h"

/* 2,000 threads at one variable are still compared with each other (a fifth of a second for
 * 10,000 accesses); 100,000 threads take as long as 50 times as many accesses do elsewhere. */
enum { ACCESS_SET_MAX = 2048 };

struct set_access {
    uint64_t position;
    uint32_t slot, time; /* when it happened */
    uint32_t site;
    uint32_t version; /* of its thread: what the set was pruned with */
};

struct access_set {
    uint32_t count, cap; /* cap 0: the one entry is `one` */
    union {
        struct set_access one;
        struct {
            struct set_access *many;
            struct map *index; /* slot -> place in many, for large sets */
        };
    };
};

void access_set_clear(struct access_set *s);
/* Forget all accesses, keep the memory. */
void access_set_empty(struct access_set *s);
void access_set_copy(struct access_set *to, const struct access_set *from); /* to is empty */

/* May it lack some? Who uses its entries says so, then. */
static inline bool access_set_is_full(const struct access_set *s)
{
    return s->count >= ACCESS_SET_MAX;
}

static inline const struct set_access *access_set_entries(const struct access_set *s)
{
    return s->cap ? s->many : &s->one;
}

/* Add an entry as it is, next to what is there. */
void access_set_append(struct access_set *s, struct set_access a);

/* Drop what happened before the thread's present, add nothing. */
void access_set_prune(struct access_set *s, const struct hb_thread *t);

/* Like access_set_put(), but what happened before may stay for a while: amortised O(1). For those
 * who only need every concurrent access to be there. */
void access_set_put_lazy(struct access_set *s, const struct hb_thread *t, uint64_t position,
                         uint32_t site);

/* The general case of access_set_put(). */
void access_set_put_slow(struct access_set *s, const struct hb_thread *t, struct set_access a);

/* The thread makes an access: add it, drop what happened before it. */
static inline void access_set_put(struct access_set *s, const struct hb_thread *t,
                                  uint64_t position, uint32_t site)
{
    struct set_access a = { position, t->clock.slot, t->clock.time, site, t->version };

    if (!s->cap && (!s->count || hb_knows(t, s->one.slot, s->one.time))) {
        s->one = a;
        s->count = 1;
    } else {
        access_set_put_slow(s, t, a);
    }
}

#endif
