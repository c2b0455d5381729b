/* recipe_program.c - small random programs as executions, and an exhaustive search over them */
#include "recipe_program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "execution/program.h"
#include "rng.h"

enum { VALUES = 16, STATES_MAX = 400000 };

/* ---- making one ---- */

struct making {
    struct random_program *p;
    struct rng rng;
    size_t n, nconditions;
    expr values[PROGRAM_THREADS][VALUES]; /* of 64 bits, that a thread may use */
    unsigned nvalues[PROGRAM_THREADS];
    bool alive[PROGRAM_THREADS];
    int holds[PROGRAM_THREADS]; /* lock, or -1 */
    int owner[PROGRAM_LOCKS];
    uint8_t memory[PROGRAM_BYTES];
    struct execution_condition later[PROGRAM_THREADS][4];
    unsigned nlater[PROGRAM_THREADS];
};

static void add_value(struct making *m, unsigned t, expr e)
{
    if (m->nvalues[t] < VALUES)
        m->values[t][m->nvalues[t]++] = expr_resize(&m->p->x, 64, e);
}

static expr unknown(struct making *m)
{
    struct exprs *x = &m->p->x;
    expr e = expr_unknown(x, 64);

    x->nodes[e].flags |= EXPR_VARIES;
    x->nodes[e].b = m->n ? (uint32_t)m->n - 1 : 0;
    if (rng_percent(&m->rng, 50))
        expr_set_value(x, e, rng_below(&m->rng, 4));
    return e;
}

static expr random_expr(struct making *m, unsigned t, unsigned depth)
{
    static const enum expr_op ops[] = { EX_ADD, EX_SUB,  EX_MUL,  EX_AND,  EX_OR,   EX_XOR,
                                        EX_SHL, EX_LSHR, EX_UDIV, EX_SREM, EX_SDIV, EX_ASHR };
    struct exprs *x = &m->p->x;
    expr a, b;

    if (depth == 0 || rng_percent(&m->rng, 25)) {
        if (m->nvalues[t] && rng_percent(&m->rng, 75))
            return m->values[t][rng_below(&m->rng, m->nvalues[t])];
        return expr_const(x, 64, rng_below(&m->rng, 4));
    }
    a = random_expr(m, t, depth - 1);
    b = random_expr(m, t, depth - 1);
    switch (rng_below(&m->rng, 12)) {
    case 0:
        return expr_ite(x, expr_binary(x, EX_ULT, a, b), a, random_expr(m, t, depth - 1));
    case 1: {
        u128 v;
        expr e = expr_opaque(x, 64, 1, a, rng_percent(&m->rng, 50) ? b : 0);
        if (expr_value(x, a, &v))
            expr_set_value(x, e, rng_below(&m->rng, 4));
        return e;
    }
    case 2:
        return expr_resize(x, 64, expr_extract(x, a, 0, 8));
    case 3:
        return expr_extend(x, EX_SEXT, 64, expr_extract(x, a, 0, rng_between(&m->rng, 1, 3)));
    default:
        return expr_binary(x, ops[rng_below(&m->rng, sizeof(ops) / sizeof(*ops))], a, b);
    }
}

/* One with a recorded value, mostly one that varies. */
static expr known_expr(struct making *m, unsigned t, u128 *v)
{
    for (int i = 0; i < 20; i++) {
        expr e = random_expr(m, t, 3);

        if (expr_value(&m->p->x, e, v) && (i > 10 || expr_varies(&m->p->x, e)))
            return e;
    }
    *v = 1;
    return expr_const(&m->p->x, 64, 1);
}

static expr random_test(struct making *m, unsigned t, u128 *v)
{
    static const enum expr_op ops[] = { EX_EQ, EX_NE, EX_ULT, EX_SLT, EX_ULE, EX_SLE };
    struct exprs *x = &m->p->x;
    expr e = known_expr(m, t, v);
    expr k = expr_const(x, 64, rng_percent(&m->rng, 60) ? *v & 3 : rng_below(&m->rng, 4));

    e = expr_binary(x, ops[rng_below(&m->rng, sizeof(ops) / sizeof(*ops))], e, k);
    expr_value(x, e, v);
    return e;
}

