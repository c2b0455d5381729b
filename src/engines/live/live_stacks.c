/* live_stacks.c - sites with their calls, numbered */
#include "engines/live/live_stacks.h"
#include "base/alloc.h"

#include <stdlib.h>

void live_stacks_release(struct live_stacks *s)
{
    map_release(&s->frame_index);
    map_release(&s->node_index);
    map_release(&s->context_index);
    free(s->frames);
    free(s->nodes);
    free(s->contexts);
    *s = (struct live_stacks){ 0 };
}

static uint32_t frame_of(struct live_stacks *s, uint32_t function, uint32_t site)
{
    uint32_t *n = map_put(&s->frame_index, (uint64_t)function << 32 | site, (uint32_t)s->nframes);

    if (*n == s->nframes) {
        GROW(s->frames, s->frames_cap, s->nframes + 1);
        s->frames[s->nframes++] = (struct live_frame){ function, site };
    }
    return *n;
}

/* 0: there is no room for it. */
static uint32_t node_of(struct live_stacks *s, uint32_t parent, uint32_t frame)
{
    uint64_t key = (uint64_t)parent << 32 | frame;
    uint32_t *n = map_get(&s->node_index, key);

    if (n)
        return *n;
    if (s->nnodes >= NODES_MAX)
        return 0;
    if (!s->nnodes)
        s->nnodes = 1;
    GROW(s->nodes, s->nodes_cap, s->nnodes + 1);
    s->nodes[s->nnodes] = (struct live_node){ parent, frame };
    return *map_put(&s->node_index, key, (uint32_t)s->nnodes++);
}

void live_enter(struct live_stacks *s, struct live_place *p, uint32_t function, uint32_t site)
{
    uint32_t node = p->deeper ? 0 : node_of(s, p->node, frame_of(s, function, site));

    if (node)
        p->node = node;
    else
        p->deeper++;
}

void live_exit(const struct live_stacks *s, struct live_place *p)
{
    if (p->deeper)
        p->deeper--;
    else if (p->node)
        p->node = s->nodes[p->node].parent;
}

uint32_t live_context_of(struct live_stacks *s, struct live_place *p, uint32_t site)
{
    uint64_t key = (uint64_t)p->node << 32 | site;
    uint32_t i = (site ^ p->node * 7) % CONTEXT_CACHE, *n = map_get(&s->context_index, key);

    if (!s->ncontexts)
        s->ncontexts = 1;
    if (!n && s->ncontexts >= CONTEXTS_MAX)
        return CONTEXTS_MAX;
    if (!n) {
        GROW(s->contexts, s->contexts_cap, s->ncontexts + 1);
        s->contexts[s->ncontexts] = (struct live_context){ site, p->node, false };
        n = map_put(&s->context_index, key, (uint32_t)s->ncontexts++);
    }
    p->keys[i] = key;
    return p->numbers[i] = *n;
}

size_t live_frames(const struct live_stacks *s, uint32_t context, struct live_frame *out,
                   size_t max)
{
    uint32_t node = context < s->ncontexts ? s->contexts[context].node : 0;
    size_t n = 0, kept;

    for (uint32_t i = node; i; i = s->nodes[i].parent)
        n++;
    kept = n < max ? n : max;
    for (size_t i = kept; i; i--, node = s->nodes[node].parent)
        out[i - 1] = s->frames[s->nodes[node].frame];
    return n;
}
