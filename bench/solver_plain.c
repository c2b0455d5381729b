/* solver_plain.c - the papers' way: one fresh Z3 per pair over the whole window
 *
 * Algorithm 2 of the RDIT paper as it stands, without barrier pairs: an
 * integer for every event of the window, all constraints on all of them, and
 * O_a = O_b, which gets one variable as the paper advises. Reads see any write
 * of their value (without recorded values: the write they saw), or what was
 * there first. The two racing reads themselves are left free.
 *
 * What it says is right, but it finds less: also what lies behind the two
 * accesses must be possible in the same order. So it is here for its time;
 * answers are compared with the backend of engines/z3/z3_backend.c.
 */
#include "solver.h"
#include "base/alloc.h"

#include <stdlib.h>

struct plain {
    const struct view *v;
    bool values;
    uint32_t a, b;
    Z3_context c;
    Z3_solver s;
    Z3_sort integer;
};

static Z3_ast place(const struct plain *p, uint32_t e)
{
    e = e == p->b ? p->a : e;
    return Z3_mk_const(p->c, Z3_mk_int_symbol(p->c, (int)e), p->integer);
}

static Z3_ast before(const struct plain *p, uint32_t u, uint32_t v)
{
    return Z3_mk_lt(p->c, place(p, u), place(p, v));
}

static void must(const struct plain *p, Z3_ast x)
{
    Z3_solver_assert(p->c, p->s, x);
}

/* Parts 2 and 3: program order, fork and join (and the other hard edges). */
static void add_order(const struct plain *p)
{
    const struct view *v = p->v;

    for (uint32_t t = 0; t < v->nthreads; t++)
        for (uint32_t i = v->thread_first[t]; i + 1 < v->thread_first[t + 1]; i++)
            must(p, before(p, v->thread_event[i], v->thread_event[i + 1]));
    for (uint32_t e = 0; e < v->count; e++)
        for (uint32_t i = v->need_first[e]; i < v->need_first[e + 1]; i++)
            must(p, before(p, v->need[i], e));
}

/* Part 4. */
static void add_locks(const struct plain *p)
{
    const struct view *v = p->v;

    for (uint32_t l = 0; l < v->nlocks; l++)
        for (uint32_t i = v->lock_first[l]; i < v->lock_first[l + 1]; i++)
            for (uint32_t k = i + 1; k < v->lock_first[l + 1]; k++) {
                const struct view_section *s = &v->sections[v->lock_section[i]];
                const struct view_section *t = &v->sections[v->lock_section[k]];

                if (s->thread != t->thread && s->end != VIEW_NONE && t->end != VIEW_NONE)
                    must(p, Z3_mk_or(p->c, 2,
                                     (Z3_ast[]){ before(p, s->end, t->acquire),
                                                 before(p, t->end, s->acquire) }));
            }
}

static bool is_writer(const struct plain *p, uint32_t e)
{
    return op_table[p->v->events[e].op].writes || p->v->events[e].op == OP_ALLOC;
}

/* Does the write (VIEW_NONE: the beginning) give what the read saw? */
static bool gives(const struct plain *p, uint32_t w, uint32_t r, uint32_t k)
{
    const struct event *events = p->v->events;

    if (!p->values || !(events[r].flags & EV_VALUE))
        return w == p->v->writer[k];
    if (w == VIEW_NONE)
        return events[r].value == 0;
    return events[w].flags & EV_VALUE && events[w].value == events[r].value;
}

/* The write and no other in between; VIEW_NONE: no write at all before the read. */
static Z3_ast sees(const struct plain *p, uint32_t w, uint32_t r, uint32_t cell, Z3_ast *parts)
{
    const struct view *v = p->v;
    unsigned n = 0;

    if (w != VIEW_NONE)
        parts[n++] = before(p, w, r);
    for (uint32_t i = v->access_first[cell]; i < v->access_first[cell + 1]; i++) {
        uint32_t x = v->access[i];

        if (x == w || x == r || !is_writer(p, x))
            continue;
        parts[n++] = w == VIEW_NONE
                         ? before(p, r, x)
                         : Z3_mk_or(p->c, 2, (Z3_ast[]){ before(p, x, w), before(p, r, x) });
    }
    return Z3_mk_and(p->c, n, parts);
}

/* Part 5. */
static void add_read(const struct plain *p, uint32_t r, uint32_t k)
{
    const struct view *v = p->v;
    uint32_t cell = v->cell[k], n = 0;
    size_t room = v->access_first[cell + 1] - v->access_first[cell] + 2;
    Z3_ast *choices = xmalloc(room * sizeof(*choices)), *parts = xmalloc(room * sizeof(*parts));

    if (gives(p, VIEW_NONE, r, k))
        choices[n++] = sees(p, VIEW_NONE, r, cell, parts);
    for (uint32_t i = v->access_first[cell]; i < v->access_first[cell + 1]; i++)
        if (v->access[i] != r && is_writer(p, v->access[i]) && gives(p, v->access[i], r, k))
            choices[n++] = sees(p, v->access[i], r, cell, parts);
    must(p, Z3_mk_or(p->c, n, choices));
    free(choices);
    free(parts);
}

static void add_reads(const struct plain *p)
{
    const struct view *v = p->v;

    for (uint32_t e = 0; e < v->count; e++)
        if (op_table[v->events[e].op].reads && e != p->a && e != p->b)
            for (uint32_t k = v->cell_first[e]; k < v->cell_first[e + 1]; k++)
                add_read(p, e, k);
}

static void set_timeout(const struct plain *p, double seconds)
{
    Z3_params params = Z3_mk_params(p->c);

    Z3_params_inc_ref(p->c, params);
    Z3_params_set_uint(p->c, params, Z3_mk_string_symbol(p->c, "timeout"),
                       (unsigned)(seconds * 1000));
    Z3_solver_set_params(p->c, p->s, params);
    Z3_params_dec_ref(p->c, params);
}

Z3_lbool plain_decide(const struct view *v, bool values, uint32_t a, uint32_t b,
                      enum plain_kind kind, double seconds)
{
    struct plain p = { .v = v, .values = values, .a = a, .b = b };
    Z3_config config = Z3_mk_config();
    Z3_lbool answer;

    p.c = Z3_mk_context(config);
    p.integer = Z3_mk_int_sort(p.c);
    p.s = kind == PLAIN_IDL ? Z3_mk_solver_for_logic(p.c, Z3_mk_string_symbol(p.c, "QF_IDL"))
                            : Z3_mk_simple_solver(p.c);
    Z3_solver_inc_ref(p.c, p.s);
    set_timeout(&p, seconds);
    add_order(&p);
    add_locks(&p);
    add_reads(&p);
    answer = Z3_solver_check(p.c, p.s);
    Z3_solver_dec_ref(p.c, p.s);
    Z3_del_context(p.c);
    Z3_del_config(config);
    return answer;
}
