/* expr.c - building expressions: equal ones share nodes, constants folded
 *
 * Folding is small on purpose: what the walk produces all the time (address
 * arithmetic, bytes put together and taken apart again), nothing a solver does
 * better.
 */
#include "execution/expr.h"
#include "base/alloc.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

/* Recent nodes, so that equal ones are one: a part of the hash, and the number. Half a megabyte
 * stays in the processor's cache; with a complete table, or without the hash, each new node costs
 * two or three misses, which was four fifths of the time on large programs. */
enum { SLOTS = 1 << 16 };

const char *const expr_op_names[EX_OPS] = {
    "none", "const", "read", "result", "address", "unknown", "opaque", "add",
    "sub",  "mul",   "udiv", "sdiv",   "urem",    "srem",    "shl",    "lshr",
    "ashr", "and",   "or",   "xor",    "eq",      "ne",      "ult",    "ule",
    "slt",  "sle",   "zext", "sext",   "extract", "concat",  "ite",    "float"
};

void exprs_init(struct exprs *x)
{
    *x = (struct exprs){ .count = 1 };
    GROW(x->nodes, x->cap, 1024);
    x->slots = xcalloc(SLOTS, sizeof(*x->slots));
}

void exprs_release(struct exprs *x)
{
    free(x->nodes);
    free(x->slots);
    *x = (struct exprs){ 0 };
}

/* ---- nodes ---- */

static inline uint64_t hash_of(const struct expr_node *n)
{
    uint64_t h = (uint64_t)n->op << 8 | n->width;

    h = (h ^ ((uint64_t)n->a << 32 | n->b)) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 29 ^ n->c) * UINT64_C(0xbf58476d1ce4e5b9);
    if (n->op == EX_CONST)
        h = (h ^ (uint64_t)n->value ^ (uint64_t)(n->value >> 64)) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 32;
}

static inline bool expr_is_same(const struct expr_node *n, const struct expr_node *m)
{
    return n->op == m->op && n->width == m->width && n->a == m->a && n->b == m->b && n->c == m->c &&
           (n->op != EX_CONST || n->value == m->value);
}

static uint32_t new_number(struct exprs *x)
{
    uint32_t n = x->free;

    x->live++;
    if (n) {
        x->free = x->nodes[n].a;
        return n;
    }
    GROW(x->nodes, x->cap, (size_t)x->count + 1);
    return x->count++;
}

static expr add_node(struct exprs *x, const struct expr_node *n)
{
    uint32_t number = new_number(x);

    x->nodes[number] = *n;
    return number;
}

/* The node; an equal one if there was one lately. */
static expr expr_put(struct exprs *x, const struct expr_node *n)
{
    uint64_t hash = hash_of(n), tag = hash >> 32 << 32;
    size_t at = hash % SLOTS;
    uint64_t *two = &x->slots[at & ~(size_t)1], first = two[at & 1], second = two[~at & 1];

    if ((first ^ tag) >> 32 == 0 && expr_is_same(&x->nodes[(uint32_t)first], n))
        return (uint32_t)first;
    if ((second ^ tag) >> 32 == 0 && expr_is_same(&x->nodes[(uint32_t)second], n))
        return (uint32_t)second;
    uint32_t number = add_node(x, n);
    two[~at & 1] = first; /* the older one goes */
    two[at & 1] = tag | number;
    return number;
}

/* ---- leaves ---- */

expr expr_const(struct exprs *x, unsigned width, u128 value)
{
    struct expr_node n = { .op = EX_CONST, .width = (uint8_t)width, .flags = EXPR_KNOWN };

    n.value = value & expr_mask(width);
    return expr_put(x, &n);
}

static expr leaf(struct exprs *x, enum expr_op op, unsigned width, uint32_t a, uint32_t b,
                 uint32_t c)
{
    struct expr_node n = { .op = (uint8_t)op, .width = (uint8_t)width, .a = a, .b = b, .c = c };

    if (op == EX_READ || op == EX_RESULT)
        n.flags = EXPR_VARIES;
    if (op == EX_OPAQUE)
        n.flags = (x->nodes[a].flags | x->nodes[b].flags) & EXPR_VARIES;
    return op == EX_OPAQUE ? expr_put(x, &n) : add_node(x, &n); /* the others come once */
}

expr expr_unknown(struct exprs *x, unsigned width)
{
    return leaf(x, EX_UNKNOWN, width, ++x->serial, 0, 0);
}

expr expr_address(struct exprs *x, uint32_t where, uint32_t thread)
{
    return leaf(x, EX_ADDRESS, 64, ++x->serial, where, thread);
}

