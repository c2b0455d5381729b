/* relax_values.c - the values of a schedule, and which conditions fail
 *
 * A run goes over the executed nodes in their order. What is not SAME is stamped with
 * the number of the run; all else is as recorded. Nothing is computed before a first
 * read of the thread (or of who forked it, before that) is not SAME.
 *
 * A condition fails when its value is BAD or not the recorded one. The reason is the set
 * of reads its value depends on, each with the writer it sees, through the values of
 * those writers: while all of these stay, it stays wrong. Of a BAD value one
 * cause is enough. What is SAME because nothing is expressed (opaque operations, unknown
 * values) could only become BAD: not part of the reason.
 */
#include "engines/relax_values.h"
#include "base/alloc.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

/* Pairs of a reason. Beyond, the clause is too strong, and "no" becomes "undecided": sums over
 * more reads than this with a branch on them are not decided for sure. */
enum { PAIRS_MAX = 512, FAULTS_MAX = 256, DEPTH_MAX = 64 };

/* Conditions of faults: numbers of the execution's, or this. */
#define CONDITION_PIN UINT32_MAX

struct memo {
    struct value value;
    uint32_t stamp;
};

/* Of what is to be explained: an expression, or a read touch. */
struct cause {
    uint32_t item;
    bool is_touch;
};

struct eval {
    const struct relax_facts *f;
    const struct problem *p;
    const struct exprs *x;
    uint32_t stamp;       /* of this run */
    struct memo *exprs;   /* by expression */
    struct memo *touches; /* read touches that are not SAME */
    struct memo *writes;  /* by node: what it writes, where that is not SAME */
    uint32_t *changed;    /* thread -> its first node with a read that is not SAME */
    uint32_t *changed_at; /* beside: stamp */
    struct value_run *run;
    struct value_faults *out;
    /* explaining */
    uint32_t mark;
    uint32_t *expr_mark, *touch_mark;
    struct cause *causes;
    size_t ncauses, causes_cap;
    expr *stack;
    size_t stack_cap;
};

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
    ev->writes = xcalloc((size_t)ev->p->nnodes + 1, sizeof(*ev->writes));
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

    return 52ull * f->e->x->count + 52ull * p->touch_first[p->nnodes] + 48ull * p->nnodes;
}

/* ---- who changed ---- */

/* The first read of the thread, or of who forked it before that, that is not SAME and comes before
 * a position of the trace; SOLVE_NONE. */
static uint32_t changed_before(const struct eval *ev, uint32_t thread, uint64_t position)
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

static bool is_tainted(const struct eval *ev, uint32_t node)
{
    return changed_before(ev, ev->p->thread[node], ev->f->m->event_of[node] + 1ull) != SOLVE_NONE;
}

/* ---- memory ---- */

/* What a writing touch left in its cell. */
static struct value written(const struct eval *ev, uint32_t writer, uint32_t cell)
{
    struct value v = { 0 };
    uint32_t node;

    if (writer == SOLVE_NONE) {
        v.has = ev->f->first[cell].known;
        v.v = ev->f->first[cell].value;
        return v;
    }
    node = ev->p->touches[writer].node;
    if (ev->writes[node].stamp == ev->stamp)
        v = ev->writes[node].value;
    else
        v.has = value_recorded_write(ev->f->e, ev->f->m->event_of[node], &v.v);
    v.has = v.has && touch_part(ev->f, writer, v.v, &v.v);
    if (!v.has && v.state == VALUE_OTHER)
        v.state = VALUE_BAD;
    return v;
}

