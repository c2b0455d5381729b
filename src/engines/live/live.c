/* live.c - happens-before races, found while the program runs
 *
 * Synchronisation goes the way it goes for all engines (memory.h numbers it, hb.h orders it);
 * plain accesses, nearly all of the events, go straight to live_words.h. Only those to words that
 * atomics use are steps too: a plain write ends a release sequence.
 */
#include "engines/live/live.h"
#include "base/alloc.h"
#include "engines/live/live_calls.h"
#include "engines/live/live_words.h"
#include "engines/race.h"
#include "order/hb.h"
#include "order/memory.h"

#include <stdlib.h>
#include <string.h>

/* Threads that used a slot one after the other. */
struct tenancy {
    uint32_t from, thread; /* from this time on */
};

struct slot {
    struct tenancy *tenants;
    size_t count, cap;
};

struct live_thread {
    uint32_t slot; /* SLOT_NONE: it has not begun */
    struct live_place place;
};

/* Events whose memory is fetched beforehand. */
enum { ATOMIC_BITS = 16, AHEAD = 16 };

struct live {
    struct memory *memory;
    struct hb hb;
    struct live_words words;
    struct live_stacks stacks;
    struct live_thread **threads; /* NULL: not seen yet */
    size_t threads_cap;
    struct slot *slots;
    size_t slots_cap;
    uint64_t atomic_words[(1 << ATOMIC_BITS) / 64]; /* words that atomics use, by a hash, */
    uint64_t atomic_pages[(1 << ATOMIC_BITS) / 64]; /* and their pages */
    struct map pairs;                               /* of sites: met */
    struct map suspects;                            /* blocks */
    struct live_calls calls;
    bool full; /* a stamp has no room: nothing more is compared in this batch */
    struct live_counts counts;
    void (*found)(void *arg, const struct live_race *r);
    void *arg;
};

/* ---- who ---- */

static struct live_thread *live_thread_of(struct live *l, uint32_t thread)
{
    struct live_thread *t;

    GROW(l->threads, l->threads_cap, (size_t)thread + 1);
    t = l->threads[thread];
    if (t)
        return t;
    t = l->threads[thread] = xcalloc(1, sizeof(*t));
    t->slot = SLOT_NONE;
    return t;
}

/* The thread's clock; from its first time on the slot is its. */
static const struct clock *clock_of(struct live *l, struct live_thread *t, uint32_t thread)
{
    const struct clock *c = &hb_thread(&l->hb, thread)->clock;
    struct slot *s;

    if (__builtin_expect(t->slot == c->slot, 1))
        return c;
    t->slot = c->slot;
    GROW(l->slots, l->slots_cap, (size_t)c->slot + 1);
    s = &l->slots[c->slot];
    GROW(s->tenants, s->cap, s->count + 1);
    s->tenants[s->count++] = (struct tenancy){ c->time, thread };
    return c;
}

static uint32_t tenant_at(const struct live *l, uint32_t slot, uint32_t time)
{
    const struct slot *s = &l->slots[slot];
    size_t i = s->count;

    while (i > 1 && s->tenants[i - 1].from > time)
        i--;
    return s->tenants[i - 1].thread;
}

/* Who has the slot, or had it last. */
static uint32_t thread_at(void *arg, uint32_t slot)
{
    const struct live *l = arg;

    return l->slots[slot].tenants[l->slots[slot].count - 1].thread;
}

static struct live_side side_of(const struct live *l, live_stamp s, unsigned kind)
{
    uint32_t context = live_stamp_context(s);
    const struct live_context *c =
        context < l->stacks.ncontexts ? &l->stacks.contexts[context] : NULL;

    return (struct live_side){
        .thread = tenant_at(l, live_stamp_slot(s), live_stamp_time(s)),
        .site = c ? c->site : SITE_NONE,
        .context = context,
        .writes = kind & LIVE_WRITE,
        .atomic = kind & LIVE_ATOMIC,
        .frees = c && c->frees,
    };
}

static void note_race(void *arg, live_stamp earlier, unsigned kind, const struct live_access *later)
{
    struct live *l = arg;
    struct live_race r = { side_of(l, earlier, kind), side_of(l, later->stamp, later->kind),
                           later->address };
    uint32_t *met = map_put(&l->pairs, site_pair(r.first.site, r.second.site), 0);

    if ((*met)++)
        return;
    l->counts.races++;
    l->found(l->arg, &r);
}