static void put_condition(struct making *m, const struct execution_condition *c)
{
    m->p->conditions[m->nconditions++] = *c;
}

static struct execution_condition condition(struct making *m, unsigned t, uint8_t kind)
{
    struct execution_condition c = { .kind = kind, .event = (uint32_t)m->n, .is_known = true };

    c.value = random_test(m, t, &c.recorded);
    return c;
}

static void condition_later(struct making *m, unsigned t, uint8_t kind)
{
    struct execution_condition c = condition(m, t, kind);

    if (expr_varies(&m->p->x, c.value) && m->nlater[t] < 4)
        m->later[t][m->nlater[t]++] = c;
}

static struct event *new_event(struct making *m, unsigned t, uint8_t op)
{
    struct random_program *p = m->p;
    struct event *e = &p->events[m->n];
    struct execution_event *x = &p->about[m->n];

    *e = (struct event){ .thread = t, .op = op, .site = (uint32_t)m->n };
    *x = (struct execution_event){ .known = !rng_percent(&m->rng, 4) };
    p->condition_first[m->n] = (uint32_t)m->nconditions;
    for (unsigned i = 0; i < m->nlater[t]; i++)
        put_condition(m, &m->later[t][i]);
    m->nlater[t] = 0;
    return e;
}

static void choose_place(struct making *m, struct event *e)
{
    static const unsigned sizes[] = { 1, 2, 4, 8, 8, 8, 8 };

    e->size = sizes[rng_below(&m->rng, 7)];
    e->target = NAMED_BASE + 8 * (rng_percent(&m->rng, 60) ? 0 : rng_below(&m->rng, 3));
    if (e->size < 8)
        e->target += e->size * rng_below(&m->rng, e->size == 4 ? 2 : 3);
}

static uint64_t get(const uint8_t *memory, const struct event *e)
{
    uint64_t v = 0;

    memcpy(&v, memory + (e->target - NAMED_BASE), e->size);
    return v;
}

static void put(uint8_t *memory, const struct event *e, uint64_t v)
{
    memcpy(memory + (e->target - NAMED_BASE), &v, e->size);
}

static void make_read(struct making *m, unsigned t, struct event *e, uint64_t *recorded)
{
    struct execution_event *x = &m->p->about[m->n];
    struct exprs *g = &m->p->x;
    expr r = expr_read(g, 8 * e->size, m->n, 0);

    *recorded = get(m->memory, e);
    expr_set_value(g, r, *recorded);
    if (rng_percent(&m->rng, 6) && e->op != OP_RMW) {
        x->value = x->old = x->address = 0; /* swallowed by a library function */
        return;
    }
    x->address = expr_const(g, 64, e->target);
    x->value = x->old = r;
    add_value(m, t, r);
}

static void make_write(struct making *m, unsigned t, struct event *e)
{
    struct execution_event *x = &m->p->about[m->n];
    u128 v;

    x->value = expr_resize(&m->p->x, 8 * e->size, known_expr(m, t, &v));
    expr_value(&m->p->x, x->value, &v);
    x->address = expr_const(&m->p->x, 64, e->target);
    e->value = (uint64_t)v;
    e->flags |= EV_VALUE;
    put(m->memory, e, e->value);
    if (rng_percent(&m->rng, 8))
        x->value = 0;
}

