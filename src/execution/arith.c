/* arith.c - operations that are more than one node: integer intrinsics, floating point, atomics
 *
 * Integer intrinsics are spelt out in basic operations. Floating point is computed
 * as the processor does it (SSE: IEEE single and double, round to nearest) where the
 * operands' values are known; the result is OPAQUE.
 */
#include "execution/exec_inside.h"

#include <math.h>
#include <string.h>

/* ---- integers ---- */

static expr arith_number(struct exprs *x, expr like, u128 v)
{
    return expr_const(x, expr_get(x, like)->width, v);
}

static expr arith_choose(struct exprs *x, enum expr_op op, expr a, expr b)
{
    return expr_ite(x, expr_binary(x, op, a, b), a, b);
}

static expr count_bits(struct exprs *x, expr a)
{
    unsigned width = expr_get(x, a)->width;
    expr sum = expr_const(x, width, 0);

    for (unsigned i = 0; i < width; i++)
        sum = expr_binary(x, EX_ADD, sum, expr_resize(x, width, expr_extract(x, a, i, 1)));
    return sum;
}

/* Zeros before the first one, from the top or from the bottom. */
static expr count_zeros(struct exprs *x, expr a, bool from_top)
{
    unsigned width = expr_get(x, a)->width;
    expr n = expr_const(x, width, width);

    for (unsigned i = 0; i < width; i++) {
        unsigned bit = from_top ? i : width - 1 - i;
        n = expr_ite(x, expr_extract(x, a, bit, 1), expr_const(x, width, width - 1 - i), n);
    }
    return n;
}

static expr reverse(struct exprs *x, expr a, unsigned piece)
{
    unsigned width = expr_get(x, a)->width;
    expr all = 0;

    for (unsigned at = 0; at < width; at += piece) {
        expr p = expr_extract(x, a, at, piece);
        all = all ? expr_concat(x, all, p) : p;
    }
    return all;
}

/* a:b shifted by c modulo the width; the upper half (left) or the lower one (right). */
static expr funnel(struct exprs *x, expr a, expr b, expr c, bool left)
{
    unsigned width = expr_get(x, a)->width;
    expr both, by;

    if (2 * width > EXPR_WIDTH_MAX)
        return 0;
    both = expr_concat(x, a, b);
    by = expr_binary(x, EX_UREM, c, arith_number(x, c, width));
    by = expr_resize(x, 2 * width, by);
    both = expr_binary(x, left ? EX_SHL : EX_LSHR, both, by);
    return expr_extract(x, both, left ? width : 0, width);
}

/* Exact in one bit more (twice as many for products); did it fit? */
static expr overflow(struct exprs *x, enum expr_op op, bool is_signed, expr a, expr b, expr *over)
{
    unsigned width = expr_get(x, a)->width, wide = op == EX_MUL ? 2 * width : width + 1;
    enum expr_op extend = is_signed ? EX_SEXT : EX_ZEXT;
    expr exact, cut;

    if (wide > EXPR_WIDTH_MAX)
        return 0;
    exact = expr_binary(x, op, expr_extend(x, extend, wide, a), expr_extend(x, extend, wide, b));
    cut = expr_extract(x, exact, 0, width);
    *over = expr_binary(x, EX_NE, expr_extend(x, extend, wide, cut), exact);
    return expr_binary(x, op, a, b);
}

static expr saturate(struct exprs *x, enum expr_op op, bool is_signed, expr a, expr b)
{
    unsigned width = expr_get(x, a)->width;
    expr over = 0, sum = overflow(x, op, is_signed, a, b, &over), limit;
    u128 most = expr_mask(width - 1);

    if (!sum)
        return 0;
    if (!is_signed)
        limit = arith_number(x, a, op == EX_ADD ? expr_mask(width) : 0);
    else /* beyond the end that a is nearer to */
        limit = expr_ite(x, expr_extract(x, a, width - 1, 1), arith_number(x, a, most + 1),
                         arith_number(x, a, most));
    return expr_ite(x, over, limit, sum);
}

expr integer_op(struct exprs *x, enum integer_op op, unsigned width, expr a, expr b, expr c,
                expr *second)
{
    bool is_signed = op == INT_SADD_OVERFLOW || op == INT_SSUB_OVERFLOW || op == INT_SMUL_OVERFLOW;

    switch (op) {
    case INT_UMIN:
    case INT_SMIN:
        return arith_choose(x, op == INT_UMIN ? EX_ULT : EX_SLT, a, b);
    case INT_UMAX:
        return expr_ite(x, expr_binary(x, EX_ULT, a, b), b, a);
    case INT_SMAX:
        return expr_ite(x, expr_binary(x, EX_SLT, a, b), b, a);
    case INT_ABS:
        return expr_ite(x, expr_binary(x, EX_SLT, a, arith_number(x, a, 0)),
                        expr_binary(x, EX_SUB, arith_number(x, a, 0), a), a);
    case INT_CTPOP:
        return count_bits(x, a);
    case INT_CTLZ:
    case INT_CTTZ:
        return count_zeros(x, a, op == INT_CTLZ);
    case INT_BSWAP:
        return reverse(x, a, 8);
    case INT_BITREVERSE:
        return reverse(x, a, 1);
    case INT_FSHL:
    case INT_FSHR:
        return funnel(x, a, b, c, op == INT_FSHL);
    case INT_UADD_SAT:
    case INT_SADD_SAT:
        return saturate(x, EX_ADD, op == INT_SADD_SAT, a, b);
    case INT_USUB_SAT:
    case INT_SSUB_SAT:
        return saturate(x, EX_SUB, op == INT_SSUB_SAT, a, b);
    case INT_UADD_OVERFLOW:
    case INT_SADD_OVERFLOW:
        return overflow(x, EX_ADD, is_signed, a, b, second);
    case INT_USUB_OVERFLOW:
    case INT_SSUB_OVERFLOW:
        return overflow(x, EX_SUB, is_signed, a, b, second);
    case INT_UMUL_OVERFLOW:
    case INT_SMUL_OVERFLOW:
        return overflow(x, EX_MUL, is_signed, a, b, second);
    }
    (void)width;
    return 0;
}

