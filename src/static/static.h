/* static.h - statically possible pairs of a program (heddle static)
 *
 *     struct statics *s = statics_open(&linked, &options, &err);   reads the bitcode, solves
 *     statics_pairs(s, &pairs);  statics_counters(s)  ...
 *     statics_close(s);
 *
 * A pair is two sites, at least one a write and not both atomic, that may touch the same memory
 * in two threads at the same time. Without `lockset` the set is sound under the assumptions that
 * docs/design/static.md lists: a race that happens is in it.
 *
 * Ownership: borrows the linked files. Concurrency: none.
 */
#ifndef HEDDLE_STATIC_STATIC_H
#define HEDDLE_STATIC_STATIC_H

#include "base/error.h"
#include "static/pairs_file.h"
#include "symbol/linked.h"

struct statics;

struct statics_options {
    bool lockset; /* leave out pairs with a common lock: not sound */
};

struct statics_counters {
    uint64_t modules, functions, facts, clones; /* clones: of functions that allocate */
    uint64_t nodes, edges, objects, locations, waves;
    uint64_t shared;         /* objects that more than one thread may reach */
    uint64_t threads;        /* abstract ones, the main thread included */
    uint64_t accesses;       /* sites that access memory */
    uint64_t unplaced;       /* sites whose instruction was not found: may touch anything */
    uint64_t unreached;      /* sites in code that no thread reaches */
    uint64_t private_;       /* sites that touch no shared memory */
    uint64_t hidden;         /* sites in pairs of memory whose address is in disguise */
    uint64_t sequential;     /* sites that run while no other thread can */
    uint64_t sites, classes; /* in pairs */
    uint64_t pairs;          /* unordered */
    uint64_t untraced;       /* functions called that are not known at all */
};

/* NULL: there is no bitcode, or it cannot be read. */
struct statics *statics_open(const struct linked *l, struct error *err);
void statics_close(struct statics *s);
/* Fill an empty struct; once per variant. */
void statics_pairs(struct statics *s, const struct statics_options *options, struct pairs *out);
const struct statics_counters *statics_counters(const struct statics *s);
/* Names of functions that are not known and not traced: what they may do is assumed. NULL behind
 * the last. */
const char *statics_untraced(const struct statics *s, size_t i);

#endif
