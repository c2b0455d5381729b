/* constraints.c - what a fault of a replay means as a clause
 *
 * Sections s and t on one lock, not both shared, of different threads:
 *     not IN(s) or not IN(t) or end(s) -> acquire(t) or end(t) -> acquire(s)
 * A read r that has to be right:
 *     not CON(r) or SEL(r, w) or SEL(r, w') ...     over the allowed writers
 * Another writer x between a read and the writer it chose:
 *     not SEL(r, w) or not IN(x) or x -> w or r -> x
 * "No other write in between", not "no write of another value": what r sees
 * then is w, and w's own past is accounted for.
 * All are added at level 0.
 */
#include "base/alloc.h"
#include "solve/solver_inside.h"

#include <stdlib.h>

static void join_chain(struct solver *s, uint32_t var, uint32_t chain)
{
    struct chain *c = &s->chains[chain];
    struct var *v = &s->vars[var];
    uint32_t rank = s->p->rank[v->x];

    v->next = c->vars;
    c->vars = var;
    if (rank < c->lo)
        v->value = 1;
    else if (rank >= c->hi)
        v->value = -1;
}

uint32_t constraints_in(struct solver *s, uint32_t node)
{
    if (!s->in_var[node]) {
        s->in_var[node] = search_new_var(s, KIND_IN, node, 0);
        join_chain(s, s->in_var[node], in_chain(s->p->thread[node]));
    }
    return 2 * s->in_var[node];
}

static uint32_t lit_con(struct solver *s, uint32_t node)
{
    if (!has_con_chains(s->p))
        return constraints_in(s, node);
    if (!s->con_var[node]) {
        s->con_var[node] = search_new_var(s, KIND_CON, node, 0);
        join_chain(s, s->con_var[node], con_chain(s, s->p->thread[node]));
    }
    return 2 * s->con_var[node];
}

static uint32_t lit_to_be_right(struct solver *s, const struct problem_touch *read)
{
    bool always = s->p->loose && !(read->flags & TOUCH_LOOSE);

    return always ? constraints_in(s, read->node) : lit_con(s, read->node);
}

/* u before v, both executed. */
static uint32_t lit_order(struct solver *s, uint32_t u, uint32_t v)
{
    const struct problem *p = s->p;
    uint32_t *known;

    if (u == SOLVE_NONE || v == SOLVE_NONE || !may_be_in(s, u) || !may_be_in(s, v))
        return LIT_FALSE;
    if (u < s->frozen && v < s->frozen)
        return u < v ? LIT_TRUE : LIT_FALSE;
    if (u < s->frozen || v < s->frozen)
        return u < s->frozen ? constraints_in(s, v) : LIT_FALSE;
    if (p->thread[u] == p->thread[v])
        return p->rank[u] < p->rank[v] ? constraints_in(s, v) : LIT_FALSE;
    known = map_put(&s->order_var, (uint64_t)u << 32 | v, 0);
    if (!*known) {
        *known = search_new_var(s, KIND_ORDER, u, v);
        graph_add_knot(s, u);
        graph_add_knot(s, v);
    }
    return 2 * *known;
}

/* The preferred one gets the smaller number. */
static void add_sections(struct solver *s, uint32_t one, uint32_t other)
{
    const struct problem_section *a = &s->p->sections[one < other ? one : other];
    const struct problem_section *b = &s->p->sections[one < other ? other : one];
    uint32_t forward = lit_order(s, a->end, b->acquire), back = lit_order(s, b->end, a->acquire);
    uint32_t lits[4] = { constraints_in(s, a->acquire) ^ 1, constraints_in(s, b->acquire) ^ 1,
                         forward, back };

    search_add_clause(s, lits, 4);
}

/* ---- the writers a read may see ---- */

struct writers {
    struct solver *s;
    const struct problem_touch *read;
    uint32_t touch; /* of the read */
    uint32_t own;   /* last write of the read's own thread before it, SOLVE_NONE */
    struct list lits;
    uint32_t first;
};

static bool is_possible(const struct writers *w, uint32_t writer)
{
    const struct problem *p = w->s->p;
    const struct problem_touch *t = &p->touches[writer];

    if (!problem_allows(p, w->read, writer) || !may_be_in(w->s, t->node))
        return false;
    if (t->node < w->s->frozen && w->s->frozen_last[t->cell] != writer + 1)
        return false;
    if (p->thread[t->node] == p->thread[w->read->node] && writer != w->own)
        return false;
    return !p->must_con || candidates_allow(&w->s->rows, w->touch,
                                            problem_row(p, p->must_con, w->read->node), writer);
}

static void add_writer(struct writers *w, uint32_t writer)
{
    uint32_t var = search_new_var(w->s, KIND_SEL, w->touch, writer);

    if (w->lits.count == 1)
        w->first = var;
    if (writer != SOLVE_NONE)
        graph_add_knot(w->s, w->s->p->touches[writer].node);
    list_push(&w->lits, 2 * var);
}