expr rmw_value(struct exprs *x, enum rmw_op op, expr old, expr v)
{
    switch (op) {
    case RMW_XCHG:
        return v;
    case RMW_ADD:
        return expr_binary(x, EX_ADD, old, v);
    case RMW_SUB:
        return expr_binary(x, EX_SUB, old, v);
    case RMW_AND:
        return expr_binary(x, EX_AND, old, v);
    case RMW_NAND:
        return expr_binary(x, EX_XOR, expr_binary(x, EX_AND, old, v), arith_number(x, v, ~(u128)0));
    case RMW_OR:
        return expr_binary(x, EX_OR, old, v);
    case RMW_XOR:
        return expr_binary(x, EX_XOR, old, v);
    case RMW_MAX:
        return expr_ite(x, expr_binary(x, EX_SLT, old, v), v, old);
    case RMW_MIN:
        return expr_ite(x, expr_binary(x, EX_SLT, old, v), old, v);
    case RMW_UMAX:
        return expr_ite(x, expr_binary(x, EX_ULT, old, v), v, old);
    case RMW_UMIN:
        return expr_ite(x, expr_binary(x, EX_ULT, old, v), old, v);
    default:
        return 0;
    }
}

/* ---- floating point ---- */

static double to_double(u128 bits, unsigned width)
{
    uint64_t b8 = (uint64_t)bits;
    uint32_t b4 = (uint32_t)bits;
    double d;
    float f;

    if (width == 64) {
        memcpy(&d, &b8, 8);
        return d;
    }
    memcpy(&f, &b4, 4);
    return (double)f;
}

static u128 from_double(double d, unsigned width)
{
    uint64_t b8;
    uint32_t b4;
    float f = (float)d;

    if (width == 64) {
        memcpy(&b8, &d, 8);
        return b8;
    }
    memcpy(&b4, &f, 4);
    return b4;
}

/* LLVM's predicates are sets: 1 equal, 2 greater, 4 less, 8 unordered. */
static bool arith_compare(unsigned predicate, double a, double b)
{
    unsigned is = a != a || b != b ? 8 : a == b ? 1 : a > b ? 2 : 4;

    return predicate & is;
}

/* Double is wide enough for + - * / and sqrt of singles to round right the second time. */
static bool compute_float(unsigned op, unsigned from, unsigned width, u128 va, u128 vb, u128 *r)
{
    double a = to_double(va, from), b = to_double(vb, from), d;
    unsigned shift = from < 128 ? 128 - from : 0;

    switch (op) {
    case FLOAT_ADD:
        d = a + b;
        break;
    case FLOAT_SUB:
        d = a - b;
        break;
    case FLOAT_MUL:
        d = a * b;
        break;
    case FLOAT_DIV:
        d = a / b;
        break;
    case FLOAT_REM:
        d = fmod(a, b);
        break;
    case FLOAT_NEG:
        *r = va ^ (u128)1 << (width - 1);
        return true;
    case FLOAT_ABS:
        *r = va & expr_mask(width - 1);
        return true;
    case FLOAT_SQRT:
        d = sqrt(a);
        break;
    case FLOAT_RESIZE:
        d = a;
        break;
    case FLOAT_FROM_SIGNED:
    case FLOAT_FROM_UNSIGNED:
        if (from > 64)
            return false;
        if (op == FLOAT_FROM_SIGNED)
            *r = width == 64
                     ? from_double((double)(int64_t)((s128)(va << shift) >> shift), 64)
                     : from_double((double)(float)(int64_t)((s128)(va << shift) >> shift), 32);
        else
            *r = width == 64 ? from_double((double)(uint64_t)va, 64)
                             : from_double((double)(float)(uint64_t)va, 32);
        return true;
    case FLOAT_TO_SIGNED:
        if (!(a > -9.2e18 && a < 9.2e18))
            return false;
        *r = (u128)(s128)(int64_t)a & expr_mask(width);
        return width <= 64;
    case FLOAT_TO_UNSIGNED:
        if (!(a > -1 && a < 1.8e19))
            return false;
        *r = (u128)(uint64_t)a & expr_mask(width);
        return width <= 64;
    default:
        *r = arith_compare(op - FLOAT_COMPARE, a, b);
        return true;
    }
    *r = from_double(d, width);
    return d == d; /* which NaN it is is the processor's business */
}

expr float_op(struct walk *w, unsigned op, unsigned width, expr a, expr b)
{
    struct exprs *x = &w->x;
    u128 va = 0, vb = 0, r = 0;
    bool known = expr_value(x, a, &va) && (!b || expr_value(x, b, &vb));
    expr e;

    known = known && compute_float(op, expr_get(x, a)->width, width, va, vb, &r);
    if (known && expr_is_const(x, a) && (!b || expr_is_const(x, b)))
        return expr_const(x, width, r);
    e = expr_opaque(x, width, op + 1, a, b);
    if (known && !(expr_get(x, e)->flags & EXPR_KNOWN))
        expr_set_value(x, e, r);
    w->stats.opaque++;
    return e;
}
