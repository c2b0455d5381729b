/* lockcheck.c - who holds which lock, and is that possible?
 *
 * The idea: keep the holders as the trace claims them, and where a claim is
 * impossible let the newer event win. The older holder's release then still
 * comes; it is "lost" (expected, not diagnosed) and marked EV_FOREIGN so that
 * it adds an ordering edge without ending anybody else's section.
 */
#include "trace/check/lockcheck.h"
#include "base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum history {
    UNTOUCHED,
    ONLY_READERS_LEFT, /* released shared by threads that held it before the trace began */
    USED
};

struct lock_state {
    uint64_t target;
    uint64_t free_since; /* position of the event that freed it */
    uint32_t owner;      /* exclusive hold, 0 none */
    uint32_t sharers;    /* number of shared holds */
    uint8_t history;     /* enum history */
    bool disturbed;      /* somebody else released it during the owner's section */
};

/* One thread holding one lock in one way; in the list of its thread while active. */
struct lock_hold {
    uint64_t since; /* position of the outermost acquire */
    uint32_t lock, thread;
    uint32_t depth; /* 0: not in use */
    uint32_t prev, next;
    bool shared;
};

void lockcheck_release(struct lockcheck *lc)
{
    free(lc->locks);
    free(lc->named);
    free(lc->holds);
    free(lc->held);
    map_release(&lc->by_address);
    map_release(&lc->shared);
    map_release(&lc->lost);
    *lc = (struct lockcheck){ .teller = lc->teller, .order = lc->order };
}

void lockcheck_clear(struct lockcheck *lc)
{
    lockcheck_release(lc);
}

static uint64_t pair_key(uint32_t lock, uint32_t thread)
{
    return (uint64_t)lock << 32 | thread;
}

static uint32_t *lock_number(struct lockcheck *lc, uint64_t target)
{
    uint32_t n = named_object(target);

    if (!is_named(target) || n >= lc->teller->tables->objects.count)
        return map_put(&lc->by_address, target, 0);
    if (n >= lc->named_cap)
        GROW(lc->named, lc->named_cap, (size_t)n + 1);
    return &lc->named[n];
}

static struct lock_state *find_lock(struct lockcheck *lc, uint64_t target)
{
    uint32_t *number = lock_number(lc, target);

    if (!*number) {
        lc->nlocks = lc->nlocks ? lc->nlocks + 1 : 2;
        GROW(lc->locks, lc->locks_cap, lc->nlocks);
        *number = (uint32_t)(lc->nlocks - 1);
        lc->locks[*number] = (struct lock_state){ .target = target };
    }
    return &lc->locks[*number];
}

static uint32_t lock_index(const struct lockcheck *lc, const struct lock_state *l)
{
    return (uint32_t)(l - lc->locks);
}

static uint32_t new_hold(struct lockcheck *lc, struct lock_state *l, uint32_t thread, bool shared)
{
    uint32_t id = lc->free_holds;
    struct lock_hold *h;

    if (id) {
        lc->free_holds = lc->holds[id].next;
    } else {
        id = (uint32_t)(lc->nholds ? lc->nholds : 1);
        lc->nholds = (size_t)id + 1;
        GROW(lc->holds, lc->holds_cap, lc->nholds);
    }
    if (thread >= lc->held_cap)
        GROW(lc->held, lc->held_cap, (size_t)thread + 1);
    h = &lc->holds[id];
    *h = (struct lock_hold){ .since = lc->teller->position,
                             .lock = lock_index(lc, l),
                             .thread = thread,
                             .depth = 1,
                             .next = lc->held[thread],
                             .shared = shared };
    if (h->next)
        lc->holds[h->next].prev = id;
    lc->held[thread] = id;
    l->history = USED;
    return id;
}

/* The hold is over; its lock forgets it. */
static void drop_hold(struct lockcheck *lc, uint32_t id)
{
    struct lock_hold *h = &lc->holds[id];
    struct lock_state *l = &lc->locks[h->lock];

    if (h->prev)
        lc->holds[h->prev].next = h->next;
    else
        lc->held[h->thread] = h->next;
    if (h->next)
        lc->holds[h->next].prev = h->prev;
    if (h->shared) {
        *map_get(&lc->shared, pair_key(h->lock, h->thread)) = 0;
        l->sharers--;
    } else {
        l->owner = 0;
        l->disturbed = false;
    }
    if (!l->owner && !l->sharers)
        l->free_since = lc->teller->position;
    h->depth = 0;
    h->next = lc->free_holds;
    lc->free_holds = id;
}

/* The hold is over although its releases are still to come. */
static void take_away(struct lockcheck *lc, uint32_t id)
{
    const struct lock_hold *h = &lc->holds[id];

    *map_put(&lc->lost, pair_key(h->lock, h->thread), 0) += h->depth;
    drop_hold(lc, id);
}

