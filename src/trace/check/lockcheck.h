/* lockcheck.h - who holds which lock, and is that possible?
 *
 * The part of check_trace.c that knows locks. A lock has at most one exclusive
 * holder and any number of shared ones; a thread may hold it in both ways
 * (upgrade, downgrade), each way nests by itself.
 * Ownership: zeroed storage of the caller plus the three borrowed pointers;
 * lockcheck_release() frees the rest.
 */
#ifndef HEDDLE_TRACE_CHECK_LOCKCHECK_H
#define HEDDLE_TRACE_CHECK_LOCKCHECK_H

#include "base/map.h"
#include "trace/check/teller.h"
#include "trace/trace.h"

struct lockcheck {
    struct teller *teller;    /* borrowed */
    enum trace_order *order;  /* borrowed: becomes TRACE_UNKNOWN where holders overlap */
    struct lock_state *locks; /* [0] is not used */
    size_t nlocks, locks_cap;
    uint32_t *named; /* object number -> lock */
    size_t named_cap;
    struct map by_address;   /* target -> lock, for locks without a name */
    struct lock_hold *holds; /* pool; [0] is not used */
    size_t nholds, holds_cap;
    uint32_t free_holds; /* list through next */
    struct map shared;   /* (lock, thread) -> hold, 0 none */
    struct map lost;     /* (lock, thread) -> releases still to come of a hold taken away */
    uint32_t *held;      /* thread -> list of its holds */
    size_t held_cap;
};

void lockcheck_release(struct lockcheck *lc);
void lockcheck_clear(struct lockcheck *lc); /* nothing is held; keeps the borrowed pointers */

/* Check and mark one of the four lock operations. */
void lockcheck_event(struct lockcheck *lc, struct event *ev);

/* A thread is over: give up what it holds, each with a note that ends in `where`. */
void lockcheck_thread_over(struct lockcheck *lc, uint32_t thread, const char *where);
/* The trace is over: the same for all threads. */
void lockcheck_finish(struct lockcheck *lc);

#endif
