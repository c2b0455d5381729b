/* hb_threads.c - threads, slots and the dispatch of synchronisation steps
 *
 * The objects themselves are in hb_objects.c, C11 atomics and fences in
 * atomics.c.
 */
#include "order/hb.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "order/hb_objects.h"

#include <stdlib.h>

/* How many of the free slots a new thread tries before it takes a new one. Programs join the
 * thread they reuse last, so the first try nearly always fits. */
enum { FREE_SLOT_TRIES = 8 };

void hb_init(struct hb *h)
{
    *h = (struct hb){ 0 };
}

void hb_release(struct hb *h)
{
    hb_objects_release(h);
    hb_atomics_release(h);
    free(h->threads);
    free(h->blocks);
    free(h->free_slots);
    clock_pool_release(&h->pool);
    *h = (struct hb){ 0 };
}

void hb_begin_span(struct hb *h, const struct span *span)
{
    size_t old = h->threads_cap;

    GROW(h->threads, h->threads_cap, span->threads);
    for (size_t i = old; i < h->threads_cap; i++) {
        h->threads[i].clock = CLOCK_EMPTY;
        h->threads[i].fence = CLOCK_EMPTY;
        h->threads[i].pending = CLOCK_EMPTY;
    }
    hb_objects_grow(h, span->objects);
    if (h->natomics)
        GROW(h->atomic_of, h->atomic_of_cap, span->variables);
}

void hb_learn_new(struct hb *h, struct hb_thread *t, const struct clock *from)
{
    if (clock_join(&h->pool, &t->clock, from))
        t->version = ++h->versions;
}

void hb_publish(struct hb *h, struct hb_thread *t, struct clock *to)
{
    /* a pair (slot, time) names one snapshot (clock.h): it must have a slot, and must not wrap */
    invariant(t->clock.slot != SLOT_NONE && t->clock.time < UINT32_MAX);
    clock_copy(&h->pool, to, &t->clock);
    t->clock.time++;
}

/* A slot whose last thread ended before anything the creator will do, or a new one. */
static struct hb_free_slot hb_find_slot(struct hb *h, const struct clock *creator)
{
    for (size_t i = 0; creator && i < h->nfree && i < FREE_SLOT_TRIES; i++) {
        struct hb_free_slot *f = &h->free_slots[h->nfree - 1 - i];
        struct hb_free_slot found = *f;

        if (clock_knows(creator, found.slot, found.time)) {
            *f = h->free_slots[--h->nfree];
            return found;
        }
    }
    return (struct hb_free_slot){ h->nslots++, 0 };
}

void hb_start_thread(struct hb *h, uint32_t thread, const struct clock *creator)
{
    struct hb_thread *t = &h->threads[thread];
    struct hb_free_slot slot = hb_find_slot(h, creator);

    t->version = ++h->versions;
    t->clock.slot = slot.slot;
    t->clock.time = slot.time + 1;
}

static void fork_thread(struct hb *h, const struct step *s)
{
    struct hb_thread *parent = hb_thread(h, s->thread), *child = &h->threads[s->id];
    struct clock snapshot = CLOCK_EMPTY;

    hb_publish(h, parent, &snapshot);
    if (child->clock.slot == SLOT_NONE)
        hb_start_thread(h, s->id, &snapshot);
    hb_learn(h, child, &snapshot);
    clock_clear(&h->pool, &snapshot);
}

/* The slot of a joined thread may serve another one; should the thread go on all the same (a
 * broken trace), it gets a new slot and remembers its past. */
static void join_thread(struct hb *h, const struct step *s)
{
    struct hb_thread *t = hb_thread(h, s->thread), *child = &h->threads[s->id];
    struct clock last = CLOCK_EMPTY;

    if (child->clock.slot == SLOT_NONE) { /* never ran, or was joined before */
        hb_learn(h, t, &child->clock);
        return;
    }
    hb_publish(h, child, &last);
    hb_learn(h, t, &last);
    GROW(h->free_slots, h->free_cap, h->nfree + 1);
    /* else a thread that takes over the slot would pass for a successor of the joined one */
    invariant(clock_knows(&t->clock, last.slot, last.time));
    h->free_slots[h->nfree++] = (struct hb_free_slot){ last.slot, last.time };
    child->clock.slot = SLOT_NONE;
    child->clock.time = 0;
    clock_join(&h->pool, &child->clock, &last);
    clock_clear(&h->pool, &last);
}

/* ---- blocks of memory ---- */

static struct hb_block *block_at(struct hb *h, uint32_t id)
{
    size_t old = h->blocks_cap;

    GROW(h->blocks, h->blocks_cap, (size_t)id + 1);
    for (size_t i = old; i < h->blocks_cap; i++)
        h->blocks[i].birth = h->blocks[i].death = CLOCK_EMPTY;
    return &h->blocks[id];
}

static void alloc_block(struct hb *h, const struct step *s)
{
    struct hb_block *b = block_at(h, s->id);

    b->freed = false;
    if (h->births)
        hb_publish(h, hb_thread(h, s->thread), &b->birth);
}

/* Nothing can be freed before it was allocated; a part was allocated with the whole. */
static void before_free(struct hb *h, const struct step *s)
{
    struct hb_block *b = block_at(h, s->id);

    if (!h->births)
        return;
    if (s->flags & STEP_FRESH && s->from)
        clock_copy(&h->pool, &b->birth, &h->blocks[s->from - 1].birth);
    else if (s->flags & STEP_FRESH)
        clock_clear(&h->pool, &b->birth);
    hb_learn(h, hb_thread(h, s->thread), &b->birth);
}

void hb_free_block(struct hb *h, const struct hb_thread *t, const struct step *s)
{
    struct hb_block *b = block_at(h, s->id);

    b->freed = true;
    b->free_position = s->position;
    b->free_slot = t->clock.slot;
    b->free_time = t->clock.time;
    b->free_site = s->site;
    if (h->births)
        clock_copy(&h->pool, &b->death, &t->clock);
}

void hb_sync_before(struct hb *h, const struct step *s)
{
    switch (s->op) {
    case OP_FORK:
        fork_thread(h, s);
        break;
    case OP_JOIN:
        join_thread(h, s);
        break;
    case OP_LOAD:
    case OP_RMW:
    case OP_STORE:
        hb_atomic_before(h, s);
        break;
    case OP_FENCE:
        hb_fence(h, s);
        break;
    case OP_ALLOC:
        alloc_block(h, s);
        break;
    case OP_FREE:
        before_free(h, s);
        break;
    case OP_SPLIT:
        if (h->natomics)
            hb_split(h, s->from, s->id);
        break;
    default:
        hb_object_step(h, s);
        break;
    }
}
