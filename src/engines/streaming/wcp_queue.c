/* wcp_queue.c - rule (b') of WCP: sections that contain ordered events
 *
 * When a section ends, the release of every earlier section on the lock whose
 * acquire the thread knows in P is before this release (two shared sections
 * excepted). The acquires of one slot become known in their order and the H
 * of releases grows, so of each slot only the latest known section counts.
 * Learning it may make others known: again until nothing changes.
 *
 * The paper has a queue for each pair of threads. Here the threads share one
 * list for each lock and slot and search in it: O(threads) lists a lock and
 * not O(threads^2).
 *
 * Pruning. A section can go when every thread knows the acquire of the next
 * one of its slot. A thread that waits for the others (main, mostly) keeps
 * everything alive, and no exact algorithm gets by with less than linear
 * memory (section 4 of the paper). So beyond a budget a section is joined with
 * the next one: who would need its release learns the later one, which is
 * more order, never less, and is counted ("approximated"). Those that only
 * idle threads need go first.
 */
#include "engines/streaming/wcp.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- the rule ---- */

static struct wcp_queue *queue_of(struct wcp_lock *l, uint32_t slot, bool shared)
{
    struct wcp_queue *q;

    for (size_t i = 0; i < l->nqueues; i++)
        if (l->queues[i].slot == slot && l->queues[i].shared == shared)
            return &l->queues[i];
    GROW(l->queues, l->queues_cap, l->nqueues + 1);
    q = &l->queues[l->nqueues++];
    *q = (struct wcp_queue){ .slot = slot, .shared = shared };
    return q;
}

/* The latest section whose acquire is known at `time`; NULL: none. */
static const struct wcp_closed *latest_known(const struct wcp_queue *q, uint32_t time)
{
    size_t low = q->first, high = q->count; /* known up to low, unknown from high on */

    if (low == high || q->list[low].from > time)
        return NULL;
    if (q->list[high - 1].from <= time)
        return &q->list[high - 1];
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (q->list[middle].from <= time)
            low = middle;
        else
            high = middle;
    }
    return &q->list[low];
}

/* True where something was learned. */
static bool apply_one(struct wcp *w, struct wcp_thread *t, const struct wcp_queue *q)
{
    uint32_t time = clock_tree_get(t->p.tree, q->slot);
    const struct wcp_closed *c = time ? latest_known(q, time) : NULL;

    if (!c || time >= c->h.time)
        return false;
    w->approximated += time < c->acquire;
    clock_join(&w->pool, &t->p, &c->h);
    return true;
}

void wcp_queue_apply(struct wcp *w, struct wcp_thread *t, struct wcp_lock *l, bool shared)
{
    bool again = true;

    while (again) {
        again = false;
        for (size_t i = 0; i < l->nqueues; i++)
            if (!(shared && l->queues[i].shared))
                again |= apply_one(w, t, &l->queues[i]);
    }
}

/* ---- leaving out ---- */

/* What all threads know of each slot, or only those that did something since the last look. */
static void find_floor(struct wcp *w, bool busy_only)
{
    GROW(w->floor, w->floor_cap, w->nslots);
    memset(w->floor, 0xff, w->nslots * sizeof(*w->floor));
    for (size_t i = 0; i < w->nthreads; i++) {
        const struct wcp_thread *t = &w->threads[i];

        if (t->h.slot == SLOT_NONE || t->over || (busy_only && t->steps == t->steps_then))
            continue;
        for (uint32_t s = 0; s < w->nslots; s++) {
            uint32_t time = clock_tree_get(t->p.tree, s);

            if (w->floor[s] > time)
                w->floor[s] = time;
        }
    }
}

/* Section i of a queue goes, the next one stands for it. */
static void join_with_next(struct wcp *w, struct wcp_queue *q, size_t i)
{
    q->list[i + 1].from = q->list[i].from;
    clock_clear(&w->pool, &q->list[i].h);
    w->queued--;
}

static void compact(struct wcp_queue *q)
{
    memmove(q->list, &q->list[q->first], (q->count - q->first) * sizeof(*q->list));
    q->count -= q->first;
    q->first = 0;
}

static void prune_queue(struct wcp *w, struct wcp_queue *q)
{
    while (q->count - q->first > 1 && q->list[q->first + 1].acquire <= w->floor[q->slot])
        join_with_next(w, q, q->first++);
    compact(q);
}

/* Of the older half every second one goes. */
static void thin_queue(struct wcp *w, struct wcp_queue *q)
{
    size_t half = q->count / 2, kept = 0;

    for (size_t i = 0; i < q->count; i++) {
        if (i < half && i % 2 == 0)
            join_with_next(w, q, i);
        else
            q->list[kept++] = q->list[i];
    }
    q->count = kept;
}

static void each_queue(struct wcp *w, void (*act)(struct wcp *, struct wcp_queue *))
{
    for (size_t i = 0; i < w->objects_cap; i++) {
        struct wcp_lock *l = w->objects[i].lock;

        for (size_t k = 0; l && k < l->nqueues; k++)
            act(w, &l->queues[k]);
    }
}

static void prune(struct wcp *w)
{
    size_t enough = w->queue_budget - w->queue_budget / 4; /* so that it pays until the next time */

    find_floor(w, false);
    each_queue(w, prune_queue);
    if (w->queued > enough) {
        find_floor(w, true);
        each_queue(w, prune_queue);
    }
    if (w->queued > enough)
        each_queue(w, thin_queue);
    for (size_t i = 0; i < w->nthreads; i++)
        w->threads[i].steps_then = w->threads[i].steps;
    if (w->prune_at < 2 * w->queued)
        w->prune_at = 2 * w->queued;
    if (w->prune_at > w->queue_budget)
        w->prune_at = w->queue_budget;
}

void wcp_queue_add(struct wcp *w, const struct wcp_thread *t, struct wcp_lock *l,
                   const struct wcp_section *s)
{
    struct wcp_queue *q = queue_of(l, t->h.slot, s->shared);
    struct wcp_closed *c;

    GROW(q->list, q->cap, q->count + 1);
    c = &q->list[q->count++];
    *c = (struct wcp_closed){ s->time, s->time, CLOCK_EMPTY };
    clock_copy(&w->pool, &c->h, &t->h);
    if (++w->queued > w->queued_most)
        w->queued_most = w->queued;
    if (w->queued >= w->prune_at)
        prune(w);
}

void wcp_queues_free(struct wcp_lock *l)
{
    for (size_t i = 0; i < l->nqueues; i++)
        free(l->queues[i].list);
    free(l->queues);
}
