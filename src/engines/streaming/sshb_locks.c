/* sshb_locks.c - do the accesses of a race hold a lock in common?
 *
 * One more pass over the trace that follows lock events only and notes what
 * is held at the accesses in question.
 */
#include "engines/streaming/sshb_locks.h"
#include "base/alloc.h"
#include "engines/whole.h"

#include <stdlib.h>

struct held {
    uint64_t lock;
    bool shared;
};

struct thread_locks {
    struct held *held;
    size_t count, cap;
};

/* An access of a race and the locks there: pool[first] .. pool[first + count -
 * 1]. */
struct place {
    uint32_t position;
    size_t first, count;
};

struct locks {
    struct place *places; /* sorted by position, each once */
    size_t nplaces, next;
    struct held *pool;
    size_t npool, pool_cap;
    struct thread_locks *threads;
    size_t threads_cap;
};

static int compare_places(const void *a, const void *b)
{
    uint32_t x = ((const struct place *)a)->position, y = ((const struct place *)b)->position;

    return x < y ? -1 : x > y;
}

static void list_places(struct locks *l, const struct sshb_facts *f)
{
    size_t kept = 0;

    l->places = xcalloc(2 * f->npairs + 1, sizeof(*l->places));
    for (size_t i = 0; i < f->npairs; i++) {
        if (f->pairs[i].verdict & SSHB_ORDERED)
            continue;
        l->places[l->nplaces++].position = f->pairs[i].position[0];
        l->places[l->nplaces++].position = f->pairs[i].position[1];
    }
    qsort(l->places, l->nplaces, sizeof(*l->places), compare_places);
    for (size_t i = 0; i < l->nplaces; i++)
        if (!kept || l->places[kept - 1].position != l->places[i].position)
            l->places[kept++] = l->places[i];
    l->nplaces = kept;
}

static void sshb_locks_take(struct thread_locks *t, uint64_t lock, bool shared)
{
    GROW(t->held, t->cap, t->count + 1);
    t->held[t->count++] = (struct held){ lock, shared };
}

/* The named way of holding goes first. */
static void sshb_locks_drop(struct thread_locks *t, uint64_t lock, bool shared)
{
    size_t found = t->count;

    for (size_t i = 0; i < t->count; i++)
        if (t->held[i].lock == lock && (found == t->count || t->held[i].shared == shared))
            found = i;
    if (found < t->count)
        t->held[found] = t->held[--t->count];
}

static void sshb_locks_follow(struct locks *l, const struct event *e)
{
    struct thread_locks *t;

    if (e->flags & (EV_NESTED | EV_IGNORED) ||
        (op_class_of(e->op) != CLASS_LOCK && e->op != OP_END))
        return;
    GROW(l->threads, l->threads_cap, (size_t)e->thread + 1);
    t = &l->threads[e->thread];
    if (e->op == OP_END)
        t->count = 0;
    else if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
        sshb_locks_take(t, e->target, e->op == OP_ACQUIRE_SHARED);
    else
        sshb_locks_drop(t, e->target, e->op == OP_RELEASE_SHARED);
}

static void sshb_locks_note(struct locks *l, const struct event *e)
{
    struct place *p = &l->places[l->next++];

    p->first = l->npool;
    if (e->thread >= l->threads_cap)
        return;
    p->count = l->threads[e->thread].count;
    GROW(l->pool, l->pool_cap, l->npool + p->count);
    for (size_t i = 0; i < p->count; i++)
        l->pool[l->npool++] = l->threads[e->thread].held[i];
}

static int follow_all(struct locks *l, struct trace *t, struct error *err)
{
    struct batch b;
    int r = 0;

    while (l->next < l->nplaces && (r = trace_next(t, &b, err)) > 0) {
        for (size_t i = 0; i < b.count && l->next < l->nplaces; i++) {
            if (b.first + i == l->places[l->next].position)
                sshb_locks_note(l, &b.events[i]);
            sshb_locks_follow(l, &b.events[i]);
        }
    }
    return r < 0 ? -1 : 0;
}

static const struct place *place_at(const struct locks *l, uint32_t position)
{
    struct place key = { .position = position };

    return bsearch(&key, l->places, l->nplaces, sizeof(key), compare_places);
}

static bool common(const struct locks *l, const struct place *a, const struct place *b)
{
    for (size_t i = a->first; i < a->first + a->count; i++)
        for (size_t k = b->first; k < b->first + b->count; k++)
            if (l->pool[i].lock == l->pool[k].lock && !(l->pool[i].shared && l->pool[k].shared))
                return true;
    return false;
}

static void judge(const struct locks *l, struct sshb_facts *f)
{
    for (size_t i = 0; i < f->npairs; i++) {
        struct sshb_pair *p = &f->pairs[i];

        if (!(p->verdict & SSHB_ORDERED) &&
            common(l, place_at(l, p->position[0]), place_at(l, p->position[1])))
            p->verdict |= SSHB_COVERED;
    }
}

int sshb_look_at_locks(struct sshb_facts *f, struct whole *whole, struct error *err)
{
    struct locks l = { 0 };
    struct trace *t = whole_stream(whole, err);
    int r;

    if (!t)
        return -1;
    list_places(&l, f);
    r = follow_all(&l, t, err);
    if (r == 0)
        judge(&l, f);
    for (size_t i = 0; i < l.threads_cap; i++)
        free(l.threads[i].held);
    free(l.threads);
    free(l.places);
    free(l.pool);
    return r;
}
