/* recipe_pairs.h - inside of recipe: accesses of code that was not executed, and who conflicts
 *
 * Candidates are pairs of a new access of a path (execution/flip.h) and an access of another
 * thread to one of its bytes: a recorded one, or a new one of another path. Not those with a lock
 * in common, or of which one must come first. Of each pair of sites some instances are kept: near
 * the branch, the first and the last.
 */
#ifndef HEDDLE_ENGINES_VALUES_RECIPE_PAIRS_H
#define HEDDLE_ENGINES_VALUES_RECIPE_PAIRS_H

#include "base/map.h"
#include "engines/predict/holds.h"
#include "order/hard.h"
#include "execution/flip.h"
#include "trace/trace.h"

/* Recorded accesses by the words they touch, and what is known of when any access is made. */
struct access_index {
    const struct trace_mem *trace;
    const struct view *view;
    const struct flips *flips;
    struct map words; /* address / 8 -> number of the word + 1 */
    uint32_t nwords;
    uint32_t *first; /* nwords + 1 */
    uint32_t *list;  /* positions, ascending */
    struct holds holds;
    struct hard *hard;    /* or NULL */
    uint32_t *path_first; /* path -> index of its first event's set */
    uint32_t *path_held;
};

/* All borrowed; the view is of the trace. */
void access_index_init(struct access_index *x, const struct trace_mem *trace, const struct view *v,
                       const struct flips *flips);
void access_index_release(struct access_index *x);

/* An access that might race: recorded, or of a path. */
struct suspect {
    const struct event *event;
    uint32_t held;     /* locks */
    uint32_t position; /* of the access; of the last that is executed before, if it is new */
    bool is_new;
};
struct suspect suspect_recorded(const struct access_index *x, uint32_t position);
struct suspect suspect_new(const struct access_index *x, uint32_t path, uint32_t event);

/* Of different threads, to a common byte, one writes, not both atomic; no lock in common, and
 * neither must come after the other. */
bool suspects_may_meet(const struct access_index *x, const struct suspect *a,
                       const struct suspect *b);

struct candidate {
    uint32_t event;    /* of the path */
    uint64_t position; /* of the recorded access; or, with another path: its event */
    uint64_t pair;     /* of sites: race.h */
};

struct candidates {
    struct candidate *list;
    size_t count, cap;
    size_t cut; /* instances left out */
};

/* Appends the candidates of a path, sorted by pair. */
void candidates_of_path(struct candidates *c, const struct access_index *x, uint32_t path);

/* ---- two paths ---- */

/* Two new accesses of different threads that conflict. */
struct double_candidate {
    uint64_t pair;
    uint32_t path, event, other, other_event; /* path < other */
    uint32_t doubts;                          /* how many of the two were not reached alone yet */
};

struct double_candidates {
    struct double_candidate *list;
    size_t count, cap;
    size_t cut; /* left out */
};

/* How far the new events of a path can be reached alone: surely below `good`, not from `bad` on. */
struct path_reach {
    uint32_t good, bad;
};

/* Of all paths, those that were reached and lie near their branches first; `most` of each pair of
 * sites. is_settled() says which pairs of sites are not wanted. Sorted by
 * path, other, pair, event. */
void double_candidates_find(struct double_candidates *d, const struct access_index *x,
                            const struct path_reach *reach, size_t most,
                            bool (*is_settled)(const void *arg, uint64_t pair), const void *arg);

#endif
