/* z3_encode.c - a question about the view as clauses
 *
 * Algorithm 2 of the RDIT paper (papers: rdit, section 3.2) with what makes
 * it exact: membership in the reordering is explicit, so that what lies behind
 * the two accesses constrains nothing, and every executed read has its writer
 * chosen, also in third threads.
 *
 * What is asserted, each rule of docs/design/proof.md:
 *   prefix     in(later) => in(earlier), order(earlier) < order(later)
 *   needs      in(e) => in(n), order(n) < order(e)
 *   locks      not in(s), not in(t), or one ends before the other begins
 *   reads      in(r) => the read sees one of the writes it may see
 *   choice     r sees w => in(w), order(w) < order(r), and every other write x
 *              of the cell: not in(x), or x before w, or x after r
 *   branches   reads and chosen writes ask for clean() instead of in();
 *              in(branch) => clean(branch)
 * Orders of events that are not executed harm nobody: put them behind the
 * others, as in the trace.
 */
#include "base/alloc.h"
#include "engines/z3/z3_question.h"

#include <stdlib.h>

/* ---- variables ---- */

Z3_ast encode_in(struct z3_question *q, uint32_t e)
{
    if (q->v->rank[e] < q->lo[q->v->events[e].thread])
        return q->z.yes;
    if (!z3_is_inside(q, e))
        return q->z.no;
    q->mark[e] |= MARK_IN;
    return z3_bool(&q->z, 4 * e);
}

/* Only where there are branches. */
static Z3_ast clean(struct z3_question *q, uint32_t e)
{
    q->mark[e] |= MARK_CLEAN;
    return z3_bool(&q->z, 4 * e + 1);
}

Z3_ast encode_order(struct z3_question *q, uint32_t e)
{
    q->mark[e] |= MARK_ORDER;
    return z3_int(&q->z, 4 * e);
}

static Z3_ast new_choice(struct z3_question *q)
{
    return z3_bool(&q->z, 4 * q->choices++ + 2);
}

static Z3_ast less(struct z3_question *q, uint32_t u, uint32_t w)
{
    const struct view *v = q->v;

    if (v->events[u].thread == v->events[w].thread)
        return v->rank[u] < v->rank[w] ? q->z.yes : q->z.no;
    return Z3_mk_lt(q->z.context, encode_order(q, u), encode_order(q, w));
}

#define ANY(q, ...)                                                                                \
    z3_clause(&(q)->z, (Z3_ast[]){ __VA_ARGS__ },                                                  \
              sizeof((Z3_ast[]){ __VA_ARGS__ }) / sizeof(Z3_ast))

static Z3_ast out(struct z3_question *q, uint32_t e)
{
    return z3_not(&q->z, encode_in(q, e));
}

/* ---- needs and branches ---- */

static void encode_needs(struct z3_question *q, uint32_t e)
{
    for (uint32_t i = q->v->need_first[e]; i < q->v->need_first[e + 1]; i++) {
        uint32_t n = q->v->need[i];

        ANY(q, out(q, e), encode_in(q, n));
        if (z3_is_inside(q, n))
            ANY(q, less(q, n, e));
    }
}

static void encode_branch(struct z3_question *q, uint32_t e)
{
    if (q->branches && q->v->decides[e])
        ANY(q, out(q, e), clean(q, e));
}

/* ---- reads ---- */

/* docs/design/marks.md; "clean" is then about the loose reads of the thread alone. */
static bool is_loose(const struct z3_question *q, uint32_t e)
{
    return q->loose && q->v->events[e].flags & EV_LOOSE && !q->v->decides[e];
}

/* The read sees w (VIEW_NONE: what was there first), by the variable `chosen`. */
static void encode_choice(struct z3_question *q, uint32_t r, uint32_t cell, uint32_t w,
                          Z3_ast chosen)
{
    const struct view *v = q->v;
    Z3_ast otherwise = z3_not(&q->z, chosen);

    if (w != VIEW_NONE) {
        ANY(q, otherwise, encode_in(q, w));
        if (q->branches || is_loose(q, w))
            ANY(q, otherwise, clean(q, w));
        ANY(q, otherwise, less(q, w, r));
    }
    for (uint32_t i = q->touch_first[cell]; i < q->touch_first[cell + 1]; i++) {
        uint32_t x = q->touch[i];

        if (x == w || x == r || !z3_is_inside(q, x) || !z3_is_writer(&v->events[x]))
            continue;
        ANY(q, otherwise, out(q, x), w == VIEW_NONE ? q->z.no : less(q, x, w), less(q, r, x));
    }
}

static bool may_choose(const struct z3_question *q, uint32_t r, uint32_t k, uint32_t w)
{
    return w != r && z3_is_inside(q, w) && z3_is_writer(&q->v->events[w]) &&
           cone_allows(q, r, k, w);
}

