/* relax_values.c - the values of a schedule
 *
 * A run goes over the executed nodes in their order. What is not SAME is stamped with
 * the number of the run; all else is as recorded. Nothing is computed before a first
 * read of the thread (or of who forked it, before that) is not SAME.
 */
#include "engines/values/relax_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 }; /* creators of creators */

struct eval *eval_new(const struct relax_facts *f)
{
    struct eval *ev = xcalloc(1, sizeof(*ev));
    size_t touches;

    ev->f = f;
    ev->p = &f->m->problem;
    ev->x = f->e->x;
    touches = (size_t)ev->p->touch_first[ev->p->nnodes] + 1;
    ev->exprs = xcalloc((size_t)ev->x->count + 1, sizeof(*ev->exprs));
    ev->touches = xcalloc(touches, sizeof(*ev->touches));
    ev->writes = xcalloc(touches, sizeof(*ev->writes));
    ev->changed = xcalloc((size_t)ev->p->nthreads + 1, sizeof(*ev->changed));
    ev->changed_at = xcalloc((size_t)ev->p->nthreads + 1, sizeof(*ev->changed_at));
    ev->expr_mark = xcalloc((size_t)ev->x->count + 1, sizeof(*ev->expr_mark));
    ev->touch_mark = xcalloc(touches, sizeof(*ev->touch_mark));
    return ev;
}

void eval_free(struct eval *ev)
{
    if (!ev)
        return;
    free(ev->exprs);
    free(ev->touches);
    free(ev->writes);
    free(ev->changed);
    free(ev->changed_at);
    free(ev->expr_mark);
    free(ev->touch_mark);
    free(ev->causes);
    free(ev->stack);
    free(ev);
}

uint64_t eval_bytes(const struct relax_facts *f)
{
    const struct problem *p = &f->m->problem;

    return 52ull * f->e->x->count + 100ull * p->touch_first[p->nnodes];
}

/* ---- who changed ---- */

/* The first read of the thread, or of who forked it before that, that is not SAME and comes before
 * a position of the trace; SOLVE_NONE. */
uint32_t eval_changed_before(const struct eval *ev, uint32_t thread, uint64_t position)
{
    for (int depth = 0; depth < DEPTH_MAX && thread < ev->p->nthreads; depth++) {
        if (ev->changed_at[thread] == ev->stamp &&
            ev->f->m->event_of[ev->changed[thread]] < position)
            return ev->changed[thread];
        position = ev->f->forked[thread];
        thread = ev->f->parent[thread];
    }
    return SOLVE_NONE;
}

bool eval_is_tainted(const struct eval *ev, uint32_t node)
{
    return eval_changed_before(ev, ev->p->thread[node], ev->f->m->event_of[node] + 1ull) !=
           SOLVE_NONE;
}

/* ---- memory ---- */

/* What a writing touch left in its cell. */
struct value eval_written(const struct eval *ev, uint32_t writer, uint32_t cell)
{
    struct value v = { 0 };

    if (writer == SOLVE_NONE) {
        v.has = ev->f->first[cell].known;
        v.v = ev->f->first[cell].value;
        return v;
    }
    if (ev->writes[writer].stamp == ev->stamp)
        return ev->writes[writer].value;
    v.has = value_recorded_part(ev->f, writer, &v.v);
    return v;
}

/* What a read touch is worth when it sees that writer. */
struct value eval_seen(const struct eval *ev, uint32_t touch, uint32_t writer)
{
    const struct problem_touch *t = &ev->p->touches[touch];
    struct value v = eval_written(ev, writer, t->cell);
    uint64_t recorded;
    u128 part;

    if (v.state == VALUE_SAME && writer == t->writer && !ev->f->odd[touch])
        return v;
    if (v.state == VALUE_BAD || !v.has)
        return (struct value){ .state = VALUE_BAD };
    v.state = VALUE_OTHER;
    if (value_recorded_read(&ev->f->view->events[ev->f->m->event_of[t->node]], &recorded) &&
        touch_part(ev->f, touch, recorded, &part) && part == v.v)
        v.state = VALUE_SAME;
    return v;
}

