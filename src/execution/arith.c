/* arith.c - operations that are more than one node: integer intrinsics, atomics
 *
 * Integer intrinsics are spelt out in basic operations.
 */
#include "execution/exec_inside.h"

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