expr expr_read(struct exprs *x, unsigned width, uint64_t position, uint32_t offset)
{
    return leaf(x, EX_READ, width, (uint32_t)position, (uint32_t)(position >> 32), offset);
}

expr expr_result(struct exprs *x, unsigned width, uint64_t position)
{
    return leaf(x, EX_RESULT, width, (uint32_t)position, (uint32_t)(position >> 32), 0);
}

expr expr_opaque(struct exprs *x, unsigned width, unsigned operation, expr a, expr b)
{
    x->opaques++;
    return leaf(x, EX_OPAQUE, width, a, b, operation);
}

/* ---- computing ---- */

static s128 as_signed(u128 v, unsigned width)
{
    unsigned shift = 128 - width;

    return (s128)(v << shift) >> shift;
}

static bool divide(enum expr_op op, unsigned width, u128 a, u128 b, u128 *r)
{
    s128 sa = as_signed(a, width), sb = as_signed(b, width);

    if (b == 0)
        return false;
    if ((op == EX_SDIV || op == EX_SREM) && sb == -1) { /* the smallest number overflows */
        *r = op == EX_SREM ? 0 : (u128)0 - a;
        return true;
    }
    if (op == EX_UDIV || op == EX_UREM) {
        if (width <= 64)
            *r = op == EX_UDIV ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b;
        else
            *r = op == EX_UDIV ? a / b : a % b;
    } else if (width <= 64) {
        *r = (u128)(op == EX_SDIV ? (int64_t)sa / (int64_t)sb : (int64_t)sa % (int64_t)sb);
    } else {
        *r = (u128)(op == EX_SDIV ? sa / sb : sa % sb);
    }
    return true;
}

static bool shift(enum expr_op op, unsigned width, u128 a, u128 b, u128 *r)
{
    unsigned n = (unsigned)b;

    if (b >= width)
        return false;
    if (op == EX_SHL)
        *r = a << n;
    else
        *r = op == EX_LSHR ? a >> n : (u128)(as_signed(a, width) >> n);
    return true;
}

bool expr_compute(enum expr_op op, unsigned width, u128 a, u128 b, u128 *r)
{
    bool defined = true;

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
    case EX_UDIV:
    case EX_SDIV:
    case EX_UREM:
    case EX_SREM:
        defined = divide(op, width, a, b, r);
        break;
    case EX_SHL:
    case EX_LSHR:
    case EX_ASHR:
        defined = shift(op, width, a, b, r);
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
        return true;
    case EX_NE:
        *r = a != b;
        return true;
    case EX_ULT:
        *r = a < b;
        return true;
    case EX_ULE:
        *r = a <= b;
        return true;
    case EX_SLT:
        *r = as_signed(a, width) < as_signed(b, width);
        return true;
    case EX_SLE:
        *r = as_signed(a, width) <= as_signed(b, width);
        return true;
    default:
        return false;
    }
    if (defined)
        *r &= expr_mask(width);
    return defined;
}

bool expr_apply(const struct exprs *x, const struct expr_node *n, u128 a, u128 b, u128 *r)
{
    unsigned width = x->nodes[n->a].width;

    switch (n->op) {
    case EX_ZEXT:
        *r = a;
        return true;
    case EX_SEXT:
        *r = (u128)as_signed(a, width) & expr_mask(n->width);
        return true;
    case EX_EXTRACT:
        *r = a >> n->b & expr_mask(n->width);
        return true;
    case EX_CONCAT:
        *r = a << x->nodes[n->b].width | b;
        return true;
    case EX_FLOAT:
        return expr_compute_float(n->c, width, n->width, a, b, r);
    default:
        return expr_compute((enum expr_op)n->op, width, a, b, r);
    }
}

unsigned expr_arity(enum expr_op op)
{
    if (op < EX_ADD)
        return 0;
    if (op == EX_ITE)
        return 3;
    return op == EX_ZEXT || op == EX_SEXT || op == EX_EXTRACT ? 1 : 2;
}

/* Fills in the value if the operands' are there. */
static bool compute_here(const struct exprs *x, struct expr_node *n)
{
    const struct expr_node *a = &x->nodes[n->a];
    unsigned count = expr_arity((enum expr_op)n->op);

    if (n->op == EX_ITE) {
        const struct expr_node *chosen = &x->nodes[a->value ? n->b : n->c];

        if (!(a->flags & EXPR_KNOWN) || !(chosen->flags & EXPR_KNOWN))
            return false;
        n->value = chosen->value;
    } else if (count == 0 || !(a->flags & EXPR_KNOWN) ||
               (count == 2 && !(x->nodes[n->b].flags & EXPR_KNOWN)) ||
               !expr_apply(x, n, a->value, count == 2 ? x->nodes[n->b].value : 0, &n->value)) {
        return false;
    }
    n->flags |= EXPR_KNOWN;
    return true;
}

