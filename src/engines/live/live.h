/* live.h - happens-before races, found while the program runs
 *
 * What a user wants to know first: two accesses of this very run that no
 * synchronisation orders. It needs one look at each event, in any order that
 * respects synchronisation, and memory by what the program touches (live_words.h),
 * not by what it does. So it can follow a recording as it is written
 * (trace_follow()), for as long as the program runs.
 *
 *     l = live_new(found, arg);
 *     live_batch(l, &batch);       each batch of the trace; calls found() for each new race
 *
 * The relation is that of the engine `hb`: program order, synchronisation, locks; and what calls
 * of untraced code may order (live_calls.h, docs/design/live.md).
 *
 * Bounds: beyond LIVE_BYTES of state, 2^28 releases of one thread, or LIVE_SLOTS threads at a time
 * all that is known is forgotten, as if all threads had met there: races across that moment are
 * missed here (counted), none is made up.
 */
#ifndef HEDDLE_ENGINES_LIVE_LIVE_H
#define HEDDLE_ENGINES_LIVE_LIVE_H

#include "engines/live/live_stacks.h"
#include "trace/trace.h"

struct live;

enum { LIVE_BYTES = 256 << 20 };

struct live_side {
    uint32_t thread, site;
    uint32_t context; /* live_calls() */
    bool writes, atomic, frees;
};

struct live_race {
    struct live_side first, second;
    uint64_t address; /* the first byte that both accessed */
};

struct live_counts {
    uint64_t events, races, forgotten, evicted;
    uint64_t suspects; /* blocks, see live_is_suspect() */
    size_t bytes;      /* of its state now */
};

/* `found` is called for the first race of each pair of sites. The names are borrowed; NULL where no
 * object and no variable only has a name. */
struct live *live_new(void (*found)(void *arg, const struct live_race *r), void *arg,
                      const struct tables *names);
void live_free(struct live *l);

/* The next events. Sets EV_SIEVED in some, as sieve_learn() does. */
void live_batch(struct live *l, struct batch *b);

struct live_counts live_counts(const struct live *l);
/* May the 64 bytes around the address have a race that was not found? Only another look at the
 * trace can tell (live_words.h). */
bool live_is_suspect(const struct live *l, uint64_t address);
/* The calls that led to an access, innermost last, at most `max` of the innermost; how many there
 * are in all. */
size_t live_calls(const struct live *l, uint32_t context, struct live_frame *out, size_t max);

#endif
