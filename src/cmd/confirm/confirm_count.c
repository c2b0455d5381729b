/* confirm_count.c - threads and events of a trace by names that other runs share */
#include "cmd/confirm/confirm_count.h"
#include "base/alloc.h"
#include "abi/rt_steer.h"

#include <stdlib.h>
#include <string.h>

void counting_release(struct counting *c)
{
    free(c->threads);
    free(c->counters);
    map_release(&c->by_key);
    *c = (struct counting){ 0 };
}

static void note_thread(struct counting *c, uint32_t thread)
{
    size_t old = c->threads_cap;

    if (thread < c->nthreads)
        return;
    GROW(c->threads, c->threads_cap, (size_t)thread + 1);
    memset(c->threads + old, 0, (c->threads_cap - old) * sizeof(*c->threads));
    c->nthreads = (size_t)thread + 1;
}

void counting_begin(struct counting *c, uint32_t first_thread)
{
    note_thread(c, first_thread);
    c->threads[first_thread].path = STEER_ROOT;
}

static void note_fork(struct counting *c, const struct event *e)
{
    uint32_t child = (uint32_t)e->target;
    struct counted_thread *t;

    if (e->target > UINT32_MAX / 2)
        return;
    note_thread(c, child);
    t = &c->threads[child];
    t->creator = e->thread;
    t->number = ++c->threads[e->thread].children;
    t->path = steer_child(c->threads[e->thread].path, t->number);
}

/* As the runtime counts: atomics by their site, the rest by what they are. */
static bool is_counted(const struct event *e)
{
    return (e->op >= OP_LOAD && e->op <= OP_RMW) ||
           (e->op >= OP_ACQUIRE && e->op <= OP_FREE && e->op != OP_ONCE);
}

static struct counter *counter_of(struct counting *c, const struct event *e)
{
    bool atomic = counting_is_atomic(e->op);
    uint32_t op = atomic ? OP_LOAD : e->op, site = atomic ? e->site : SITE_NONE;
    uint64_t key = (uint64_t)e->thread << 38 ^ (uint64_t)op << 32 ^ (site + UINT64_C(1));
    uint32_t *i = map_put(&c->by_key, key, UINT32_MAX);

    if (*i == UINT32_MAX) {
        *i = (uint32_t)c->ncounters;
        GROW(c->counters, c->counters_cap, c->ncounters + 1);
        c->counters[c->ncounters++] =
            (struct counter){ .thread = e->thread, .op = op, .site = site };
    }
    return &c->counters[*i];
}

struct counter *counting_take(struct counting *c, const struct event *e)
{
    struct counter *k;

    note_thread(c, e->thread);
    if (e->op == OP_FORK)
        note_fork(c, e);
    if (!is_counted(e))
        return NULL;
    k = counter_of(c, e);
    k->count++;
    return k;
}
