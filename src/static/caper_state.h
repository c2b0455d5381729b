/* caper_state.h - what caper knows of a program after all its runs (docs/format/caper.md)
 *
 *     struct caper_state s = { 0 };
 *     caper_state_read(&s, "prog.caper", &err);     a file that is not there is an empty state
 *     marks = caper_state_module(&s, id, nsites, "a.c")->marks;  marks[3] |= CAPER_SEEN;
 *     caper_state_release(&s);
 *     caper_state_change("prog.caper", fn, arg, 1000, NULL, &err);     the only way to write it
 *
 * Sets of the paper: spPairs and dpPairs together are `pairs` (statically possible); deSites are
 * the sites with a mark; a pair is in dpPairs when both its sites have one, else in spPairs.
 * Without static pairs any two sites may pair.
 *
 * The static pairs are a file of their own beside the state (pairs_map.c), which never changes: it
 * is mapped, and written only where there are new ones. Pairs of classes are not read until
 * caper_state_load() is called.
 *
 * Concurrency: caper_state_change() reads, changes and replaces the file under a lock on its
 * folder, so that any number of commands add to it and nothing is lost; the new file is complete
 * and on disk before it takes the name. A run that brought nothing new only counts itself in place.
 */
#ifndef HEDDLE_STATIC_CAPER_STATE_H
#define HEDDLE_STATIC_CAPER_STATE_H

#include "abi/rt_caper.h"
#include "static/pairs_file.h"

struct caper_part { /* a module */
    uint64_t id[2];
    uint32_t sites;
    char *source;   /* owned; "" not known */
    uint8_t *marks; /* owned: CAPER_SEEN, CAPER_ASSUMED, CAPER_WEAK of each site */
};

struct caper_state {
    uint64_t runs;
    char *program; /* owned: its path; NULL: not known */
    struct caper_part *parts;
    size_t count, cap;
    bool old; /* it is a file of version 1 */
    bool has_pairs;
    bool pairs_lost;    /* there were static pairs, and their file is gone */
    bool pairs_new;     /* they have no file yet */
    uint64_t pairs_id;  /* names their file */
    uint64_t dp;        /* dpPairs when the state was written */
    struct pairs pairs; /* see caper_state_load() */
};

enum caper_change {
    CAPER_SAME,    /* leave the file as it is */
    CAPER_COUNTED, /* another run, nothing else */
    CAPER_CHANGED
};

void caper_state_release(struct caper_state *s); /* a zeroed struct is empty */
int caper_state_read(struct caper_state *s, const char *path, struct error *err);
/* Found or added. `source` may be NULL. The pointer holds until the next call. */
struct caper_part *caper_state_module(struct caper_state *s, const uint64_t id[2], uint32_t sites,
                                      const char *source);
const struct caper_part *caper_state_find(const struct caper_state *s, const uint64_t id[2]);
uint8_t caper_state_mark(const struct caper_state *s, const uint64_t id[2], uint32_t index);
void caper_state_drop(struct caper_state *s, size_t part);

/* These are the static pairs from now on; they move into the state. */
void caper_state_set_pairs(struct caper_state *s, struct pairs *p);
/* Before the pairs of classes are asked for (pairs_has, pairs_each): reads and checks them. */
int caper_state_load(const struct caper_state *s, const char *path, struct error *err);

/* Read, let `fn` change it, replace; `after`, if not NULL: released, and then what is there now.
 * CAPER_LOCKED: somebody else has held it for `patience_ms`, and nothing was done. */
enum { CAPER_LOCKED = -2 };
int caper_state_change(const char *path, enum caper_change (*fn)(struct caper_state *s, void *arg),
                       void *arg, int patience_ms, struct caper_state *after, struct error *err);

/* How many: sites with a mark, with one that is only assumed; dpPairs; all pairs. Of a state that
 * was read or changed above. */
struct caper_sizes {
    uint64_t sites, seen, assumed, dp, all;
};
void caper_state_sizes(const struct caper_state *s, struct caper_sizes *z);
/* May the kinds race: one writes, not both atomic? For states without static pairs. */
bool caper_kinds_conflict(uint32_t a, uint32_t b);

#endif
