/* cp_guards.c - which sections conflict, rule (a) */
#include "engines/streaming/cp_graph.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void cp_guards_release(struct cp_guards *g)
{
    for (size_t i = 0; i < g->cap; i++)
        free(g->guards[i].since);
    for (size_t i = 0; i < g->blocks_cap; i++)
        free(g->blocks[i].held);
    free(g->guards);
    free(g->vars);
    free(g->blocks);
    map_release(&g->index);
    *g = (struct cp_guards){ 0 };
}

static uint64_t key(uint32_t var, uint32_t lock)
{
    return (uint64_t)var << 32 | lock;
}

static uint32_t guard_new(struct cp_guards *g)
{
    uint32_t id = g->free;

    if (id) {
        g->free = g->guards[id].next;
        return id;
    }
    if (!g->count)
        g->count = 1;
    GROW(g->guards, g->cap, g->count + 1);
    return (uint32_t)g->count++;
}

/* The guard of a variable under a lock, made where there is none. */
static struct cp_guard *guard_of(struct cp_guards *g, uint32_t var, uint32_t lock)
{
    struct cp_guarded *v = &g->vars[var];
    uint32_t *known, id = v->recent;
    struct cp_guard *guard;

    if (id && g->guards[id].lock == lock)
        return &g->guards[id];
    known = map_put(&g->index, key(var, lock), 0);
    if (*known) {
        v->recent = *known;
        return &g->guards[*known];
    }
    v->recent = *known = guard_new(g);
    guard = &g->guards[v->recent];
    *guard = (struct cp_guard){ .var = var,
                                .lock = lock,
                                .next = v->first,
                                .since = guard->since,
                                .since_cap = guard->since_cap };
    v->first = v->recent;
    return guard;
}

static void cp_guards_forget(struct cp_guards *g, uint32_t var)
{
    struct cp_guarded *v = &g->vars[var];

    for (uint32_t id = v->first, next; id; id = next) {
        next = g->guards[id].next;
        *map_get(&g->index, key(var, g->guards[id].lock)) = 0;
        g->guards[id].next = g->free;
        g->free = id;
    }
    *v = (struct cp_guarded){ 0 };
}

static void cp_guards_split(struct cp_guards *g, uint32_t from, uint32_t to)
{
    cp_guards_forget(g, to);
    for (uint32_t id = g->vars[from].first; id; id = g->guards[id].next) {
        struct cp_guard *new = guard_of(g, to, g->guards[id].lock);
        const struct cp_guard *old = &g->guards[id]; /* may have moved */

        GROW(new->since, new->since_cap, old->nsince);
        if (old->nsince)
            memcpy(new->since, old->since, old->nsince * sizeof(*new->since));
        new->nsince = old->nsince;
        new->writer = old->writer;
        new->last = old->last;
        new->last_writes = old->last_writes;
    }
}

/* Keep the section, in place of an older one of its thread that was used in the same way. */
static void cp_guards_keep(const struct cp *c, struct cp_guard *guard, uint32_t section,
                           bool writes)
{
    const struct cp_section *b = &c->sections[section];
    size_t i = 0;

    for (; i < guard->nsince; i++) {
        const struct cp_section *a = &c->sections[guard->since[i].section];

        if (a->thread == b->thread && a->shared == b->shared && guard->since[i].writes == writes)
            break;
    }
    if (i == guard->nsince) {
        GROW(guard->since, guard->since_cap, i + 1);
        guard->nsince++;
    }
    guard->since[i] = (struct cp_use_since){ section, writes };
}

/* An exclusive section writes: older uses are behind it, but for those its thread is still in as a
 * reader. */
static void take_over(const struct cp *c, struct cp_guard *guard, uint32_t section)
{
    size_t kept = 0;

    for (size_t i = 0; i < guard->nsince; i++)
        if (!c->sections[guard->since[i].section].release)
            guard->since[kept++] = guard->since[i];
    guard->nsince = kept;
    guard->writer = section;
}

/* A thread accesses the variable inside a section. */
static void use(struct cp *c, uint32_t var, uint32_t section, bool writes)
{
    const struct cp_section *b = &c->sections[section];
    struct cp_guard *guard = guard_of(&c->guards, var, b->lock);

    if (guard->last == section && guard->last_writes >= writes)
        return; /* the same again, or less */
    guard->last = section;
    guard->last_writes = writes;
    if (guard->writer && c->sections[guard->writer].thread != b->thread)
        cp_add_edge(c, section, guard->writer);
    for (size_t i = 0; i < guard->nsince; i++) {
        const struct cp_section *a = &c->sections[guard->since[i].section];

        if (a->thread != b->thread && (writes || guard->since[i].writes) &&
            !(a->shared && b->shared))
            cp_add_edge(c, section, guard->since[i].section);
    }
    if (writes && !b->shared)
        take_over(c, guard, section);
    else
        cp_guards_keep(c, guard, section, writes);
}

/* ---- lifetimes ---- */

static struct cp_freed *block_at(struct cp_guards *g, uint32_t id)
{
    GROW(g->blocks, g->blocks_cap, (size_t)id + 1);
    return &g->blocks[id];
}

/* The first access to a variable; where its memory was freed before, that was a write. */
static void cp_guards_begin(struct cp *c, const struct step *s)
{
    struct cp_guards *g = &c->guards;
    const struct cp_freed *b = s->from && s->from <= g->blocks_cap ? &g->blocks[s->from - 1] : NULL;

    cp_guards_forget(g, s->id);
    for (size_t i = 0; b && b->is && i < b->nheld; i++)
        use(c, s->id, b->held[i], true);
}

static void free_block(struct cp *c, const struct step *s)
{
    const struct cp_thread *t = &c->threads[s->thread];
    struct cp_freed *b = block_at(&c->guards, s->id);

    b->is = true;
    GROW(b->held, b->held_cap, t->nheld);
    if (t->nheld)
        memcpy(b->held, t->held, t->nheld * sizeof(*b->held));
    b->nheld = t->nheld;
}

void cp_guards_step(struct cp *c, const struct step *s)
{
    const struct cp_thread *t = &c->threads[s->thread];

    if (s->op == OP_SPLIT)
        cp_guards_split(&c->guards, s->from, s->id);
    else if (s->op == OP_ALLOC)
        block_at(&c->guards, s->id)->is = false;
    else if (s->op == OP_FREE)
        free_block(c, s);
    if (!op_is_access(s->op))
        return;
    if (s->flags & STEP_FRESH)
        cp_guards_begin(c, s);
    for (size_t i = 0; i < t->nheld; i++)
        use(c, s->id, t->held[i], op_table[s->op].writes);
}
