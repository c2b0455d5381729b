/* codec_context.h - inside of the codec: what encoder and decoder must do alike */
#ifndef HEDDLE_TRACE_CODEC_CONTEXT_H
#define HEDDLE_TRACE_CODEC_CONTEXT_H

#include "base/alloc.h"
#include "trace/codec.h"

#include <stdlib.h>
#include <string.h>

static inline void context_init(struct codec_context *x, uint32_t bits)
{
    x->bits = bits;
    x->mask = ((uint32_t)1 << bits) - 1;
    x->sites = xcalloc((size_t)1 << bits, sizeof(*x->sites));
}

static inline void context_release(struct codec_context *x)
{
    free(x->sites);
    x->sites = NULL;
}

static inline void context_reset(struct codec_context *x)
{
    for (size_t i = 0; i < (size_t)1 << x->bits; i++)
        x->sites[i] = (struct site_context){ .next = SITE_NONE };
    memset(x->last_site, 0xff, sizeof(x->last_site));
    x->sequence = 0;
    x->thread = THREAD_NONE;
}

static inline struct site_context *context_of(const struct codec_context *x, uint32_t site)
{
    return &x->sites[site & x->mask];
}

/* Named variables are 8 apart, named objects 1. */
static inline unsigned target_shift(unsigned op)
{
    return op_is_access(op) || op == OP_ALLOC || op == OP_FREE ? 3 : 0;
}

static inline bool has_value(unsigned op, unsigned flags)
{
    return (flags & EV_VALUE) || op == OP_ALLOC || op == OP_FREE;
}

#endif
