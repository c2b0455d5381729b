/* values.c - the values of a schedule in which reads see something else
 *
 * Memory is kept by lifetime of a cell: who wrote it and what. A read that is not SAME
 * is noted with its bytes; expressions over it are computed when a write or a condition
 * needs them, each once in a schedule. All other values are as recorded.
 */
#include "witness/values.h"
#include "base/alloc.h"
#include "base/map.h"
#include "witness/values_float.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum state { SAME, OTHER, BAD };

struct val {
    u128 v;
    uint8_t state;
    bool known;
};

struct memory {
    struct val val;
    uint32_t writer;
};

/* A read that is not SAME, or not in the record. */
struct seen {
    u128 value;     /* of the bytes that are known */
    uint32_t other; /* bits: bytes of the access */
    uint32_t bad;
    uint32_t same; /* SAME, but the record does not say what that is */
    uint32_t writer;
};

struct thread {
    uint64_t changed;   /* position of the first read that is not SAME, UINT64_MAX: none */
    bool inherited;     /* its creator had one before */
    uint32_t swallowed; /* last read by code without expressions that is not SAME, or NONE */
};

struct changing {
    const struct execution *e;
    const struct exprs *x;
    size_t nthreads, nlives;
    struct memory *memory;
    struct val *first;
    struct thread *threads;
    struct map seen_at; /* event -> number in seen */
    struct seen *seen;
    size_t nseen, seen_cap;
    struct map known; /* expression -> number in vals */
    struct val *vals;
    size_t nvals, vals_cap;
    expr *stack;
    size_t stack_cap;
    uint32_t *touched; /* memory to put back */
    size_t ntouched, touched_cap;
};

static struct memory first_memory(const struct changing *v, uint32_t life)
{
    return (struct memory){ v->first[life], VALUES_NONE };
}

static struct thread new_thread(void)
{
    return (struct thread){ .changed = UINT64_MAX, .swallowed = VALUES_NONE };
}

struct changing *changing_new(const struct execution *e, size_t nthreads, size_t nlives)
{
    struct changing *v = xcalloc(1, sizeof(*v));

    v->e = e;
    v->x = e->x;
    v->nthreads = nthreads;
    v->nlives = nlives;
    v->memory = xcalloc(nlives + 1, sizeof(*v->memory));
    v->first = xcalloc(nlives + 1, sizeof(*v->first));
    v->threads = xcalloc(nthreads + 1, sizeof(*v->threads));
    for (uint32_t i = 0; i < nlives; i++)
        v->memory[i] = first_memory(v, i);
    for (size_t t = 0; t < nthreads; t++)
        v->threads[t] = new_thread();
    return v;
}

void changing_free(struct changing *v)
{
    if (!v)
        return;
    free(v->memory);
    free(v->first);
    free(v->threads);
    map_release(&v->seen_at);
    free(v->seen);
    map_release(&v->known);
    free(v->vals);
    free(v->stack);
    free(v->touched);
    free(v);
}

const struct execution *changing_execution(const struct changing *v)
{
    return v->e;
}

void changing_set_first(struct changing *v, uint32_t life, uint64_t value)
{
    v->first[life] = (struct val){ value, SAME, true };
    v->memory[life] = first_memory(v, life);
}

void changing_clear(struct changing *v)
{
    for (size_t i = 0; i < v->ntouched; i++)
        v->memory[v->touched[i]] = first_memory(v, v->touched[i]);
    for (size_t t = 0; t < v->nthreads; t++)
        v->threads[t] = new_thread();
    map_clear(&v->seen_at);
    map_clear(&v->known);
    v->nseen = v->nvals = v->ntouched = 0;
}

/* ---- what the record says ---- */

static bool read_record(const struct event *e, u128 *value)
{
    bool rmw = e->op == OP_RMW;

    *value = rmw ? e->old : e->value;
    return e->size <= 8 && e->flags & (rmw ? EV_OLD : EV_VALUE);
}

static struct val write_record(const struct changing *v, uint32_t event)
{
    const struct event *e = &v->e->trace->events[event];
    const struct execution_event *x = &v->e->events[event];
    const struct expr_node *n = expr_get(v->x, x->value);

    if (!op_is_access(e->op))
        return (struct val){ 0, SAME, false };
    if (e->flags & EV_VALUE && e->size <= 8)
        return (struct val){ e->value, SAME, true };
    return (struct val){ n->value, SAME, x->known && x->value && n->flags & EXPR_KNOWN };
}