static uint32_t shared_hold(const struct lockcheck *lc, const struct lock_state *l, uint32_t thread)
{
    const uint32_t *id = map_get(&lc->shared, pair_key(lock_index(lc, l), thread));

    return id ? *id : 0;
}

/* A shared hold of another thread. Slow; only for texts that are kept. */
static const struct lock_hold *other_sharer(const struct lockcheck *lc, const struct lock_state *l,
                                            uint32_t thread)
{
    for (size_t i = 1; i < lc->nholds; i++) {
        const struct lock_hold *h = &lc->holds[i];

        if (h->depth && h->shared && h->lock == lock_index(lc, l) && h->thread != thread)
            return h;
    }
    return NULL;
}

/* Acquires. */

static void tell_acquire_held(struct lockcheck *lc, const struct lock_state *l, uint32_t thread,
                              const struct lock_hold *holder)
{
    struct teller *t = lc->teller;

    *lc->order = TRACE_UNKNOWN;
    tell(t, DIAG_ACQUIRE_HELD,
         "%s acquires %s, which %s holds%s since event %" PRIu64
         ": taken as acquired here, so the order of lock events is not exact",
         teller_thread(t, thread), teller_object(t, l->target),
         holder ? teller_thread(t, holder->thread) : "another thread",
         holder && holder->shared ? " shared" : "", holder ? holder->since : 0);
}

static bool owned_by(const struct lockcheck *lc, const struct lock_state *l, uint32_t thread)
{
    return l->owner && lc->holds[l->owner].thread == thread;
}

/* Another thread's exclusive hold ends because this thread acquires. */
static void push_owner_aside(struct lockcheck *lc, struct lock_state *l, uint32_t thread)
{
    if (!l->owner || owned_by(lc, l, thread))
        return;
    tell_acquire_held(lc, l, thread, &lc->holds[l->owner]);
    take_away(lc, l->owner);
}

static void lockcheck_acquire(struct lockcheck *lc, struct lock_state *l, struct event *ev)
{
    if (owned_by(lc, l, ev->thread)) {
        lc->holds[l->owner].depth++;
        ev->flags |= EV_NESTED;
        return;
    }
    push_owner_aside(lc, l, ev->thread);
    if (l->sharers > (shared_hold(lc, l, ev->thread) ? 1 : 0))
        tell_acquire_held(
            lc, l, ev->thread,
            teller_wants(lc->teller, DIAG_ACQUIRE_HELD) ? other_sharer(lc, l, ev->thread) : NULL);
    l->owner = new_hold(lc, l, ev->thread, false);
}

static void acquire_shared(struct lockcheck *lc, struct lock_state *l, struct event *ev)
{
    uint32_t id = shared_hold(lc, l, ev->thread);

    if (id) {
        lc->holds[id].depth++;
        ev->flags |= EV_NESTED;
        return;
    }
    push_owner_aside(lc, l, ev->thread);
    id = new_hold(lc, l, ev->thread, true);
    *map_put(&lc->shared, pair_key(lock_index(lc, l), ev->thread), 0) = id;
    l->sharers++;
}

/* Releases. */

/* This thread gave up something while another one is inside: that one's release must add
 * to the lock's clock too, or it would wipe out this edge. */
static void disturb(struct lockcheck *lc, struct lock_state *l, uint32_t thread)
{
    if (l->owner && !owned_by(lc, l, thread))
        l->disturbed = true;
}

static bool release_lost(struct lockcheck *lc, struct lock_state *l, struct event *ev)
{
    uint32_t *left = map_get(&lc->lost, pair_key(lock_index(lc, l), ev->thread));

    if (!left || !*left)
        return false;
    --*left;
    ev->flags |= EV_FOREIGN;
    disturb(lc, l, ev->thread);
    return true;
}

/* Ends one level; true where that was the outermost. */
static bool end_level(struct lockcheck *lc, uint32_t id)
{
    if (--lc->holds[id].depth)
        return false;
    lc->holds[id].depth = 1; /* drop_hold() wants an active one */
    drop_hold(lc, id);
    return true;
}

static void release_as_the_other_kind(struct lockcheck *lc, struct lock_state *l, struct event *ev,
                                      uint32_t id)
{
    struct teller *t = lc->teller;
    bool shared = lc->holds[id].shared;

    tell(t, DIAG_RELEASE_UNHELD,
         "%s releases %s as a %s but holds it as a %s since event %" PRIu64
         ": taken as the end of that",
         teller_thread(t, ev->thread), teller_object(t, l->target), shared ? "writer" : "reader",
         shared ? "reader" : "writer", lc->holds[id].since);
    ev->flags |= EV_FOREIGN;
    end_level(lc, id);
    disturb(lc, l, ev->thread);
}