static void make_access(struct making *m, unsigned t)
{
    static const uint8_t ops[] = { OP_READ,  OP_READ, OP_READ,  OP_WRITE, OP_WRITE,
                                   OP_WRITE, OP_LOAD, OP_STORE, OP_RMW };
    struct event *e = new_event(m, t, ops[rng_below(&m->rng, 9)]);
    struct execution_condition c;
    uint64_t old;

    if (op_is_atomic(e->op))
        e->order = ORDER_RELAXED;
    choose_place(m, e);
    if (rng_percent(&m->rng, 15)) { /* its address depends on something */
        c = condition(m, t, CONDITION_ADDRESS);
        if (expr_varies(&m->p->x, c.value))
            put_condition(m, &c);
    }
    if (op_table[e->op].reads) {
        make_read(m, t, e, &old);
        e->flags |= e->op == OP_RMW ? EV_OLD : EV_VALUE;
        *(e->op == OP_RMW ? &e->old : &e->value) = old;
    }
    if (op_table[e->op].writes) {
        expr was = m->p->about[m->n].old;

        make_write(m, t, e);
        m->p->about[m->n].old = was;
    }
    m->n++;
    if (rng_percent(&m->rng, 5))
        add_value(m, t, unknown(m));
}

static void make_branch(struct making *m, unsigned t)
{
    struct event *e = new_event(m, t, OP_BRANCH);

    e->flags |= EV_VALUE;
    condition_later(m, t, CONDITION_BRANCH);
    m->n++;
}

static bool make_lock(struct making *m, unsigned t)
{
    unsigned lock = rng_below(&m->rng, PROGRAM_LOCKS);

    if (m->holds[t] >= 0) {
        new_event(m, t, OP_RELEASE)->target = NAMED_OBJECT((uint64_t)m->holds[t]);
        m->owner[m->holds[t]] = -1;
        m->holds[t] = -1;
    } else if (m->owner[lock] < 0) {
        new_event(m, t, OP_ACQUIRE)->target = NAMED_OBJECT(lock);
        m->owner[lock] = (int)t;
        m->holds[t] = (int)lock;
    } else {
        return false;
    }
    m->p->about[m->n++].known = true;
    return true;
}

static bool make_fork(struct making *m, unsigned t)
{
    for (unsigned c = 0; c < m->p->threads; c++) {
        if (m->alive[c])
            continue;
        new_event(m, t, OP_FORK)->target = c;
        m->p->about[m->n++].known = true;
        m->alive[c] = true;
        if (m->nvalues[t])
            add_value(m, c, m->values[t][rng_below(&m->rng, m->nvalues[t])]);
        return true;
    }
    return false;
}

static void make_event(struct making *m)
{
    unsigned t = rng_below(&m->rng, m->p->threads), dice = rng_below(&m->rng, 100);

    if (!m->alive[t])
        return;
    if (dice < 20)
        make_branch(m, t);
    else if (dice < 40)
        make_lock(m, t);
    else if (dice < 44)
        make_fork(m, t);
    else
        make_access(m, t);
    if (rng_percent(&m->rng, 6) && m->n)
        condition_later(m, t, CONDITION_FIXED);
}

void random_program_init(struct random_program *p, uint64_t seed)
{
    struct making m = { .p = p };
    size_t length;

    memset(p, 0, sizeof(*p));
    rng_init(&m.rng, seed);
    exprs_init(&p->x);
    p->threads = rng_between(&m.rng, 2, 3);
    length = rng_between(&m.rng, 6, 20);
    for (unsigned t = 0; t < PROGRAM_THREADS; t++) {
        m.holds[t] = -1;
        m.alive[t] = t == 0 || rng_percent(&m.rng, 70);
    }
    for (unsigned l = 0; l < PROGRAM_LOCKS; l++)
        m.owner[l] = -1;
    for (unsigned i = 0; m.n < length && i < 400; i++)
        make_event(&m);
    p->condition_first[m.n] = p->condition_first[m.n + 1] = (uint32_t)m.nconditions;
    p->trace = (struct trace_mem){ .events = p->events, .count = m.n };
    p->info = (struct trace_info){ .format = "test",
                                   .events = m.n,
                                   .order = seed % 3 ? TRACE_EXACT : TRACE_SYNC_EXACT,
                                   .values = true,
                                   .branches = true };
    p->e = (struct execution){ .trace = &p->trace,
                               .x = &p->x,
                               .events = p->about,
                               .condition_first = p->condition_first,
                               .conditions = p->conditions };
}