/* Bytes [offset, offset + bytes) of a value. */
static struct val part(struct val x, uint64_t offset, uint64_t bytes)
{
    if (offset + bytes > 16) {
        x.known = false;
        x.state = x.state == OTHER ? BAD : x.state;
    } else {
        x.v = x.v >> 8 * offset & expr_mask(8 * (unsigned)bytes);
    }
    return x;
}

/* Byte i of what a long write writes, as recorded; 0: it has no pieces. */
static expr piece_of(const struct changing *v, uint32_t event, uint64_t i)
{
    const struct execution_event *x = &v->e->events[event];

    if (!x->known || !x->npieces || i / x->piece_bytes >= x->npieces)
        return 0;
    return v->e->pieces[x->pieces + i / x->piece_bytes];
}

static struct val recorded(const struct expr_node *n)
{
    return (struct val){ n->value, SAME, (n->flags & EXPR_KNOWN) != 0 };
}

/* Bytes of a write in the record. */
static struct val part_record(const struct changing *v, uint32_t event, uint64_t offset,
                              uint64_t bytes)
{
    struct val all = { .state = SAME, .known = true };

    if (!v->e->events[event].npieces || bytes > 8)
        return part(write_record(v, event), offset, bytes);
    for (uint64_t i = 0; i < bytes; i++) {
        expr e = piece_of(v, event, offset + i);
        struct val x = e ? recorded(expr_get(v->x, e)) : (struct val){ .state = SAME };

        all.known &= x.known;
        all.v |= (x.v >> 8 * ((offset + i) % v->e->events[event].piece_bytes) & 0xff) << 8 * i;
    }
    return all;
}

bool changing_recorded(const struct changing *v, uint32_t event, bool write, uint64_t offset,
                       uint64_t bytes, uint64_t *value)
{
    struct val x = { .state = SAME };

    if (write) {
        x = part_record(v, event, offset, bytes);
    } else {
        x.known = read_record(&v->e->trace->events[event], &x.v);
        x = part(x, offset, bytes);
    }
    *value = (uint64_t)x.v;
    return x.known && bytes <= 8;
}

/* ---- expressions ---- */

/* Did the thread read something else before a position? */
static bool is_changed(const struct changing *v, uint32_t thread, uint64_t position)
{
    return v->threads[thread].inherited || v->threads[thread].changed < position;
}

/* From operands that are all SAME (of code that did not run nothing is recorded), or not. */
static struct val computed(const struct expr_node *n, u128 x, bool same)
{
    same |= n->flags & EXPR_KNOWN && n->value == x;
    return (struct val){ x, same ? SAME : OTHER, true };
}

static struct val read_leaf(const struct changing *v, const struct expr_node *n)
{
    const uint32_t *at = map_get(&v->seen_at, n->a | (uint64_t)n->b << 32);
    u128 value = n->value;
    uint32_t all;

    if (!at)
        return recorded(n);
    const struct seen *s = &v->seen[*at];
    all = n->width >= 128 ? 0xffff : (1u << n->width / 8) - 1;
    if (s->bad >> n->c & all)
        return (struct val){ .state = BAD };
    if (!(n->flags & EXPR_KNOWN) && ((s->other | s->same) >> n->c & all) != all)
        return s->other >> n->c & all ? (struct val){ .state = BAD } : recorded(n);
    for (unsigned i = 0; i < n->width / 8u; i++)
        if ((s->other | s->same) >> (n->c + i) & 1) {
            value &= ~((u128)0xff << 8 * i);
            value |= (s->value >> 8 * (n->c + i) & 0xff) << 8 * i;
        }
    return computed(n, value, !(s->other >> n->c & all));
}

static struct val unknown_leaf(const struct changing *v, const struct expr_node *n)
{
    uint64_t position = n->b | (uint64_t)n->c << 32;

    if (position < v->e->trace->count &&
        is_changed(v, v->e->trace->events[position].thread, position + 1))
        return (struct val){ .state = BAD };
    return recorded(n);
}

static s128 values_number(u128 a, unsigned width)
{
    return a >> (width - 1) & 1 ? (s128)(a | ~expr_mask(width)) : (s128)a;
}

