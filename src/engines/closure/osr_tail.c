/* osr_tail.c - the easy way for sections to change places
 *
 * Mostly only one of the two accesses is inside of sections that have to wait,
 * and what its thread does from the first of them on (the tail) can come last,
 * after all else in the order of the trace. osr_set.c has looked at the locks;
 * here the few events of the tail are looked at: nobody else needs them, and
 * their reads see what they saw.
 * Cost: the tail, and the later accesses to its variables.
 */
#include "engines/closure/osr_inside.h"

/* Is the event of the set one of the tail? */
static bool in_tail(const struct osr_order *o, uint32_t position)
{
    return position >= o->set->from && o->slot_of[o->v->events[position].thread] == o->set->tail;
}

/* In the set, and not of the tail. */
static bool is_other(const struct osr_order *o, uint32_t position)
{
    return osr_in_set(o, position) && !in_tail(o, position);
}

/* Only these are needed by nobody but their own thread and those who read what they write. */
static bool is_private(unsigned op)
{
    enum op_class class = op_class_of(op);

    return class == CLASS_ACCESS || class == CLASS_LOCK || class == CLASS_BRANCH ||
           class == CLASS_STACK || class == CLASS_LINK;
}

/* Does anybody else in the set read what the tail writes here? */
static bool is_read(const struct osr_order *o, uint32_t cell, uint32_t position)
{
    const struct view *v = o->v;

    for (uint32_t i = osr_place(o, cell, position) + 1; i < v->access_first[cell + 1]; i++) {
        const struct event *e = &v->events[v->access[i]];

        if (op_table[e->op].reads && is_other(o, v->access[i]))
            return true;
        if (osr_gives_content(e))
            break;
    }
    return false;
}

/* Does anybody else in the set overwrite what the tail reads here? */
static bool is_overwritten(const struct osr_order *o, uint32_t cell, uint32_t position)
{
    const struct view *v = o->v;

    for (uint32_t i = osr_place(o, cell, position) + 1; i < v->access_first[cell + 1]; i++)
        if (osr_gives_content(&v->events[v->access[i]]) && is_other(o, v->access[i]))
            return true;
    return false;
}

/* A read that saw a write of the tail still does; one that saw another's does if neither the others
 * nor the tail have written since. */
static bool read_can_wait(const struct osr_order *o, uint32_t cell, uint32_t writer,
                          uint32_t position)
{
    if (writer != VIEW_NONE && in_tail(o, writer))
        return true;
    return o->cell_seen[cell] != o->round && !is_overwritten(o, cell, position);
}

static bool can_wait(struct osr_order *o, uint32_t p)
{
    const struct view *v = o->v;
    bool writes = op_table[v->events[p].op].writes;

    if (!is_private(v->events[p].op))
        return false;
    for (uint32_t k = v->cell_first[p]; k < v->cell_first[p + 1]; k++) {
        uint32_t cell = v->cell[k];

        if (writes ? is_read(o, cell, p) : !read_can_wait(o, cell, v->writer[k], p))
            return false;
        if (writes)
            o->cell_seen[cell] = o->round; /* written by the tail */
    }
    return true;
}

bool osr_tail_can_wait(struct osr_order *o, uint64_t *cost)
{
    const struct osr_set *x = o->set;
    const struct slot_history *h = &x->closure->slots[x->tail];
    size_t n = osr_set_events(x, x->tail);

    o->round++;
    o->norder = 0;
    for (size_t i = n ? osr_first_from(h, n, x->from) : 0; i < n; i++) {
        ++*cost;
        if (!can_wait(o, h->events[i]))
            return false;
        GROW(o->order, o->order_cap, o->norder + 1);
        o->order[o->norder++] = h->events[i];
    }
    return true;
}
