/* suspects.h - which variables can race at all, for syncp and osr
 *
 * The first pass of both, while the trace streams by. Variable numbers are
 * recycled, so what is suspected is a life of a variable: lives are numbered in
 * the order in which they begin, which is the same in every pass.
 */
#ifndef HEDDLE_ENGINES_CLOSURE_SUSPECTS_H
#define HEDDLE_ENGINES_CLOSURE_SUSPECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "order/step.h"

enum { KIND_WRITE = 1, KIND_ATOMIC = 2 };

static inline uint8_t access_kind(unsigned op)
{
    return (uint8_t)((op_table[op].writes ? KIND_WRITE : 0) | (op_is_atomic(op) ? KIND_ATOMIC : 0));
}

static inline bool kinds_conflict(uint8_t a, uint8_t b)
{
    return (a | b) & KIND_WRITE && !(a & b & KIND_ATOMIC);
}

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

/* What the engine syncp has found out, once it is finished: for an engine that follows it. */
const struct suspects *syncp_suspects(const void *state);

#endif
