/* hb_objects.c - the clocks of locks, barriers, semaphores and once
 *
 * Locks: a shared release orders later exclusive acquires, an exclusive
 * release orders later acquires of both kinds; so a lock has two clocks. Who
 * acquires a lock that another thread never released (it ended, it died, or
 * the trace has the release too late) learns all that thread did so far: the
 * release that must have been.
 * Condition variables have none: a wait may end without a wake, so a wake is
 * no order. The mutex orders, whose release and acquire are events of their own.
 * Barriers: edges are per phase (phases.h).
 * Semaphores and annotations sum up all that was posted; for predictive orders a semaphore's wait
 * comes after one post (tokens.h).
 */
#include "order/hb_objects.h"
#include "base/alloc.h"
#include "order/phases.h"

#include <stdlib.h>

struct barrier {
    struct phases phases;
    struct clock *sums; /* of phases: what those knew who entered */
    size_t cap;
};

/* Threads that hold a lock. */
struct holders {
    uint32_t owner; /* exclusively: thread + 1, 0 nobody */
    uint32_t *shared;
    size_t nshared, shared_cap;
};

struct hb_object {
    struct holders holders;
    struct clock clock;  /* lock: exclusive release; semaphore, annotation: sum; once: first */
    struct clock shared; /* lock: sum of shared releases */
    struct barrier *barrier;
};

void hb_objects_grow(struct hb *h, uint32_t count)
{
    size_t old = h->objects_cap;

    GROW(h->objects, h->objects_cap, count);
    for (size_t i = old; i < h->objects_cap; i++)
        h->objects[i] = (struct hb_object){ .clock = CLOCK_EMPTY, .shared = CLOCK_EMPTY };
}

void hb_objects_release(struct hb *h)
{
    for (size_t i = 0; i < h->objects_cap; i++) {
        struct hb_object *o = &h->objects[i];

        if (o->barrier) {
            free(o->barrier->sums);
            phases_release(&o->barrier->phases);
        }
        free(o->barrier);
        free(o->holders.shared);
    }
    free(h->objects);
    free(h->posted);
    tokens_release(&h->posts);
}

/* Add the thread's knowledge to a sum that others learn from. */
static void publish_into(struct hb *h, struct hb_thread *t, struct clock *sum)
{
    clock_join(&h->pool, sum, &t->clock);
    t->clock.time++;
}

/* ---- locks ---- */

/* Add a release that may not be the last holder's: it must not hide that one's past. */
static void publish_besides(struct hb *h, struct hb_thread *t, struct clock *to)
{
    struct clock sum = CLOCK_EMPTY;

    clock_join(&h->pool, &sum, to);
    publish_into(h, t, &sum);
    clock_clear(&h->pool, to);
    *to = sum;
}

/* The releases that other threads owe, before a thread acquires. */
static void objects_settle(struct hb *h, struct hb_object *o, uint32_t thread, bool exclusive)
{
    struct holders *who = &o->holders;
    size_t kept = 0;

    if (who->owner && who->owner != thread + 1) {
        publish_besides(h, &h->threads[who->owner - 1], &o->clock);
        who->owner = 0;
    }
    for (size_t i = 0; exclusive && i < who->nshared; i++) {
        if (who->shared[i] == thread)
            who->shared[kept++] = thread; /* an upgrade: it goes on reading */
        else
            publish_into(h, &h->threads[who->shared[i]], &o->shared);
    }
    if (exclusive)
        who->nshared = kept;
}

static void hold_shared(struct holders *who, uint32_t thread)
{
    GROW(who->shared, who->shared_cap, who->nshared + 1);
    who->shared[who->nshared++] = thread;
}

static bool let_go_shared(struct holders *who, uint32_t thread)
{
    for (size_t i = 0; i < who->nshared; i++) {
        if (who->shared[i] == thread) {
            who->shared[i] = who->shared[--who->nshared];
            return true;
        }
    }
    return false;
}

/* A thread may hold a lock both ways; the named way goes first. */
static void objects_let_go(struct holders *who, uint32_t thread, bool shared)
{
    if (shared && let_go_shared(who, thread))
        return;
    if (who->owner == thread + 1)
        who->owner = 0;
    else
        let_go_shared(who, thread);
}

