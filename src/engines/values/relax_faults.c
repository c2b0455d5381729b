/* relax_faults.c - which conditions of a schedule fail, and why
 *
 * A condition fails when its value is BAD or not the recorded one. The reason is the set
 * of reads its value depends on, each with the writer it sees, through the values of
 * those writers: while all of these stay, it stays wrong. Of a BAD value one
 * cause is enough. What is SAME because nothing is expressed (opaque operations, unknown
 * values) could only become BAD: not part of the reason.
 */
#include "engines/values/relax_inside.h"
#include "base/alloc.h"

#include <stdlib.h>

/* Pairs of a reason. Beyond, the clause is too strong, and "no" becomes "undecided": a branch on a
 * sum over more reads than this is not decided for sure. Faults of one run, and their pairs: one
 * that the next order violates would be enough; more save runs. */
enum { PAIRS_MAX = 16384, FAULTS_MAX = 256, RUN_PAIRS_MAX = 8192 };

/* ---- reasons ---- */

void eval_push_cause(struct eval *ev, uint32_t item, bool is_touch)
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
            eval_push_cause(ev, k, true);
            return;
        }
}

static void push_changed_before(struct eval *ev, uint32_t thread, uint64_t position)
{
    uint32_t node = eval_changed_before(ev, thread, position);

    if (node != SOLVE_NONE)
        push_changed(ev, node);
}

static void explain_leaf(struct eval *ev, const struct expr_node *n, enum value_state state)
{
    uint32_t node = n->op == EX_READ ? eval_node_at(ev, n) : SOLVE_NONE;
    uint64_t position = n->b | (uint64_t)n->c << 32;
    struct overlap o;

    if (n->op == EX_UNKNOWN && state == VALUE_BAD)
        push_changed_before(ev, ev->f->view->events[position].thread, position + 1);
    for (uint32_t k = node == SOLVE_NONE ? 0 : ev->p->touch_first[node];
         node != SOLVE_NONE && k < ev->p->touch_first[node + 1]; k++)
        if (eval_overlaps(ev, n, k, &o))
            eval_push_cause(ev, k, true);
}

static enum value_state state_of(const struct eval *ev, expr e)
{
    return e ? (enum value_state)ev->exprs[e].value.state : VALUE_SAME;
}

/* The first operand in that state, or 0. */
static expr operand_in(const struct eval *ev, const struct expr_node *n, enum value_state state)
{
    for (unsigned i = 0; i < eval_operands(n); i++)
        if (eval_operand(n, i) && state_of(ev, eval_operand(n, i)) == state)
            return eval_operand(n, i);
    return 0;
}

static void explain_expr(struct eval *ev, expr e)
{
    const struct expr_node *n = expr_get(ev->x, e);
    enum value_state state = state_of(ev, e);
    expr one = 0;

    if (!(n->flags & EXPR_VARIES))
        return;
    if (!eval_operands(n)) {
        explain_leaf(ev, n, state);
    } else if (n->op == EX_OPAQUE) {
        if (state == VALUE_BAD) {
            one = operand_in(ev, n, VALUE_BAD);
            eval_push_cause(ev, one ? one : operand_in(ev, n, VALUE_OTHER), false);
        }
    } else if (n->op == EX_ITE && state_of(ev, n->a) != VALUE_BAD && ev->exprs[n->a].value.has) {
        eval_push_cause(ev, n->a, false);
        eval_push_cause(ev, ev->exprs[n->a].value.v ? n->b : n->c, false);
    } else {
        one = state == VALUE_BAD ? operand_in(ev, n, VALUE_BAD) : 0;
        for (unsigned i = 0; i < eval_operands(n); i++)
            if (!one || eval_operand(n, i) == one)
                eval_push_cause(ev, eval_operand(n, i), false);
    }
}

static void explain_touch(struct eval *ev, uint32_t touch)
{
    uint32_t writer = ev->run->seen[touch] - 1, node, event;
    const struct execution_event *x;
    struct touch_pieces p;
    unsigned n;

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
        eval_expr(ev, x->value);
        eval_push_cause(ev, x->value, false);
    } else if ((n = touch_pieces(ev->f, writer, &p)) > 0) {
        for (unsigned i = 0; i < n; i++) {
            eval_expr(ev, p.list[i]);
            eval_push_cause(ev, p.list[i], false);
        }
    } else if (ev->writes[writer].stamp == ev->stamp) {
        push_changed_before(ev, ev->p->thread[node], event + 1ull);
    }
}

/* A fault of the condition, with the reason for what was pushed. */
static void relax_faults_report(struct eval *ev, uint32_t node, uint32_t condition)
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
    return !ev->out || ev->out->count >= FAULTS_MAX || ev->out->npairs >= RUN_PAIRS_MAX;
}

/* ---- a run ---- */

