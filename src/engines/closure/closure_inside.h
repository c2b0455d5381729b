/* closure_inside.h - inside of closure.h: lock histories and the events of each slot */
#ifndef HEDDLE_ENGINES_CLOSURE_CLOSURE_INSIDE_H
#define HEDDLE_ENGINES_CLOSURE_CLOSURE_INSIDE_H

#include "base/alloc.h"
#include "engines/closure/closure.h"
#include "order/hb.h"

#define SECTION_NONE UINT32_MAX

/* A section of a lock. Sections are numbered in the order of their acquires. */
struct section {
    uint32_t lock, slot;
    uint32_t acquire; /* time */
    uint32_t next;    /* on the same lock, or SECTION_NONE */
    uint32_t held;    /* list of what its thread held right after the acquire, itself first */
    bool shared;
    struct clock release; /* of the event that ends it; slot SLOT_NONE: never */
};

/* An element of a list of held sections. Lists share their tails: a thread that takes and gives
 * back locks in a nested way adds one element per acquire. */
struct held {
    uint32_t section;
    uint32_t next; /* 0: the end; element 0 is not used */
};

/* A section as searches see it. */
struct entry {
    uint32_t time; /* of the acquire */
    uint32_t section;
};

/* The sections of one kind that one slot has on one lock. */
struct run {
    uint32_t slot;
    bool shared;
    uint32_t first, count; /* in entries */
};

/* A tree as one array, for closure_set.c only: `refs` is the number of times. */
#define PACKED_HEIGHT UINT32_MAX
enum { PACKED_STEP = 16 }; /* a multiple of this */

struct slot_history {
    struct clock_node *packed; /* the last one, and the version it is of */
    uint32_t packed_version;
    struct entry *acquires; /* in the order of time */
    size_t nacquires, acquires_cap;
    uint32_t *events; /* positions */
    size_t nevents, events_cap;
    uint32_t *ends; /* [t - 1]: number of events up to time t; times that are not there: all */
    size_t nends, ends_cap;
};

struct closure_var {
    struct clock last_write;
    struct clock birth; /* of its memory */
};

struct closure {
    struct hb hb;
    bool keeps_sections;
    uint64_t listed; /* events: the first of the trace */
    struct closure_hooks hooks;
    struct closure_var *vars;
    size_t vars_cap;

    struct slot_history *slots;
    size_t slots_cap;
    struct section *sections;
    size_t nsections, sections_cap;
    struct held *helds;
    size_t nhelds, helds_cap;
    uint32_t *holding; /* thread -> list */
    size_t holding_cap;
    uint32_t *last_on; /* lock -> section + 1 */
    size_t last_on_cap;

    /* made by closure_seal() */
    struct entry *entries; /* by run */
    struct run *runs;      /* by lock, slot, kind */
    uint32_t *lock_runs;   /* lock -> its first run; nlocks + 1 */
    size_t nruns, nlocks;
};

/* closure_sections.c: what lock and thread steps do to the history. All before hb_before(). */
void sections_begin_span(struct closure *c, const struct span *span);
void sections_step(struct closure *c, const struct step *s);
void sections_seal(struct closure *c);
void sections_free(struct closure *c);

static inline struct slot_history *slot_history(struct closure *c, uint32_t slot)
{
    if (__builtin_expect(slot >= c->slots_cap, 0))
        GROW(c->slots, c->slots_cap, (size_t)slot + 1);
    return &c->slots[slot];
}

#endif
