/* search.c - conflict-driven clause learning over the variables of solver_inside.h
 *
 * The usual machine: two watched literals a clause, first unique implication
 * point, backjumping. Differences: decisions only make a literal true that an
 * instantiated clause still waits for, what is not assigned counts as false;
 * chains and graph report consequences and conflicts.
 *
 * A clause in memory: size, next clause in the list of its first and of its
 * second watched literal, literals. The watched ones are the first two.
 */
#include "base/alloc.h"
#include "solve/solver_inside.h"

#include <stdlib.h>

enum { CLAUSE_HEADER = 3 };

static uint32_t *clause_lits(const struct solver *s, uint32_t clause)
{
    return s->mem.items + clause + CLAUSE_HEADER;
}

static uint32_t clause_size(const struct solver *s, uint32_t clause)
{
    return s->mem.items[clause];
}

/* ---- variables ---- */

uint32_t search_new_var(struct solver *s, enum kind kind, uint32_t x, uint32_t y)
{
    uint32_t v = (uint32_t)s->nvars++;

    if (v >= s->vars_cap)
        GROW(s->vars, s->vars_cap, (size_t)v + 1);
    if (2 * (size_t)v + 2 > s->watch_cap)
        GROW(s->watch, s->watch_cap, 2 * (size_t)v + 2);
    s->watch[2 * v] = s->watch[2 * v + 1] = 0;
    s->vars[v] = (struct var){ .x = x, .y = y, .kind = (uint8_t)kind };
    return v;
}

void search_assign(struct solver *s, uint32_t lit, uint32_t reason, bool by_literal)
{
    struct var *v = &s->vars[lit >> 1];

    v->value = lit & 1 ? -1 : 1;
    v->level = (uint32_t)s->nlevels;
    v->reason = by_literal || reason != LIT_NONE ? reason : 0;
    v->by_literal = by_literal;
    list_push(&s->trail, lit);
}

/* ---- clauses ---- */

static void search_watch(struct solver *s, uint32_t clause, uint32_t side)
{
    uint32_t lit = clause_lits(s, clause)[side];

    s->mem.items[clause + 1 + side] = s->watch[lit];
    s->watch[lit] = 2 * clause + side;
}

static uint32_t store_clause(struct solver *s, const uint32_t *lits, size_t n)
{
    uint32_t clause = (uint32_t)s->mem.count;

    list_push(&s->mem, (uint32_t)n);
    list_push(&s->mem, 0);
    list_push(&s->mem, 0);
    for (size_t i = 0; i < n; i++)
        list_push(&s->mem, lits[i]);
    search_watch(s, clause, 0);
    search_watch(s, clause, 1);
    return clause;
}

void search_add_clause(struct solver *s, const uint32_t *lits, size_t n)
{
    size_t kept = 0;

    s->learned.count = 0;
    for (size_t i = 0; i < n; i++) {
        int value = lit_value(s, lits[i]);

        if (value > 0)
            return;
        if (value == 0) {
            list_push(&s->learned, lits[i]);
            kept++;
        }
    }
    if (kept == 0)
        s->unsatisfiable = true;
    else if (kept == 1)
        search_assign(s, s->learned.items[0], LIT_NONE, false);
    else
        list_push(&s->clauses, store_clause(s, s->learned.items, kept));
}

static void conflict_in(struct solver *s, uint32_t clause)
{
    s->conflict.count = 0;
    for (uint32_t i = 0; i < clause_size(s, clause); i++)
        list_push(&s->conflict, clause_lits(s, clause)[i]);
}

/* Another literal to watch in place of a false one; false: there is none. */
static bool move_watch(struct solver *s, uint32_t clause, uint32_t side)
{
    uint32_t *lits = clause_lits(s, clause), n = clause_size(s, clause);

    for (uint32_t k = 2; k < n; k++) {
        if (lit_value(s, lits[k]) >= 0) {
            uint32_t lit = lits[k];

            lits[k] = lits[side];
            lits[side] = lit;
            return true;
        }
    }
    return false;
}

/* The literal became false: look at the clauses that watch it. */
static bool visit_watches(struct solver *s, uint32_t lit)
{
    uint32_t *link = &s->watch[lit];

    while (*link) {
        uint32_t clause = *link >> 1, side = *link & 1;
        uint32_t other = clause_lits(s, clause)[!side], *next = &s->mem.items[clause + 1 + side];

        s->work++;
        if (lit_value(s, other) > 0) {
            link = next;
        } else if (move_watch(s, clause, side)) {
            *link = *next;
            search_watch(s, clause, side);
        } else if (lit_value(s, other) < 0) {
            conflict_in(s, clause);
            return false;
        } else {
            search_assign(s, other, clause, false);
            link = next;
        }
    }
    return true;
}

/* ---- what a variable means ---- */

static bool take_order(struct solver *s, uint32_t from, uint32_t to, uint32_t lit)
{
    const struct problem *p = s->p;

    return chains_raise(s, in_chain(p->thread[from]), p->rank[from] + 1, lit) &&
           chains_raise(s, in_chain(p->thread[to]), p->rank[to] + 1, lit) &&
           (p->thread[from] == p->thread[to] || graph_add(s, from, to, lit));
}

static bool take_choice(struct solver *s, const struct var *v, uint32_t lit)
{
    const struct problem *p = s->p;
    uint32_t reader = p->touches[v->x].node, writer;

    if (v->y == SOLVE_NONE)
        return true;
    writer = p->touches[v->y].node;
    return chains_raise_writer(s, v->y, lit) && take_order(s, writer, reader, lit);
}