void random_program_release(struct random_program *p)
{
    exprs_release(&p->x);
}

void random_program_print(const struct random_program *p)
{
    for (size_t i = 0; i < p->trace.count; i++) {
        const struct event *e = &p->events[i];
        struct buf b = { 0 };

        for (uint32_t k = p->condition_first[i]; k < p->condition_first[i + 1]; k++) {
            buf_addstr(&b, "{");
            expr_print(&p->x, p->conditions[k].value, 9, &b);
            buf_addf(&b, " == %d} ", (int)p->conditions[k].recorded);
        }
        buf_addf(&b, "T%u %s %" PRIu64 "/%u = %" PRIu64 " (old %" PRIu64 ")%s", e->thread,
                 op_table[e->op].name, e->target & 0xffff, e->size, e->value, e->old,
                 p->about[i].known ? "" : " not known");
        if (p->about[i].value) {
            buf_addstr(&b, "  ");
            expr_print(&p->x, p->about[i].value, 9, &b);
        }
        printf("%2zu %s\n", i, b.data);
        buf_release(&b);
    }
}

/* ---- interpreting ---- */

struct number {
    uint64_t v;
    bool bad;
};

struct machine {
    uint8_t done[PROGRAM_EVENTS];
    uint8_t next[PROGRAM_THREADS]; /* position of its next event, or count */
    uint8_t alive[PROGRAM_THREADS];
    int8_t owner[PROGRAM_LOCKS];
    uint8_t memory[PROGRAM_BYTES], bad[PROGRAM_BYTES];
    uint64_t read[PROGRAM_EVENTS];
    uint8_t read_bad[PROGRAM_EVENTS]; /* bits: bytes */
};

static uint8_t next_of(const struct random_program *p, unsigned t, size_t from)
{
    for (size_t i = from; i < p->trace.count; i++)
        if (p->events[i].thread == t)
            return (uint8_t)i;
    return (uint8_t)p->trace.count;
}

static void start(const struct random_program *p, struct machine *m)
{
    memset(m, 0, sizeof(*m));
    memset(m->owner, -1, sizeof(m->owner));
    memset(m->alive, 1, sizeof(m->alive));
    for (size_t i = 0; i < p->trace.count; i++)
        if (p->events[i].op == OP_FORK)
            m->alive[p->events[i].target] = 0;
    for (unsigned t = 0; t < PROGRAM_THREADS; t++)
        m->next[t] = next_of(p, t, 0);
}

static uint64_t recorded_read(const struct event *e)
{
    return e->op == OP_RMW ? e->old : e->value;
}

/* Did the thread, or who forked it before, read something else before a position? */
static bool is_changed(const struct random_program *p, const struct machine *m, unsigned t,
                       size_t before)
{
    for (size_t i = 0; i < before && i < p->trace.count; i++) {
        const struct event *e = &p->events[i];

        if (e->thread == t && m->done[i] && op_table[e->op].reads &&
            (m->read_bad[i] || m->read[i] != recorded_read(e)))
            return true;
    }
    for (size_t i = 0; i < p->trace.count; i++)
        if (p->events[i].op == OP_FORK && p->events[i].target == t)
            return is_changed(p, m, p->events[i].thread, i);
    return false;
}

struct result {
    u128 v;
    bool bad;
    bool same; /* as recorded, whatever that is */
};

static struct result as_recorded(const struct expr_node *n)
{
    return (struct result){ n->value, !(n->flags & EXPR_KNOWN), true };
}

static struct result number(const struct expr_node *n, u128 v)
{
    return (struct result){ v, false, n->flags & EXPR_KNOWN && n->value == v };
}

static const struct result nothing = { .bad = true };

static struct result interpret(const struct random_program *p, const struct machine *m, expr e);