/* Division as the processor does it; false: it does not. */
static bool quotient(unsigned op, unsigned width, u128 a, u128 b, u128 *r)
{
    s128 x = values_number(a, width), y = values_number(b, width);

    if (!b)
        return false;
    if (op == EX_UDIV)
        *r = a / b;
    else if (op == EX_UREM)
        *r = a % b;
    else if (y == -1)
        *r = op == EX_SDIV ? -a : 0;
    else
        *r = op == EX_SDIV ? (u128)(x / y) : (u128)(x % y);
    return true;
}

/* Operands of `width` bits; the result has to be cut to its own. */
static bool operate(unsigned op, unsigned width, u128 a, u128 b, u128 *r)
{
    if (op >= EX_UDIV && op <= EX_SREM)
        return quotient(op, width, a, b, r);
    if (op >= EX_SHL && op <= EX_ASHR && b >= width)
        return false;
    switch (op) {
    case EX_ADD:
        *r = a + b;
        break;
    case EX_SUB:
        *r = a - b;
        break;
    case EX_MUL:
        *r = a * b;
        break;
    case EX_SHL:
        *r = a << (unsigned)b;
        break;
    case EX_LSHR:
        *r = a >> (unsigned)b;
        break;
    case EX_ASHR:
        *r = (u128)(values_number(a, width) >> (unsigned)b);
        break;
    case EX_AND:
        *r = a & b;
        break;
    case EX_OR:
        *r = a | b;
        break;
    case EX_XOR:
        *r = a ^ b;
        break;
    case EX_EQ:
        *r = a == b;
        break;
    case EX_NE:
        *r = a != b;
        break;
    case EX_ULT:
        *r = a < b;
        break;
    case EX_ULE:
        *r = a <= b;
        break;
    case EX_SLT:
        *r = values_number(a, width) < values_number(b, width);
        break;
    case EX_SLE:
        *r = values_number(a, width) <= values_number(b, width);
        break;
    default:
        return false;
    }
    return true;
}

static unsigned arity(const struct expr_node *n)
{
    switch (n->op) {
    case EX_ZEXT:
    case EX_SEXT:
    case EX_EXTRACT:
        return 1;
    case EX_ITE:
        return 3;
    default:
        return n->op >= EX_OPAQUE ? 2 : 0;
    }
}

static struct val combine(const struct changing *v, const struct expr_node *n, const struct val *in)
{
    unsigned width = expr_get(v->x, n->a)->width, k = arity(n), same = 0, usable = 0;
    u128 r;

    for (unsigned i = 0; i < k; i++) {
        same += in[i].state == SAME;
        usable += in[i].state != BAD && in[i].known;
    }
    if (same == k && (n->flags & EXPR_KNOWN || usable < k || n->op == EX_OPAQUE))
        return recorded(n);
    if (n->op == EX_ITE && in[0].state != BAD && in[0].known) {
        struct val taken = in[0].v ? in[1] : in[2];

        return taken.state != BAD && taken.known ? computed(n, taken.v, same == k)
                                                 : (struct val){ .state = BAD };
    }
    if (usable < k || n->op == EX_OPAQUE || n->op == EX_ITE)
        return (struct val){ .state = BAD };
    if (n->op == EX_ZEXT)
        r = in[0].v;
    else if (n->op == EX_SEXT)
        r = (u128)values_number(in[0].v, width);
    else if (n->op == EX_EXTRACT)
        r = in[0].v >> n->b;
    else if (n->op == EX_CONCAT)
        r = in[0].v << expr_get(v->x, n->b)->width | in[1].v;
    else if (n->op == EX_FLOAT ? !values_float(n->c, width, n->width, in[0].v, in[1].v, &r)
                               : !operate(n->op, width, in[0].v, in[1].v, &r))
        return same == k ? recorded(n) : (struct val){ .state = BAD };
    return computed(n, r & expr_mask(n->width), same == k);
}

static struct val leaf(const struct changing *v, const struct expr_node *n)
{
    return n->op == EX_READ      ? read_leaf(v, n)
           : n->op == EX_UNKNOWN ? unknown_leaf(v, n)
                                 : recorded(n);
}

/* The operands' values; false: some are not there yet and were put onto the stack. */
static bool operands(struct changing *v, const struct expr_node *n, size_t *depth, struct val *in)
{
    expr o[3] = { n->a, n->b, n->c };
    bool all = true;

    for (unsigned i = 0; i < arity(n); i++) {
        const uint32_t *at;

        if (!(expr_get(v->x, o[i])->flags & EXPR_VARIES)) {
            in[i] = recorded(expr_get(v->x, o[i]));
            continue;
        }
        at = map_get(&v->known, o[i]);
        if (at) {
            in[i] = v->vals[*at];
            continue;
        }
        GROW(v->stack, v->stack_cap, *depth + 1);
        v->stack[(*depth)++] = o[i];
        all = false;
    }
    return all;
}

