/* recipe_task.h - inside of recipe: the questions of one path, or of two
 *
 * A task puts its path (two of different threads: both accesses are new) into the execution and
 * asks relax.h about its candidates, those near the branch first. Before that it asks whether the
 * access can be reached at all: where not, neither can what lies behind it, and most paths end
 * there. Each schedule is checked before it counts.
 */
#ifndef HEDDLE_ENGINES_VALUES_RECIPE_TASK_H
#define HEDDLE_ENGINES_VALUES_RECIPE_TASK_H

#include "base/error.h"
#include "base/map.h"
#include "engines/engine.h"
#include "engines/values/recipe_pairs.h"
#include "engines/values/relax.h"

#define NO_PATH UINT32_MAX

/* A race found in a path. */
struct found {
    struct candidate candidate;
    struct relax_answer answer; /* positions in the trace; of new events: behind its end */
    bool accepted;
};

/* How far new events can be reached: all below `good`, none from `bad` on; `is_open`: that is not
 * certain, the budget was spent. */
struct reach {
    uint32_t good, bad;
    bool is_open;
};

struct recipe_task {
    uint32_t path, other;     /* NO_PATH: none */
    struct candidates wanted; /* of two paths; of one they are found when it is its turn */
    struct reach reach, other_reach;
    struct found *found;
    size_t nfound, cap;
    uint64_t asked, infeasible, undecided, unreached, tried_enough, work;
    uint64_t *tried; /* pairs of sites that were asked, once each */
    size_t ntried, tried_cap;
    bool copied; /* the execution */
    bool done;
};

/* What tasks share; only between batches it changes. */
struct recipe_context {
    struct whole *whole;
    const struct execution *e;
    struct flips *flips;
    const struct race_table *races; /* found so far */
    struct access_index index;
    struct map decided; /* pair of sites -> 1 found, 2 + times tried */
    unsigned tries;     /* of a pair of sites, in tasks: then it is left alone */
    unsigned share; /* of the budget of a pair of recorded accesses: one so many'th a question */
};

void recipe_task_decide(const struct recipe_context *c, struct recipe_task *t);
void recipe_task_release(struct recipe_task *t);
/* Need no more questions: found, or tried often enough. */
bool recipe_is_settled(const struct recipe_context *c, uint64_t pair);

#endif
