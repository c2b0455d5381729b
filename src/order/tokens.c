/* tokens.c - which post of a semaphore a wait takes (tokens.h) */
#include "order/tokens.h"
#include "base/alloc.h"

#include <stdlib.h>

void tokens_release(struct tokens *t)
{
    free(t->list);
    free(t->ends);
    map_release(&t->ends_of);
    map_release(&t->newest_of);
}

static uint64_t pair_key(uint32_t object, uint32_t thread)
{
    return (uint64_t)object << 32 | thread;
}

static struct token_ends *ends_of(struct tokens *t, uint32_t object)
{
    uint32_t *n = map_put(&t->ends_of, object, (uint32_t)t->nends);

    if (*n == t->nends) {
        GROW(t->ends, t->ends_cap, t->nends + 1);
        t->ends[t->nends++] = (struct token_ends){ TOKEN_NONE, TOKEN_NONE };
    }
    return &t->ends[*n];
}

static uint32_t free_slot(struct tokens *t)
{
    uint32_t slot;

    if (t->free) {
        slot = t->free - 1;
        t->free = t->list[slot].newer;
        return slot;
    }
    GROW(t->list, t->cap, t->count + 1);
    return (uint32_t)t->count++;
}

uint32_t tokens_post(struct tokens *t, uint32_t object, uint32_t thread)
{
    uint32_t slot = free_slot(t);
    uint32_t *newest = map_put(&t->newest_of, pair_key(object, thread), 0);
    struct token_ends *ends = ends_of(t, object);

    t->list[slot] =
        (struct token){ ends->newest, TOKEN_NONE, *newest - 1, TOKEN_NONE, object, thread };
    if (ends->newest == TOKEN_NONE)
        ends->oldest = slot;
    else
        t->list[ends->newest].newer = slot;
    ends->newest = slot;
    if (*newest)
        t->list[*newest - 1].own_newer = slot;
    *newest = slot + 1;
    return slot;
}

static void take_in_tokens(struct tokens *t, uint32_t slot)
{
    struct token *k = &t->list[slot];
    struct token_ends *ends = ends_of(t, k->object);

    if (k->older == TOKEN_NONE)
        ends->oldest = k->newer;
    else
        t->list[k->older].newer = k->newer;
    if (k->newer == TOKEN_NONE)
        ends->newest = k->older;
    else
        t->list[k->newer].older = k->older;
    if (k->own_older != TOKEN_NONE)
        t->list[k->own_older].own_newer = k->own_newer;
    if (k->own_newer != TOKEN_NONE)
        t->list[k->own_newer].own_older = k->own_older;
    else
        *map_put(&t->newest_of, pair_key(k->object, k->thread), 0) = k->own_older + 1;
    k->newer = t->free;
    t->free = slot + 1;
}

uint32_t tokens_take(struct tokens *t, uint32_t object, uint32_t thread)
{
    const uint32_t *own = map_get(&t->newest_of, pair_key(object, thread));
    uint32_t slot = own && *own ? *own - 1 : ends_of(t, object)->oldest;

    if (slot != TOKEN_NONE)
        take_in_tokens(t, slot);
    return slot;
}
