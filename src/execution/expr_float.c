/* expr_float.c - floating point as the processor computes it (SSE: IEEE single and double, rounded
 * to nearest)
 */
#include "execution/expr.h"

#include <math.h>
#include <string.h>

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
static bool float_compare(unsigned predicate, double a, double b)
{
    unsigned is = a != a || b != b ? 8 : a == b ? 1 : a > b ? 2 : 4;

    return predicate & is;
}

/* Double is wide enough for + - * / and sqrt of singles to round right the second time. */
bool expr_compute_float(unsigned op, unsigned from, unsigned width, u128 va, u128 vb, u128 *r)
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
        if (width > 64 ||
            !(trunc(a) >= -ldexp(1, (int)width - 1) && trunc(a) < ldexp(1, (int)width - 1)))
            return false;
        *r = (u128)(s128)(int64_t)a & expr_mask(width);
        return true;
    case FLOAT_TO_UNSIGNED:
        if (width > 64 || !(trunc(a) >= 0 && trunc(a) < ldexp(1, (int)width)))
            return false;
        *r = (u128)(uint64_t)a & expr_mask(width);
        return true;
    default:
        *r = float_compare(op - FLOAT_COMPARE, a, b);
        return true;
    }
    *r = from_double(d, width);
    return d == d; /* which NaN it is is the processor's business */
}