static void note_suspect(void *arg, uint64_t block)
{
    struct live *l = arg;

    map_put(&l->suspects, block >> LIVE_BLOCK_BITS, 0);
}

/* ---- beginning and end ---- */

struct live *live_new(void (*found)(void *arg, const struct live_race *r), void *arg,
                      const struct tables *names)
{
    struct live *l = xcalloc(1, sizeof(*l));

    l->memory = memory_new();
    hb_init(&l->hb);
    l->words.race = note_race;
    l->words.suspect = note_suspect;
    l->words.arg = l;
    l->calls = (struct live_calls){ .hb = &l->hb,
                                    .words = &l->words,
                                    .names = names,
                                    .thread_at = thread_at,
                                    .arg = l,
                                    .met = CLOCK_EMPTY };
    l->found = found;
    l->arg = arg;
    return l;
}

static size_t state_bytes(const struct live *l)
{
    return l->words.bytes + live_calls_bytes(&l->calls) + l->hb.pool.bytes;
}

static void forget_slots(struct live *l)
{
    for (size_t i = 0; i < l->slots_cap; i++)
        l->slots[i].count = 0;
    for (size_t i = 0; i < l->threads_cap; i++)
        if (l->threads[i])
            l->threads[i]->slot = SLOT_NONE;
}

void live_free(struct live *l)
{
    if (!l)
        return;
    memory_free(l->memory);
    live_calls_release(&l->calls);
    hb_release(&l->hb);
    live_words_release(&l->words);
    live_stacks_release(&l->stacks);
    for (size_t i = 0; i < l->threads_cap; i++)
        free(l->threads[i]);
    free(l->threads);
    for (size_t i = 0; i < l->slots_cap; i++)
        free(l->slots[i].tenants);
    free(l->slots);
    map_release(&l->pairs);
    map_release(&l->suspects);
    free(l);
}

/* All threads meet here, so to speak: what is forgotten happened before all that comes. An edge
 * between two events that come needs nothing from before: its releases are among them. */
static void begin_anew(struct live *l)
{
    memory_free(l->memory);
    l->memory = memory_new();
    hb_release(&l->hb);
    hb_init(&l->hb);
    live_calls_forget(&l->calls);
    if (live_calls_bytes(&l->calls) > LIVE_BYTES / 2)
        l->calls.lost = true;
    live_words_clear(&l->words);
    forget_slots(l);
    memset(l->atomic_words, 0, sizeof(l->atomic_words));
    memset(l->atomic_pages, 0, sizeof(l->atomic_pages));
    l->counts.forgotten++;
    l->full = false;
}

/* ---- plain accesses and atomics ---- */

static inline bool bit_is_set(const uint64_t *bits, uint64_t key)
{
    uint64_t h = map_hash(key) >> 8 & ((1 << ATOMIC_BITS) - 1);

    return bits[h / 64] >> h % 64 & 1;
}

static void bit_set(uint64_t *bits, uint64_t key)
{
    uint64_t h = map_hash(key) >> 8 & ((1 << ATOMIC_BITS) - 1);

    bits[h / 64] |= (uint64_t)1 << h % 64;
}

/* Does the access touch a word that atomics use, or one with the same hash? */
static bool meets_atomics(const struct live *l, const struct event *e)
{
    uint64_t end = e->target + e->size;
    bool near = false;

    for (uint64_t p = e->target >> LIVE_PAGE_BITS; p <= (end - 1) >> LIVE_PAGE_BITS; p++)
        near |= bit_is_set(l->atomic_pages, p);
    for (uint64_t w = e->target / 8; near && w <= (end - 1) / 8; w++)
        if (bit_is_set(l->atomic_words, w))
            return true;
    return false;
}

static void mark_atomic(struct live *l, const struct event *e)
{
    for (uint64_t w = e->target / 8; w <= (e->target + e->size - 1) / 8; w++) {
        bit_set(l->atomic_words, w);
        bit_set(l->atomic_pages, w * 8 >> LIVE_PAGE_BITS);
    }
}

static void live_mark(struct live *l, struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        struct event *e = &b->events[i];

        if (op_is_atomic(e->op))
            mark_atomic(l, e);
        else if ((e->op == OP_READ || e->op == OP_WRITE) && !meets_atomics(l, e))
            e->flags |= EV_SIEVED;
    }
}

static struct live_access access_of(struct live *l, const struct event *e, unsigned kind)
{
    struct live_thread *t = live_thread_of(l, e->thread);
    const struct clock *c = clock_of(l, t, e->thread);
    uint32_t context = live_context(&l->stacks, &t->place, e->site);

