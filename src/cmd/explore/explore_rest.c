/* explore_rest.c - what remains of a run if threads stop, and which runs are equivalent */
#include "cmd/explore/explore_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- classes: a hash of happens-before ---- */

struct object_hash {
    uint64_t write, readers;
};

static struct object_hash *hash_of(struct classifier *c, uint64_t address)
{
    uint32_t *i = map_put(&c->slots, address + 1, UINT32_MAX);

    if (*i == UINT32_MAX) {
        *i = (uint32_t)c->count;
        GROW(c->objects, c->cap, c->count + 1);
        c->objects[c->count++] = (struct object_hash){ 0, 0 };
    }
    return &c->objects[*i];
}

void classifier_add(struct classifier *c, const struct explored *e, const struct explore_step *s)
{
    uint64_t *t = &c->threads[s->thread],
             h = explore_mix(*t ? *t : e->done->thread[s->thread].path, s->op);
    struct object_hash *o;

    if (s->op == EX_YIELD || s->op == EX_END || s->op == EX_BEGIN || s->op == EX_FORK)
        return;
    o = hash_of(c, is_access(s) ? s->address / EXPLORE_GRANULE : s->address);
    h = explore_mix(h, o->write);
    if (is_access(s) && !writes(s)) {
        o->readers += h;
    } else {
        h = explore_mix(h, o->readers);
        *o = (struct object_hash){ h, 0 };
    }
    *t = h;
}

uint64_t classifier_class(const struct classifier *c, size_t nthreads)
{
    uint64_t h = 0;

    for (size_t t = 0; t < nthreads; t++)
        h += explore_mix(t * 7919 + 1, c->threads[t]);
    return h | 1;
}

void classifier_release(struct classifier *c)
{
    map_release(&c->slots);
    free(c->objects);
}

/* ---- what remains if threads stop ---- */

void rest_release(struct rest *w)
{
    map_release(&w->holder);
    map_release(&w->cut);
    map_release(&w->tokens);
    map_release(&w->left);
    free(w->kept);
}

static bool is_left(struct map *m, uint64_t key)
{
    uint32_t *v = map_get(m, key + 1);

    return v && *v;
}

static uint32_t *tokens_of(struct rest *w, uint64_t semaphore)
{
    return map_put(&w->tokens, semaphore + 1, 0);
}

/* Semaphores have at least so many tokens at first. */
static void count_tokens(struct rest *w)
{
    struct map now = { 0 };

    for (size_t k = 0; k < w->e->nsteps; k++) {
        const struct explore_step *s = &w->e->steps[k];
        uint32_t *n, *first;

        if (s->op != EX_SEM_WAIT && s->op != EX_SEM_POST)
            continue;
        n = map_put(&now, s->address + 1, 0);
        first = tokens_of(w, s->address);
        if (s->op == EX_SEM_POST)
            ++*n;
        else if (s->flags & EX_FAILED)
            continue;
        else if (*n)
            --*n;
        else
            ++*first;
    }
    map_release(&now);
}

void rest_init(struct rest *w, const struct explored *e, const struct stops *stops)
{
    memset(w, 0, sizeof(*w));
    w->e = e;
    w->stops = stops;
    w->kept = xcalloc(e->nsteps + 1, sizeof(*w->kept));
    count_tokens(w);
}

/* A thread that waits in a barrier goes on when all have come. */
static bool needs_barrier(struct rest *w, size_t k)
{
    const struct explore_step *s = &w->e->steps[k];

    for (size_t i = k; i-- > 0 && k - i < 4096;)
        if (w->e->steps[i].thread == s->thread)
            return w->e->steps[i].op == EX_BARRIER && is_left(&w->left, w->e->steps[i].address);
    return false;
}

/* Can the step not be made, since something that it needs is left out? */
static bool is_missing(struct rest *w, size_t k)
{
    const struct explore_step *s = &w->e->steps[k];
    uint32_t *holder;

    switch (s->op) {
    case EX_LOCK:
    case EX_LOCK_SHARED:
        holder = map_get(&w->holder, s->address + 1);
        w->needs = s->address;
        return took(s) && holder && *holder && *holder != s->thread + 1u && w->late[*holder - 1];
    case EX_JOIN:
        w->needs = 0;
        return s->address < EXPLORE_THREADS_MAX && w->late[s->address];
    case EX_BEGIN:
        w->needs = 0;
        return s->thread && !w->forked[s->thread];
    case EX_WOKEN:
        w->needs = 0;
        return !(s->flags & EX_FAILED) && is_left(&w->left, s->address);
    case EX_SEM_WAIT:
        w->needs = 0;
        return !(s->flags & EX_FAILED) && !*tokens_of(w, s->address);
    default:
        w->needs = 0;
        return needs_barrier(w, k);
    }
}

static void leave_out(struct rest *w, const struct explore_step *s)
{
    if (writes(s))
        *map_put(&w->cut, s->address / EXPLORE_GRANULE + 1, 1) = 1;
    if (s->op == EX_SIGNAL || s->op == EX_BROADCAST || s->op == EX_BARRIER)
        *map_put(&w->left, s->address + 1, 1) = 1;
}

static void keep(struct rest *w, size_t k)
{
    const struct explore_step *s = &w->e->steps[k];

    w->kept[k] = true;
    if (took(s))
        *map_put(&w->holder, s->address + 1, 0) = s->thread + 1u;
    else if (unlocks(s))
        *map_put(&w->holder, s->address + 1, 0) = 0;
    else if (s->op == EX_FORK && s->address < EXPLORE_THREADS_MAX)
        w->forked[s->address] = true;
    else if (s->op == EX_SEM_POST)
        ++*tokens_of(w, s->address);
    else if (s->op == EX_SEM_WAIT && !(s->flags & EX_FAILED))
        --*tokens_of(w, s->address);
    else if (s->op == EX_SIGNAL || s->op == EX_BROADCAST)
        *map_put(&w->left, s->address + 1, 0) = 0;
    if (reads(s) && is_left(&w->cut, s->address / EXPLORE_GRANULE))
        w->changed[s->thread] = true;
    if (writes(s) && w->changed[s->thread])
        *map_put(&w->cut, s->address / EXPLORE_GRANULE + 1, 1) = 1;
}

bool rest_step(struct rest *w, size_t k)
{
    const struct explore_step *s = &w->e->steps[k];

    if (w->stops->at[s->thread] <= k)
        w->late[s->thread] = true;
    if (!w->late[s->thread] && is_missing(w, k))
        w->late[s->thread] = true;
    if (w->late[s->thread]) {
        leave_out(w, s);
        return false;
    }
    keep(w, k);
    return true;
}

void rest_schedule(const struct rest *w, size_t end, struct schedule *s)
{
    for (size_t k = 0; k < end; k++)
        if (w->kept[k] && w->e->steps[k].flags & EX_CHOSEN)
            schedule_add(s, w->e->done->thread[w->e->steps[k].thread].path, 1);
}