/* What a read touch is worth when it sees that writer. */
static struct value seen_value(const struct eval *ev, uint32_t touch, uint32_t writer)
{
    const struct problem_touch *t = &ev->p->touches[touch];
    struct value v = written(ev, writer, t->cell);
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

static const struct value bad = { .state = VALUE_BAD };

/* Bytes of a read that a touch tells of. */
struct overlap {
    unsigned from, to; /* bytes of the leaf, [from, to) */
    unsigned cell_from;
};

static bool overlaps(const struct eval *ev, const struct expr_node *n, uint32_t touch,
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

static uint32_t node_at(const struct eval *ev, const struct expr_node *n)
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
        v = written(ev, ev->run->seen[touch] - 1, ev->p->touches[touch].cell);
    v.state = VALUE_SAME;
    return v;
}

/* Byte by byte: what is SAME from the leaf's recorded value where there is one, the rest from the
 * touches. */
static struct value eval_read(const struct eval *ev, const struct expr_node *n)
{
    uint32_t node = node_at(ev, n), bytes = n->flags & EXPR_KNOWN ? n->width / 8u : 0;
    u128 v = n->value;
    bool changed = false;
    struct overlap o;

    if (node == SOLVE_NONE)
        return same_as_recorded(n);
    for (uint32_t k = ev->p->touch_first[node]; k < ev->p->touch_first[node + 1]; k++) {
        struct value x;
        u128 mask;

        if (!overlaps(ev, n, k, &o))
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
        changed_before(ev, ev->f->view->events[position].thread, position + 1) != SOLVE_NONE)
        return bad;
    return same_as_recorded(n);
}

static unsigned operands(const struct expr_node *n)
{
    if (n->op == EX_ITE)
        return 3;
    if (n->op == EX_ZEXT || n->op == EX_SEXT || n->op == EX_EXTRACT)
        return 1;
    return n->op >= EX_OPAQUE ? 2 : 0;
}

static u128 sign_extend(u128 v, unsigned from, unsigned to)
{
    return v >> (from - 1) & 1 ? (v | ~expr_mask(from)) & expr_mask(to) : v;
}

static bool compute(const struct exprs *x, const struct expr_node *n, const struct value *in,
                    u128 *v)
{
    unsigned width = expr_get(x, n->a)->width;

    switch (n->op) {
    case EX_ZEXT:
        *v = in[0].v;
        return true;
    case EX_SEXT:
        *v = sign_extend(in[0].v, width, n->width);
        return true;
    case EX_EXTRACT:
        *v = in[0].v >> n->b & expr_mask(n->width);
        return true;
    case EX_CONCAT:
        *v = in[0].v << expr_get(x, n->b)->width | in[1].v;
        return true;
    default:
        return expr_compute((enum expr_op)n->op, width, in[0].v, in[1].v, v);
    }
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
        struct value x = { .has = n->op == EX_ITE || compute(exprs, n, in, &v) };

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
    if (n->op == EX_OPAQUE || n->op == EX_ITE || !all || !compute(exprs, n, in, &v))
        return bad;
    return known(n, v);
}

static expr operand(const struct expr_node *n, unsigned i)
{
    return i == 0 ? n->a : i == 1 ? n->b : n->c;
}

/* Its value, if those of its operands are there; else the ones missing go onto the stack. */
static bool settle(struct eval *ev, expr e, size_t *depth)
{
    const struct expr_node *n = expr_get(ev->x, e);
    unsigned count = operands(n);
    struct value in[3] = { { 0 } };
    bool ready = true;

    if (!(n->flags & EXPR_VARIES)) {
        ev->exprs[e] = (struct memo){ same_as_recorded(n), ev->stamp };
        return true;
    }
    for (unsigned i = 0; i < count; i++) {
        expr o = operand(n, i);

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

static struct value eval(struct eval *ev, expr e)
{
    size_t depth = 0;

    GROW(ev->stack, ev->stack_cap, 1);
    ev->stack[depth++] = e;
    while (depth) {
        expr top = ev->stack[depth - 1];

        if (ev->exprs[top].stamp == ev->stamp || settle(ev, top, &depth))
            depth--;
    }
    return ev->exprs[e].value;
}

/* ---- reasons ---- */

static void push_cause(struct eval *ev, uint32_t item, bool is_touch)
{
    uint32_t *mark = is_touch ? &ev->touch_mark[item] : &ev->expr_mark[item];

    if (*mark == ev->mark)
        return;
    *mark = ev->mark;
    GROW(ev->causes, ev->causes_cap, ev->ncauses + 1);
    ev->causes[ev->ncauses++] = (struct cause){ item, is_touch };
}

/* One of the node's reads that are not SAME. */
static void push_changed(struct eval *ev, uint32_t node)
{
    for (uint32_t k = ev->p->touch_first[node]; k < ev->p->touch_first[node + 1]; k++)
        if (ev->touches[k].stamp == ev->stamp) {
            push_cause(ev, k, true);
            return;
        }
}

static void push_changed_before(struct eval *ev, uint32_t thread, uint64_t position)
{
    uint32_t node = changed_before(ev, thread, position);

    if (node != SOLVE_NONE)
        push_changed(ev, node);
}

static void explain_leaf(struct eval *ev, const struct expr_node *n, enum value_state state)
{
    uint32_t node = n->op == EX_READ ? node_at(ev, n) : SOLVE_NONE;
    uint64_t position = n->b | (uint64_t)n->c << 32;
    struct overlap o;

    if (n->op == EX_UNKNOWN && state == VALUE_BAD)
        push_changed_before(ev, ev->f->view->events[position].thread, position + 1);
    for (uint32_t k = node == SOLVE_NONE ? 0 : ev->p->touch_first[node];
         node != SOLVE_NONE && k < ev->p->touch_first[node + 1]; k++)
        if (overlaps(ev, n, k, &o))
            push_cause(ev, k, true);
}

static enum value_state state_of(const struct eval *ev, expr e)
{
    return e ? (enum value_state)ev->exprs[e].value.state : VALUE_SAME;
}

/* The first operand in that state, or 0. */
static expr operand_in(const struct eval *ev, const struct expr_node *n, enum value_state state)
{
    for (unsigned i = 0; i < operands(n); i++)
        if (operand(n, i) && state_of(ev, operand(n, i)) == state)
            return operand(n, i);
    return 0;
}

static void explain_expr(struct eval *ev, expr e)
{
    const struct expr_node *n = expr_get(ev->x, e);
    enum value_state state = state_of(ev, e);
    expr one = 0;

    if (!(n->flags & EXPR_VARIES))
        return;
    if (!operands(n)) {
        explain_leaf(ev, n, state);
    } else if (n->op == EX_OPAQUE) {
        if (state == VALUE_BAD) {
            one = operand_in(ev, n, VALUE_BAD);
            push_cause(ev, one ? one : operand_in(ev, n, VALUE_OTHER), false);
        }
    } else if (n->op == EX_ITE && state_of(ev, n->a) != VALUE_BAD && ev->exprs[n->a].value.has) {
        push_cause(ev, n->a, false);
        push_cause(ev, ev->exprs[n->a].value.v ? n->b : n->c, false);
    } else {
        one = state == VALUE_BAD ? operand_in(ev, n, VALUE_BAD) : 0;
        for (unsigned i = 0; i < operands(n); i++)
            if (!one || operand(n, i) == one)
                push_cause(ev, operand(n, i), false);
    }
}

static void explain_touch(struct eval *ev, uint32_t touch)
{
    uint32_t writer = ev->run->seen[touch] - 1, node, event;
    const struct execution_event *x;

    GROW(ev->out->pairs, ev->out->pairs_cap, ev->out->npairs + 1);
    ev->out->pairs[ev->out->npairs++] = (struct value_pair){ touch, writer };
    if (writer == SOLVE_NONE)
        return;
    node = ev->p->touches[writer].node;
    event = ev->f->m->event_of[node];
    x = &ev->f->e->events[event];
    if (node < ev->run->frozen || !op_is_access(ev->f->view->events[event].op))
        return;
    if (x->known && x->value) {
        eval(ev, x->value);
        push_cause(ev, x->value, false);
    } else if (ev->writes[node].stamp == ev->stamp) {
        push_changed_before(ev, ev->p->thread[node], event + 1ull);
    }
}

/* A fault of the condition, with the reason for what was pushed. */
static void report(struct eval *ev, uint32_t node, uint32_t condition)
{
    struct value_faults *out = ev->out;
    uint32_t first = (uint32_t)out->npairs;

    while (ev->ncauses) {
        struct cause c = ev->causes[--ev->ncauses];

        ev->run->work++;
        if (out->npairs - first >= PAIRS_MAX)
            out->cut = true;
        else if (c.is_touch)
            explain_touch(ev, c.item);
        else
            explain_expr(ev, c.item);
    }
    GROW(out->faults, out->cap, out->count + 1);
    out->faults[out->count++] =
        (struct value_fault){ node == ev->run->a || node == ev->run->b ? SOLVE_NONE : node,
                              condition, first, (uint32_t)out->npairs - first };
}

static bool is_full(const struct eval *ev)
{
    return !ev->out || ev->out->count >= FAULTS_MAX;
}

/* ---- a run ---- */

static bool holds(struct eval *ev, const struct execution_condition *c)
{
    struct value v = eval(ev, c->value);

    if (c->is_new)
        return v.state != VALUE_BAD && v.has && v.v == c->recorded;
    if (v.state == VALUE_SAME)
        return true;
    return v.state == VALUE_OTHER && c->is_known && v.v == c->recorded;
}

/* Code that is not known may depend on what its thread was given. */
static void check_creators(struct eval *ev, uint32_t node)
{
    uint32_t thread = ev->p->thread[node];
    uint32_t changed = changed_before(ev, ev->f->parent[thread], ev->f->forked[thread]);

    if (changed == SOLVE_NONE)
        return;
    ev->mark++;
    push_changed(ev, changed);
    report(ev, node, CONDITION_PIN);
}

/* What must hold before the node. */
static void check_conditions(struct eval *ev, uint32_t node)
{
    const struct relax_facts *f = ev->f;

    if (f->pinned[node] && !is_full(ev))
        check_creators(ev, node);
    if (is_full(ev) || f->condition_first[node] == f->condition_first[node + 1])
        return;
    bool tainted = is_tainted(ev, node);
    for (uint32_t k = f->condition_first[node]; k < f->condition_first[node + 1]; k++) {
        const struct execution_condition *c = &f->e->conditions[f->condition[k]];

        if ((!tainted && !c->is_new) || holds(ev, c))
            continue;
        ev->mark++;
        push_cause(ev, c->value, false);
        report(ev, node, f->condition[k]);
    }
}

static void fault_of_touch(struct eval *ev, uint32_t touch, uint32_t node)
{
    if (is_full(ev))
        return;
    ev->mark++;
    push_cause(ev, touch, true);
    report(ev, node, CONDITION_PIN);
}

/* Is the node executed, or one of the two? */
static bool is_due(const struct eval *ev, const uint32_t *executed, uint32_t node)
{
    return node != SOLVE_NONE && (executed[ev->p->thread[node]] > ev->p->rank[node] ||
                                  node == ev->run->a || node == ev->run->b);
}

static void take_reads(struct eval *ev, uint32_t node, const uint32_t *executed)
{
    const struct problem *p = ev->p;
    bool is_call = ev->f->view->events[ev->f->m->event_of[node]].op == OP_CALL;

    for (uint32_t k = p->touch_first[node]; k < p->touch_first[node + 1]; k++) {
        uint32_t thread = p->thread[node];
        struct value v;

        if (!(p->touches[k].flags & TOUCH_READS))
            continue;
        v = seen_value(ev, k, ev->run->seen[k] - 1);
        if (v.state == VALUE_SAME)
            continue;
        ev->touches[k] = (struct memo){ v, ev->stamp };
        if (!is_call && ev->changed_at[thread] != ev->stamp) {
            ev->changed_at[thread] = ev->stamp;
            ev->changed[thread] = node;
        }
        if (is_call || is_due(ev, executed, ev->f->pin[node]))
            fault_of_touch(ev, k, is_call ? node : ev->f->pin[node]);
    }
}

static void take_writes(struct eval *ev, uint32_t node)
{
    uint32_t event = ev->f->m->event_of[node];
    const struct execution_event *x = &ev->f->e->events[event];
    const struct event *e = &ev->f->view->events[event];
    struct value v = bad;
    u128 recorded;

    if (!op_is_access(e->op) || !op_table[e->op].writes ||
        (!is_tainted(ev, node) && value_recorded_write(ev->f->e, event, &recorded)))
        return;
    if (x->known && x->value)
        v = eval(ev, x->value);
    else if (!is_tainted(ev, node))
        return;
    if (v.state != VALUE_SAME || v.has)
        ev->writes[node] = (struct memo){ v, ev->stamp };
}

static void next_stamp(struct eval *ev)
{
    if (++ev->stamp)
        return;
    memset(ev->exprs, 0, (size_t)ev->x->count * sizeof(*ev->exprs));
    memset(ev->touches, 0, (size_t)ev->p->touch_first[ev->p->nnodes] * sizeof(*ev->touches));
    memset(ev->writes, 0, (size_t)ev->p->nnodes * sizeof(*ev->writes));
    memset(ev->changed_at, 0, (size_t)ev->p->nthreads * sizeof(*ev->changed_at));
    ev->stamp = 1;
}

void eval_check(void *arg, struct value_run *run, struct value_faults *out)
{
    struct eval *ev = arg;
    uint32_t *executed = xcalloc((size_t)ev->p->nthreads + 1, sizeof(*executed));

    ev->run = run;
    ev->out = out;
    next_stamp(ev);
    for (uint32_t n = 0; n < run->frozen; n++)
        executed[ev->p->thread[n]]++;
    for (uint32_t i = 0; i < run->count; i++)
        executed[ev->p->thread[run->order[i]]]++;
    for (uint32_t i = 0; i < run->count; i++) {
        check_conditions(ev, run->order[i]);
        take_reads(ev, run->order[i], executed);
        take_writes(ev, run->order[i]);
    }
    if (run->a != SOLVE_NONE)
        check_conditions(ev, run->a);
    if (run->b != SOLVE_NONE)
        check_conditions(ev, run->b);
    run->work += run->count;
    free(executed);
}

/* ---- one read alone ---- */

/* What the writer writes in any case; false: it depends on others. */
static bool written_always(const struct eval *ev, uint32_t writer)
{
    const struct execution_event *x;

    if (writer == SOLVE_NONE)
        return true;
    x = &ev->f->e->events[ev->f->m->event_of[ev->p->touches[writer].node]];
    return !(x->known && x->value && expr_varies(ev->x, x->value));
}

bool eval_is_wrong(void *arg, uint32_t condition, uint32_t read, uint32_t writer)
{
    struct eval *ev = arg;
    struct value_run run = { .a = SOLVE_NONE, .b = SOLVE_NONE };
    uint32_t node = ev->p->touches[read].node;
    struct value v;
    bool wrong;

    if (!written_always(ev, writer))
        return false;
    ev->run = &run;
    next_stamp(ev);
    v = seen_value(ev, read, writer);
    if (v.state == VALUE_SAME)
        return false;
    if (condition == CONDITION_PIN)
        return true;
    ev->touches[read] = (struct memo){ v, ev->stamp };
    ev->changed_at[ev->p->thread[node]] = ev->stamp;
    ev->changed[ev->p->thread[node]] = node;
    wrong = !holds(ev, &ev->f->e->conditions[condition]);
    next_stamp(ev);
    return wrong;
}

/* ---- what changed ---- */

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
    push_cause(ev, c->value, false);
    while (ev->ncauses) {
        const struct expr_node *n = expr_get(ev->x, ev->causes[--ev->ncauses].item);
        const uint32_t *i = n->op == EX_READ ? map_get(at, n->a | (uint64_t)n->b << 32) : NULL;

        if (i && list[*i].branch == CHANGE_NONE)
            list[*i].branch = c->event;
        for (unsigned k = 0; k < operands(n); k++)
            if (operand(n, k) && expr_varies(ev->x, operand(n, k)))
                push_cause(ev, operand(n, k), false);
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
