/* wcp_edges.c - hard edges between threads for the wcp engine
 *
 * The same edges as order/hb_objects.c and order/atomics.c, with one difference
 * that a second clock makes necessary: a hard edge within one thread is
 * program order and no more. (Who posts a semaphore and waits for it himself
 * must not turn what only a lock put before his post into WCP.) So a source
 * of edges is a list with a snapshot for each slot, not a sum, and a thread
 * learns from all but its own slot; threads that share a slot are ordered by
 * hard edges anyway.
 * What is learned is an H: everything that happened before the source is
 * before the target in WCP.
 */
#include "engines/streaming/wcp.h"
#include "base/alloc.h"
#include "order/phases.h"

#include <stdlib.h>

struct wcp_barrier {
    struct phases phases;
    struct wcp_sources *enters; /* of phases */
    size_t cap;
};

/* A variable that is accessed atomically: the heads of the release sequence, by thread. */
struct wcp_atomic {
    struct wcp_sources heads;
};

/* ---- sources ---- */

static void sources_clear(struct wcp *w, struct wcp_sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        clock_clear(&w->pool, &s->list[i].h);
    free(s->list);
    *s = (struct wcp_sources){ 0 };
}

static void add_source(struct wcp *w, struct wcp_sources *s, uint32_t thread, const struct clock *h)
{
    GROW(s->list, s->cap, s->count + 1);
    s->list[s->count] = (struct wcp_source){ CLOCK_EMPTY, thread };
    clock_copy(&w->pool, &s->list[s->count++].h, h);
}

/* The latest of a slot stands for the earlier ones. */
static void set_source(struct wcp *w, struct wcp_sources *s, uint32_t thread, const struct clock *h)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].h.slot == h->slot) {
            s->list[i].thread = thread;
            clock_copy(&w->pool, &s->list[i].h, h);
            return;
        }
    }
    add_source(w, s, thread, h);
}

static void learn_sources(struct wcp *w, struct wcp_thread *t, const struct wcp_sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].h.slot != t->h.slot)
            wcp_learn(w, t, &s->list[i].h);
}

static void publish(struct wcp *w, struct wcp_sources *s, const struct step *step)
{
    struct wcp_thread *t = wcp_thread(w, step->thread);

    set_source(w, s, step->thread, &t->h);
    t->h.time++;
}

/* ---- barriers ---- */

static void barrier_enter(struct wcp *w, struct wcp_barrier *b, const struct step *s)
{
    bool fresh;
    uint32_t phase = phases_enter(&b->phases, s->thread, &fresh);

    GROW(b->enters, b->cap, (size_t)phase + 1);
    publish(w, &b->enters[phase], s);
}

static void barrier_leave(struct wcp *w, struct wcp_barrier *b, struct wcp_thread *t,
                          uint32_t thread)
{
    bool over;
    uint32_t phase = phases_leave(&b->phases, thread, &over);

    if (phase == PHASE_GONE)
        return;
    learn_sources(w, t, &b->enters[phase]);
    if (over)
        sources_clear(w, &b->enters[phase]);
}

static void barrier_step(struct wcp *w, struct wcp_object *o, struct wcp_thread *t,
                         const struct step *s)
{
    if (!o->barrier)
        o->barrier = xcalloc(1, sizeof(*o->barrier));
    if (s->op == OP_BARRIER_ENTER)
        barrier_enter(w, o->barrier, s);
    else
        barrier_leave(w, o->barrier, t, s->thread);
}

/* ---- atomics: release sequences as in order/atomics.c ---- */

static struct wcp_atomic *atomic_of(struct wcp *w, struct wcp_variable *v)
{
    if (!v->atomic && w->nfree_atomics) {
        v->atomic = w->free_atomics[--w->nfree_atomics];
    } else if (!v->atomic) {
        w->natomics += !w->natomics; /* 0 means none */
        GROW(w->atomics, w->atomics_cap, w->natomics + 1);
        v->atomic = (uint32_t)w->natomics++;
    }
    return &w->atomics[v->atomic];
}

void wcp_plain_write(struct wcp *w, struct wcp_variable *v)
{
    if (v->atomic)
        sources_clear(w, &w->atomics[v->atomic].heads);
}

void wcp_atomic_forget(struct wcp *w, struct wcp_variable *v)
{
    if (!v->atomic)
        return;
    wcp_plain_write(w, v);
    GROW(w->free_atomics, w->free_atomics_cap, w->nfree_atomics + 1);
    w->free_atomics[w->nfree_atomics++] = v->atomic;
    v->atomic = 0;
}

void wcp_atomic_copy(struct wcp *w, struct wcp_variable *to, const struct wcp_variable *from)
{
    struct wcp_sources *old, *new;

    if (!from->atomic)
        return;
    new = &atomic_of(w, to)->heads;
    old = &w->atomics[from->atomic].heads;
    for (size_t i = 0; i < old->count; i++)
        add_source(w, new, old->list[i].thread, &old->list[i].h);
}

