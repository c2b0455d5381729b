/* live_stacks.h - where an access was made, in 24 bits
 *
 * A context is a site with the calls that led there. Programs have few of them
 * and come back to them all the time, so each gets a number once, and who
 * remembers an access remembers the number. Calls are a tree: a node is a
 * frame and its caller's node; what threads share is there once.
 *
 * Bounds: CONTEXTS_MAX and NODES_MAX; beyond, a context has no stack, and frames
 * are left out.
 */
#ifndef HEDDLE_ENGINES_LIVE_LIVE_STACKS_H
#define HEDDLE_ENGINES_LIVE_LIVE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum {
    CONTEXT_BITS = 24,
    CONTEXTS_MAX = (1 << CONTEXT_BITS) - 1,
    NODES_MAX = 1 << 22,
    CONTEXT_CACHE = 64 /* entries of a thread, direct-mapped */
};

struct live_frame {
    uint32_t function, site; /* of the enter event */
};

struct live_node {
    uint32_t parent; /* 0: the frame is the outermost; node 0 stands for no frame */
    uint32_t frame;
};

struct live_context {
    uint32_t site, node;
    bool frees; /* it is where memory is freed */
};

struct live_stacks {
    struct map frame_index; /* function and site -> frame */
    struct live_frame *frames;
    size_t nframes, frames_cap;
    struct map node_index; /* parent and frame -> node */
    struct live_node *nodes;
    size_t nnodes, nodes_cap;
    struct map context_index; /* node and site -> context */
    struct live_context *contexts;
    size_t ncontexts, contexts_cap;
};

/* Where a thread is. */
struct live_place {
    uint32_t node;
    uint32_t deeper; /* frames that there was no node for */
    uint64_t keys[CONTEXT_CACHE];
    uint32_t numbers[CONTEXT_CACHE]; /* 0: the entry is free */
};

void live_stacks_release(struct live_stacks *s); /* a zeroed struct is empty */

void live_enter(struct live_stacks *s, struct live_place *p, uint32_t function, uint32_t site);
void live_exit(const struct live_stacks *s, struct live_place *p);

/* The general case of live_context(). */
uint32_t live_context_of(struct live_stacks *s, struct live_place *p, uint32_t site);

/* The number of a site where the thread is, never 0. */
static inline uint32_t live_context(struct live_stacks *s, struct live_place *p, uint32_t site)
{
    uint64_t key = (uint64_t)p->node << 32 | site;
    uint32_t i = (site ^ p->node * 7) % CONTEXT_CACHE;

    return p->numbers[i] && p->keys[i] == key ? p->numbers[i] : live_context_of(s, p, site);
}

/* The frames of a context, innermost last, at most `max` of the innermost; how many there are in
 * all. */
size_t live_frames(const struct live_stacks *s, uint32_t context, struct live_frame *out,
                   size_t max);

#endif
