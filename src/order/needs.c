/* needs.c - the hard edges of a trace, one event at a time
 *
 * Slots of the clocks are thread numbers, times are ranks + 1. A thread's
 * clock ticks at every event; within one event all learning comes before all
 * publishing, as clock.h demands.
 */
#include "order/needs.h"
#include "base/alloc.h"
#include "order/tokens.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* An event that others may have to follow, and what it follows itself. */
struct source {
    uint32_t event, thread;
    uint32_t since; /* position of the event that put it here */
    struct clock clock;
};

struct frontier {
    struct source *list; /* in the order of `since` */
    size_t count, cap;
    size_t tidy_at; /* drop what is implied when the list gets this long */
};

struct thread {
    struct clock clock;
    uint32_t last;       /* its latest event, NONE */
    uint32_t fence;      /* release fence, NONE */
    struct clock fenced; /* the clock there */
    struct frontier forks;
    struct frontier pending; /* what relaxed loads have read, for an acquire fence */
};

struct barrier {
    struct frontier *rounds;
    size_t nrounds, rounds_cap; /* the last one is open */
};

struct needs {
    struct clock_pool pool;
    struct thread *threads;
    uint32_t nthreads;
    struct frontier *frontiers; /* of objects, then of cells with atomics or an alloc */
    size_t nfrontiers, frontiers_cap;
    struct map of_object;  /* sync_object_key() -> frontier */
    struct tokens posts;   /* left of semaphores */
    struct source *posted; /* by token */
    size_t posted_cap;
    uint32_t *heads_of; /* cell -> frontier + 1: heads of its release sequence */
    size_t heads_cap;
    uint32_t *alloc_of; /* cell -> index into allocs + 1 */
    size_t alloc_of_cap;
    struct source *allocs;
    size_t nallocs, allocs_cap;
    struct map looked; /* (frontier, thread) -> position up to which the thread knows it */
    struct map barrier_of;
    struct barrier *barriers;
    size_t nbarriers, barriers_cap;
    struct map entered; /* (barrier, thread) -> round + 1; 0 left */
    uint32_t *latest;   /* scratch, by thread: position + 1 */
    uint32_t *out;
    size_t count, cap;
    uint32_t position;
    const struct event *event;
};

struct needs *needs_new(uint32_t nthreads)
{
    struct needs *n = xcalloc(1, sizeof(*n));

    n->nthreads = nthreads;
    n->threads = xcalloc((size_t)nthreads + 1, sizeof(*n->threads));
    n->latest = xcalloc((size_t)nthreads + 1, sizeof(*n->latest));
    for (uint32_t t = 0; t < nthreads; t++) {
        n->threads[t].clock = (struct clock){ t, 0, NULL };
        n->threads[t].fenced = CLOCK_EMPTY;
        n->threads[t].last = n->threads[t].fence = NONE;
    }
    return n;
}

void needs_free(struct needs *n)
{
    if (!n)
        return;
    for (uint32_t t = 0; t < n->nthreads; t++) {
        free(n->threads[t].forks.list);
        free(n->threads[t].pending.list);
    }
    for (size_t i = 0; i < n->nfrontiers; i++)
        free(n->frontiers[i].list);
    for (size_t i = 0; i < n->nbarriers; i++) {
        for (size_t r = 0; r < n->barriers[i].nrounds; r++)
            free(n->barriers[i].rounds[r].list);
        free(n->barriers[i].rounds);
    }
    for (size_t i = 0; i < n->posted_cap; i++)
        clock_clear(&n->pool, &n->posted[i].clock);
    free(n->posted);
    tokens_release(&n->posts);
    map_release(&n->of_object);
    map_release(&n->looked);
    map_release(&n->barrier_of);
    map_release(&n->entered);
    clock_pool_release(&n->pool);
    free(n->frontiers);
    free(n->heads_of);
    free(n->alloc_of);
    free(n->allocs);
    free(n->barriers);
    free(n->threads);
    free(n->latest);
    free(n->out);
    free(n);
}

/* ---- frontiers ---- */

static struct thread *self(struct needs *n)
{
    return &n->threads[n->event->thread];
}

