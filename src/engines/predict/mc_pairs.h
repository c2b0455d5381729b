/* mc_pairs.h - which pairs of sites might race, with a few instances of each
 *
 * Conflicting accesses of different threads without a common lock, by pair of
 * sites. An instance is an access with, for each (site, thread, kind, locks)
 * that touched the cell before, the latest one. Of each pair three samples are
 * kept: the nearest instances; of what remains one of each combination of
 * threads and locks, as far as there is room; and some spread evenly over the
 * trace. Whatever is left out is counted.
 */
#ifndef HEDDLE_ENGINES_PREDICT_MC_PAIRS_H
#define HEDDLE_ENGINES_PREDICT_MC_PAIRS_H

#include "base/map.h"
#include "engines/predict/prove.h"
#include "order/view.h"

/* Instances kept for a pair of sites, of each sample. The nearest are nearly always as good as any
 * other, but a race may need another thread, or to be outside a lock that is mostly held, or what
 * the program does only early or late. */
enum { MC_NEAR = 8, MC_KINDS = 4, MC_SPREAD = 4, MC_INSTANCES = MC_NEAR + MC_KINDS + MC_SPREAD };

struct mc_pair {
    uint32_t site, other;
    uint32_t count; /* instances kept, once all are found: the nearest, kinds, spread */
    uint32_t nnear, nkinds, nspread;
    bool cut; /* there are more */
    uint64_t rest,
        stride; /* instances that were neither near nor new kinds; every so many is kept */
    struct instance instances[MC_INSTANCES];
    uint32_t kinds[MC_NEAR + MC_KINDS]; /* beside instances: hashes */
};

struct mc_pairs {
    struct mc_pair *pairs;
    size_t count, cap;
    struct map by_sites;
    uint64_t dropped; /* instances of pairs beyond RACES_MAX */
    uint64_t locked;  /* instances with a common lock */
    uint32_t from;    /* of pairs both events are from here on, */
    uint32_t fresh;   /* and the second one from here on */
};

/* Only instances at most `distance` events apart; 0: any. */
void mc_pairs_find(struct mc_pairs *p, const struct view *v, uint64_t distance);
/* The same, only of events from `from` on, the second one from `fresh` on. */
void mc_pairs_find_from(struct mc_pairs *p, const struct view *v, uint64_t distance, uint64_t from,
                        uint64_t fresh);
void mc_pairs_release(struct mc_pairs *p);

/* Of a pair that none of the samples shows: all its instances, or some of them spread evenly. */
struct mc_more {
    bool wanted;
    uint32_t count;
    uint64_t seen, stride;      /* every stride-th that was seen is kept */
    struct instance *instances; /* owned */
    size_t cap;
};

/* Look at the trace again, for pairs that are wanted, at most `most` (even) instances each; `more`
 * is beside p->pairs. */
void mc_pairs_most(struct mc_pairs *p, const struct view *v, uint64_t distance, uint32_t most,
                   struct mc_more *more);
/* The same with every access that came before, not the latest of its group alone. Where these are
 * too many, strides are above 1. */
void mc_pairs_all(struct mc_pairs *p, const struct view *v, uint64_t distance, uint32_t most,
                  struct mc_more *more);
/* mc_pairs_most() with few. */
enum { MC_MORE_MAX = 256 };
void mc_pairs_more(struct mc_pairs *p, const struct view *v, uint64_t distance,
                   struct mc_more *more);

#endif
