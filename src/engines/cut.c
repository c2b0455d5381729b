/* cut.c - can a recording be cut here? */
#include "engines/cut.h"
#include "base/alloc.h"
#include "base/map.h"
#include "trace/prefix.h"

#include <stdlib.h>

enum { WORD = 8 };
#define SEVERAL UINT32_MAX /* threads */

/* The latest time at which a read of the word can have happened. */
struct last_read {
    uint64_t end;
    uint32_t thread;
};

struct cut_thread {
    uint64_t synced; /* position + 1 of its latest synchronisation, 0: none */
    uint64_t *words; /* of uncertain reads since then */
    size_t count, cap;
};

struct cut {
    const struct certain *certain;
    struct cut_thread *threads;
    size_t threads_cap;
    struct map read_of; /* word -> index */
    struct last_read *reads;
    size_t nreads, reads_cap;
};

struct cut *cut_new(const struct certain *c)
{
    struct cut *x = xcalloc(1, sizeof(*x));

    x->certain = c;
    return x;
}

void cut_free(struct cut *c)
{
    if (!c)
        return;
    for (size_t t = 0; t < c->threads_cap; t++)
        free(c->threads[t].words);
    free(c->threads);
    free(c->reads);
    map_release(&c->read_of);
    free(c);
}

static void note_end(struct cut *c, uint64_t word, uint32_t thread, uint64_t end)
{
    uint32_t *at = map_put(&c->read_of, word, (uint32_t)c->nreads);
    struct last_read *r;

    if (*at == c->nreads) {
        GROW(c->reads, c->reads_cap, c->nreads + 1);
        c->reads[c->nreads++] = (struct last_read){ end, thread };
        return;
    }
    r = &c->reads[*at];
    r->end = end > r->end ? end : r->end;
    if (r->thread != thread)
        r->thread = SEVERAL;
}

void cut_add(void *cut, const struct event *e, uint64_t position)
{
    struct cut *c = cut;
    struct cut_thread *t;

    if (e->flags & EV_IGNORED)
        return;
    GROW(c->threads, c->threads_cap, (size_t)e->thread + 1);
    t = &c->threads[e->thread];
    if (event_ends_quiet(e)) {
        for (size_t i = 0; i < t->count; i++)
            note_end(c, t->words[i], e->thread, position);
        t->count = 0;
        t->synced = position + 1;
    }
    if (!op_is_access(e->op) || !op_table[e->op].reads || certain_is(c->certain, position))
        return;
    for (uint64_t w = e->target / WORD; w <= (e->target + e->size - 1) / WORD; w++) {
        if (t->count && t->words[t->count - 1] == w)
            continue;
        GROW(t->words, t->cap, t->count + 1);
        t->words[t->count++] = w;
    }
}

/* May a read before the cut have seen a write of this thread to the word? */
static bool may_be_seen(const struct cut *c, uint64_t word, uint32_t thread)
{
    const uint32_t *at = map_get(&c->read_of, word);

    uint64_t synced = thread < c->threads_cap ? c->threads[thread].synced : 0;

    return at && c->reads[*at].thread != thread && c->reads[*at].end >= synced;
}

/* Reads of the other threads that have not synchronised since. */
static void list_open(const struct cut *c, struct map *open)
{
    for (size_t t = 0; t < c->threads_cap; t++)
        for (size_t i = 0; i < c->threads[t].count; i++) {
            uint32_t *who = map_put(open, c->threads[t].words[i], (uint32_t)t);

            if (*who != t)
                *who = SEVERAL;
        }
}

static bool cut_is_seen(const struct cut *c, const struct map *open, const struct event *e)
{
    uint64_t bytes = op_is_access(e->op) ? e->size : e->value;

    for (uint64_t w = e->target / WORD; bytes && w <= (e->target + bytes - 1) / WORD; w++) {
        const uint32_t *who = map_get(open, w);

        if ((who && *who != e->thread) || may_be_seen(c, w, e->thread))
            return true;
    }
    return false;
}

static bool writes(const struct event *e)
{
    return (op_is_access(e->op) && op_table[e->op].writes) || e->op == OP_FREE;
}

/* Only what a thread does before it synchronises again can be older than the cut. */
bool cut_is_clean(const struct cut *c, const struct event *rest, size_t count)
{
    struct map open = { 0 }, over = { 0 }; /* threads */
    bool clean = true;

    list_open(c, &open);
    for (size_t i = 0; i < count && clean; i++) {
        const struct event *e = &rest[i];

        if (e->flags & EV_IGNORED || map_get(&over, e->thread))
            continue;
        if (event_ends_quiet(e))
            map_put(&over, e->thread, 1);
        else if (writes(e))
            clean = !cut_is_seen(c, &open, e);
    }
    map_release(&open);
    map_release(&over);
    return clean;
}
