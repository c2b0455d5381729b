/* values_float.c - floating point, computed for the checker
 *
 * Apart from execution/expr_float.c, which the engines use: each type with its own arithmetic,
 * comparisons spelt out, integers converted by hand where C leaves it undefined.
 */
#include "witness/values_float.h"

#include <math.h>

union number4 {
    uint32_t bits;
    float f;
};
union number8 {
    uint64_t bits;
    double d;
};

static float as_float(u128 v)
{
    return (union number4){ .bits = (uint32_t)v }.f;
}

static double as_double(u128 v)
{
    return (union number8){ .bits = (uint64_t)v }.d;
}

static u128 bits_of(unsigned width, float f, double d)
{
    return width == 32 ? (u128)(union number4){ .f = f }.bits
                       : (u128)(union number8){ .d = d }.bits;
}

static bool single(unsigned op, float a, float b, float *r)
{
    switch (op) {
    case FLOAT_ADD:
        *r = a + b;
        break;
    case FLOAT_SUB:
        *r = a - b;
        break;
    case FLOAT_MUL:
        *r = a * b;
        break;
    case FLOAT_DIV:
        *r = a / b;
        break;
    case FLOAT_REM:
        *r = fmodf(a, b);
        break;
    case FLOAT_SQRT:
        *r = sqrtf(a);
        break;
    default:
        return false;
    }
    return !isnan(*r);
}

static bool twice(unsigned op, double a, double b, double *r)
{
    switch (op) {
    case FLOAT_ADD:
        *r = a + b;
        break;
    case FLOAT_SUB:
        *r = a - b;
        break;
    case FLOAT_MUL:
        *r = a * b;
        break;
    case FLOAT_DIV:
        *r = a / b;
        break;
    case FLOAT_REM:
        *r = fmod(a, b);
        break;
    case FLOAT_SQRT:
        *r = sqrt(a);
        break;
    default:
        return false;
    }
    return !isnan(*r);
}

/* LLVM's predicates say which of the four outcomes make it true. */
static bool compares(unsigned predicate, double a, double b)
{
    if (isunordered(a, b))
        return predicate & 8;
    if (isless(a, b))
        return predicate & 4;
    return isgreater(a, b) ? predicate & 2 : predicate & 1;
}

static bool from_integer(bool is_signed, unsigned from, unsigned to, u128 a, u128 *r)
{
    uint64_t sign, magnitude = (uint64_t)a;

    if (from > 64)
        return false;
    sign = is_signed ? magnitude >> (from - 1) & 1 : 0;
    if (sign)
        magnitude = (uint64_t)-a & (uint64_t)expr_mask(from);
    if (sign)
        *r = bits_of(to, -(float)magnitude, -(double)magnitude);
    else
        *r = bits_of(to, (float)magnitude, (double)magnitude);
    return true;
}

static bool to_integer(bool is_signed, unsigned to, double d, u128 *r)
{
    double whole = trunc(d), low = is_signed ? -ldexp(1, (int)to - 1) : 0,
           high = ldexp(1, (int)to - is_signed);

    if (isnan(d) || to > 64 || whole < low || whole >= high)
        return false;
    *r = whole < 0 ? (u128)0 - (u128)(uint64_t)-whole : (u128)(uint64_t)whole;
    return true;
}

static bool resize(unsigned from, unsigned to, u128 a, u128 *r)
{
    double d = from == 32 ? (double)as_float(a) : as_double(a);

    *r = bits_of(to, (float)d, d);
    return !isnan(d);
}

bool values_float(unsigned op, unsigned from, unsigned to, u128 a, u128 b, u128 *r)
{
    u128 sign = (u128)1 << (to - 1);
    double d = 0;
    float f = 0;
    bool defined;

    if (op == FLOAT_FROM_SIGNED || op == FLOAT_FROM_UNSIGNED)
        return (to == 32 || to == 64) && from_integer(op == FLOAT_FROM_SIGNED, from, to, a, r);
    if (from != 32 && from != 64)
        return false;
    if (op >= FLOAT_COMPARE && op < FLOAT_COMPARE + 16) {
        *r = from == 32 ? compares(op - FLOAT_COMPARE, as_float(a), as_float(b))
                        : compares(op - FLOAT_COMPARE, as_double(a), as_double(b));
        return true;
    }
    switch (op) {
    case FLOAT_TO_SIGNED:
    case FLOAT_TO_UNSIGNED:
        return to_integer(op == FLOAT_TO_SIGNED, to, from == 32 ? as_float(a) : as_double(a), r);
    case FLOAT_RESIZE:
        return resize(from, to, a, r);
    case FLOAT_NEG:
        *r = a ^ sign;
        return true;
    case FLOAT_ABS:
        *r = a & ~sign;
        return true;
    default:
        defined = from == 32 ? single(op, as_float(a), as_float(b), &f)
                             : twice(op, as_double(a), as_double(b), &d);
        *r = bits_of(to, f, d);
        return defined;
    }
}
