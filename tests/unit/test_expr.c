/* test_expr.c - expressions and the memory of bytes (src/execution) */
#include "execution/expr.h"
#include "execution/exec_memory.h"
#include "witness/values_float.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static u128 value(struct exprs *x, expr e)
{
    u128 v = 0;

    assert_true(expr_value(x, e, &v));
    return v;
}

static expr known_read(struct exprs *x, unsigned width, uint64_t position, u128 v)
{
    expr e = expr_read(x, width, position, 0);

    expr_set_value(x, e, v);
    return e;
}

static void constants_are_folded_with_their_width(void **state)
{
    struct exprs x;
    (void)state;

    exprs_init(&x);
    expr a = expr_const(&x, 8, 200), b = expr_const(&x, 8, 100);
    assert_int_equal(value(&x, expr_binary(&x, EX_ADD, a, b)), 44);
    assert_int_equal(value(&x, expr_binary(&x, EX_SLT, a, b)), 1);
    assert_int_equal(value(&x, expr_binary(&x, EX_ULT, a, b)), 0);
    assert_int_equal(value(&x, expr_binary(&x, EX_SDIV, a, b)), 0);
    assert_int_equal(value(&x, expr_binary(&x, EX_ASHR, a, expr_const(&x, 8, 3))), 0xf9);
    assert_int_equal(value(&x, expr_extend(&x, EX_SEXT, 16, a)), 0xffc8);
    assert_true(expr_is_const(&x, expr_binary(&x, EX_ADD, a, b)));
    exprs_release(&x);
}

static void what_is_undefined_has_no_value(void **state)
{
    struct exprs x;
    u128 v;
    (void)state;

    exprs_init(&x);
    expr a = expr_const(&x, 32, 7), zero = expr_const(&x, 32, 0), much = expr_const(&x, 32, 32);
    assert_false(expr_value(&x, expr_binary(&x, EX_UDIV, a, zero), &v));
    assert_false(expr_value(&x, expr_binary(&x, EX_SHL, a, much), &v));
    expr least = expr_const(&x, 32, 0x80000000), minus = expr_const(&x, 32, 0xffffffff);
    assert_int_equal(value(&x, expr_binary(&x, EX_SREM, least, minus)), 0);
    exprs_release(&x);
}

static void a_read_varies_and_keeps_its_value_beside(void **state)
{
    struct exprs x;
    (void)state;

    exprs_init(&x);
    expr r = known_read(&x, 32, 7, 5), e = expr_binary(&x, EX_MUL, r, expr_const(&x, 32, 3));
    assert_int_equal(value(&x, e), 15);
    assert_true(expr_varies(&x, e));
    assert_false(expr_is_const(&x, e));
    assert_false(expr_varies(&x, expr_const(&x, 32, 3)));
    exprs_release(&x);
}

static void an_address_is_learned_from_what_is_computed_with_it(void **state)
{
    struct exprs x;
    u128 v;
    (void)state;

    exprs_init(&x);
    expr object = expr_address(&x, 0, 0), eight = expr_const(&x, 64, 8);
    expr field = expr_binary(&x, EX_ADD, object, eight);
    assert_false(expr_value(&x, field, &v));
    assert_true(expr_learn(&x, field, 0x1008));
    assert_int_equal(value(&x, object), 0x1000);
    assert_false(expr_learn(&x, expr_binary(&x, EX_ADD, field, eight), 0x1018));
    exprs_release(&x);
}

static void places_in_one_object_are_compared_without_its_address(void **state)
{
    struct exprs x;
    (void)state;

    exprs_init(&x);
    expr a = expr_address(&x, 0, 0), b = expr_binary(&x, EX_ADD, a, expr_const(&x, 64, 4));
    assert_int_equal(value(&x, expr_binary(&x, EX_ULT, a, b)), 1);
    assert_int_equal(value(&x, expr_binary(&x, EX_EQ, a, b)), 0);
    assert_int_equal(value(&x, expr_binary(&x, EX_SUB, b, a)), 4);
    assert_int_equal(value(&x, expr_binary(&x, EX_EQ, a, expr_const(&x, 64, 0))), 0);
    exprs_release(&x);
}

static void collecting_keeps_what_is_marked(void **state)
{
    struct exprs x;
    (void)state;

    exprs_init(&x);
    expr keep = expr_binary(&x, EX_XOR, known_read(&x, 16, 1, 0xff), expr_const(&x, 16, 0xf0));
    for (unsigned i = 0; i < 1000; i++)
        known_read(&x, 16, 2 + i, i);
    uint32_t before = x.live;
    exprs_mark(&x, keep);
    exprs_sweep(&x);
    assert_int_equal(x.live, 3);
    assert_true(before > 1000);
    assert_int_equal(value(&x, keep), 0x0f);
    for (unsigned i = 0; i < 1000; i++)
        known_read(&x, 16, 2 + i, i);
    assert_true(x.count <= before + 1); /* numbers are reused */
    assert_int_equal(value(&x, keep), 0x0f);
    exprs_release(&x);
}

