/* syncp.h - inside of the engine syncp: its search and its rounds
 *
 * The variables that can race (suspects.h) and the pasts of their accesses
 * (collection.h) are found as for osr. Then syncp_search.c asks for each pair of
 * sites whether some two accesses race.
 */
#ifndef HEDDLE_ENGINES_CLOSURE_SYNCP_H
#define HEDDLE_ENGINES_CLOSURE_SYNCP_H

#include "base/map.h"
#include "engines/closure/collection.h"

struct whole;

/* ---- the search ---- */

/* Two racing accesses, in trace order. */
struct find {
    struct record a, b; /* their clocks are gone after the round */
    uint32_t row;       /* cluster it was found from; 0: in an earlier round */
    uint64_t *schedule; /* owned, or NULL */
    size_t length;
    bool shown;      /* by a schedule that could not be held; */
    bool with_calls; /* then: race.holds_with_calls */
};

/* Over all rounds. */
struct search_result {
    struct find *finds; /* one per pair of sites */
    size_t count, cap;
    struct map known; /* pair of sites -> find */
    uint64_t steps;
    uint64_t undecided; /* pairs of lists for which there was no time */
};

void syncp_search(struct collection *c, struct whole *w, struct search_result *out);
void search_result_release(struct search_result *r);

/* ---- rounds ---- */

/* Lives for which the first accesses did not decide; in further rounds they are looked at as a
 * whole, as many at a time as fit. */
struct rounds {
    struct pending {
        uint32_t life, family;
        uint64_t wanted;
    } *pending; /* sorted by family */
    size_t count, done, cap;
};

/* After a round: what stayed open. */
void rounds_note(struct rounds *r, const struct collection *c);
/* The lives of the next round; false: none are left. The caller frees the bits. */
bool rounds_next(struct rounds *r, struct suspects *out);
void rounds_release(struct rounds *r);

#endif