/* ---- building ---- */

static bool all_const(const struct exprs *x, const struct expr_node *n)
{
    unsigned count = expr_arity((enum expr_op)n->op);

    return x->nodes[n->a].op == EX_CONST && (count < 2 || x->nodes[n->b].op == EX_CONST) &&
           (count < 3 || x->nodes[n->c].op == EX_CONST);
}

static expr build(struct exprs *x, enum expr_op op, unsigned width, uint32_t a, uint32_t b,
                  uint32_t c)
{
    struct expr_node n = { .op = (uint8_t)op, .width = (uint8_t)width, .a = a, .b = b, .c = c };

    if (compute_here(x, &n) && all_const(x, &n))
        return expr_const(x, width, n.value);
    n.flags |= x->nodes[a].flags & EXPR_VARIES;
    if (expr_arity(op) > 1)
        n.flags |= x->nodes[b].flags & EXPR_VARIES;
    if (expr_arity(op) > 2)
        n.flags |= x->nodes[c].flags & EXPR_VARIES;
    return expr_put(x, &n);
}

static bool const_value(const struct exprs *x, expr e, u128 *v)
{
    *v = x->nodes[e].value;
    return x->nodes[e].op == EX_CONST;
}

/* x + constant, with at most one constant in a chain of additions. */
static expr add_const(struct exprs *x, expr a, u128 k)
{
    const struct expr_node *n = &x->nodes[a];
    unsigned width = n->width;
    u128 inner;

    if (n->op == EX_ADD && const_value(x, n->b, &inner)) {
        a = n->a;
        k += inner;
    }
    k &= expr_mask(width);
    return k ? build(x, EX_ADD, width, a, expr_const(x, width, k), 0) : a;
}

/* Two places in one object, or an object and nothing: the answer does not depend on where the
 * object is. */
static expr compare_places(struct exprs *x, enum expr_op op, expr a, expr b)
{
    uint64_t at_a = 0, at_b = 0;
    u128 zero, r;
    expr base_a = expr_base(x, a, &at_a), base_b = expr_base(x, b, &at_b);
    bool object_a = x->nodes[base_a].op == EX_ADDRESS, object_b = x->nodes[base_b].op == EX_ADDRESS;

    if (base_a == base_b && (object_a || op == EX_EQ || op == EX_NE)) {
        expr_compute(op, 64, at_a, at_b, &r);
        return expr_const(x, 1, r);
    }
    if ((op == EX_EQ || op == EX_NE) && ((object_a && const_value(x, b, &zero) && zero == 0) ||
                                         (object_b && const_value(x, a, &zero) && zero == 0)))
        return expr_const(x, 1, op == EX_NE);
    return 0;
}

static expr simplify(struct exprs *x, enum expr_op op, unsigned width, expr a, expr b)
{
    u128 k, all = expr_mask(width);
    bool constant = const_value(x, b, &k);

    if (op == EX_ADD && constant)
        return add_const(x, a, k);
    if (op == EX_SUB && constant)
        return add_const(x, a, (u128)0 - k);
    if (op == EX_SUB && width == 64) { /* the distance of two places */
        uint64_t at_a = 0, at_b = 0;

        if (expr_base(x, a, &at_a) == expr_base(x, b, &at_b))
            return expr_const(x, 64, at_a - at_b);
    }
    if (op >= EX_EQ && width == 64) {
        expr folded = compare_places(x, op, a, b);
        if (folded)
            return folded;
    }
    if (op >= EX_EQ && a == b)
        return expr_const(x, 1, op == EX_EQ || op == EX_ULE || op == EX_SLE);
    if (!constant)
        return 0;
    if (k == 0 && (op == EX_OR || op == EX_XOR || (op >= EX_SHL && op <= EX_ASHR)))
        return a;
    if ((k == 1 && (op == EX_MUL || op == EX_UDIV || op == EX_SDIV)) || (k == all && op == EX_AND))
        return a;
    if (k == 0 && (op == EX_AND || op == EX_MUL))
        return b;
    return 0;
}

static bool commutes(enum expr_op op)
{
    return op == EX_ADD || op == EX_MUL || op == EX_AND || op == EX_OR || op == EX_XOR ||
           op == EX_EQ || op == EX_NE;
}