/* Where in its cell's list of writers the read would be. */
static uint32_t writers_before(const struct problem *p, const struct problem_touch *read)
{
    uint32_t low = p->writer_first[read->cell], high = p->writer_first[read->cell + 1];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->touches[p->writer[middle]].node < read->node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_full(struct writers *w)
{
    struct solver *s = w->s;

    if (!s->choice_limit || w->lits.count <= s->choice_limit)
        return false;
    s->choices_cut = true;
    return true;
}

/* From the read's place outwards, the earlier side first. */
static void add_others(struct writers *w)
{
    const struct problem *p = w->s->p;
    uint32_t first = p->writer_first[w->read->cell], last = p->writer_first[w->read->cell + 1];
    uint32_t before = writers_before(p, w->read), after = before;

    while (before > first || after < last) {
        if (before > first && p->writer[--before] != w->read->writer &&
            is_possible(w, p->writer[before])) {
            if (is_full(w))
                return;
            add_writer(w, p->writer[before]);
        }
        if (after < last && is_possible(w, p->writer[after])) {
            if (is_full(w))
                return;
            add_writer(w, p->writer[after]);
        }
        after += after < last;
    }
}

static uint32_t own_writer(const struct problem *p, const struct problem_touch *read)
{
    for (uint32_t k = writers_before(p, read); k > p->writer_first[read->cell]; k--)
        if (p->thread[p->touches[p->writer[k - 1]].node] == p->thread[read->node])
            return p->writer[k - 1];
    return SOLVE_NONE;
}

static void add_read(struct solver *s, uint32_t touch)
{
    const struct problem_touch *read = &s->p->touches[touch];
    struct writers w = { .s = s, .read = read, .touch = touch };

    w.own = own_writer(s->p, read);
    graph_add_knot(s, read->node);
    list_push(&w.lits, lit_to_be_right(s, read) ^ 1);
    if (read->writer != SOLVE_NONE && is_possible(&w, read->writer))
        add_writer(&w, read->writer);
    if (w.own == SOLVE_NONE && problem_allows(s->p, read, SOLVE_NONE) &&
        !(s->frozen && s->frozen_last[read->cell]))
        add_writer(&w, SOLVE_NONE);
    add_others(&w);
    if (s->nchoices == s->choices_cap)
        GROW(s->choices, s->choices_cap, s->nchoices + 1);
    s->choices[s->nchoices++] = (struct choice){ touch, w.first, (uint32_t)w.lits.count - 1 };
    s->choice_of[touch] = (uint32_t)s->nchoices;
    search_add_clause(s, w.lits.items, w.lits.count);
    free(w.lits.items);
}

uint32_t constraints_chosen(const struct solver *s, uint32_t touch, bool *found)
{
    const struct choice *c = &s->choices[s->choice_of[touch] - 1];

    *found = true;
    for (uint32_t v = c->first; v < c->first + c->count; v++)
        if (s->vars[v].value > 0)
            return s->vars[v].y;
    *found = false;
    return SOLVE_NONE;
}

/* ---- a writer in between ---- */

uint32_t constraints_choice(const struct solver *s, uint32_t touch, uint32_t writer)
{
    const struct choice *c = &s->choices[s->choice_of[touch] - 1];

    for (uint32_t v = c->first; v < c->first + c->count; v++)
        if (s->vars[v].y == writer)
            return 2 * v;
    return LIT_FALSE;
}

/* The order variable that agrees with the trace is made first. */
static void add_intruder(struct solver *s, uint32_t touch, uint32_t writer, uint32_t intruder)
{
    const struct problem_touch *t = s->p->touches;
    uint32_t r = t[touch].node, x = t[intruder].node;
    uint32_t w = writer == SOLVE_NONE ? SOLVE_NONE : t[writer].node, lits[4];

    lits[0] = constraints_choice(s, touch, writer) ^ 1;
    lits[1] = constraints_in(s, x) ^ 1;
    if (w != SOLVE_NONE && x < w) {
        lits[2] = lit_order(s, x, w);
        lits[3] = lit_order(s, r, x);
    } else {
        lits[3] = lit_order(s, r, x);
        lits[2] = lit_order(s, x, w);
    }
    search_add_clause(s, lits, 4);
}

void constraints_add(struct solver *s, const struct fault *f)
{
    if (f->kind == FAULT_SECTIONS)
        add_sections(s, f->x, f->y);
    else if (f->kind == FAULT_INTRUDER)
        add_intruder(s, f->x, f->y, f->z);
    else if (f->kind == FAULT_VALUE)
        value_faults_add(s, f->x);
    else if (!s->choice_of[f->x])
        add_read(s, f->x);
}
