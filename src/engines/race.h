/* race.h - what an engine found: pairs of sites, with their first instance
 *
 * An engine emits each racing pair of accesses it meets; the table keeps one
 * race per unordered pair of sites, the first of its strongest instances
 * (positions) and their number. Everything else a report shows (thread, locks
 * held, stack, value, names) is recovered from the trace by position, so
 * engines carry two numbers per access and no more.
 */
#ifndef HEDDLE_ENGINES_RACE_H
#define HEDDLE_ENGINES_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* From strongest to weakest (spec/model.md). */
enum strength {
    STRENGTH_CONFIRMED,
    STRENGTH_WITNESSED,
    STRENGTH_GUARANTEED,
    STRENGTH_MAYBE,
    STRENGTH_POTENTIAL,
    STRENGTH_COUNT
};
extern const char *const strength_names[STRENGTH_COUNT]; /* "confirmed" ... */

struct access {
    uint64_t position;
    uint32_t site;
};

struct race {
    struct access first, second; /* in trace order */
    uint64_t count;              /* instances met */
    enum strength strength;
    uint64_t *witness; /* owned; positions in the order of the reordering, or NULL */
    size_t nwitness;
    uint64_t last_first, last_second; /* positions of the last instance counted */
};

/* The same for two sites in any order. */
static inline uint64_t site_pair(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* More different site pairs than this are only counted: nobody reads them, and a trace in which
 * every event has a location of its own could otherwise fill the memory. */
enum { RACES_MAX = 1000000 };

struct race_table {
    struct race *races; /* in order of discovery */
    size_t count, cap;
    struct map by_sites; /* pair of sites -> index */
    uint32_t *recent;    /* small direct-mapped cache in front of the map */
    uint64_t dropped;    /* instances of pairs beyond RACES_MAX */
};

void race_table_init(struct race_table *t);
void race_table_release(struct race_table *t);

/* The earlier access comes first. Counts an instance; a new pair of sites becomes a race, and the
 * first of the strongest instances stands for all.
 * Cost: O(1), a few nanoseconds for a pair already known. */
void race_table_add(struct race_table *t, struct access earlier, struct access later,
                    enum strength strength);
/* Leave out the races that are not to be kept. */
void race_table_keep(struct race_table *t, bool (*keep)(void *arg, const struct race *r),
                     void *arg);
/* The race of two sites, in any order, or NULL. */
struct race *race_table_find(const struct race_table *t, uint32_t site, uint32_t other);

#endif
