/* test_execution_values.c - the checker's evaluator against expr.c's, operation by operation
 *
 * A tiny execution: thread 0 writes a and b, thread 1 reads both (it recorded zeros), writes
 * an expression over them, thread 2 reads that. The value it sees is computed by
 * witness/values.c; expr_compute() says what it should be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "execution/execution.h"
#include "witness/values.h"

enum { WRITE_A, WRITE_B, READ_A, READ_B, WRITE_C, READ_C, EVENTS };

struct scene {
    struct exprs x;
    struct event events[EVENTS];
    struct execution_event about[EVENTS];
    uint32_t condition_first[EVENTS + 1];
    struct execution_condition condition;
    struct trace_mem trace;
    struct execution e;
    expr a, b; /* 64 bits */
};

static void scene_init(struct scene *s)
{
    static const uint8_t ops[EVENTS] = { OP_WRITE, OP_WRITE, OP_READ, OP_READ, OP_WRITE, OP_READ };
    static const uint32_t threads[EVENTS] = { 0, 0, 1, 1, 1, 2 };

    memset(s, 0, sizeof(*s));
    exprs_init(&s->x);
    for (unsigned i = 0; i < EVENTS; i++) {
        s->events[i] = (struct event){ .op = ops[i], .thread = threads[i], .size = 8 };
        s->events[i].target = NAMED_BASE + 8 * (i < 2 ? i : i < 4 ? i - 2 : 2);
        s->events[i].flags = EV_VALUE;
        s->about[i] = (struct execution_event){ .known = true };
        s->about[i].address = expr_const(&s->x, 64, s->events[i].target);
    }
    s->a = expr_read(&s->x, 64, READ_A, 0);
    s->b = expr_read(&s->x, 64, READ_B, 0);
    expr_set_value(&s->x, s->a, 0);
    expr_set_value(&s->x, s->b, 0);
    s->about[READ_A].value = s->a;
    s->about[READ_B].value = s->b;
    s->trace = (struct trace_mem){ .events = s->events, .count = EVENTS };
    s->e = (struct execution){ .trace = &s->trace,
                               .x = &s->x,
                               .events = s->about,
                               .condition_first = s->condition_first,
                               .conditions = &s->condition };
}

static struct values_cell cell(uint32_t life, uint32_t observed)
{
    return (struct values_cell){ .life = life, .bytes = 8, .observed = observed };
}

/* Thread 0 and 1 up to the write; the reads saw zeros that were there first. */
static struct changing *run(struct scene *s, uint64_t a, uint64_t b)
{
    struct changing *v;
    struct values_cell c;

    s->events[WRITE_A].value = a;
    s->events[WRITE_B].value = b;
    v = changing_new(&s->e, 3, 3);
    for (uint32_t i = WRITE_A; i <= WRITE_B; i++) {
        c = cell(i, VALUES_NONE);
        changing_write(v, i, &c);
    }
    for (uint32_t i = READ_A; i <= READ_B; i++) {
        c = cell(i - READ_A, VALUES_NONE);
        changing_read(v, i, &c);
    }
    c = cell(2, VALUES_NONE);
    changing_write(v, WRITE_C, &c);
    c.observed = WRITE_C;
    changing_read(v, READ_C, &c);
    return v;
}

