/* hb.h - the happens-before core that the clock engines share
 *
 * Keeps a clock per thread and per synchronisation object and applies the
 * order of docs/design/proof.md to them: program order, hard edges (fork, join,
 * barriers, semaphores, once, annotations, C11 atomics and fences) and,
 * unless switched off, lock edges. Engines add what makes them
 * different: the check of accesses.
 *
 *     hb_begin_span(&hb, span)                   sizes the tables
 *     for each event: hb_before(&hb, s)          what its steps learn
 *                     ...check and record the accesses...
 *                     hb_after(&hb, s)           what its steps publish;
 *                     tick once if one of them published something
 *
 * Slots. A clock has an entry per slot, not per thread: a thread whose
 * creator knows the end of a joined thread takes over that thread's slot.
 * The two are ordered, so they can share one entry without losing anything,
 * and a program that makes 100,000 short threads needs as many slots as are
 * alive at a time.
 *
 * Ownership: everything belongs to the struct; hb_release() frees it.
 */
#ifndef HEDDLE_ORDER_HB_H
#define HEDDLE_ORDER_HB_H

#include "base/map.h"
#include "order/clock.h"
#include "order/step.h"
#include "order/tokens.h"

struct hb_thread {
    struct clock clock;   /* slot == SLOT_NONE: has no slot yet */
    uint32_t version;     /* another one whenever the clock learns something; never reused */
    struct clock fence;   /* as of the last release fence */
    struct clock pending; /* what relaxed loads have read, for an acquire fence */
};

/* A block of memory: who allocated it, and who freed it. */
struct hb_block {
    struct clock birth; /* kept only with hb.births */
    struct clock death; /* likewise: of the free */
    bool freed;
    uint64_t free_position;
    uint32_t free_slot, free_time, free_site;
};

/* A slot that nobody runs on any more, and the last time it showed. */
struct hb_free_slot {
    uint32_t slot, time;
};

struct hb {
    struct clock_pool pool;
    bool no_lock_edges; /* predictive orders: hard edges only */
    bool births;        /* keep the clocks of allocations and frees */

    struct hb_thread *threads;
    size_t threads_cap;
    uint32_t nslots;
    uint32_t versions; /* handed out */
    struct hb_free_slot *free_slots;
    size_t nfree, free_cap;

    struct hb_object *objects;
    size_t objects_cap;
    struct tokens posts;  /* predictive orders: posts of semaphores that are left, */
    struct clock *posted; /* and what they know, by token */
    size_t posted_cap;

    struct hb_block *blocks;
    size_t blocks_cap;

    uint32_t *atomic_of; /* variable -> atomic record, 0 none */
    size_t atomic_of_cap;
    struct hb_atomic *atomics; /* [0] unused */
    size_t natomics, atomics_cap;
    uint32_t *free_atomics;
    size_t nfree_atomics, free_atomics_cap;
};

void hb_init(struct hb *h);
void hb_release(struct hb *h);

/* Before the steps of a span are looked at. */
void hb_begin_span(struct hb *h, const struct span *span);

/* Give a thread its slot; needed once before its clock is used. */
void hb_start_thread(struct hb *h, uint32_t thread, const struct clock *creator);

static inline struct hb_thread *hb_thread(struct hb *h, uint32_t thread)
{
    struct hb_thread *t = &h->threads[thread];

    if (__builtin_expect(t->clock.slot == SLOT_NONE, 0))
        hb_start_thread(h, thread, NULL);
    return t;
}

/* Has the thread seen the access that happened at (slot, time)? */
static inline bool hb_knows(const struct hb_thread *t, uint32_t slot, uint32_t time)
{
    return clock_knows(&t->clock, slot, time);
}

/* The general case of hb_learn(). */
void hb_learn_new(struct hb *h, struct hb_thread *t, const struct clock *from);

/* A thread learns what a clock knows. */
static inline void hb_learn(struct hb *h, struct hb_thread *t, const struct clock *from)
{
    if (from->slot == SLOT_NONE ? from->tree != NULL
                                : !clock_knows(&t->clock, from->slot, from->time))
        hb_learn_new(h, t, from);
}

/* A snapshot of the thread for others to learn from, and its tick. */
void hb_publish(struct hb *h, struct hb_thread *t, struct clock *to);

/* The thread frees a block; publishes, does not tick. */
void hb_free_block(struct hb *h, const struct hb_thread *t, const struct step *s);
/* The block a fresh variable lies in, or NULL. */
static inline const struct hb_block *hb_block_of(const struct hb *h, const struct step *s)
{
    return s->from ? &h->blocks[s->from - 1] : NULL;
}

/* Every step that is not a plain access: the synchronisation it does. An atomic access learns
 * before and publishes after; everything else is complete, tick included, after hb_before(). */
void hb_sync_before(struct hb *h, const struct step *s);
bool hb_atomic_after(struct hb *h, const struct step *s);

/* Variables that hold atomics need to hear of plain writes, splits and reuse. */
void hb_plain_write(struct hb *h, uint32_t var);
void hb_split(struct hb *h, uint32_t from, uint32_t to);
void hb_fresh(struct hb *h, uint32_t var);

static inline void hb_before(struct hb *h, const struct step *s)
{
    if (s->op > OP_WRITE)
        hb_sync_before(h, s);
    if (s->flags & STEP_FRESH && __builtin_expect(h->natomics, 0) && op_is_access(s->op))
        hb_fresh(h, s->id);
}

/* True: something was published, the thread has to tick at the end of the event. */
static inline bool hb_after(struct hb *h, const struct step *s)
{
    if (s->op == OP_WRITE && __builtin_expect(h->natomics, 0))
        hb_plain_write(h, s->id);
    return op_is_atomic(s->op) && hb_atomic_after(h, s);
}

#endif
