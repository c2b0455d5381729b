/* osr_greedy.c - an order that is made step by step
 *
 * Of the events that may come next the earliest in the trace comes. An
 * acquire may when its lock is free, a write when every read of what it
 * overwrites has come. Sections that stay open come last, by edges.
 */
#include "engines/closure/osr_inside.h"

/* Events of the set that read what a cell holds from place i of its list on, up to the event that
 * writes it again. */
static uint32_t reads_to_come(const struct osr_order *o, uint32_t cell, uint32_t i)
{
    const struct view *v = o->v;
    uint32_t n = 0;

    for (; i < v->access_first[cell + 1]; i++) {
        const struct event *e = &v->events[v->access[i]];

        n += o->node_of[v->access[i]] != NO_NODE && op_table[e->op].reads;
        if (osr_gives_content(e))
            break;
    }
    return n;
}

/* While greedy: who holds the lock at the beginning, and where sections end. */
void osr_lock_state(struct osr_order *o, uint32_t lock)
{
    const struct view *v = o->v;

    osr_open_last(o, lock);
    for (uint32_t i = v->lock_first[lock]; i < v->lock_first[lock + 1]; i++) {
        const struct view_section *s = &v->sections[v->lock_section[i]];

        if (!osr_takes_part(o, s))
            continue;
        if (s->acquire < o->set->from) {
            GROW(o->holders, o->holders_cap, o->nholders + 1);
            o->holders[o->nholders++] = (struct holder){ lock, s->thread, s->shared };
        }
        if (!osr_in_set(o, s->end))
            continue;
        GROW(o->endings, o->endings_cap, o->nendings + 1);
        o->endings[o->nendings] =
            (struct ending){ v->lock_section[i], o->ends[o->node_of[s->end]] };
        o->ends[o->node_of[s->end]] = (uint32_t)o->nendings++;
    }
}

void osr_cell_state(struct osr_order *o, uint32_t cell)
{
    o->pending[cell] = reads_to_come(o, cell, osr_place(o, cell, o->set->from));
}

static bool is_free(const struct osr_order *o, const struct view_section *s)
{
    for (size_t i = 0; i < o->nholders; i++)
        if (o->holders[i].lock == s->lock && o->holders[i].thread != s->thread &&
            !(o->holders[i].shared && s->shared))
            return false;
    return true;
}

bool osr_may_come(const struct osr_order *o, uint32_t p)
{
    const struct view *v = o->v;
    uint32_t section = v->section_of[p];

    if (section != VIEW_NONE && v->sections[section].acquire == p)
        return is_free(o, &v->sections[section]);
    if (osr_gives_content(&v->events[p]))
        for (uint32_t k = v->cell_first[p]; k < v->cell_first[p + 1]; k++)
            if (o->pending[v->cell[k]] > op_table[v->events[p].op].reads)
                return false;
    return true;
}

static void osr_greedy_let_go(struct osr_order *o, const struct view_section *s)
{
    for (size_t i = 0; i < o->nholders; i++) {
        const struct holder *h = &o->holders[i];

        if (h->lock == s->lock && h->thread == s->thread && h->shared == s->shared) {
            o->holders[i] = o->holders[--o->nholders];
            return;
        }
    }
}

/* The event comes; what was kept waiting may try again. */
void osr_come(struct osr_order *o, uint32_t p)
{
    const struct view *v = o->v;
    const struct event *e = &v->events[p];
    uint32_t section = v->section_of[p];

    if (section != VIEW_NONE && v->sections[section].acquire == p) {
        GROW(o->holders, o->holders_cap, o->nholders + 1);
        o->holders[o->nholders++] =
            (struct holder){ v->sections[section].lock, e->thread, v->sections[section].shared };
    }
    for (uint32_t i = o->ends[o->node_of[p]]; i; i = o->endings[i].next)
        osr_greedy_let_go(o, &v->sections[o->endings[i].section]);
    for (uint32_t k = v->cell_first[p]; k < v->cell_first[p + 1]; k++) {
        uint32_t cell = v->cell[k];

        if (op_table[e->op].reads && o->pending[cell])
            o->pending[cell]--;
        if (osr_gives_content(e))
            o->pending[cell] = reads_to_come(o, cell, osr_place(o, cell, p) + 1);
    }
    if (o->ends[o->node_of[p]] || v->cell_first[p] < v->cell_first[p + 1])
        while (o->nparked)
            osr_push(o, o->parked[--o->nparked]);
}