static uint64_t pair_key(uint64_t a, uint64_t b)
{
    return a << 32 | b;
}

static uint32_t new_frontier(struct needs *n)
{
    GROW(n->frontiers, n->frontiers_cap, n->nfrontiers + 1);
    return (uint32_t)n->nfrontiers++;
}

static void frontier_clear(struct needs *n, struct frontier *f)
{
    for (size_t i = 0; i < f->count; i++)
        clock_clear(&n->pool, &f->list[i].clock);
    f->count = 0;
}

static void frontier_free(struct needs *n, struct frontier *f)
{
    frontier_clear(n, f);
    free(f->list);
    *f = (struct frontier){ 0 };
}

/* Keep the latest event of each thread. */
static void frontier_tidy(struct needs *n, struct frontier *f)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->count; i++)
        if (n->latest[f->list[i].thread] < f->list[i].event + 1)
            n->latest[f->list[i].thread] = f->list[i].event + 1;
    for (size_t i = 0; i < f->count; i++) {
        if (n->latest[f->list[i].thread] == f->list[i].event + 1) {
            n->latest[f->list[i].thread] = UINT32_MAX; /* once is enough */
            f->list[kept++] = f->list[i];
        } else {
            clock_clear(&n->pool, &f->list[i].clock);
        }
    }
    f->count = kept;
    for (size_t i = 0; i < kept; i++)
        n->latest[f->list[i].thread] = 0;
    f->tidy_at = 2 * kept + 16;
}

static void frontier_add(struct needs *n, struct frontier *f, uint32_t event, uint32_t thread,
                         const struct clock *clock)
{
    struct source *s;

    if (f->count >= f->tidy_at)
        frontier_tidy(n, f);
    GROW(f->list, f->cap, f->count + 1);
    s = &f->list[f->count++];
    *s = (struct source){ event, thread, n->position, CLOCK_EMPTY };
    clock_copy(&n->pool, &s->clock, clock);
}

/* This event, for others to follow. */
static void frontier_add_this(struct needs *n, struct frontier *f)
{
    frontier_add(n, f, n->position, n->event->thread, &self(n)->clock);
}

/* ---- what the present event needs ---- */

static void need(struct needs *n, uint32_t event, const struct clock *clock)
{
    struct thread *t = self(n);

    if (clock_knows(&t->clock, clock->slot, clock->time))
        return;
    clock_join(&n->pool, &t->clock, clock);
    GROW(n->out, n->cap, n->count + 1);
    n->out[n->count++] = event;
}

/* The latest first: they imply most of the others. */
static void need_frontier(struct needs *n, const struct frontier *f, uint32_t from)
{
    for (size_t i = f->count; i > 0 && f->list[i - 1].since >= from; i--)
        need(n, f->list[i - 1].event, &f->list[i - 1].clock);
}

/* The same for one that only this thread's last look tells apart. */
static void need_unseen(struct needs *n, uint32_t frontier)
{
    uint32_t *from = map_put(&n->looked, pair_key(frontier, n->event->thread), 0);

    need_frontier(n, &n->frontiers[frontier], *from);
    *from = n->position;
}

/* ---- threads ---- */

static void at_fork(struct needs *n)
{
    if (n->event->target < n->nthreads)
        frontier_add_this(n, &n->threads[n->event->target].forks);
}

static void at_join(struct needs *n)
{
    const struct thread *child;

    if (n->event->target >= n->nthreads)
        return;
    child = &n->threads[n->event->target];
    if (child->last != NONE)
        need(n, child->last, &child->clock);
}

/* ---- objects ---- */

static uint32_t object_number(struct needs *n)
{
    uint64_t key = sync_object_key(n->event->op, n->event->target);
    uint32_t *f = map_put(&n->of_object, key, (uint32_t)n->nfrontiers);

    if (event_begins_semaphore(n->event))
        *f = (uint32_t)n->nfrontiers;
    return *f == n->nfrontiers ? new_frontier(n) : *f;
}

static struct frontier *object_frontier(struct needs *n)
{
    uint32_t number = object_number(n); /* may move the array */

    return &n->frontiers[number];
}