static void lock_edges(struct hb *h, struct hb_object *o, struct hb_thread *t, const struct step *s)
{
    switch (s->op) {
    case OP_ACQUIRE:
        objects_settle(h, o, s->thread, true);
        o->holders.owner = s->thread + 1;
        hb_learn(h, t, &o->clock);
        hb_learn(h, t, &o->shared);
        break;
    case OP_ACQUIRE_SHARED:
        objects_settle(h, o, s->thread, false);
        hold_shared(&o->holders, s->thread);
        hb_learn(h, t, &o->clock);
        break;
    default:
        objects_let_go(&o->holders, s->thread, s->op == OP_RELEASE_SHARED);
        if (s->flags & STEP_FOREIGN) {
            publish_besides(h, t, &o->clock);
            publish_into(h, t, &o->shared);
        } else if (s->op == OP_RELEASE_SHARED) {
            publish_into(h, t, &o->shared);
        } else {
            hb_publish(h, t, &o->clock); /* it has learned all that was there */
            clock_clear(&h->pool, &o->shared);
        }
        break;
    }
}

static void lock_step(struct hb *h, struct hb_object *o, struct hb_thread *t, const struct step *s)
{
    if (s->flags & STEP_NESTED)
        return;
    if (!h->no_lock_edges)
        lock_edges(h, o, t, s);
}

/* ---- barriers ---- */

static void barrier_enter(struct hb *h, struct barrier *b, struct hb_thread *t, uint32_t thread)
{
    bool fresh;
    uint32_t phase = phases_enter(&b->phases, thread, &fresh);

    GROW(b->sums, b->cap, (size_t)phase + 1);
    if (fresh)
        b->sums[phase] = CLOCK_EMPTY;
    publish_into(h, t, &b->sums[phase]);
}

static void barrier_leave(struct hb *h, struct barrier *b, struct hb_thread *t, uint32_t thread)
{
    bool over;
    uint32_t phase = phases_leave(&b->phases, thread, &over);

    if (phase == PHASE_GONE)
        return;
    hb_learn(h, t, &b->sums[phase]);
    if (over)
        clock_clear(&h->pool, &b->sums[phase]);
}

static void barrier_step(struct hb *h, struct hb_object *o, struct hb_thread *t,
                         const struct step *s)
{
    if (!o->barrier)
        o->barrier = xcalloc(1, sizeof(*o->barrier));
    if (s->op == OP_BARRIER_ENTER)
        barrier_enter(h, o->barrier, t, s->thread);
    else
        barrier_leave(h, o->barrier, t, s->thread);
}

/* ---- semaphores ---- */

/* Predictive orders: a wait needs the post that it takes. */
static void token_step(struct hb *h, struct hb_thread *t, const struct step *s)
{
    size_t known = h->posted_cap;
    uint32_t token;

    if (s->op == OP_SEM_WAIT) {
        token = tokens_take(&h->posts, s->id, s->thread);
        if (token == TOKEN_NONE)
            return;
        hb_learn(h, t, &h->posted[token]);
        clock_clear(&h->pool, &h->posted[token]);
        return;
    }
    token = tokens_post(&h->posts, s->id, s->thread);
    GROW(h->posted, h->posted_cap, (size_t)token + 1);
    for (; known < h->posted_cap; known++)
        h->posted[known] = CLOCK_EMPTY;
    hb_publish(h, t, &h->posted[token]);
}

/* What happened: a wait comes after all posts before it. */
static void semaphore_step(struct hb *h, struct hb_object *o, struct hb_thread *t,
                           const struct step *s)
{
    if (h->no_lock_edges)
        token_step(h, t, s);
    else if (s->op == OP_SEM_POST)
        publish_into(h, t, &o->clock);
    else
        hb_learn(h, t, &o->clock);
}

/* ---- the rest ---- */

void hb_object_step(struct hb *h, const struct step *s)
{
    struct hb_thread *t = hb_thread(h, s->thread);
    struct hb_object *o;

    if (s->op < OP_ACQUIRE || s->op > OP_AFTER)
        return;
    if (op_class_of(s->op) == CLASS_THREAD)
        return; /* begin, end */
    o = &h->objects[s->id];
    switch (s->op) {
    case OP_WAIT:
    case OP_SIGNAL:
    case OP_BROADCAST:
        break;
    case OP_BARRIER_ENTER:
    case OP_BARRIER_LEAVE:
        barrier_step(h, o, t, s);
        break;
    case OP_SEM_POST:
    case OP_SEM_WAIT:
        semaphore_step(h, o, t, s);
        break;
    case OP_BEFORE:
        publish_into(h, t, &o->clock);
        break;
    case OP_AFTER:
        hb_learn(h, t, &o->clock);
        break;
    case OP_ONCE:
        if (o->clock.slot == SLOT_NONE)
            hb_publish(h, t, &o->clock);
        else
            hb_learn(h, t, &o->clock);
        break;
    default:
        lock_step(h, o, t, s);
        break;
    }
}