static struct val evaluate(struct changing *v, expr e)
{
    size_t depth = 0;

    if (!(expr_get(v->x, e)->flags & EXPR_VARIES))
        return recorded(expr_get(v->x, e));
    GROW(v->stack, v->stack_cap, 1);
    v->stack[depth++] = e;
    while (depth) {
        expr top = v->stack[depth - 1];
        const struct expr_node *n = expr_get(v->x, top);
        struct val in[3];

        if (map_get(&v->known, top)) {
            depth--;
        } else if (operands(v, n, &depth, in)) {
            GROW(v->vals, v->vals_cap, v->nvals + 1);
            v->vals[v->nvals] = arity(n) ? combine(v, n, in) : leaf(v, n);
            map_put(&v->known, top, (uint32_t)v->nvals++);
            depth--;
        }
    }
    return v->vals[*map_get(&v->known, e)];
}

/* ---- conditions ---- */

#define refuse(err, position, ...)                                                                 \
    (error_set((err), __VA_ARGS__), error_prefix((err), "event %" PRIu32, (position)), false)

static bool check_condition(struct changing *v, uint32_t event, const struct execution_condition *c,
                            struct error *err)
{
    static const char *const what[] = { "the branch", "the address", "a value that must stay" };
    struct val x = evaluate(v, c->value);

    if (c->is_new) { /* what was recorded does not tell that it holds */
        if (x.state != BAD && x.known && x.v == c->recorded)
            return true;
    } else if (x.state == SAME || (x.state == OTHER && c->is_known && x.v == c->recorded))
        return true;
    return refuse(err, event, "%s at event %" PRIu32 " %s", what[c->kind], c->event,
                  x.state == BAD                ? "depends on a read that saw something else"
                  : c->kind == CONDITION_BRANCH ? "goes the other way"
                                                : "is another one");
}

bool changing_check_same(struct changing *v, uint32_t event, struct error *err)
{
    uint32_t thread = v->e->trace->events[event].thread;

    if (!is_changed(v, thread, UINT64_MAX))
        return true;
    return refuse(err, event, "its thread has read something else, at event %" PRIu64,
                  v->threads[thread].changed);
}

bool changing_check_next(struct changing *v, uint32_t event, struct error *err)
{
    const struct execution *e = v->e;
    const struct thread *t = &v->threads[e->trace->events[event].thread];

    if (t->swallowed != VALUES_NONE)
        return refuse(err, event, "event %" PRIu32 " read something else", t->swallowed);
    if (!e->events[event].known && !changing_check_same(v, event, err))
        return false;
    bool changed = t->changed != UINT64_MAX || t->inherited;
    for (uint32_t k = e->condition_first[event]; k < e->condition_first[event + 1]; k++)
        if ((changed || e->conditions[k].is_new) &&
            !check_condition(v, event, &e->conditions[k], err))
            return false;
    return true;
}

/* ---- memory ---- */

static void values_note(struct changing *v, uint32_t event, const struct values_cell *c,
                        struct val x, uint32_t writer)
{
    const struct execution_event *ev = &v->e->events[event];
    struct thread *t = &v->threads[v->e->trace->events[event].thread];
    uint32_t *at = map_put(&v->seen_at, event, (uint32_t)v->nseen), bits;
    uint64_t end = c->offset + c->bytes < 16 ? c->offset + c->bytes : 16;
    struct seen *s;

    if (*at == v->nseen) {
        GROW(v->seen, v->seen_cap, v->nseen + 1);
        v->seen[v->nseen++] = (struct seen){ .writer = writer };
    }
    s = &v->seen[*at];
    bits = c->offset < 16 ? (uint32_t)(((1ull << (end - c->offset)) - 1) << c->offset) : 0;
    if (x.state == BAD)
        s->bad |= bits ? bits : 1u << 31;
    else
        s->value |= x.v << 8 * c->offset;
    s->other |= x.state == OTHER ? bits : 0;
    s->same |= x.state == SAME ? bits : 0;
    if (x.state == SAME)
        return;
    if (!(s->other & ~bits) && !(s->bad & ~bits))
        s->writer = writer;
    if (event < t->changed)
        t->changed = event;
    if (!ev->value && !ev->old && !ev->address)
        t->swallowed = event;
}

