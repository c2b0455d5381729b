/* freeze.c - the early part of the trace as it was observed
 *
 * When the search over everything takes too long, the nodes before some point
 * are executed first and in the order of the trace, and only what comes later
 * is searched. A schedule found that way is as good as any other; that there
 * is none says nothing.
 *
 * The state after the frozen part (last writers, open sections) is kept; a
 * replay begins there.
 */
#include "solve/solver_inside.h"

#include <stdlib.h>

static bool reads_are_right(const struct solver *s, uint32_t node)
{
    const struct problem *p = s->p;

    for (uint32_t k = p->touch_first[node]; k < p->touch_first[node + 1]; k++)
        if (p->touches[k].flags & TOUCH_READS &&
            (!problem_allows(p, &p->touches[k], p->touches[k].writer) ||
             (s->values && s->values->odd[k])))
            return false;
    return true;
}

static bool begin_section(const struct problem *p, struct list *open, uint32_t section)
{
    const struct problem_section *mine = &p->sections[section], *other;

    for (size_t i = 0; i < open->count; i++) {
        other = &p->sections[open->items[i]];
        if (other->lock == mine->lock && other->thread != mine->thread &&
            !(other->shared && mine->shared))
            return false;
    }
    list_push(open, section);
    return true;
}

static void end_section(struct list *open, uint32_t section)
{
    for (size_t i = 0; i < open->count; i++)
        if (open->items[i] == section)
            open->items[i--] = open->items[--open->count];
}

bool sections_execute(const struct problem *p, struct list *open, uint32_t node)
{
    if (p->section_of[node] != SOLVE_NONE && !begin_section(p, open, p->section_of[node]))
        return false;
    for (uint32_t k = p->ends_first[node]; k < p->ends_first[node + 1]; k++)
        end_section(open, p->ends[k]);
    return true;
}

static bool execute(struct solver *s, uint32_t node)
{
    const struct problem *p = s->p;

    if (!reads_are_right(s, node) || !sections_execute(p, &s->frozen_open, node))
        return false;
    for (uint32_t k = p->touch_first[node]; k < p->touch_first[node + 1]; k++) {
        uint32_t *last = &s->frozen_last[p->touches[k].cell];

        if (!(p->touches[k].flags & TOUCH_WRITES))
            continue;
        if (!*last)
            list_push(&s->frozen_cells, p->touches[k].cell);
        *last = k + 1;
    }
    s->frozen_count[p->thread[node]]++;
    return true;
}

bool freeze_raise(struct solver *s)
{
    for (uint32_t t = 0; t < s->p->nthreads; t++)
        if (!chains_raise(s, in_chain(t), s->frozen_count[t], LIT_NONE) ||
            !chains_raise(s, con_chain(s, t), s->frozen_count[t], LIT_NONE))
            return false;
    return true;
}

bool freeze_up_to(struct solver *s, uint32_t node)
{
    for (uint32_t t = 0; t < s->p->nthreads; t++)
        s->frozen_count[t] = 0;
    s->frozen = node;
    s->work += node;
    for (uint32_t n = 0; n < node; n++)
        if (!execute(s, n))
            return false;
    return true;
}

void freeze_end(struct solver *s)
{
    for (size_t i = 0; i < s->frozen_cells.count; i++)
        s->frozen_last[s->frozen_cells.items[i]] = 0;
    for (uint32_t t = 0; t < s->p->nthreads; t++)
        s->frozen_count[t] = 0; /* else the next question begins with them */
    s->frozen_cells.count = s->frozen_open.count = 0;
    s->frozen = 0;
}
