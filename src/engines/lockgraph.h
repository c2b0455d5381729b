/* lockgraph.h - which locks threads asked for while they held which others
 *
 * A request is an acquire by a thread that holds a lock already, without its
 * position: thread, lock, site, and the locks held with the sites where they
 * were taken. Its instances are the positions where that happened. Recursive
 * acquires are no requests. (The abstract acquires of Tunc, Mathur,
 * Pavlogiannis and Viswanathan, PLDI 2023, section 4; sites are part of them
 * here, because a report is about sites.)
 *
 * A pattern is a ring of requests of different threads, in which
 *   - each wants a lock that the next one holds, in a way that excludes it
 *     (readers do not exclude readers); a lock that some thread releases for
 *     another one does not count, for it may come free all the same;
 *   - all can hold what they hold at the same time: no lock guards two of them;
 *   - each waits for the next one only, so no smaller ring is inside.
 *
 * Memory: a request each, 8 bytes an instance.
 */
#ifndef HEDDLE_ENGINES_LOCKGRAPH_H
#define HEDDLE_ENGINES_LOCKGRAPH_H

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
    PATTERNS_MAX = 1000000
};

struct hold {
    uint32_t lock;
    uint32_t site; /* where it was taken */
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
    bool shared;
    bool in_pattern;
    size_t first, count; /* its instances, once there are patterns */
};

struct thread_holds {
    struct hold *holds; /* sorted like a set's */
    uint32_t count;
    size_t cap;
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
    uint32_t *log_request, *log_position;
    size_t nlog, log_request_cap, log_position_cap;
    uint32_t *instances; /* positions */
    uint64_t too_far;    /* instances at positions that are not kept */

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

/* The next steps of the trace; only instances below `limit` are kept. */
void lockgraph_steps(struct lockgraph *g, const struct span *span, uint64_t limit);

/* After the last step: find all patterns (lockrings.c), and list the instances of their requests.
 */
void lockgraph_search(struct lockgraph *g);
void lockgraph_rings(struct lockgraph *g);

/* The hold of request b that keeps request a waiting, or NULL. */
const struct hold *lockgraph_blocks(const struct lockgraph *g, const struct request *a,
                                    const struct request *b);

#endif
