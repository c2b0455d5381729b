/* recipe_pairs.h - inside of recipe: accesses of code that was not executed, and who conflicts
 *
 * Candidates are pairs of a new access of a path (program/flip.h) and an access of another
 * thread to one of its bytes: a recorded one, or a new one of another path. Of each pair of
 * sites some instances are kept: near the branch, the first and the last.
 */
#ifndef HEDDLE_ENGINES_RECIPE_PAIRS_H
#define HEDDLE_ENGINES_RECIPE_PAIRS_H

#include "base/map.h"
#include "program/flip.h"
#include "trace/trace.h"

/* Recorded accesses by the words they touch. */
struct access_index {
    const struct trace_mem *trace;
    struct map words; /* address / 8 -> number of the word + 1 */
    uint32_t nwords;
    uint32_t *first; /* nwords + 1 */
    uint32_t *list;  /* positions, ascending */
};

void access_index_init(struct access_index *x, const struct trace_mem *trace);
void access_index_release(struct access_index *x);

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

/* Appends the candidates of a path, sorted by pair. Accesses [from, nevents) of it count. */
void candidates_of_path(struct candidates *c, const struct access_index *x,
                        const struct flip_path *p);
/* Of two paths of different threads. */
void candidates_of_paths(struct candidates *c, const struct flip_path *p,
                         const struct flip_path *other);

#endif