static uint32_t barrier_of(struct needs *n)
{
    uint64_t key = sync_object_key(n->event->op, n->event->target);
    uint32_t *b = map_put(&n->barrier_of, key, (uint32_t)n->nbarriers);

    if (*b == n->nbarriers) {
        GROW(n->barriers, n->barriers_cap, n->nbarriers + 1);
        n->nbarriers++;
    }
    return *b;
}

static void open_round(struct barrier *b)
{
    GROW(b->rounds, b->rounds_cap, b->nrounds + 1);
    b->rounds[b->nrounds++] = (struct frontier){ 0 };
}

static void at_enter(struct needs *n)
{
    uint32_t number = barrier_of(n);
    struct barrier *b = &n->barriers[number];

    if (!b->nrounds)
        open_round(b);
    frontier_add_this(n, &b->rounds[b->nrounds - 1]);
    *map_put(&n->entered, pair_key(number, n->event->thread), 0) = (uint32_t)b->nrounds;
}

/* The first leave of a round closes it. Who leaves twice needs nothing new. */
static void at_leave(struct needs *n)
{
    uint32_t number = barrier_of(n);
    struct barrier *b = &n->barriers[number];
    uint32_t *round = map_get(&n->entered, pair_key(number, n->event->thread));

    if (!round || !*round)
        return;
    need_frontier(n, &b->rounds[*round - 1], 0);
    if (*round == b->nrounds)
        open_round(b);
    *round = 0;
}

static void at_once(struct needs *n)
{
    struct frontier *f = object_frontier(n);

    if (f->count)
        need(n, f->list[0].event, &f->list[0].clock);
    else
        frontier_add_this(n, f);
}

static void at_post(struct needs *n)
{
    uint32_t semaphore = object_number(n), token;
    size_t known = n->posted_cap;

    if (event_begins_semaphore(n->event))
        return;
    token = tokens_post(&n->posts, semaphore, n->event->thread);
    GROW(n->posted, n->posted_cap, (size_t)token + 1);
    for (; known < n->posted_cap; known++)
        n->posted[known].clock = CLOCK_EMPTY;
    n->posted[token].event = n->position;
    clock_copy(&n->pool, &n->posted[token].clock, &self(n)->clock);
}

static void at_semaphore_wait(struct needs *n)
{
    uint32_t token = tokens_take(&n->posts, object_number(n), n->event->thread);

    if (token == TOKEN_NONE)
        return;
    need(n, n->posted[token].event, &n->posted[token].clock);
    clock_clear(&n->pool, &n->posted[token].clock);
}

static void at_object(struct needs *n)
{
    switch (n->event->op) {
    case OP_BARRIER_ENTER:
        at_enter(n);
        break;
    case OP_BARRIER_LEAVE:
        at_leave(n);
        break;
    case OP_ONCE:
        at_once(n);
        break;
    case OP_SEM_POST:
        at_post(n);
        break;
    case OP_SEM_WAIT:
        at_semaphore_wait(n);
        break;
    case OP_AFTER:
        need_unseen(n, object_number(n));
        break;
    default: /* before */
        frontier_add_this(n, object_frontier(n));
        break;
    }
}

/* ---- memory ---- */

static void at_fence(struct needs *n)
{
    struct thread *t = self(n);

    if (order_acquires(n->event->order)) {
        need_frontier(n, &t->pending, 0);
        frontier_clear(n, &t->pending);
    }
    if (order_releases(n->event->order)) {
        t->fence = n->position;
        clock_copy(&n->pool, &t->fenced, &t->clock);
    }
}

/* A relaxed load leaves the heads to an acquire fence. */
static void needs_remember(struct needs *n, const struct frontier *heads)
{
    struct thread *t = self(n);

    for (size_t i = 0; i < heads->count; i++) {
        const struct source *s = &heads->list[i];

        if (!clock_knows(&t->clock, s->clock.slot, s->clock.time))
            frontier_add(n, &t->pending, s->event, s->thread, &s->clock);
    }
}

