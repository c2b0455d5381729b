/* chains.c - which prefix of each thread is executed, and what follows from that
 *
 * Raising a chain looks at each node that it newly covers once: its needs
 * raise other chains, a branch raises the chain of right reads, a right read
 * with only one possible writer raises that writer's. So all of it is implied
 * by the one literal that began it, and that literal alone is the reason.
 */
#include "base/alloc.h"
#include "solve/solver_inside.h"

#include <stdlib.h>

void list_push(struct list *l, uint32_t item)
{
    if (l->count == l->cap)
        GROW(l->items, l->cap, l->count + 1);
    l->items[l->count++] = item;
}

static void push_work(struct solver *s, uint32_t chain, uint32_t lo)
{
    if (s->chains[chain].lo >= lo)
        return;
    list_push(&s->raises, chain);
    list_push(&s->raises, lo);
}

static void chains_remember(struct solver *s, uint32_t chain)
{
    const struct chain *c = &s->chains[chain];

    if (s->nbounds == s->bounds_cap)
        GROW(s->bounds, s->bounds_cap, s->nbounds + 1);
    s->bounds[s->nbounds++] = (struct bound){ chain, c->lo, c->hi, c->hi_lit };
}

/* A bound cannot be reached: the cause and this false literal exclude each other. */
static bool chains_refuse(struct solver *s, uint32_t cause, uint32_t lit)
{
    s->conflict.count = 0;
    s->raises.count = 0;
    if (cause != LIT_NONE)
        list_push(&s->conflict, cause ^ 1);
    if (lit != LIT_NONE)
        list_push(&s->conflict, lit);
    return false;
}

/* The chain now covers the variable's node. It may be false already although the chain does not
 * know yet: what was assigned takes effect one after the other. */
static bool assign_covered(struct solver *s, uint32_t var, uint32_t cause)
{
    if (s->vars[var].value < 0)
        return chains_refuse(s, cause, 2 * var);
    if (!s->vars[var].value)
        search_assign(s, 2 * var, cause, cause != LIT_NONE);
    return true;
}

/* What the last of them must have before it, by the clocks. */
static void follow_row(struct solver *s, const uint32_t *rows, uint32_t node)
{
    const struct problem *p = s->p;

    if (!rows)
        return;
    for (uint32_t t = 0; t < p->nthreads; t++)
        push_work(s, in_chain(t), problem_row(p, rows, node)[t]);
}

/* What nodes [from, to) of a thread need once they are in. */
static bool follow_in(struct solver *s, uint32_t thread, uint32_t from, uint32_t to, uint32_t cause)
{
    const struct problem *p = s->p;
    const uint32_t *nodes = p->thread_node + p->thread_first[thread];

    s->work += to - from;
    for (uint32_t r = from; r < to; r++) {
        uint32_t n = nodes[r];

        for (uint32_t k = p->need_first[n]; k < p->need_first[n + 1]; k++)
            push_work(s, p->thread[p->need[k]], p->rank[p->need[k]] + 1);
        if (p->branches && p->decides[n])
            push_work(s, con_chain(s, thread), r + 1);
        if (s->in_var[n] && !assign_covered(s, s->in_var[n], cause))
            return false;
    }
    follow_row(s, p->must, nodes[to - 1]);
    return true;
}

/* The same once their reads are right. */
static bool follow_con(struct solver *s, uint32_t thread, uint32_t from, uint32_t to,
                       uint32_t cause)
{
    const struct problem *p = s->p;
    const uint32_t *nodes = p->thread_node + p->thread_first[thread];

    push_work(s, in_chain(thread), to);
    for (uint32_t r = from; r < to; r++) {
        uint32_t n = nodes[r];

        for (uint32_t k = p->keep_first[n]; k < p->keep_first[n + 1]; k++)
            push_work(s, con_chain(s, p->thread[p->keep[k]]), p->rank[p->keep[k]] + 1);
        if (s->con_var[n] && !assign_covered(s, s->con_var[n], cause))
            return false;
    }
    follow_row(s, p->must_con, nodes[to - 1]);
    return true;
}

bool chains_raise_writer(struct solver *s, uint32_t touch, uint32_t cause)
{
    const struct problem *p = s->p;
    uint32_t node = p->touches[touch].node, thread = p->thread[node], lo = p->rank[node] + 1;

    if (p->loose && !chains_raise(s, in_chain(thread), lo, cause))
        return false;
    return (p->loose && !(p->touches[touch].flags & TOUCH_LOOSE)) ||
           chains_raise(s, con_chain(s, thread), lo, cause);
}

bool chains_raise(struct solver *s, uint32_t chain, uint32_t lo, uint32_t cause)
{
    push_work(s, chain, lo);
    while (s->raises.count) {
        uint32_t to = s->raises.items[--s->raises.count], c = s->raises.items[--s->raises.count];
        uint32_t from = s->chains[c].lo;

        if (from >= to)
            continue;
        if (to > s->chains[c].hi)
            return chains_refuse(s, cause, s->chains[c].hi_lit);
        chains_remember(s, c);
        s->chains[c].lo = to;
        if (!(c < s->p->nthreads ? follow_in(s, c, from, to, cause)
                                 : follow_con(s, c - s->p->nthreads, from, to, cause)))
            return false;
    }
    return true;
}

void chains_limit(struct solver *s, uint32_t chain, uint32_t hi, uint32_t lit)
{
    struct chain *c = &s->chains[chain];

    if (c->hi <= hi)
        return;
    chains_remember(s, chain);
    c->hi = hi;
    c->hi_lit = lit;
    for (uint32_t v = c->vars; v; v = s->vars[v].next)
        if (!s->vars[v].value && s->p->rank[s->vars[v].x] > hi)
            search_assign(s, 2 * v + 1, lit ^ 1, true);
}

void chains_undo(struct solver *s, size_t bounds)
{
    while (s->nbounds > bounds) {
        const struct bound *b = &s->bounds[--s->nbounds];

        s->chains[b->chain].lo = b->lo;
        s->chains[b->chain].hi = b->hi;
        s->chains[b->chain].hi_lit = b->hi_lit;
    }
}