/* Code that was not executed wrote it: a recorded read did not see that. */
static bool is_unseen(const struct changing *v, uint32_t event, uint32_t writer)
{
    return writer != VALUES_NONE && v->e->events[writer].is_new && !v->e->events[event].is_new;
}

void changing_read(struct changing *v, uint32_t event, const struct values_cell *c)
{
    const struct memory *m = &v->memory[c->life];
    const struct event *e = &v->e->trace->events[event];
    struct val x = part(m->val, 0, c->bytes), was;
    u128 value;

    was.known = read_record(e, &value);
    was = part((struct val){ value, SAME, was.known }, c->offset, c->bytes);
    if (x.state == SAME && m->writer == c->observed && !c->hidden &&
        !is_unseen(v, event, m->writer) && !(x.known && was.known && x.v != was.v)) {
        if (x.known && !was.known)
            values_note(v, event, c, x, m->writer);
        return;
    }
    if (c->hidden || x.state == BAD || !x.known)
        x.state = BAD;
    else if (was.known && was.v == x.v)
        return;
    else
        x.state = OTHER;
    values_note(v, event, c, x, m->writer);
}

/* Bytes of what a write writes now. */
static struct val part_now(struct changing *v, uint32_t event, uint64_t offset, uint64_t bytes)
{
    const struct execution_event *x = &v->e->events[event];
    struct val all = { .state = SAME, .known = true };

    if (x->known && x->value)
        return part(evaluate(v, x->value), offset, bytes);
    for (uint64_t i = 0; i < bytes; i++) {
        expr e = bytes <= 8 ? piece_of(v, event, offset + i) : 0;
        struct val one = { .state = BAD };

        if (e)
            one = evaluate(v, e);
        else if (!is_changed(v, v->e->trace->events[event].thread, UINT64_MAX))
            one.state = SAME;
        if (one.state == BAD)
            return one;
        all.known &= one.known;
        all.state = one.state == OTHER ? OTHER : all.state;
        if (e)
            all.v |= (one.v >> 8 * ((offset + i) % x->piece_bytes) & 0xff) << 8 * i;
    }
    if (all.state == OTHER && !all.known)
        all.state = BAD;
    return all;
}

void changing_write(struct changing *v, uint32_t event, const struct values_cell *c)
{
    const struct event *e = &v->e->trace->events[event];
    struct val value = part_record(v, event, c->offset, c->bytes);

    if (op_is_access(e->op) && (is_changed(v, e->thread, UINT64_MAX) || !value.known)) {
        struct val now = part_now(v, event, c->offset, c->bytes);

        value = now.state == SAME && value.known ? value : now;
    }
    GROW(v->touched, v->touched_cap, v->ntouched + 1);
    v->touched[v->ntouched++] = c->life;
    v->memory[c->life] = (struct memory){ value, event };
}

void changing_fork(struct changing *v, uint32_t parent, uint32_t child)
{
    v->threads[child].inherited |= is_changed(v, parent, UINT64_MAX);
}

bool changing_is_same(const struct changing *v, uint32_t life, uint32_t writer)
{
    return v->memory[life].writer == writer && v->memory[life].val.state == SAME &&
           !(writer != VALUES_NONE && v->e->events[writer].is_new);
}

bool changing_changed(const struct changing *v, uint32_t event, uint64_t *value, bool *known,
                      uint32_t *writer)
{
    const uint32_t *at = map_get(&v->seen_at, event);
    const struct event *e = &v->e->trace->events[event];
    uint32_t all = e->size < 16 ? (1u << e->size) - 1 : 0xffff;
    const struct seen *s;
    u128 was = 0;
    bool has;

    if (!at || !(v->seen[*at].other | v->seen[*at].bad))
        return false;
    s = &v->seen[*at];
    has = read_record(e, &was);
    *known = e->size <= 8 && !s->bad && (has || s->other == all);
    *writer = s->writer;
    for (unsigned i = 0; i < e->size && i < 8; i++)
        if (s->other >> i & 1)
            was = (was & ~((u128)0xff << 8 * i)) | (s->value >> 8 * i & 0xff) << 8 * i;
    *value = (uint64_t)was;
    return true;
}
