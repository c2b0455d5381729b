/* usage.h - who else touches the memory of a race, and under which locks
 *
 * One pass over the trace counts the accesses to the bytes that both sides
 * touch, from their allocation (if the trace has it) to the next one at that
 * address, and for each lock how many of them hold it. A lock that nearly all
 * hold is the one that somebody forgot, if it could be taken at both accesses of
 * the race (locklife.h, another pass).
 * Recordings leave out accesses that repeat another one, so numbers are of what
 * was recorded.
 * Cost: linear in the trace; memory for each place and set of locks.
 */
#ifndef HEDDLE_REPORT_USAGE_H
#define HEDDLE_REPORT_USAGE_H

#include "report/findings.h"
#include "report/naming.h"

enum { USAGE_PLACES = 4 };

struct usage {
    uint64_t accesses, writes;
    uint64_t threads; /* that make them */
    uint64_t locked;  /* so many hold some lock */
    const char *lock; /* held by most of them; NULL: there is none that fits both accesses */
    uint64_t holding; /* so many */
    /* Where those are that do not hold it, the first few different ones. */
    const char *without[USAGE_PLACES];
    size_t nwithout;
    bool more; /* there are others */
};

/* Strings belong to the naming's home. 0, or -1 and an error: the trace is not readable, or not the
 * one of the race. */
int usage_collect(struct usage *u, const struct finding *r, struct naming *naming, struct trace *t,
                  struct error *err);

#endif
