/* codec_context.h - inside of the codec: what encoder and decoder must do alike */
#ifndef HEDDLE_TRACE_HDL_CODEC_CONTEXT_H
#define HEDDLE_TRACE_HDL_CODEC_CONTEXT_H

#include "base/alloc.h"
#include "trace/hdl/codec.h"

#include <stdlib.h>
#include <string.h>

static inline void context_init(struct codec_context *x, uint32_t bits)
{
    x->bits = bits;
    x->mask = ((uint32_t)1 << bits) - 1;
    x->sites = xaligned(64, sizeof(*x->sites) << bits);
    x->values = xcalloc((size_t)1 << bits, sizeof(*x->values));
    x->moves = xcalloc((size_t)1 << bits, sizeof(*x->moves));
    x->moves_after = xcalloc((size_t)1 << bits, sizeof(*x->moves_after));
}

static inline void context_release(struct codec_context *x)
{
    free(x->sites);
    free(x->values);
    free(x->moves);
    free(x->moves_after);
    x->sites = NULL;
}

static inline void context_reset(struct codec_context *x)
{
    for (size_t i = 0; i < (size_t)1 << x->bits; i++)
        x->sites[i] = (struct site_context){ .next = SITE_NONE };
    memset(x->values, 0, sizeof(*x->values) << x->bits);
    memset(x->last_site, 0xff, sizeof(x->last_site));
    memset(x->moves, 0xff, sizeof(*x->moves) << x->bits);
    memset(x->moves_after, 0xff, sizeof(*x->moves_after) << x->bits);
    x->last_move = MOVE_NONE;
    x->sequence = 0;
    x->thread = THREAD_NONE;
}

static inline struct site_context *context_of(const struct codec_context *x, uint32_t site)
{
    return &x->sites[site & x->mask];
}

static inline uint64_t *value_of(const struct codec_context *x, const struct site_context *c)
{
    return &x->values[c - x->sites];
}

/* Where the site of the next event is predicted, and the number of the next move. */
static inline uint32_t *expected_site(const struct codec_context *x, uint32_t last_site)
{
    if (__builtin_expect(x->last_move != MOVE_NONE, 0))
        return &x->moves[x->last_move & x->mask].site;
    return &context_of(x, last_site)->next;
}

static inline uint32_t *expected_move(const struct codec_context *x, uint32_t last_site)
{
    if (x->last_move != MOVE_NONE)
        return &x->moves[x->last_move & x->mask].move;
    return &x->moves_after[last_site & x->mask];
}

/* ---- stretches ---- */

static inline void stretch_contexts_release(struct stretch_contexts *x)
{
    free(x->at);
    free(x->words);
    *x = (struct stretch_contexts){ 0 };
}

/* A new chunk: nothing is known any more. */
static inline void stretch_contexts_reset(struct stretch_contexts *x)
{
    GROW(x->at, x->cap, 1);
    if (++x->chunk == 0) { /* after 2^32 chunks old entries could look new */
        memset(x->at, 0, x->cap * sizeof(*x->at));
        x->chunk = 1;
    }
    x->at[0] = (struct stretch_context){ .next = { STRETCH_NONE, STRETCH_NONE } };
    x->nwords = x->last = x->outcome = 0;
}

/* The context of a stretch that the chunk has not had before. */
struct stretch_context *stretch_context_new(struct stretch_contexts *x, uint32_t number,
                                            unsigned words);

static inline struct stretch_context *stretch_context_of(struct stretch_contexts *x,
                                                         uint32_t number, unsigned words)
{
    if (__builtin_expect(number + (size_t)1 < x->cap && x->at[number + 1].chunk == x->chunk, 1))
        return &x->at[number + 1];
    return stretch_context_new(x, number, words);
}

/* Where the number of the next stretch is predicted. */
static inline uint32_t *stretch_expected(const struct stretch_contexts *x)
{
    return &x->at[x->last].next[x->outcome];
}

static inline void stretch_context_moves(struct stretch_contexts *x, uint32_t number, uint64_t word)
{
    x->last = number + 1;
    x->outcome = word >> 32 & 1;
}

/* Bytes are predicted one by one: no byte's change carries into the next. */
static inline uint64_t bytes_minus(uint64_t a, uint64_t b)
{
    const uint64_t high = UINT64_C(0x8080808080808080);

    return ((a | high) - (b & ~high)) ^ ((a ^ ~b) & high);
}

static inline uint64_t bytes_plus(uint64_t a, uint64_t b)
{
    const uint64_t high = UINT64_C(0x8080808080808080);

    return ((a & ~high) + (b & ~high)) ^ ((a ^ b) & high);
}

/* Named variables are 8 apart, named objects 1. */
static inline unsigned target_shift(unsigned op)
{
    return op_is_access(op) || op == OP_ALLOC || op == OP_FREE ? 3 : 0;
}

static inline bool has_value(unsigned op, unsigned flags)
{
    return (flags & EV_VALUE) || op == OP_ALLOC || op == OP_FREE || op == OP_LINK ||
           op == OP_OBJECT;
}

/* ---- lists of calls ---- */

/* Kinds whose first word is an address, stored as the difference to the address before. */
static inline bool list_kind_has_address(unsigned kind)
{
    return kind == D_MEMORY_KIND || kind >= D_ROOT_KIND;
}

/* Where a list begins to count: at the site's last list, unless the context was used for a value.
 */
static inline uint64_t list_start(uint64_t value)
{
    return value < ADDRESS_LIMIT ? value : 0;
}

#endif