static size_t count_touches(const struct z3_question *q, uint32_t cell)
{
    return q->touch_first[cell + 1] - q->touch_first[cell];
}

static void encode_read(struct z3_question *q, uint32_t r, uint32_t k)
{
    const struct view *v = q->v;
    uint32_t cell = v->cell[k];
    Z3_ast *lits = xmalloc((count_touches(q, cell) + 3) * sizeof(Z3_ast));
    size_t n = 0;

    lits[n++] = out(q, r);
    if (q->branches || is_loose(q, r))
        lits[n++] = z3_not(&q->z, clean(q, r));
    if (cone_allows(q, r, k, VIEW_NONE)) {
        lits[n++] = new_choice(q);
        encode_choice(q, r, cell, VIEW_NONE, lits[n - 1]);
    }
    for (uint32_t i = q->touch_first[cell]; i < q->touch_first[cell + 1]; i++) {
        uint32_t w = q->touch[i];

        if (!may_choose(q, r, k, w))
            continue;
        lits[n++] = new_choice(q);
        encode_choice(q, r, cell, w, lits[n - 1]);
    }
    z3_clause(&q->z, lits, n);
    free(lits);
}

/* ---- locks ---- */

/* Section s is over before t begins. */
static Z3_ast ends_before(struct z3_question *q, const struct view_section *s,
                          const struct view_section *t)
{
    if (s->end == VIEW_NONE || !z3_is_inside(q, s->end))
        return q->z.no;
    return z3_and(&q->z, encode_in(q, s->end), less(q, s->end, t->acquire));
}

static void encode_pair(struct z3_question *q, const struct view_section *s,
                        const struct view_section *t)
{
    if (s->thread == t->thread || (s->shared && t->shared))
        return;
    ANY(q, out(q, s->acquire), out(q, t->acquire), ends_before(q, s, t), ends_before(q, t, s));
}

static void encode_lock(struct z3_question *q, uint32_t lock)
{
    const struct view *v = q->v;
    const uint32_t *list = v->lock_section + v->lock_first[lock];
    uint32_t n = v->lock_first[lock + 1] - v->lock_first[lock];

    for (uint32_t i = 0; i < n; i++) {
        if (!z3_is_inside(q, v->sections[list[i]].acquire))
            continue;
        for (uint32_t k = i + 1; k < n; k++)
            if (z3_is_inside(q, v->sections[list[k]].acquire))
                encode_pair(q, &v->sections[list[i]], &v->sections[list[k]]);
    }
}

/* ---- program order ---- */

/* Between the events of a thread that have a variable; all others just come along. */
static void encode_thread(struct z3_question *q, uint32_t thread)
{
    const struct view *v = q->v;
    uint32_t last_in = VIEW_NONE, last_clean = VIEW_NONE;
    uint32_t last = q->kept ? q->kept - 1 : VIEW_NONE;

    for (uint32_t i = 0; i < q->hi[thread]; i++) {
        uint32_t e = v->thread_event[v->thread_first[thread] + i];

        if (q->mark[e] & MARK_IN) {
            if (last_in != VIEW_NONE)
                ANY(q, out(q, e), encode_in(q, last_in));
            last_in = e;
        }
        if (q->mark[e] & MARK_CLEAN) {
            if (last_clean != VIEW_NONE)
                ANY(q, z3_not(&q->z, clean(q, e)), clean(q, last_clean));
            last_clean = e;
        }
        if (q->mark[e] & MARK_ORDER && e >= q->kept) {
            if (last != VIEW_NONE)
                ANY(q, Z3_mk_lt(q->z.context, encode_order(q, last), encode_order(q, e)));
            last = e;
        }
    }
}

/* What comes first, one after the other. */
static void encode_kept(struct z3_question *q)
{
    for (uint32_t e = 0; e < q->kept; e++)
        if (e)
            ANY(q, Z3_mk_lt(q->z.context, encode_order(q, e - 1), encode_order(q, e)));
        else
            encode_order(q, e);
}

static void encode_event(struct z3_question *q, uint32_t e)
{
    encode_needs(q, e);
    encode_branch(q, e);
    if (z3_is_reader(&q->v->events[e]))
        for (uint32_t k = q->v->cell_first[e]; k < q->v->cell_first[e + 1]; k++)
            encode_read(q, e, k);
}

void encode_question(struct z3_question *q)
{
    const struct view *v = q->v;

    q->choices = 0;
    encode_kept(q);
    for (uint32_t t = 0; t < v->nthreads; t++)
        for (uint32_t i = 0; i < q->hi[t]; i++)
            if (v->thread_event[v->thread_first[t] + i] >= q->kept)
                encode_event(q, v->thread_event[v->thread_first[t] + i]);
    for (uint32_t lock = 0; lock < v->nlocks; lock++)
        encode_lock(q, lock);
    for (uint32_t t = 0; t < v->nthreads; t++)
        encode_thread(q, t);
}
