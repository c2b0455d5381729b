/* relax_changes.c - the reads of a schedule that see another value, and the branches on them */
#include "engines/values/relax_inside.h"
#include "base/alloc.h"
#include "base/map.h"

static struct value_change change_of(const struct eval *ev, const struct value_run *run,
                                     uint32_t node)
{
    const struct event *e = &ev->f->view->events[ev->f->m->event_of[node]];
    struct value_change c = { .read = ev->f->m->event_of[node],
                              .bytes = e->size,
                              .branch = CHANGE_NONE };
    bool named = false;

    c.has_recorded = value_recorded_read(e, &c.recorded);
    c.value = c.recorded;
    c.has_value = e->size <= 8;
    for (uint32_t k = ev->p->touch_first[node]; k < ev->p->touch_first[node + 1]; k++) {
        const struct view_cell *cell =
            &ev->f->view->cells[ev->f->m->view_cell[ev->p->touches[k].cell]];
        const struct memo *m = &ev->touches[k];
        uint32_t writer = run->seen[k] - 1;

        if (!(ev->p->touches[k].flags & TOUCH_READS) || m->stamp != ev->stamp)
            continue;
        if (!named)
            c.writer = writer == SOLVE_NONE ? CHANGE_FIRST
                                            : ev->f->m->event_of[ev->p->touches[writer].node];
        named = true;
        c.has_value &= m->value.state == VALUE_OTHER && (c.has_recorded || cell->bytes == e->size);
        if (c.has_value) {
            uint64_t mask = (uint64_t)expr_mask(8 * (unsigned)cell->bytes);
            unsigned shift = 8 * (unsigned)(cell->address - e->target);

            c.value = (c.value & ~(mask << shift)) | (uint64_t)m->value.v << shift;
        }
    }
    return c;
}

static bool has_changed(const struct eval *ev, uint32_t node)
{
    for (uint32_t k = ev->p->touch_first[node]; k < ev->p->touch_first[node + 1]; k++)
        if (ev->touches[k].stamp == ev->stamp)
            return true;
    return false;
}

/* The reads below a branch's condition that have no branch yet get this one. */
static void name_branch(struct eval *ev, const struct execution_condition *c, struct map *at,
                        struct value_change *list)
{
    eval_push_cause(ev, c->value, false);
    while (ev->ncauses) {
        const struct expr_node *n = expr_get(ev->x, ev->causes[--ev->ncauses].item);
        const uint32_t *i = n->op == EX_READ ? map_get(at, n->a | (uint64_t)n->b << 32) : NULL;

        if (i && list[*i].branch == CHANGE_NONE)
            list[*i].branch = c->event;
        for (unsigned k = 0; k < eval_operands(n); k++)
            if (eval_operand(n, k) && expr_varies(ev->x, eval_operand(n, k)))
                eval_push_cause(ev, eval_operand(n, k), false);
    }
}

static void name_branches(struct eval *ev, const struct value_run *run, struct value_change *list,
                          size_t n)
{
    const struct relax_facts *f = ev->f;
    struct map at = { 0 };

    for (size_t i = 0; i < n; i++)
        map_put(&at, list[i].read, (uint32_t)i);
    ev->mark++;
    for (uint32_t i = 0; n && i < run->count + 2; i++) {
        uint32_t node = i < run->count ? run->order[i] : i == run->count ? run->a : run->b;

        for (uint32_t k = node == SOLVE_NONE ? 0 : f->condition_first[node];
             node != SOLVE_NONE && k < f->condition_first[node + 1]; k++)
            if (f->e->conditions[f->condition[k]].kind == CONDITION_BRANCH)
                name_branch(ev, &f->e->conditions[f->condition[k]], &at, list);
    }
    map_release(&at);
}

struct value_change *eval_changes(struct eval *ev, const struct value_run *run, size_t *n)
{
    struct value_change *list = NULL;
    size_t cap = 0;

    *n = 0;
    for (uint32_t i = 0; i < run->count; i++)
        if (has_changed(ev, run->order[i])) {
            GROW(list, cap, *n + 1);
            list[(*n)++] = change_of(ev, run, run->order[i]);
        }
    name_branches(ev, run, list, *n);
    return list;
}
