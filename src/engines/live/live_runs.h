/* live_runs.h - ranges of what calls of untraced code may touch, each with one history
 *
 * Things are numbers on one axis: addresses, and behind them objects that only have a name. A run
 * is a range of it all of which was touched alike, as far as anybody wants to know (live_calls.h).
 * Runs do not overlap; what lies between them has no history.
 *
 * Two levels of sorted arrays: finding a run is two binary searches, adding and removing one moves
 * half a page of pointers. Runs keep their place in memory.
 * Concurrency: none.
 */
#ifndef HEDDLE_ENGINES_LIVE_LIVE_RUNS_H
#define HEDDLE_ENGINES_LIVE_LIVE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "order/clock.h"

struct live_touch {
    uint32_t thread;
    struct clock clock; /* of the thread, just after it */
};

struct live_run {
    uint64_t lo, hi;
    struct clock returned; /* what calls that listed it and are over knew in the end */
    uint32_t *open;        /* calls that list it; some may be over since */
    uint32_t nopen, open_cap;
    struct live_touch *touches; /* the latest of each thread since a call listed it */
    uint32_t ntouches, touches_cap;
    bool listed; /* by some call, at some time */
    bool half;   /* before that, something happened of which the other half may be hidden */
};

enum { LIVE_RUNS_PAGE = 64 };

struct live_runs_page {
    uint32_t count;
    struct live_run *runs[LIVE_RUNS_PAGE];
};

struct live_runs {
    struct live_runs_page **pages; /* none is empty */
    size_t npages, pages_cap;
    size_t count;
};

/* Frees the runs' arrays, not their clocks. A zeroed struct is empty. */
void live_runs_release(struct live_runs *r);
/* The first run that ends behind `at`: it may begin before it. NULL: there is none. */
struct live_run *live_runs_next(const struct live_runs *r, uint64_t at);
/* A new one, where there is none. */
struct live_run *live_runs_add(struct live_runs *r, uint64_t lo, uint64_t hi);
/* Frees it and its arrays, not its clocks. */
void live_runs_remove(struct live_runs *r, struct live_run *run);

#endif
