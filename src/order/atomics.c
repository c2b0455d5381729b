/* atomics.c - C11 atomics and fences
 *
 * What an acquire of an atomic learns is the sum of the heads of the release
 * sequence that the value it reads belongs to. A head is a release store or
 * rmw, or a relaxed one after a release fence (then with the clock of the
 * fence). A sequence goes on through rmws of any thread and stores of the
 * head's own thread (C11; C++20 dropped the latter, hardware never did); any
 * other store or plain write ends it.
 * State is per variable, so it is exact for atomics that overlap: a split
 * copies it.
 * Limits: a load reads from the last store in the order of the trace, which
 * is exact where the trace's order of this location is.
 */
#include "order/hb_objects.h"
#include "base/alloc.h"

#include <stdlib.h>

struct head {
    uint32_t thread;
    struct clock clock;
};

struct hb_atomic {
    struct clock sum; /* of all heads: what a reader learns */
    struct head *heads;
    size_t count, cap;
};

static void atomic_clear(struct hb *h, struct hb_atomic *a)
{
    clock_clear(&h->pool, &a->sum);
    for (size_t i = 0; i < a->count; i++)
        clock_clear(&h->pool, &a->heads[i].clock);
    a->count = 0;
}

void hb_atomics_release(struct hb *h)
{
    for (size_t i = 0; i < h->natomics; i++)
        free(h->atomics[i].heads);
    free(h->atomics);
    free(h->atomic_of);
    free(h->free_atomics);
}

static uint32_t record_new(struct hb *h)
{
    if (h->nfree_atomics)
        return h->free_atomics[--h->nfree_atomics];
    if (!h->natomics)
        h->natomics = 1; /* 0 means none */
    GROW(h->atomics, h->atomics_cap, h->natomics + 1);
    h->atomics[h->natomics] = (struct hb_atomic){ .sum = CLOCK_EMPTY };
    return (uint32_t)h->natomics++;
}

static struct hb_atomic *record_of(struct hb *h, uint32_t var)
{
    GROW(h->atomic_of, h->atomic_of_cap, (size_t)var + 1);
    if (!h->atomic_of[var])
        h->atomic_of[var] = record_new(h);
    return &h->atomics[h->atomic_of[var]];
}

void hb_plain_write(struct hb *h, uint32_t var)
{
    if (var < h->atomic_of_cap && h->atomic_of[var])
        atomic_clear(h, &h->atomics[h->atomic_of[var]]);
}

void hb_fresh(struct hb *h, uint32_t var)
{
    uint32_t record = var < h->atomic_of_cap ? h->atomic_of[var] : 0;

    if (!record)
        return;
    atomic_clear(h, &h->atomics[record]);
    h->atomic_of[var] = 0;
    GROW(h->free_atomics, h->free_atomics_cap, h->nfree_atomics + 1);
    h->free_atomics[h->nfree_atomics++] = record;
}

static void set_head(struct hb *h, struct hb_atomic *a, uint32_t thread, const struct clock *c)
{
    size_t i = 0;

    while (i < a->count && a->heads[i].thread != thread)
        i++;
    if (i == a->count) {
        GROW(a->heads, a->cap, a->count + 1);
        a->heads[a->count++] = (struct head){ thread, CLOCK_EMPTY };
    }
    if (!clock_knows(&a->heads[i].clock, c->slot, c->time)) /* a fence may be older */
        clock_copy(&h->pool, &a->heads[i].clock, c);
    clock_join(&h->pool, &a->sum, c);
}

void hb_split(struct hb *h, uint32_t from, uint32_t to)
{
    struct hb_atomic *new, *old;

    hb_fresh(h, to);
    if (from >= h->atomic_of_cap || !h->atomic_of[from])
        return;
    new = record_of(h, to);
    old = &h->atomics[h->atomic_of[from]];
    for (size_t i = 0; i < old->count; i++)
        set_head(h, new, old->heads[i].thread, &old->heads[i].clock);
}

/* A store: of the heads only those of its own thread stay. */
static void end_sequences_of_others(struct hb *h, struct hb_atomic *a, uint32_t thread)
{
    size_t kept = 0;

    clock_clear(&h->pool, &a->sum);
    for (size_t i = 0; i < a->count; i++) {
        if (a->heads[i].thread == thread) {
            a->heads[kept++] = a->heads[i];
            clock_join(&h->pool, &a->sum, &a->heads[kept - 1].clock);
        } else {
            clock_clear(&h->pool, &a->heads[i].clock);
        }
    }
    a->count = kept;
}

void hb_atomic_before(struct hb *h, const struct step *s)
{
    struct hb_thread *t = hb_thread(h, s->thread);
    struct hb_atomic *a;

    if (s->op == OP_STORE)
        return;
    if (s->flags & STEP_FRESH || s->id >= h->atomic_of_cap || !h->atomic_of[s->id])
        return;
    a = &h->atomics[h->atomic_of[s->id]];
    if (order_acquires(s->order))
        hb_learn(h, t, &a->sum);
    else
        clock_join(&h->pool, &t->pending, &a->sum);
}

bool hb_atomic_after(struct hb *h, const struct step *s)
{
    struct hb_thread *t = hb_thread(h, s->thread);
    struct hb_atomic *a;

    if (s->op == OP_LOAD)
        return false;
    a = record_of(h, s->id);
    if (s->op == OP_STORE)
        end_sequences_of_others(h, a, s->thread);
    if (order_releases(s->order)) {
        set_head(h, a, s->thread, &t->clock);
        return true;
    }
    if (t->fence.slot != SLOT_NONE)
        set_head(h, a, s->thread, &t->fence);
    return false;
}

void hb_fence(struct hb *h, const struct step *s)
{
    struct hb_thread *t = hb_thread(h, s->thread);

    if (order_acquires(s->order))
        hb_learn(h, t, &t->pending);
    if (order_releases(s->order))
        hb_publish(h, t, &t->fence);
}
