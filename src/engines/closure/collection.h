/* collection.h - the accesses of suspects with their pasts, and the history of locks
 *
 * The second pass of syncp and osr, in decide(): what their searches look at.
 */
#ifndef HEDDLE_ENGINES_CLOSURE_COLLECTION_H
#define HEDDLE_ENGINES_CLOSURE_COLLECTION_H

#include "base/error.h"
#include "engines/closure/closure.h"
#include "engines/closure/suspects.h"
#include "order/held_sets.h"

struct whole;

struct record {
    struct closure_past past;
    uint32_t site;
    uint32_t changes; /* of what its thread held, see held_thread */
};

/* Accesses to one variable by one slot, of one kind, under one set of locks, in the order of
 * execution. `by_site` numbers them again, sorted by site. */
struct cluster {
    struct record *records;
    size_t count, cap;
    uint32_t *by_site;
    uint32_t slot, set;
    uint32_t life; /* in collection.lives */
    uint32_t next; /* of the same life, an earlier one; or CLUSTER_NONE */
    uint8_t kind;
    bool truncated; /* there were more, later ones */
};
#define CLUSTER_NONE UINT32_MAX

/* A life that is looked at. Those that came out of one variable by splits are a family. */
struct watched {
    uint32_t life;
    uint32_t family; /* number of the first one */
    uint64_t wanted; /* records, also those that were left out */
    bool open;       /* a pair of its lists ended where one was truncated */
};

struct collection {
    struct closure *closure;
    struct held_sets sets;
    struct cluster *clusters;
    size_t count, cap;
    struct watched *lives;
    size_t nlives, lives_cap;
    uint64_t records;
};

/* Kept at a time. As they come a record is at worst 300 bytes with its clock, packed 120 (up to 16
 * threads): 1 to 1.4 GB. */
enum { RECORDS_FEW = 3000000, RECORDS_MAX = 12000000 };

/* Stream the trace once more; of one cluster at one site only the first `site_max` accesses count.
 * UINT32_MAX: all, and their clocks are packed, which is for closure sets only. 0, 1 when stopped,
 * -1 and an error. */
int collection_make(struct collection *c, const struct suspects *suspects, uint32_t site_max,
                    struct whole *w, struct error *err);
void collection_release(struct collection *c);

/* By cluster: how many it leads to by `next`. free() it. */
uint32_t *collection_later(const struct collection *c);

#endif
