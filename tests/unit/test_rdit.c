/* test_rdit.c - calls of untraced code: what the checker says, and what the parts do at their edges
 *
 * That all agree on random traces is a matter of tests/property/prop_rdit.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "order/number_set.h"
#include "order/view.h"
#include "rng.h"
#include "text_trace.h"
#include "witness/witness.h"

/* Checks the order "0 3 4 ..." of a trace; `expected` is NULL for accepted. */
static void expect(const char *text, enum witness_calls rule, const char *order,
                   const char *expected)
{
    struct text_trace t = { 0 };
    struct witness_trace *w;
    struct error err = { "" };
    uint64_t list[64];
    size_t n = 0;
    char *end;

    for (const char *p = order; *p; p = *end ? end + 1 : end)
        list[n++] = strtoull(p, &end, 10);
    text_trace_open(&t, text);
    w = witness_trace_new(&t.mem, trace_info(t.trace));
    witness_trace_set_names(w, trace_tables(t.trace));
    for (int again = 0; again < 2; again++) {
        assert_int_equal(witness_check(w, list, n, &err), 1); /* without calls all is fine */
        witness_trace_set_calls(w, rule, trace_tables(t.trace));
        assert_int_equal(witness_check(w, list, n, &err), expected == NULL);
        assert_string_equal(err.text, expected ? expected : "");
        witness_trace_set_calls(w, CALLS_IGNORED, NULL);
    }
    witness_trace_free(w);
    text_trace_close(&t);
}

static const char set_and_wait[] = "T1|w(X)|1\nT1|call(set:Y)|2\nT1|ret(set)|3\n"
                                   "T2|call(wait:Y)|4\nT2|ret(wait)|5\nT2|r(X)|6\n";

static void calls_of_one_thing_keep_their_order(void **state)
{
    (void)state;
    expect(set_and_wait, CALLS_PAIRS, "3 4 0 5",
           "event 3: T1's call of set at event 1 comes first, up to event 2");
}

static void calls_of_other_things_do_not(void **state)
{
    static const char text[] = "T1|w(X)|1\nT1|call(set:Y)|2\nT1|ret(set)|3\n"
                               "T2|call(wait:Z)|4\nT2|ret(wait)|5\nT2|r(X)|6\n";

    (void)state;
    expect(text, CALLS_PAIRS, "3 4 0 5", NULL);
    expect(text, CALLS_SIMPLE, "3 4 0 5",
           "event 3: T1's call of set at event 1 comes first, up to event 2");
}

static void what_touches_the_list_of_a_call_keeps_its_order(void **state)
{
    static const char text[] = "T1|w(X)|1\nT1|w(Y)|2\nT2|call(wait:Y)|3\nT2|ret(wait)|4\n"
                               "T2|r(X)|5\n";

    (void)state;
    expect(text, CALLS_PAIRS, "2 3 0 4",
           "event 2: event 1 (write) comes first: a call may touch what it touches");
}

static void a_call_finds_what_it_found(void **state)
{
    static const char text[] = "T1|acq(L)|1\nT1|w(f)|2\nT1|w(x)|3\nT1|rel(L)|4\nT2|acq(L)|5\n"
                               "T2|w(f)|6\nT2|rel(L)|7\nT3|call(check:f)|8\nT3|ret(check)|9\n"
                               "T3|w(x)|10\n";

    (void)state;
    expect(text, CALLS_PAIRS, "4 5 6 0 1 7 8 2 9",
           "event 7: check may find something else at f than it did");
}

static void a_read_behind_a_call_sees_a_write_behind_it(void **state)
{
    static const char text[] = "T0|w(f=3)|1\nT0|fork(T1)|2\nT1|call(set:f)|3\nT1|ret(set)|4\n"
                               "T2|w(x)|5\nT2|w(f=3)|6\nT0|join(T1)|7\nT0|r(f=3)|8\nT0|w(x)|9\n";

    (void)state;
    expect(text, CALLS_PAIRS, "0 1 2 3 6 7 4 8",
           "event 7: reads f from event 0, not its value in the trace");
}