expr expr_binary(struct exprs *x, enum expr_op op, expr a, expr b)
{
    unsigned width = x->nodes[a].width;
    bool const_a = x->nodes[a].op == EX_CONST, const_b = x->nodes[b].op == EX_CONST;
    expr simple = 0;

    if (const_a && !const_b && commutes(op)) {
        expr swap = a;
        a = b;
        b = swap;
    }
    if (!(const_a && const_b))
        simple = simplify(x, op, width, a, b);
    return simple ? simple : build(x, op, op >= EX_EQ ? 1 : width, a, b, 0);
}

expr expr_float(struct exprs *x, unsigned op, unsigned width, expr a, expr b)
{
    return build(x, EX_FLOAT, width, a, b ? b : a, op);
}

expr expr_extend(struct exprs *x, enum expr_op op, unsigned width, expr a)
{
    const struct expr_node *n = &x->nodes[a];

    if (n->width == width)
        return a;
    if (n->op == op)
        a = n->a;
    return build(x, op, width, a, 0, 0);
}

expr expr_extract(struct exprs *x, expr a, unsigned low, unsigned width)
{
    for (;;) {
        const struct expr_node *n = &x->nodes[a];

        if (low == 0 && n->width == width)
            return a;
        if (n->op == EX_EXTRACT) {
            low += n->b;
            a = n->a;
        } else if (n->op == EX_CONCAT && low >= x->nodes[n->b].width) {
            low -= x->nodes[n->b].width;
            a = n->a;
        } else if (n->op == EX_CONCAT && low + width <= x->nodes[n->b].width) {
            a = n->b;
        } else if ((n->op == EX_ZEXT || n->op == EX_SEXT) && low + width <= x->nodes[n->a].width) {
            a = n->a;
        } else if (n->op == EX_ZEXT && low >= x->nodes[n->a].width) {
            return expr_const(x, width, 0);
        } else {
            return build(x, EX_EXTRACT, width, a, low, 0);
        }
    }
}

expr expr_concat(struct exprs *x, expr high, expr low)
{
    const struct expr_node *h = &x->nodes[high], *l = &x->nodes[low];
    unsigned width = (unsigned)h->width + l->width;
    u128 zero;

    if (h->op == EX_EXTRACT && l->op == EX_EXTRACT && h->a == l->a && h->b == l->b + l->width)
        return expr_extract(x, l->a, l->b, width);
    if (const_value(x, high, &zero) && zero == 0)
        return expr_extend(x, EX_ZEXT, width, low);
    return build(x, EX_CONCAT, width, high, low, 0);
}

expr expr_ite(struct exprs *x, expr condition, expr a, expr b)
{
    u128 k;

    if (const_value(x, condition, &k))
        return k ? a : b;
    return a == b ? a : build(x, EX_ITE, x->nodes[a].width, condition, a, b);
}

expr expr_resize(struct exprs *x, unsigned width, expr a)
{
    unsigned now = x->nodes[a].width;

    return now < width ? expr_extend(x, EX_ZEXT, width, a) : expr_extract(x, a, 0, width);
}

/* ---- values ---- */

/* Values that became known below; `budget` bounds the nodes looked at. */
static bool compute_again(struct exprs *x, expr e, unsigned *budget)
{
    struct expr_node *n = &x->nodes[e];
    unsigned count = expr_arity((enum expr_op)n->op);

    if (n->flags & EXPR_KNOWN)
        return true;
    if (count == 0 || *budget == 0)
        return false;
    --*budget;
    if (n->op == EX_ITE) {
        if (!compute_again(x, n->a, budget) ||
            !compute_again(x, x->nodes[n->a].value ? n->b : n->c, budget))
            return false;
    } else if (!compute_again(x, n->a, budget) || (count == 2 && !compute_again(x, n->b, budget))) {
        return false;
    }
    return compute_here(x, n);
}

bool expr_value(struct exprs *x, expr e, u128 *value)
{
    unsigned budget = 64;

    if (!(x->nodes[e].flags & EXPR_KNOWN) && !compute_again(x, e, &budget))
        return false;
    *value = x->nodes[e].value;
    return true;
}

void expr_set_value(struct exprs *x, expr e, u128 value)
{
    struct expr_node *n = &x->nodes[e];

    n->value = value & expr_mask(n->width);
    n->flags |= EXPR_KNOWN;
}