static void set_head(struct wcp *w, struct wcp_sources *heads, uint32_t thread,
                     const struct clock *h)
{
    for (size_t i = 0; i < heads->count; i++) {
        if (heads->list[i].thread != thread)
            continue;
        if (heads->list[i].h.slot != h->slot || heads->list[i].h.time < h->time)
            clock_copy(&w->pool, &heads->list[i].h, h); /* a fence may be older */
        return;
    }
    add_source(w, heads, thread, h);
}

/* A store: of the heads only those of its own thread stay. */
static void end_sequences_of_others(struct wcp *w, struct wcp_sources *heads, uint32_t thread)
{
    size_t kept = 0;

    for (size_t i = 0; i < heads->count; i++) {
        if (heads->list[i].thread == thread)
            heads->list[kept++] = heads->list[i];
        else
            clock_clear(&w->pool, &heads->list[i].h);
    }
    heads->count = kept;
}

void wcp_atomic_before(struct wcp *w, const struct step *s)
{
    struct wcp_thread *t = wcp_thread(w, s->thread);
    const struct wcp_sources *heads;

    if (s->op == OP_STORE || !w->vars[s->id].atomic)
        return;
    heads = &w->atomics[w->vars[s->id].atomic].heads;
    if (order_acquires(s->order))
        learn_sources(w, t, heads);
    else
        for (size_t i = 0; i < heads->count; i++)
            if (heads->list[i].h.slot != t->h.slot)
                clock_join(&w->pool, &t->pending, &heads->list[i].h);
}

bool wcp_atomic_after(struct wcp *w, const struct step *s)
{
    struct wcp_thread *t = wcp_thread(w, s->thread);
    struct wcp_sources *heads;

    if (s->op == OP_LOAD)
        return false;
    heads = &atomic_of(w, &w->vars[s->id])->heads;
    if (s->op == OP_STORE)
        end_sequences_of_others(w, heads, s->thread);
    if (order_releases(s->order)) {
        set_head(w, heads, s->thread, &t->h);
        return true;
    }
    if (t->fence.slot != SLOT_NONE)
        set_head(w, heads, s->thread, &t->fence);
    return false;
}

static void fence_step(struct wcp *w, struct wcp_thread *t, const struct step *s)
{
    if (order_acquires(s->order) && t->pending.tree)
        wcp_learn(w, t, &t->pending);
    if (order_releases(s->order)) {
        clock_copy(&w->pool, &t->fence, &t->h);
        t->h.time++;
    }
}

/* ---- the rest ---- */

static void once_step(struct wcp *w, struct wcp_object *o, struct wcp_thread *t,
                      const struct step *s)
{
    if (o->sources.count)
        learn_sources(w, t, &o->sources);
    else
        publish(w, &o->sources, s);
}

/* A wait needs the post that it takes (tokens.h). */
static void post_step(struct wcp *w, struct wcp_thread *t, const struct step *s)
{
    uint32_t token = tokens_post(&w->posts, s->id, s->thread);
    size_t known = w->posted_cap;

    GROW(w->posted, w->posted_cap, (size_t)token + 1);
    for (; known < w->posted_cap; known++)
        w->posted[known] = CLOCK_EMPTY;
    clock_copy(&w->pool, &w->posted[token], &t->h);
    t->h.time++;
}

static void semaphore_wait_step(struct wcp *w, struct wcp_thread *t, const struct step *s)
{
    uint32_t token = tokens_take(&w->posts, s->id, s->thread);

    if (token == TOKEN_NONE)
        return;
    if (w->posted[token].slot != t->h.slot)
        wcp_learn(w, t, &w->posted[token]);
    clock_clear(&w->pool, &w->posted[token]);
}

void wcp_sync(struct wcp *w, const struct step *s)
{
    struct wcp_thread *t = wcp_thread(w, s->thread);

    switch (s->op) {
    case OP_FENCE:
        fence_step(w, t, s);
        break;
    case OP_BARRIER_ENTER:
    case OP_BARRIER_LEAVE:
        barrier_step(w, &w->objects[s->id], t, s);
        break;
    case OP_SEM_POST:
        post_step(w, t, s);
        break;
    case OP_SEM_WAIT:
        semaphore_wait_step(w, t, s);
        break;
    case OP_BEFORE:
        publish(w, &w->objects[s->id].sources, s);
        break;
    case OP_AFTER:
        learn_sources(w, t, &w->objects[s->id].sources);
        break;
    case OP_ONCE:
        once_step(w, &w->objects[s->id], t, s);
        break;
    default:
        break;
    }
}

static void barrier_free(struct wcp_barrier *b)
{
    for (size_t i = 0; i < b->cap; i++)
        free(b->enters[i].list);
    free(b->enters);
    phases_release(&b->phases);
    free(b);
}

void wcp_edges_free(struct wcp *w)
{
    for (size_t i = 0; i < w->objects_cap; i++) {
        struct wcp_object *o = &w->objects[i];

        free(o->sources.list);
        if (o->barrier)
            barrier_free(o->barrier);
    }
    for (size_t i = 0; i < w->natomics && i < w->atomics_cap; i++)
        free(w->atomics[i].heads.list);
    free(w->atomics);
    free(w->free_atomics);
    free(w->posted);
    tokens_release(&w->posts);
}
