/* lockgraph.h - which locks threads asked for while they held which others
 *
 * A request is an acquire by a thread that holds a lock already, without its
 * position: thread, lock, site, and the locks held with the sites where they
 * were taken. Its instances are the positions where that happened. Recursive
 * acquires are no requests. A request that the thread still makes at the end of
 * the trace (OP_REQUEST) is one of its own. (The abstract acquires of Tunc, Mathur,
 * Pavlogiannis and Viswanathan, PLDI 2023, section 4; sites are part of them
 * here, because a report is about sites.)
 *
 * A pattern is a ring of requests of different threads, in which
 *   - each wants a lock that the next one holds, in a way that excludes it
 *     (readers do not exclude readers); a lock that some thread releases for
 *     another one does not count, for it may come free all the same;
 *   - all can hold what they hold at the same time: no lock guards two of them;
 *   - each waits for the next one only, so no smaller ring is inside.
 * Or it is one request, made at the end of the trace, for a lock that its own
 * thread holds.
 *
 * Memory: a request each; an instance takes 16 bytes, and 4 for each lock held, unless they were
 * taken where they were at the last request of its thread. Positions up to 4 billion fit. Where
 * locks nest deeply the sets have a bound (HOLDS_MAX).
 */
#ifndef HEDDLE_ENGINES_CLOSURE_LOCKGRAPH_H
#define HEDDLE_ENGINES_CLOSURE_LOCKGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "order/step.h"

enum {
    /* A ring of more threads is not looked for. */
    RING_MAX = 64,
    /* Requests that the search for rings looks at before it gives up: a second or so. Short rings
     * come first. Programs have few locks in cycles, if any; logs in which every event has a site
     * of its own, or that nest locks at random, have millions of rings. */
    SEARCH_MAX = 20000000,
    /* Rings kept: 40 MB of short ones. */
    PATTERNS_MAX = 1000000,
    /* Locks held at requests, all together, and those of requests that hold more than DEEP, which
     * must not take the room of the others: 20 bytes each, 1.9 GB and 1.3 GB, that is some 11,000
     * nested in each other. Requests beyond are counted only. And entries of the lists of those
     * that hold a lock: 256 MB. */
    HOLDS_MAX = 96000000,
    DEEP = 256,
    DEEP_HOLDS_MAX = 64000000,
    HOLDERS_MAX = 64000000
};

struct hold {
    uint32_t lock;
    uint32_t site;     /* where it was taken */
    uint32_t position; /* when; in a set: by its first instance */
    bool shared;
};

/* What a thread holds at a request, by lock, then exclusive before shared. */
struct hold_set {
    struct hold *holds; /* owned */
    uint32_t count;
};

struct request {
    uint32_t thread, lock, site;
    uint32_t set;
    uint32_t top; /* of the locks held, the last one that was taken; by its first instance */
    bool shared;
    bool at_end; /* the thread waits when the trace ends */
    bool in_pattern;
    size_t first, count; /* its instances, once there are patterns */
    size_t all;          /* that many there are; those whose pasts are known may be fewer */
};

struct request_at {
    size_t held; /* into lockgraph.held */
    uint32_t request, position;
};

struct thread_holds {
    struct hold *holds; /* in the order of their acquires, from `first` on */
    uint32_t first, count;
    size_t cap;
    struct map index; /* of many: lock and kind -> is it held? */
    uint32_t set;     /* of its last request, + 1; 0 none */
    size_t held;      /* and its positions, in lockgraph.held */
    uint32_t same;    /* that request's locks are the first of the holds: so many, 0 not any more */
};

struct pattern {
    size_t first; /* into lockgraph.members */
    uint32_t count;
};

struct lockgraph {
    struct hold_set *sets;
    size_t nsets, sets_cap;
    struct request *requests;
    size_t nrequests, requests_cap;
    struct map set_index, request_index; /* hash -> number; those with the same hash behind it */

    /* Every instance, in trace order; later by request. */
    struct request_at *log;
    size_t nlog, log_cap;
    uint32_t *held; /* when each lock of its set was taken, instance by instance */
    size_t nheld, held_cap;
    uint32_t *instances; /* of requests in patterns: numbers in the log */
    uint64_t too_far;    /* instances at positions that do not fit */
    uint64_t too_deep;   /* and those for whose locks there was no room */
    size_t deep_max;     /* if not 0, instead of DEEP_HOLDS_MAX: tests have little memory */
    struct hold *sorted; /* scratch: the holds of a request as a set */
    size_t sorted_cap;

    struct thread_holds *threads;
    size_t threads_cap;
    bool *handed; /* lock -> was released by a thread that did not hold it */
    size_t handed_cap;

    struct pattern *patterns;
    size_t npatterns, patterns_cap;
    uint32_t *members; /* requests of patterns, each waits for the next */
    size_t nmembers, members_cap;
    bool cut; /* the search was stopped: there may be more patterns */
};

void lockgraph_release(struct lockgraph *g); /* a zeroed struct is empty */

/* The next steps of the trace. */
void lockgraph_steps(struct lockgraph *g, const struct span *span);

/* After the last step: find all patterns (lockrings.c), and list the instances of their requests.
 */
void lockgraph_search(struct lockgraph *g);
void lockgraph_rings(struct lockgraph *g);

/* The first hold of a set that is of this lock, or of a larger one. */
uint32_t lockgraph_find(const struct hold_set *s, uint32_t lock);
/* The hold of request b that keeps request a waiting, or NULL. */
const struct hold *lockgraph_blocks(const struct lockgraph *g, const struct request *a,
                                    const struct request *b);

/* Where an instance of a request is, and where its thread took one of the locks it holds there (a
 * hold of the request's set). */
static inline uint64_t lockgraph_position(const struct lockgraph *g, size_t instance)
{
    return g->log[g->instances[instance]].position;
}
uint64_t lockgraph_taken(const struct lockgraph *g, size_t instance, const struct hold *h);

#endif
