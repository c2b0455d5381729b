/* locklife.h - when a lock is there to be taken, and by whom
 *
 * A report may advise to take a lock that one access holds around the other one, too. That needs a
 * lock that exists at both: it was initialised before the earlier access, and is not destroyed, and
 * its memory not freed, before the later one. Initialising and destroying a lock are writes of its
 * first bytes in a recording, as is setting it by hand; allocating or freeing its memory are
 * events too. Any of these begins another life. (A plain write by who holds the lock is not
 * counted: so do locks in assembly let go.) A lock on the stack or in the thread-local storage of a
 * thread that nobody else takes is that thread's own.
 *
 * Locks that have only a name, as in text traces, are always there.
 *
 * Life cycle: want, seal, one pass over the trace, questions. Cost: O(log n) for a write or an
 * allocation, n locks wanted; memory: 8 bytes for each beginning of a life.
 * Ownership: the lists belong to the struct. Concurrency: none.
 */
#ifndef HEDDLE_REPORT_LOCKLIFE_H
#define HEDDLE_REPORT_LOCKLIFE_H

#include "report/history.h"

struct locklife {
    uint64_t target;
    uint64_t *begins; /* positions; owned */
    size_t nbegins, begins_cap;
    uint32_t taker; /* the first thread that took it; UINT32_MAX: none */
    bool several;   /* others did, too */
    uint32_t stack; /* of this thread is it a part; UINT32_MAX: of none that is known */
};

struct locklives {
    struct locklife *list; /* by target, once sealed */
    size_t count, cap;
};

void locklives_release(struct locklives *l); /* a zeroed struct is empty */

void locklives_want(struct locklives *l, uint64_t target);
void locklives_seal(struct locklives *l);
/* `h`: who holds what; `is_stack`: it is the allocation of its thread's stack. */
void locklives_event(struct locklives *l, struct history *h, const struct event *ev,
                     uint64_t position, bool is_stack);

/* The lock, or NULL: it has only a name. */
const struct locklife *locklives_get(const struct locklives *l, uint64_t target);
/* Is it the same lock at both positions, from < to? Not where one of them makes it another. */
bool locklife_spans(const struct locklife *life, uint64_t from, uint64_t to);

#endif
