/* mc_pairs.h - which pairs of sites might race, with a few instances of each
 *
 * Conflicting accesses of different threads without a common lock, by pair of
 * sites. Of each pair the nearest instances are kept, MC_INSTANCES at most:
 * for each access and each (site, thread, kind, locks) that touched the cell
 * before, the latest one. Whatever is left out is counted.
 */
#ifndef HEDDLE_ENGINES_MC_PAIRS_H
#define HEDDLE_ENGINES_MC_PAIRS_H

#include "base/map.h"
#include "engines/prove.h"
#include "order/view.h"

/* Instances tried for a pair of sites, nearest first. */
enum { MC_INSTANCES = 8 };

struct mc_pair {
    uint32_t site, other;
    uint32_t count; /* instances kept */
    bool cut;       /* there are more */
    struct instance instances[MC_INSTANCES];
};

struct mc_pairs {
    struct mc_pair *pairs;
    size_t count, cap;
    struct map by_sites;
    uint64_t dropped; /* instances of pairs beyond RACES_MAX */
    uint64_t locked;  /* instances with a common lock */
};

void mc_pairs_find(struct mc_pairs *p, const struct view *v);
void mc_pairs_release(struct mc_pairs *p);

#endif