static struct result interpret_two(const struct random_program *p, const struct machine *m,
                                   const struct expr_node *n)
{
    struct result a = interpret(p, m, n->a), b = { 0 };
    unsigned width = expr_get(&p->x, n->a)->width;
    u128 v;

    if (n->op != EX_ZEXT && n->op != EX_SEXT && n->op != EX_EXTRACT)
        b = n->b ? interpret(p, m, n->b) : (struct result){ .same = true };
    else
        b.same = true;
    if (a.same && b.same)
        return as_recorded(n);
    if (n->op == EX_OPAQUE || a.bad || b.bad)
        return nothing;
    if (n->op == EX_ZEXT)
        v = a.v;
    else if (n->op == EX_SEXT)
        v = a.v >> (width - 1) & 1 ? (a.v | ~expr_mask(width)) & expr_mask(n->width) : a.v;
    else if (n->op == EX_EXTRACT)
        v = a.v >> n->b & expr_mask(n->width);
    else if (n->op == EX_CONCAT)
        v = a.v << expr_get(&p->x, n->b)->width | b.v;
    else if (!expr_compute((enum expr_op)n->op, width, a.v, b.v, &v))
        return nothing;
    return number(n, v);
}

static struct result interpret(const struct random_program *p, const struct machine *m, expr e)
{
    const struct expr_node *n = expr_get(&p->x, e);
    struct result c, x, y;

    switch (n->op) {
    case EX_READ:
        return m->read_bad[n->a] ? nothing : number(n, m->read[n->a]);
    case EX_UNKNOWN:
        return is_changed(p, m, p->events[n->b].thread, n->b + (size_t)1) ? nothing
                                                                          : as_recorded(n);
    case EX_CONST:
        return as_recorded(n);
    case EX_ITE:
        c = interpret(p, m, n->a);
        x = interpret(p, m, n->b);
        y = interpret(p, m, n->c);
        if (c.same && x.same && y.same)
            return as_recorded(n);
        if (c.bad || (c.v ? x.bad : y.bad))
            return nothing;
        return number(n, c.v ? x.v : y.v);
    default:
        return interpret_two(p, m, n);
    }
}

/* Is event i possible now? */
static bool can_be_next(const struct random_program *p, const struct machine *m, size_t i)
{
    const struct event *e = &p->events[i];

    if (!m->alive[e->thread] || m->next[e->thread] != i)
        return false;
    for (size_t k = 0; k < i; k++) { /* what vanished into a library */
        const struct execution_event *x = &p->about[k];
        const struct event *r = &p->events[k];

        if (r->thread == e->thread && op_table[r->op].reads && !x->value && !x->old &&
            !x->address && (m->read_bad[k] || m->read[k] != recorded_read(r)))
            return false;
    }
    if (!p->about[i].known && is_changed(p, m, e->thread, i))
        return false;
    for (uint32_t k = p->condition_first[i]; k < p->condition_first[i + 1]; k++) {
        struct result v = interpret(p, m, p->conditions[k].value);

        if (!v.same && (v.bad || v.v != p->conditions[k].recorded))
            return false;
    }
    return true;
}

static void do_read(const struct random_program *p, struct machine *m, size_t i)
{
    const struct event *e = &p->events[i];
    uint64_t at = e->target - NAMED_BASE, mask = e->size < 8 ? (1ull << 8 * e->size) - 1 : ~0ull;

    m->read[i] = get(m->memory, e) & mask;
    for (unsigned b = 0; b < e->size; b++)
        m->read_bad[i] |= (uint8_t)(m->bad[at + b] << b);
}

static void do_write(const struct random_program *p, struct machine *m, size_t i)
{
    const struct event *e = &p->events[i];
    const struct execution_event *x = &p->about[i];
    struct result v = { e->value, false, true };

    if (x->known && x->value)
        v = interpret(p, m, x->value);
    else
        v.bad = is_changed(p, m, e->thread, i + 1);
    if (v.same && x->known && x->value)
        v = (struct result){ e->value, false, true };
    put(m->memory, e, v.bad ? 0 : (uint64_t)v.v);
    memset(m->bad + (e->target - NAMED_BASE), v.bad, e->size);
}