static void read_cell(struct needs *n, uint32_t cell)
{
    uint32_t f = cell < n->heads_cap ? n->heads_of[cell] : 0;

    if (f && order_acquires(n->event->order))
        need_unseen(n, f - 1);
    else if (f)
        needs_remember(n, &n->frontiers[f - 1]);
}

/* A store that is no rmw goes on with the sequences of its own thread only. */
static void keep_own(struct needs *n, struct frontier *f)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->count; i++) {
        if (f->list[i].thread == n->event->thread)
            f->list[kept++] = f->list[i];
        else
            clock_clear(&n->pool, &f->list[i].clock);
    }
    f->count = kept;
}

static void store_cell(struct needs *n, uint32_t cell)
{
    const struct thread *t = self(n);
    struct frontier *f;

    if (cell >= n->heads_cap)
        GROW(n->heads_of, n->heads_cap, (size_t)cell + 1);
    if (!n->heads_of[cell])
        n->heads_of[cell] = new_frontier(n) + 1;
    f = &n->frontiers[n->heads_of[cell] - 1];
    if (n->event->op == OP_STORE)
        keep_own(n, f);
    if (order_releases(n->event->order))
        frontier_add_this(n, f);
    else if (t->fence != NONE)
        frontier_add(n, f, t->fence, n->event->thread, &t->fenced);
}

static void end_sequence(struct needs *n, uint32_t cell)
{
    if (cell < n->heads_cap && n->heads_of[cell])
        frontier_clear(n, &n->frontiers[n->heads_of[cell] - 1]);
}

static void note_alloc(struct needs *n, const uint32_t *cells, uint32_t ncells)
{
    struct source *s;

    if (!ncells)
        return;
    GROW(n->allocs, n->allocs_cap, n->nallocs + 1);
    s = &n->allocs[n->nallocs];
    *s = (struct source){ n->position, n->event->thread, n->position, CLOCK_EMPTY };
    clock_copy(&n->pool, &s->clock, &self(n)->clock);
    n->nallocs++;
    for (uint32_t c = 0; c < ncells; c++) {
        if (cells[c] >= n->alloc_of_cap)
            GROW(n->alloc_of, n->alloc_of_cap, (size_t)cells[c] + 1);
        n->alloc_of[cells[c]] = (uint32_t)n->nallocs;
    }
}

static void need_alloc(struct needs *n, uint32_t cell)
{
    uint32_t a = cell < n->alloc_of_cap ? n->alloc_of[cell] : 0;

    if (a)
        need(n, n->allocs[a - 1].event, &n->allocs[a - 1].clock);
}

/* All cells learn before any is published: an event happens at once. */
static void at_memory(struct needs *n, const uint32_t *cells, uint32_t ncells)
{
    unsigned op = n->event->op;

    if (op == OP_ALLOC) {
        note_alloc(n, cells, ncells);
        return;
    }
    for (uint32_t c = 0; c < ncells; c++) {
        need_alloc(n, cells[c]);
        if (op == OP_LOAD || op == OP_RMW)
            read_cell(n, cells[c]);
    }
    for (uint32_t c = 0; c < ncells; c++) {
        if (op == OP_STORE || op == OP_RMW)
            store_cell(n, cells[c]);
        else if (op == OP_WRITE || op == OP_FREE)
            end_sequence(n, cells[c]);
    }
}

/* ---- the walk ---- */

const uint32_t *needs_event(struct needs *n, uint32_t position, const struct event *e,
                            const uint32_t *cells, uint32_t ncells, uint32_t *count)
{
    struct thread *t = &n->threads[e->thread];

    n->position = position;
    n->event = e;
    n->count = 0;
    t->clock.time++;
    if (t->forks.count) {
        need_frontier(n, &t->forks, 0);
        frontier_free(n, &t->forks);
    }
    if (ncells)
        at_memory(n, cells, ncells);
    else if (e->op == OP_FORK)
        at_fork(n);
    else if (e->op == OP_JOIN)
        at_join(n);
    else if (e->op == OP_FENCE)
        at_fence(n);
    else if (e->op >= OP_BARRIER_ENTER && e->op <= OP_AFTER)
        at_object(n);
    t->last = position;
    *count = (uint32_t)n->count;
    return n->out;
}