/* ---- expressions ---- */

static struct value same_as_recorded(const struct expr_node *n)
{
    return (struct value){ n->value, VALUE_SAME, n->flags & EXPR_KNOWN };
}

static struct value known(const struct expr_node *n, u128 v)
{
    bool same = n->flags & EXPR_KNOWN && n->value == v;

    return (struct value){ v, same ? VALUE_SAME : VALUE_OTHER, true };
}

bool eval_overlaps(const struct eval *ev, const struct expr_node *n, uint32_t touch,
                   struct overlap *o)
{
    const struct problem_touch *t = &ev->p->touches[touch];
    const struct view_cell *c = &ev->f->view->cells[ev->f->m->view_cell[t->cell]];
    uint64_t first = ev->f->view->events[ev->f->m->event_of[t->node]].target + n->c;
    uint64_t last = first + n->width / 8u, from = c->address, to = c->address + c->bytes;

    if (!(t->flags & TOUCH_READS) || to <= first || from >= last)
        return false;
    o->from = from > first ? (unsigned)(from - first) : 0;
    o->to = to < last ? (unsigned)(to - first) : n->width / 8u;
    o->cell_from = from < first ? (unsigned)(first - from) : 0;
    return true;
}

uint32_t eval_node_at(const struct eval *ev, const struct expr_node *n)
{
    uint64_t position = n->a | (uint64_t)n->b << 32;

    return position < ev->f->view->count ? ev->f->m->node_of[position] : SOLVE_NONE;
}

/* What a touch is worth in this run. */
static struct value touch_value(const struct eval *ev, uint32_t touch)
{
    struct value v = { 0 };

    if (ev->touches[touch].stamp == ev->stamp)
        return ev->touches[touch].value;
    if (ev->run->seen && ev->p->touches[touch].node >= ev->run->frozen)
        v = eval_written(ev, ev->run->seen[touch] - 1, ev->p->touches[touch].cell);
    v.state = VALUE_SAME;
    return v;
}

/* Byte by byte: what is SAME from the leaf's recorded value where there is one, the rest from the
 * touches. */
static struct value eval_read(const struct eval *ev, const struct expr_node *n)
{
    uint32_t node = eval_node_at(ev, n), bytes = n->flags & EXPR_KNOWN ? n->width / 8u : 0;
    u128 v = n->value;
    bool changed = false;
    struct overlap o;

    if (node == SOLVE_NONE)
        return same_as_recorded(n);
    for (uint32_t k = ev->p->touch_first[node]; k < ev->p->touch_first[node + 1]; k++) {
        struct value x;
        u128 mask;

        if (!eval_overlaps(ev, n, k, &o))
            continue;
        x = touch_value(ev, k);
        changed |= x.state != VALUE_SAME;
        if (x.state == VALUE_BAD)
            return bad;
        if (!x.has || (x.state == VALUE_SAME && n->flags & EXPR_KNOWN))
            continue;
        mask = expr_mask(8 * (o.to - o.from));
        v &= ~(mask << 8 * o.from);
        v |= (x.v >> 8 * o.cell_from & mask) << 8 * o.from;
        bytes += n->flags & EXPR_KNOWN ? 0 : o.to - o.from;
    }
    if (changed)
        return bytes == n->width / 8u ? known(n, v) : bad;
    return (struct value){ v, VALUE_SAME, bytes == n->width / 8u };
}

static struct value eval_unknown(const struct eval *ev, const struct expr_node *n)
{
    uint64_t position = n->b | (uint64_t)n->c << 32;

    if (position < ev->f->view->count &&
        eval_changed_before(ev, ev->f->view->events[position].thread, position + 1) != SOLVE_NONE)
        return bad;
    return same_as_recorded(n);
}

unsigned eval_operands(const struct expr_node *n)
{
    return n->op == EX_OPAQUE ? 2 : expr_arity((enum expr_op)n->op);
}