static bool take_effect(struct solver *s, uint32_t lit)
{
    const struct var v = s->vars[lit >> 1];
    uint32_t chain = 0;

    if (v.kind == KIND_ORDER)
        return lit & 1 || take_order(s, v.x, v.y, lit);
    if (v.kind == KIND_SEL)
        return lit & 1 || take_choice(s, &v, lit);
    chain = v.kind == KIND_IN ? in_chain(s->p->thread[v.x]) : con_chain(s, s->p->thread[v.x]);
    if (!(lit & 1))
        return chains_raise(s, chain, s->p->rank[v.x] + 1, lit);
    chains_limit(s, chain, s->p->rank[v.x], lit ^ 1);
    return true;
}

bool search_propagate(struct solver *s)
{
    while (s->head < s->trail.count) {
        uint32_t lit = s->trail.items[s->head++];

        if (!take_effect(s, lit) || !visit_watches(s, lit ^ 1))
            return false;
    }
    return true;
}

/* ---- decisions ---- */

void search_decide(struct solver *s, uint32_t lit)
{
    if (s->nlevels == s->levels_cap)
        GROW(s->levels, s->levels_cap, s->nlevels + 1);
    s->levels[s->nlevels++] =
        (struct level){ (uint32_t)s->trail.count, (uint32_t)s->nbounds, (uint32_t)s->nedges };
    search_assign(s, lit, LIT_NONE, false);
}

void search_undo(struct solver *s, size_t level)
{
    struct level l;

    if (s->nlevels <= level)
        return;
    l = s->levels[level];
    while (s->trail.count > l.trail) {
        struct var *v = &s->vars[s->trail.items[--s->trail.count] >> 1];

        v->phase = v->value > 0;
        v->value = 0;
    }
    chains_undo(s, l.bounds);
    graph_undo(s, l.edges);
    s->head = s->trail.count;
    s->nlevels = level;
    s->scan = 0;
}

/* A positive literal to make the clause true, where its negative ones do not: what was true last,
 * else the first, for they are stored by preference. LIT_NONE: it is true already. */
static uint32_t open_literal_of(const struct solver *s, uint32_t clause)
{
    const uint32_t *lits = clause_lits(s, clause);
    uint32_t best = LIT_NONE;

    for (uint32_t i = 0; i < clause_size(s, clause); i++) {
        int value = lit_value(s, lits[i]);

        if (value > 0 || (lits[i] & 1 && value == 0))
            return LIT_NONE;
        if (value < 0)
            continue;
        /* watching moves literals about, but those made first have the smaller numbers */
        if (best == LIT_NONE || s->vars[lits[i] >> 1].phase > s->vars[best >> 1].phase ||
            (s->vars[lits[i] >> 1].phase == s->vars[best >> 1].phase && lits[i] < best))
            best = lits[i];
    }
    return best;
}

/* One way round the list of clauses, from where the last search ended. */
uint32_t search_open_literal(struct solver *s)
{
    for (size_t i = 0; i < s->clauses.count; i++) {
        uint32_t lit;

        if (s->scan >= s->clauses.count)
            s->scan = 0;
        s->work++;
        lit = open_literal_of(s, s->clauses.items[s->scan]);
        if (lit != LIT_NONE)
            return lit;
        s->scan++;
    }
    return LIT_NONE;
}

/* ---- conflicts ---- */

/* A false literal of the clause that is to be learned. */
static void count_in(struct solver *s, uint32_t lit, uint32_t *open)
{
    struct var *v = &s->vars[lit >> 1];

    if (v->seen || v->level == 0)
        return;
    v->seen = true;
    if (v->level == s->nlevels)
        ++*open;
    else
        list_push(&s->learned, lit);
}

static void resolve(struct solver *s, uint32_t var, uint32_t *open)
{
    const struct var *v = &s->vars[var];
    uint32_t clause = v->reason;

    if (v->by_literal) {
        count_in(s, v->reason ^ 1, open);
        return;
    }
    for (uint32_t i = 0; i < clause_size(s, clause); i++)
        if (clause_lits(s, clause)[i] >> 1 != var)
            count_in(s, clause_lits(s, clause)[i], open);
}

/* Fills s->learned; the first literal is the one that the clause will make true. */
static void search_analyse(struct solver *s)
{
    size_t at = s->trail.count;
    uint32_t open = 0, var;

    s->learned.count = 0;
    list_push(&s->learned, LIT_NONE);
    for (size_t i = 0; i < s->conflict.count; i++)
        count_in(s, s->conflict.items[i], &open);
    for (;;) {
        while (!s->vars[s->trail.items[at - 1] >> 1].seen)
            at--;
        var = s->trail.items[--at] >> 1;
        s->vars[var].seen = false;
        if (--open == 0)
            break;
        resolve(s, var, &open);
    }
    s->learned.items[0] = s->trail.items[at] ^ 1;
    for (size_t i = 1; i < s->learned.count; i++)
        s->vars[s->learned.items[i] >> 1].seen = false;
}

/* The highest level but for the first literal's; its literal moves to the second place. */
static size_t back_level(struct solver *s)
{
    uint32_t *lits = s->learned.items, lit;
    size_t best = 1;

    if (s->learned.count == 1)
        return 0;
    for (size_t i = 2; i < s->learned.count; i++)
        if (s->vars[lits[i] >> 1].level > s->vars[lits[best] >> 1].level)
            best = i;
    lit = lits[best];
    lits[best] = lits[1];
    lits[1] = lit;
    return s->vars[lit >> 1].level;
}

void search_learn(struct solver *s)
{
    size_t level;

    search_analyse(s);
    level = back_level(s);
    search_undo(s, level);
    if (s->learned.count == 1)
        search_assign(s, s->learned.items[0], LIT_NONE, false);
    else
        search_assign(s, s->learned.items[0], store_clause(s, s->learned.items, s->learned.count),
                      false);
}