static void inside_a_call_every_read_counts(void **state)
{
    static const char text[] = "T1|w(y=1)|1\nT1|w(x)|2\nT2|call(f:z)|3\nT2|r(y=1)|4\nT2|w(x)|5\n"
                               "T2|ret(f)|6\nT2|branch|7\n";

    (void)state;
    expect(text, CALLS_PAIRS, "2 3 0 1 4",
           "event 3: reads y from initial memory, not its value in the trace");
}

/* ---- the view ---- */

static void a_view_without_calls_is_the_same_with_every_rule(void **state)
{
    struct text_trace t = { 0 };
    struct view *a, *b;

    (void)state;
    text_trace_open(&t, "T1|acq(L)|1\nT1|w(x)|2\nT1|rel(L)|3\nT2|acq(L)|4\nT2|r(x)|5\n");
    a = view_new(&t.mem, CALL_RULE_NONE);
    b = view_new(&t.mem, CALL_RULE_SIMPLE);
    assert_int_equal(a->need_first[a->count], b->need_first[b->count]);
    assert_int_equal(a->ncells, b->ncells);
    view_free(a);
    view_free(b);
    text_trace_close(&t);
}

/* A thread that does a lot inside a call costs nothing, and is asked for once. */
static void an_open_call_gives_few_edges(void **state)
{
    struct buf text = { 0 };
    struct text_trace t = { 0 };
    struct view *v;

    (void)state;
    buf_addstr(&text, "T1|call(f:y)|0\n");
    for (int i = 0; i < 500; i++)
        buf_addf(&text, "T1|w(x)|%d\n", i);
    buf_addstr(&text, "T2|w(y)|1\n");
    for (int i = 0; i < 500; i++)
        buf_addf(&text, "T1|w(x)|%d\n", i);
    buf_addstr(&text, "T1|ret(f)|0\n");
    buf_addch(&text, '\0');
    text_trace_open(&t, text.data);
    v = view_new(&t.mem, CALL_RULE_PAIRS);
    assert_int_equal(v->need_first[v->count], 2);
    assert_int_equal(v->need[0], 500);
    assert_int_equal(v->need[1], 501);
    assert_int_equal(v->need_first[503] - v->need_first[502], 1);
    view_free(v);
    text_trace_close(&t);
    buf_release(&text);
}

/* ---- marks ---- */

static uint32_t slow_next(const bool *in, uint32_t n, uint32_t i)
{
    while (i < n && !in[i])
        i++;
    return i < n ? i : MARKS_NONE;
}

static uint32_t slow_previous(const bool *in, uint32_t i)
{
    for (uint32_t k = i + 1; k-- > 0;)
        if (in[k])
            return k;
    return MARKS_NONE;
}

static void marks_find_their_neighbours(void **state)
{
    static const uint32_t sizes[] = { 1, 63, 64, 65, 4095, 4096, 4097, 9000 };
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        uint32_t n = sizes[s];
        bool *in = calloc(n, sizeof(*in));
        struct marks m;

        marks_init(&m, n);
        for (int round = 0; round < 400; round++) {
            uint32_t i = rng_below(&rng, n), at = rng_below(&rng, n);

            in[i] = rng_percent(&rng, 60);
            (in[i] ? marks_add : marks_remove)(&m, i);
            assert_int_equal(marks_has(&m, i), in[i]);
            assert_int_equal(marks_next(&m, at), slow_next(in, n, at));
            assert_int_equal(marks_previous(&m, at), slow_previous(in, at));
        }
        assert_int_equal(marks_next(&m, n), MARKS_NONE);
        marks_release(&m);
        free(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_one_thing_keep_their_order),
        cmocka_unit_test(calls_of_other_things_do_not),
        cmocka_unit_test(what_touches_the_list_of_a_call_keeps_its_order),
        cmocka_unit_test(a_call_finds_what_it_found),
        cmocka_unit_test(a_read_behind_a_call_sees_a_write_behind_it),
        cmocka_unit_test(inside_a_call_every_read_counts),
        cmocka_unit_test(a_view_without_calls_is_the_same_with_every_rule),
        cmocka_unit_test(an_open_call_gives_few_edges),
        cmocka_unit_test(marks_find_their_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
