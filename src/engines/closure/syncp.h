/* syncp.h - inside of the engine syncp: its two passes and its search
 *
 * The first pass (syncp_suspects.c, while the trace streams by) finds the
 * variables that can race at all. The second (syncp_collect.c, in decide())
 * keeps the pasts of their accesses and the history of locks. Then
 * syncp_search.c asks for each pair of sites whether some two of them race.
 *
 * Variable numbers are recycled, so what is suspected is a life of a variable:
 * lives are numbered in the order in which they begin, which is the same in
 * both passes.
 */
#ifndef HEDDLE_ENGINES_CLOSURE_SYNCP_H
#define HEDDLE_ENGINES_CLOSURE_SYNCP_H

#include <pthread.h>

#include "engines/closure/closure.h"
#include "engines/engine.h"
#include "order/held_sets.h"

enum { KIND_WRITE = 1, KIND_ATOMIC = 2 };

static inline uint8_t access_kind(unsigned op)
{
    return (uint8_t)((op_table[op].writes ? KIND_WRITE : 0) | (op_is_atomic(op) ? KIND_ATOMIC : 0));
}

static inline bool kinds_conflict(uint8_t a, uint8_t b)
{
    return (a | b) & KIND_WRITE && !(a & b & KIND_ATOMIC);
}

/* ---- the first pass ---- */

/* Lives to look at, a bit each. */
struct suspects {
    uint64_t *bits; /* owned */
    size_t words_cap;
    uint32_t lives;
    uint32_t count;    /* that can race */
    uint64_t accesses; /* to variables, all */
};

void suspects_add(struct suspects *s, uint32_t life);

static inline bool suspects_has(const struct suspects *s, uint32_t life)
{
    return life / 64 < s->words_cap && s->bits[life / 64] >> (life % 64) & 1;
}

struct suspicion; /* the pass */

struct suspicion *suspicion_new(void);
void suspicion_steps(struct suspicion *p, const struct span *span);
/* The result; the caller frees its bits. */
struct suspects suspicion_finish(struct suspicion *p);
void suspicion_free(struct suspicion *p);

/* What the engine syncp has found out so far, once it is finished. */
const struct suspects *syncp_suspects(const void *state);

/* ---- the second pass ---- */

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
    uint32_t next; /* of the same life, or CLUSTER_NONE */
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
int syncp_collect(struct collection *c, const struct suspects *suspects, uint32_t site_max,
                  struct whole *w, struct error *err);
void collection_release(struct collection *c);

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