    if (__builtin_expect(c->slot >= LIVE_SLOTS || c->time >> LIVE_TIME_BITS, 0))
        l->full = true;
    return (struct live_access){ c, live_stamp_make(c->slot, c->time, context), kind, 0 };
}

static void plain_access(struct live *l, const struct event *e)
{
    struct live_access a;

    if (live_calls_order_all(&l->calls))
        return;
    a = access_of(l, e, e->op == OP_WRITE ? LIVE_WRITE : 0);
    if (!l->full)
        live_words_access(&l->words, &a, e->target, e->size);
}

static void atomic_access(struct live *l, const struct event *e)
{
    struct live_access a = access_of(l, e, LIVE_ATOMIC | (op_table[e->op].writes ? LIVE_WRITE : 0));

    if (!l->full && !live_calls_order_all(&l->calls))
        live_words_access(&l->words, &a, e->target, e->size);
}

static void free_block(struct live *l, const struct event *e)
{
    struct live_access a = access_of(l, e, LIVE_WRITE);
    uint32_t context = live_stamp_context(a.stamp);

    if (context < l->stacks.ncontexts)
        l->stacks.contexts[context].frees = true;
    if (!l->full && !live_calls_order_all(&l->calls))
        live_words_free(&l->words, &a, e->target, e->value);
}

/* ---- events ---- */

/* The steps of one event: what it learns, then its accesses, then what it publishes. */
static void synchronise(struct live *l, const struct event *e, const struct step *steps, size_t n)
{
    bool tick = false;

    for (size_t i = 0; i < n; i++)
        hb_before(&l->hb, &steps[i]);
    if (op_is_atomic(e->op))
        atomic_access(l, e);
    else if (e->op == OP_READ || e->op == OP_WRITE)
        plain_access(l, e);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(steps[i].op) && op_is_access(e->op))
            tick |= hb_after(&l->hb, &steps[i]);
    hb_thread(&l->hb, e->thread)->clock.time += tick;
}

static void other_event(struct live *l, const struct event *e)
{
    switch (e->op) {
    case OP_ENTER:
        live_enter(&l->stacks, &live_thread_of(l, e->thread)->place, (uint32_t)e->target, e->site);
        break;
    case OP_EXIT:
        live_exit(&l->stacks, &live_thread_of(l, e->thread)->place);
        break;
    case OP_FREE:
        free_block(l, e);
        break;
    case OP_ALLOC:
        live_words_forget(&l->words, e->target, e->value);
        break;
    default:
        break;
    }
}

static void event(struct live *l, const struct event *e, const struct step *steps, size_t n,
                  const uint64_t *extra)
{
    bool calls = l->calls.on || e->op == OP_CALL || e->op == OP_ACQUIRE_SHARED;

    if (e->flags & EV_IGNORED)
        return;
    if (__builtin_expect(calls, 0))
        live_calls_before(&l->calls, e, extra);
    if (n)
        synchronise(l, e, steps, n);
    else if (e->op == OP_READ || e->op == OP_WRITE)
        plain_access(l, e);
    if (e->op >= OP_ALLOC)
        other_event(l, e);
    if (__builtin_expect(calls, 0))
        live_calls_after(&l->calls, e);
}

void live_batch(struct live *l, struct batch *b)
{
    struct span span;
    size_t at = 0;

    if (l->full || state_bytes(l) > LIVE_BYTES)
        begin_anew(l);
    live_mark(l, b);
    memory_steps(l->memory, b, &span);
    hb_begin_span(&l->hb, &span);
    for (size_t i = 0; i < b->count; i++) {
        size_t n = steps_of(&span, at, b->first + i);

        if (i + AHEAD < b->count)
            live_words_prefetch(&l->words, b->events[i + AHEAD].target);
        event(l, &b->events[i], &span.steps[at], n, b->extra);
        at += n;
    }
    l->counts.events += b->count;
}

/* ---- asking ---- */

struct live_counts live_counts(const struct live *l)
{
    struct live_counts c = l->counts;

    c.evicted = l->words.evicted;
    c.suspects = l->suspects.count;
    c.bytes = state_bytes(l);
    return c;
}

bool live_is_suspect(const struct live *l, uint64_t address)
{
    return map_get(&l->suspects, address >> LIVE_BLOCK_BITS) != NULL;
}

size_t live_calls(const struct live *l, uint32_t context, struct live_frame *out, size_t max)
{
    return live_frames(&l->stacks, context, out, max);
}