/* Code that is not known may depend on what its thread was given. */
static void check_creators(struct eval *ev, uint32_t node)
{
    uint32_t thread = ev->p->thread[node];
    uint32_t changed = eval_changed_before(ev, ev->f->parent[thread], ev->f->forked[thread]);

    if (changed == SOLVE_NONE)
        return;
    ev->mark++;
    push_changed(ev, changed);
    relax_faults_report(ev, node, CONDITION_PIN);
}

/* What must hold before the node. */
static void check_conditions(struct eval *ev, uint32_t node)
{
    const struct relax_facts *f = ev->f;

    if (f->pinned[node] && !is_full(ev))
        check_creators(ev, node);
    if (is_full(ev) || f->condition_first[node] == f->condition_first[node + 1])
        return;
    bool tainted = eval_is_tainted(ev, node);
    for (uint32_t k = f->condition_first[node]; k < f->condition_first[node + 1]; k++) {
        const struct execution_condition *c = &f->e->conditions[f->condition[k]];

        if ((!tainted && !c->is_new) || eval_holds(ev, c))
            continue;
        ev->mark++;
        eval_push_cause(ev, c->value, false);
        relax_faults_report(ev, node, f->condition[k]);
    }
}

static void fault_of_touch(struct eval *ev, uint32_t touch, uint32_t node)
{
    if (is_full(ev))
        return;
    ev->mark++;
    eval_push_cause(ev, touch, true);
    relax_faults_report(ev, node, CONDITION_PIN);
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
        v = eval_seen(ev, k, ev->run->seen[k] - 1);
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

/* What a writing touch of a write with one value leaves. */
static struct value part_of(const struct eval *ev, uint32_t touch, struct value v)
{
    v.has = v.has && touch_part(ev->f, touch, v.v, &v.v);
    if (!v.has && v.state == VALUE_OTHER)
        v.state = VALUE_BAD;
    return v;
}

static struct value pieces_value(struct eval *ev, const struct touch_pieces *p, unsigned n)
{
    struct value v = { .state = VALUE_SAME, .has = true };
    u128 values[PIECES_OF_CELL];

    for (unsigned i = 0; i < n; i++) {
        struct value x = eval_expr(ev, p->list[i]);

        v.state = x.state > v.state ? x.state : v.state;
        v.has &= x.has;
        values[i] = x.v;
    }
    v.v = join_pieces(p, values, n);
    return v.state == VALUE_BAD || (v.state == VALUE_OTHER && !v.has) ? bad : v;
}

static void take_write(struct eval *ev, uint32_t touch, const struct execution_event *x,
                       bool tainted)
{
    struct value v = bad;
    struct touch_pieces p;
    unsigned n;
    u128 recorded;

    if (!tainted && value_recorded_part(ev->f, touch, &recorded))
        return;
    n = x->known && !x->value ? touch_pieces(ev->f, touch, &p) : 0;
    if (x->known && x->value)
        v = part_of(ev, touch, eval_expr(ev, x->value));
    else if (n)
        v = pieces_value(ev, &p, n);
    else if (!tainted)
        return;
    if (v.state != VALUE_SAME || v.has)
        ev->writes[touch] = (struct memo){ v, ev->stamp };
}

static void take_writes(struct eval *ev, uint32_t node)
{
    uint32_t event = ev->f->m->event_of[node];
    const struct event *e = &ev->f->view->events[event];
    bool tainted;

    if (!op_is_access(e->op) || !op_table[e->op].writes)
        return;
    tainted = eval_is_tainted(ev, node);
    for (uint32_t k = ev->p->touch_first[node]; k < ev->p->touch_first[node + 1]; k++)
        if (ev->p->touches[k].flags & TOUCH_WRITES)
            take_write(ev, k, &ev->f->e->events[event], tainted);
}

void eval_check(void *arg, struct value_run *run, struct value_faults *out)
{
    struct eval *ev = arg;
    uint32_t *executed = xcalloc((size_t)ev->p->nthreads + 1, sizeof(*executed));

    ev->run = run;
    ev->out = out;
    eval_next(ev);
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
    struct touch_pieces p;
    unsigned n;

    if (writer == SOLVE_NONE)
        return true;
    x = &ev->f->e->events[ev->f->m->event_of[ev->p->touches[writer].node]];
    n = x->value ? 0 : touch_pieces(ev->f, writer, &p);
    for (unsigned i = 0; i < n; i++)
        if (expr_varies(ev->x, p.list[i]))
            return false;
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
    eval_next(ev);
    v = eval_seen(ev, read, writer);
    if (v.state == VALUE_SAME)
        return false;
    if (condition == CONDITION_PIN)
        return true;
    ev->touches[read] = (struct memo){ v, ev->stamp };
    ev->changed_at[ev->p->thread[node]] = ev->stamp;
    ev->changed[ev->p->thread[node]] = node;
    wrong = !eval_holds(ev, &ev->f->e->conditions[condition]);
    eval_next(ev);
    return wrong;
}