/* From the values of the operands. */
static struct value apply(const struct exprs *exprs, const struct expr_node *n,
                          const struct value *in, unsigned count)
{
    bool same = true, all = true;
    u128 v;

    for (unsigned i = 0; i < count; i++) {
        same &= in[i].state == VALUE_SAME;
        all &= in[i].has;
    }
    if (same && (n->flags & EXPR_KNOWN || !all || n->op == EX_OPAQUE))
        return same_as_recorded(n);
    if (same) { /* of code that did not run: nothing is recorded */
        struct value x = { .has = n->op == EX_ITE || expr_apply(exprs, n, in[0].v, in[1].v, &v) };

        x.v = n->op == EX_ITE ? in[in[0].v ? 1 : 2].v : v;
        return x;
    }
    if (n->op == EX_ITE && in[0].state != VALUE_BAD && in[0].has) {
        const struct value *taken = &in[in[0].v ? 1 : 2];

        return taken->state != VALUE_BAD && taken->has ? known(n, taken->v) : bad;
    }
    for (unsigned i = 0; i < count; i++)
        if (in[i].state == VALUE_BAD)
            return bad;
    if (n->op == EX_OPAQUE || n->op == EX_ITE || !all ||
        !expr_apply(exprs, n, in[0].v, in[1].v, &v))
        return bad;
    return known(n, v);
}

expr eval_operand(const struct expr_node *n, unsigned i)
{
    return i == 0 ? n->a : i == 1 ? n->b : n->c;
}

/* Its value, if those of its operands are there; else the ones missing go onto the stack. */
static bool relax_values_settle(struct eval *ev, expr e, size_t *depth)
{
    const struct expr_node *n = expr_get(ev->x, e);
    unsigned count = eval_operands(n);
    struct value in[3] = { { 0 } };
    bool ready = true;

    if (!(n->flags & EXPR_VARIES)) {
        ev->exprs[e] = (struct memo){ same_as_recorded(n), ev->stamp };
        return true;
    }
    for (unsigned i = 0; i < count; i++) {
        expr o = eval_operand(n, i);

        if (o && ev->exprs[o].stamp != ev->stamp) {
            GROW(ev->stack, ev->stack_cap, *depth + 1);
            ev->stack[(*depth)++] = o;
            ready = false;
        } else if (o) {
            in[i] = ev->exprs[o].value;
        }
    }
    if (!ready)
        return false;
    ev->run->work++;
    ev->exprs[e].stamp = ev->stamp;
    ev->exprs[e].value = n->op == EX_READ      ? eval_read(ev, n)
                         : n->op == EX_UNKNOWN ? eval_unknown(ev, n)
                         : count               ? apply(ev->x, n, in, count)
                                               : same_as_recorded(n);
    return true;
}

struct value eval_expr(struct eval *ev, expr e)
{
    size_t depth = 0;

    GROW(ev->stack, ev->stack_cap, 1);
    ev->stack[depth++] = e;
    while (depth) {
        expr top = ev->stack[depth - 1];

        if (ev->exprs[top].stamp == ev->stamp || relax_values_settle(ev, top, &depth))
            depth--;
    }
    return ev->exprs[e].value;
}

/* ---- conditions ---- */

bool eval_holds(struct eval *ev, const struct execution_condition *c)
{
    struct value v = eval_expr(ev, c->value);

    if (c->is_new)
        return v.state != VALUE_BAD && v.has && v.v == c->recorded;
    if (v.state == VALUE_SAME)
        return true;
    return v.state == VALUE_OTHER && c->is_known && v.v == c->recorded;
}

void eval_next(struct eval *ev)
{
    if (++ev->stamp)
        return;
    memset(ev->exprs, 0, (size_t)ev->x->count * sizeof(*ev->exprs));
    memset(ev->touches, 0, (size_t)ev->p->touch_first[ev->p->nnodes] * sizeof(*ev->touches));
    memset(ev->writes, 0, (size_t)ev->p->touch_first[ev->p->nnodes] * sizeof(*ev->writes));
    memset(ev->changed_at, 0, (size_t)ev->p->nthreads * sizeof(*ev->changed_at));
    ev->stamp = 1;
}