static uint64_t random_number(unsigned i)
{
    static const uint64_t odd[] = { 0,          1,     2,          3,
                                    7,          8,     63,         64,
                                    0x7f,       0x80,  0xff,       0x7fffffff,
                                    0x80000000, ~0ull, 1ull << 63, (1ull << 63) - 1 };

    return i < 16 ? odd[i] : (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ i;
}

static void check_operation(enum expr_op op, unsigned width, uint64_t a, uint64_t b)
{
    struct scene s;
    struct changing *v;
    u128 expected = 0, x, y;
    uint64_t found = 0;
    uint32_t writer;
    bool known = false, defined;
    expr e;

    scene_init(&s);
    e = expr_binary(&s.x, op, expr_resize(&s.x, width, s.a), expr_resize(&s.x, width, s.b));
    s.about[WRITE_C].value = expr_resize(&s.x, 64, e);
    if (!expr_value(&s.x, s.about[WRITE_C].value, &x))
        s.events[WRITE_C].flags = 0;
    else
        s.events[WRITE_C].value = s.events[READ_C].value = (uint64_t)x;
    if (!s.events[WRITE_C].flags)
        s.events[READ_C].flags = 0;
    x = a & expr_mask(width);
    y = b & expr_mask(width);
    defined = expr_compute(op, width, x, y, &expected);
    v = run(&s, a, b);
    if (changing_changed(v, READ_C, &found, &known, &writer)) {
        assert_int_equal(known, defined);
        if (known)
            assert_true(found == (uint64_t)expected);
    } else { /* as recorded */
        assert_true(defined && s.events[READ_C].value == (uint64_t)expected);
    }
    changing_free(v);
    exprs_release(&s.x);
}

static void operations_give_what_llvm_says(void **state)
{
    static const unsigned widths[] = { 8, 16, 32, 64, 3, 33 };

    (void)state;
    for (unsigned op = EX_ADD; op <= EX_SLE; op++)
        for (unsigned w = 0; w < 6; w++)
            for (unsigned i = 1; i < 60; i++)
                check_operation((enum expr_op)op, widths[w], random_number(i),
                                random_number((i * 7) % 61));
}

static void a_value_that_nothing_tells_is_bad(void **state)
{
    struct scene s;
    struct changing *v;
    uint64_t value;
    uint32_t writer;
    bool known;

    (void)state;
    scene_init(&s);
    s.about[WRITE_C].value = 0; /* no expression */
    v = run(&s, 1, 0);
    assert_true(changing_changed(v, READ_C, &value, &known, &writer));
    assert_false(known);
    changing_free(v);
    v = run(&s, 0, 0); /* nothing changed */
    assert_false(changing_changed(v, READ_C, &value, &known, &writer));
    changing_free(v);
    exprs_release(&s.x);
}

static void conditions_hold_for_values_that_keep_them(void **state)
{
    struct scene s;
    struct changing *v;
    struct error err;

    (void)state;
    scene_init(&s);
    s.about[WRITE_C].value = s.a;
    s.condition = (struct execution_condition){
        .kind = CONDITION_BRANCH,
        .event = READ_B,
        .recorded = 1,
        .is_known = true,
        .value = expr_binary(&s.x, EX_ULT, s.a, expr_const(&s.x, 64, 5)),
    };
    for (unsigned i = WRITE_C + 1; i <= EVENTS; i++)
        s.condition_first[i] = 1; /* of the write */
    v = run(&s, 4, 0);
    assert_true(changing_check_next(v, WRITE_C, &err));
    changing_free(v);
    v = run(&s, 5, 0);
    assert_false(changing_check_next(v, WRITE_C, &err));
    assert_string_equal(err.text, "event 4: the branch at event 3 goes the other way");
    changing_free(v);
    exprs_release(&s.x);
}

static void what_is_not_known_pins_the_reads_before_it(void **state)
{
    struct scene s;
    struct changing *v;
    struct error err;

    (void)state;
    scene_init(&s);
    s.about[WRITE_C].value = s.a;
    s.about[WRITE_C].known = false;
    v = run(&s, 1, 0);
    assert_false(changing_check_next(v, WRITE_C, &err));
    assert_string_equal(err.text, "event 4: its thread has read something else, at event 2");
    changing_free(v);
    v = run(&s, 0, 0);
    assert_true(changing_check_next(v, WRITE_C, &err));
    changing_free(v);
    exprs_release(&s.x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_give_what_llvm_says),
        cmocka_unit_test(a_value_that_nothing_tells_is_bad),
        cmocka_unit_test(conditions_hold_for_values_that_keep_them),
        cmocka_unit_test(what_is_not_known_pins_the_reads_before_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