static void bytes_are_put_together_again(void **state)
{
    struct memory m = { 0 };
    struct exprs x;
    (void)state;

    exprs_init(&x);
    expr r = known_read(&x, 32, 1, 0x11223344);
    memory_store(&m, NULL, &x, 0x1006, 4, r); /* across two words */
    assert_int_equal(memory_load(&m, NULL, &x, 0x1006, 4), r);
    assert_int_equal(value(&x, memory_load(&m, NULL, &x, 0x1007, 2)), 0x2233);
    assert_int_equal(memory_load(&m, NULL, &x, 0x1005, 4), 0);
    memory_store(&m, NULL, &x, 0x1008, 1, expr_const(&x, 8, 0xaa));
    assert_int_equal(value(&x, memory_load(&m, NULL, &x, 0x1006, 4)), 0x11aa3344);
    memory_copy(&m, NULL, 0x1007, 0x1006, 3); /* overlapping */
    assert_int_equal(value(&x, memory_load(&m, NULL, &x, 0x1006, 4)), 0xaa334444);
    memory_forget_all(&m);
    assert_int_equal(memory_load(&m, NULL, &x, 0x1006, 1), 0);
    memory_release(&m);
    exprs_release(&x);
}

static void a_private_stack_starts_unknown_each_time(void **state)
{
    struct private_stack s = { 0 };
    struct memory m = { 0 };
    struct exprs x;
    (void)state;

    exprs_init(&x);
    uint64_t at = private_push(&s, 8);
    memory_store(&m, &s, &x, at, 8, expr_const(&x, 64, 9));
    assert_int_equal(value(&x, memory_load(&m, &s, &x, at + 4, 4)), 0);
    s.top = 0;
    assert_int_equal(private_push(&s, 8), at);
    assert_int_equal(memory_load(&m, &s, &x, at, 8), 0);
    assert_int_equal(memory_load(&m, &s, &x, at + 8, 1), 0); /* beyond its end */
    private_stack_release(&s);
    memory_release(&m);
    exprs_release(&x);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* A number of the kinds that go wrong: any bits, small integers, halves, powers of two. */
static u128 float_bits(uint64_t *seed, unsigned width)
{
    uint64_t r = next_random(seed);
    double d = (double)(int64_t)(r >> 8) / (double)(UINT64_C(1) << (r & 31));
    float f = (float)(int)(r >> 40);
    union {
        double d;
        float f;
        uint64_t bits;
    } u = { .bits = 0 };

    if (r % 3 == 0)
        return r & (uint64_t)expr_mask(width);
    if (width == 64)
        u.d = r % 3 == 1 ? d : f / 2;
    else
        u.f = r % 3 == 1 ? (float)d : f / 2;
    return u.bits;
}

/* Engine and checker have code of their own. */
static void floats_are_the_same_for_engine_and_checker(void **state)
{
    static const unsigned widths[] = { 32, 64 }, integers[] = { 8, 16, 32, 64 };
    uint64_t seed = 12345;
    unsigned defined = 0;
    (void)state;

    for (unsigned i = 0; i < 400000; i++) {
        unsigned op = (unsigned)(next_random(&seed) % FLOAT_OPS);
        unsigned from = widths[i % 2], to = widths[i / 2 % 2], n = integers[i / 4 % 4];
        bool from_int = op == FLOAT_FROM_SIGNED || op == FLOAT_FROM_UNSIGNED;
        u128 a, b, one = 0, two = 0;

        if (op >= FLOAT_COMPARE && op < FLOAT_COMPARE + 16)
            to = 1;
        else if (op == FLOAT_TO_SIGNED || op == FLOAT_TO_UNSIGNED)
            to = n;
        else if (from_int)
            from = n;
        else if (op != FLOAT_RESIZE)
            to = from;
        if (op == FLOAT_MULADD)
            continue;
        a = from_int ? next_random(&seed) & (uint64_t)expr_mask(from) : float_bits(&seed, from);
        b = from_int ? a : float_bits(&seed, from);
        bool known = expr_compute_float(op, from, to, a, b, &one);
        assert_int_equal(known, values_float(op, from, to, a, b, &two));
        defined += known;
        if (known)
            assert_true((one & expr_mask(to)) == (two & expr_mask(to)));
    }
    assert_true(defined > 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_folded_with_their_width),
        cmocka_unit_test(what_is_undefined_has_no_value),
        cmocka_unit_test(a_read_varies_and_keeps_its_value_beside),
        cmocka_unit_test(an_address_is_learned_from_what_is_computed_with_it),
        cmocka_unit_test(places_in_one_object_are_compared_without_its_address),
        cmocka_unit_test(collecting_keeps_what_is_marked),
        cmocka_unit_test(bytes_are_put_together_again),
        cmocka_unit_test(a_private_stack_starts_unknown_each_time),
        cmocka_unit_test(floats_are_the_same_for_engine_and_checker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