static void release_of_others(struct lockcheck *lc, struct lock_state *l, struct event *ev)
{
    struct teller *t = lc->teller;
    const struct lock_hold *h = NULL;

    if (l->owner)
        h = &lc->holds[l->owner];
    else if (teller_wants(t, DIAG_RELEASE_FOREIGN))
        h = other_sharer(lc, l, ev->thread);
    tell(t, DIAG_RELEASE_FOREIGN,
         "%s releases %s, which %s holds%s since event %" PRIu64 ": kept as an ordering edge%s",
         teller_thread(t, ev->thread), teller_object(t, l->target),
         h ? teller_thread(t, h->thread) : "another thread", l->owner ? "" : " shared",
         h ? h->since : 0, l->owner ? ", and the lock is free from here on" : "");
    ev->flags |= EV_FOREIGN;
    if (l->owner)
        take_away(lc, l->owner);
}

static void release_of_none(struct lockcheck *lc, struct lock_state *l, struct event *ev)
{
    bool shared = ev->op == OP_RELEASE_SHARED;
    struct teller *t = lc->teller;

    if (l->history == UNTOUCHED || (shared && l->history == ONLY_READERS_LEFT)) {
        if (!t->tables->process.numbers[PROCESS_FORKED]) /* else its parent acquired it */
            tell(t, DIAG_RELEASE_UNHELD,
                 "%s releases %s, which nobody acquired before: taken as held since before the "
                 "trace began",
                 teller_thread(t, ev->thread), teller_object(t, l->target));
        l->history = shared ? ONLY_READERS_LEFT : USED;
        l->free_since = t->position;
        return;
    }
    tell(t, DIAG_RELEASE_UNHELD,
         "%s releases %s, which is free since event %" PRIu64 ": kept as an ordering edge",
         teller_thread(t, ev->thread), teller_object(t, l->target), l->free_since);
    ev->flags |= EV_FOREIGN;
}

static void release_misplaced(struct lockcheck *lc, struct lock_state *l, struct event *ev)
{
    if (l->owner || l->sharers)
        release_of_others(lc, l, ev);
    else
        release_of_none(lc, l, ev);
}

static void release_in_lockcheck(struct lockcheck *lc, struct lock_state *l, struct event *ev)
{
    bool disturbed = l->disturbed;
    uint32_t id;

    if (owned_by(lc, l, ev->thread)) {
        if (!end_level(lc, l->owner))
            ev->flags |= EV_NESTED;
        else if (disturbed)
            ev->flags |= EV_FOREIGN;
    } else if (release_lost(lc, l, ev)) {
        return;
    } else if ((id = shared_hold(lc, l, ev->thread))) {
        release_as_the_other_kind(lc, l, ev, id);
    } else {
        release_misplaced(lc, l, ev);
    }
}

static void release_shared(struct lockcheck *lc, struct lock_state *l, struct event *ev)
{
    uint32_t id = shared_hold(lc, l, ev->thread);

    if (id) {
        if (end_level(lc, id))
            disturb(lc, l, ev->thread);
        else
            ev->flags |= EV_NESTED;
    } else if (release_lost(lc, l, ev)) {
        return;
    } else if (owned_by(lc, l, ev->thread)) {
        release_as_the_other_kind(lc, l, ev, l->owner);
    } else {
        release_misplaced(lc, l, ev);
    }
}

void lockcheck_event(struct lockcheck *lc, struct event *ev)
{
    struct lock_state *l = find_lock(lc, ev->target);

    switch (ev->op) {
    case OP_ACQUIRE:
        lockcheck_acquire(lc, l, ev);
        break;
    case OP_RELEASE:
        release_in_lockcheck(lc, l, ev);
        break;
    case OP_ACQUIRE_SHARED:
        acquire_shared(lc, l, ev);
        break;
    case OP_RELEASE_SHARED:
        release_shared(lc, l, ev);
        break;
    }
}

/* Locks that stay open. */

static void tell_open(struct lockcheck *lc, const struct lock_hold *h, const char *where)
{
    struct teller *t = lc->teller;

    tell_at(t, DIAG_OPEN_LOCK, h->since, "%s acquires %s%s and does not release it: released %s",
            teller_thread(t, h->thread), teller_object(t, lc->locks[h->lock].target),
            h->shared ? " shared" : "", where);
}

void lockcheck_thread_over(struct lockcheck *lc, uint32_t thread, const char *where)
{
    while (thread < lc->held_cap && lc->held[thread]) {
        tell_open(lc, &lc->holds[lc->held[thread]], where);
        take_away(lc, lc->held[thread]);
    }
}

void lockcheck_finish(struct lockcheck *lc)
{
    for (size_t i = 1; i < lc->nholds; i++)
        if (lc->holds[i].depth)
            tell_open(lc, &lc->holds[i], "at the end of the trace");
}