bool expr_learn(struct exprs *x, expr e, u128 value)
{
    u128 known, k;

    value &= expr_mask(x->nodes[e].width);
    if (expr_value(x, e, &known))
        return known == value;
    for (unsigned depth = 0; depth < 64; depth++) { /* down to the leaf that this settles */
        const struct expr_node *n = &x->nodes[e];

        expr_set_value(x, e, value);
        if (n->op < EX_ADD)
            return true;
        if ((n->op == EX_ADD || n->op == EX_XOR) && expr_value(x, n->b, &k)) {
            value = (n->op == EX_ADD ? value - k : value ^ k) & expr_mask(n->width);
            e = n->a;
        } else if (n->op == EX_ADD && expr_value(x, n->a, &k)) {
            value = (value - k) & expr_mask(n->width);
            e = n->b;
        } else if (n->op == EX_SUB && expr_value(x, n->a, &k)) {
            value = (k - value) & expr_mask(n->width);
            e = n->b;
        } else if (n->op == EX_SUB && expr_value(x, n->b, &k)) {
            value = (value + k) & expr_mask(n->width);
            e = n->a;
        } else if ((n->op == EX_ZEXT || n->op == EX_SEXT) && !(x->nodes[n->a].flags & EXPR_KNOWN)) {
            value &= expr_mask(x->nodes[n->a].width);
            e = n->a;
        } else if (n->op == EX_ITE && expr_value(x, n->a, &k)) {
            e = k ? n->b : n->c;
        } else {
            return true; /* nothing more follows */
        }
    }
    return true;
}

expr expr_base(const struct exprs *x, expr e, uint64_t *offset)
{
    const struct expr_node *n = &x->nodes[e];

    *offset = 0;
    if (n->op == EX_ADD && x->nodes[n->b].op == EX_CONST) {
        *offset = (uint64_t)x->nodes[n->b].value;
        return n->a;
    }
    return e;
}

/* ---- memory ---- */

void exprs_mark(struct exprs *x, expr e)
{
    struct {
        expr *at;
        size_t count, cap;
    } todo = { 0 };

    for (;;) {
        struct expr_node *n = &x->nodes[e];

        if (e && !n->mark) {
            unsigned count = n->op == EX_OPAQUE ? 2 : expr_arity((enum expr_op)n->op);

            n->mark = 1;
            GROW(todo.at, todo.cap, todo.count + 3);
            if (count > 0)
                todo.at[todo.count++] = n->a;
            if (count > 1)
                todo.at[todo.count++] = n->b;
            if (count > 2)
                todo.at[todo.count++] = n->c;
        }
        if (!todo.count)
            break;
        e = todo.at[--todo.count];
    }
    free(todo.at);
}

void exprs_sweep(struct exprs *x)
{
    x->free = x->live = 0;
    for (uint32_t i = x->count - 1; i > 0; i--) {
        struct expr_node *n = &x->nodes[i];

        if (n->mark) {
            n->mark = 0;
            x->live++;
        } else {
            *n = (struct expr_node){ .a = x->free };
            x->free = i;
        }
    }
    for (size_t i = 0; i < SLOTS; i++)
        if (x->nodes[(uint32_t)x->slots[i]].op == EX_NONE)
            x->slots[i] = 0;
}

/* ---- printing ---- */

static void print_number(u128 v, struct buf *out)
{
    if (v >> 64)
        buf_addf(out, "0x%llx%016llx", (unsigned long long)(v >> 64), (unsigned long long)v);
    else
        buf_addf(out, v < 10 ? "%llu" : "0x%llx", (unsigned long long)v);
}

void expr_print(const struct exprs *x, expr e, unsigned depth, struct buf *out)
{
    const struct expr_node *n = &x->nodes[e];
    unsigned long long position = (unsigned long long)n->b << 32 | n->a;
    unsigned count = n->op == EX_OPAQUE ? 2 : expr_arity((enum expr_op)n->op);

    if (n->op == EX_CONST) {
        print_number(n->value, out);
    } else if (n->op == EX_READ && n->c) {
        buf_addf(out, "R%llu+%u:%u", position, n->c, n->width);
    } else if (n->op == EX_READ || n->op == EX_RESULT) {
        buf_addf(out, "%c%llu:%u", n->op == EX_READ ? 'R' : 'C', position, n->width);
    } else if (count == 0 || depth == 0) {
        buf_addf(out, "%s%u", expr_op_names[n->op], n->op == EX_ADDRESS ? n->a : e);
    } else {
        const expr of[] = { n->a, n->b, n->c };

        buf_addf(out, "%s%u(", expr_op_names[n->op], n->width);
        for (unsigned i = 0; i < count; i++) {
            if (i)
                buf_addch(out, ',');
            if (of[i])
                expr_print(x, of[i], depth - 1, out);
        }
        if (n->op == EX_EXTRACT)
            buf_addf(out, ",%u", n->b);
        buf_addch(out, ')');
    }
}