static bool execute(const struct random_program *p, struct machine *m, size_t i)
{
    const struct event *e = &p->events[i];

    if (!can_be_next(p, m, i))
        return false;
    if (e->op == OP_ACQUIRE && m->owner[named_object(e->target)] >= 0)
        return false;
    m->done[i] = 1;
    if (e->op == OP_ACQUIRE)
        m->owner[named_object(e->target)] = (int8_t)e->thread;
    else if (e->op == OP_RELEASE)
        m->owner[named_object(e->target)] = -1;
    else if (e->op == OP_FORK)
        m->alive[e->target] = 1;
    if (op_table[e->op].reads)
        do_read(p, m, i);
    if (op_table[e->op].writes)
        do_write(p, m, i);
    m->next[e->thread] = next_of(p, e->thread, i + 1);
    return true;
}

static bool conflict(const struct random_program *p, size_t a, size_t b)
{
    const struct event *x = &p->events[a], *y = &p->events[b];

    return op_is_access(x->op) && op_is_access(y->op) && x->thread != y->thread &&
           (op_table[x->op].writes || op_table[y->op].writes) &&
           !(op_is_atomic(x->op) && op_is_atomic(y->op)) && x->target < y->target + y->size &&
           y->target < x->target + x->size;
}

/* ---- the search ---- */

struct search {
    const struct random_program *p;
    struct pair_matrix *out;
    struct map seen;
    bool full;
};

static uint64_t hash(const struct machine *m)
{
    const uint8_t *bytes = (const uint8_t *)m;
    uint64_t h = 1469598103934665603u;

    for (size_t i = 0; i < sizeof(*m); i++)
        h = (h ^ bytes[i]) * 1099511628211u;
    return h ^ h >> 29;
}

static void visit(struct search *s, const struct machine *m)
{
    const struct random_program *p = s->p;

    if (s->full || map_get(&s->seen, hash(m)))
        return;
    map_put(&s->seen, hash(m), 1);
    s->full = s->seen.count > STATES_MAX;
    for (unsigned t = 0; t < p->threads; t++)
        for (unsigned u = t + 1; u < p->threads; u++) {
            size_t a = m->next[t], b = m->next[u];

            if (a < p->trace.count && b < p->trace.count && conflict(p, a, b) &&
                can_be_next(p, m, a) && can_be_next(p, m, b))
                s->out->at[a < b ? a : b][a < b ? b : a] = true;
        }
    for (unsigned t = 0; t < p->threads; t++) {
        struct machine next = *m;

        if (m->next[t] < p->trace.count && execute(p, &next, m->next[t]))
            visit(s, &next);
    }
}

bool random_program_search(const struct random_program *p, struct pair_matrix *out)
{
    struct search s = { .p = p, .out = out };
    struct machine m;

    memset(out, 0, sizeof(*out));
    start(p, &m);
    visit(&s, &m);
    map_release(&s.seen);
    return !s.full;
}

static bool follow(const struct random_program *p, const uint64_t *order, size_t n,
                   struct machine *m)
{
    start(p, m);
    for (size_t i = 0; i + 2 < n; i++)
        if (!execute(p, m, order[i]))
            return false;
    return true;
}

bool random_program_accepts(const struct random_program *p, const uint64_t *order, size_t n)
{
    struct machine m;

    return n >= 2 && follow(p, order, n, &m) && conflict(p, order[n - 2], order[n - 1]) &&
           can_be_next(p, &m, order[n - 2]) && can_be_next(p, &m, order[n - 1]);
}

bool random_program_sees(const struct random_program *p, const uint64_t *order, size_t n,
                         uint64_t read, uint64_t *value)
{
    struct machine m;

    if (!follow(p, order, n, &m))
        return false;
    *value = m.read[read];
    return !m.read_bad[read];
}
