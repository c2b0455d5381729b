/* deadlock.h - what an engine found: threads that wait for each other
 *
 * A deadlock is a ring of requests. Each is an acquire of one thread that
 * cannot go on, because the thread of the request behind it in the list (of the
 * last: the first) holds the lock. The table keeps one per set of sites, those
 * of the requests and of where the locks were taken: the first that could be
 * shown. As with races (race.h), all else is recovered from the trace by
 * position.
 */
#ifndef HEDDLE_ENGINES_DEADLOCK_H
#define HEDDLE_ENGINES_DEADLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "engines/race.h"

/* One of the threads. */
struct lock_wait {
    struct access request; /* the acquire that waits */
    struct access hold;    /* where the thread took what the request before it in the list wants */
    uint64_t lock;         /* event.target of the request */
};

struct deadlock {
    struct lock_wait *waits; /* owned; the one with the earliest request first */
    size_t nwaits;
    uint64_t count; /* patterns met: rings with these sites, of different threads or locks */
    enum strength strength;
    uint64_t *witness; /* owned; ends with the requests in the order of waits; or NULL */
    size_t nwitness;
    uint64_t long_witness; /* events of a witness that was accepted but not kept; 0 */
};

struct deadlock_table {
    struct deadlock *deadlocks; /* in order of discovery */
    size_t count, cap;
    struct map by_sites; /* hash of the sites -> index; others with that hash come behind it */
};

void deadlock_table_release(struct deadlock_table *t); /* a zeroed struct is empty */

/* The deadlock with these sites, in any order, or NULL; only the sites of `waits` are looked at. */
struct deadlock *deadlock_table_find(struct deadlock_table *t, const struct lock_wait *waits,
                                     size_t n);
/* Add a deadlock that deadlock_table_find() does not know; waits and witness are taken over. */
void deadlock_table_add(struct deadlock_table *t, const struct deadlock *d);

/* Of an engine_deadlock that has finished: there is nothing for it to decide. */
bool deadlock_finds_nothing(const void *engine);

#endif
