/* test_syncp.c - what small random traces do not reach: many accesses, rounds, threads, limits */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "engines/analysis.h"
#include "text_trace.h"

static const struct engine *const engines[] = { &engine_syncp };

struct run {
    struct text_trace t;
    struct analysis a;
};

static void analyse(struct run *r, struct buf *text, const struct engine_options *options)
{
    struct error err = { "" };

    buf_addch(text, '\0');
    text_trace_open(&r->t, text->data);
    assert_int_equal(trace_rewind(r->t.trace, &err), 0);
    assert_int_equal(analysis_run(r->t.trace, engines, 1, options, NULL, &r->a, &err), 0);
    buf_release(text);
}

static void release(struct run *r)
{
    analysis_release(&r->a);
    text_trace_close(&r->t);
}

static uint64_t counter(const struct run *r, const char *name)
{
    const struct engine_result *result = &r->a.runs[0].result;

    for (size_t i = 0; i < result->ncounters; i++)
        if (!strcmp(result->counters[i].name, name))
            return result->counters[i].value;
    return 0;
}

/* The race of two locations of the text, or NULL. */
static const struct race *race_of(const struct run *r, const char *a, const char *b)
{
    const struct race_table *races = &r->a.runs[0].result.races;
    const struct tables *tables = trace_tables(r->t.trace);

    for (size_t i = 0; i < races->count; i++) {
        const struct race *x = &races->races[i];
        const char *first = intern_get(&tables->sites, x->first.site);
        const char *second = intern_get(&tables->sites, x->second.site);

        if ((!strcmp(first, a) && !strcmp(second, b)) || (!strcmp(first, b) && !strcmp(second, a)))
            return x;
    }
    return NULL;
}

/* Two threads hand a variable to and fro; each write knows the one before. */
static void ping_pong(struct buf *text, int times)
{
    for (int i = 0; i < times; i++)
        buf_addf(text, "T1|r(f)|1\nT1|w(f)|2\nT2|r(f)|3\nT2|w(f)|4\n");
}

static void a_pair_that_never_races_is_decided_in_a_second_round(void **state)
{
    struct buf text = { 0 };
    struct run r;

    (void)state;
    ping_pong(&text, 1000);
    analyse(&r, &text, NULL);
    assert_int_equal(r.a.runs[0].result.races.count, 2);
    assert_non_null(race_of(&r, "2", "3"));
    assert_non_null(race_of(&r, "4", "1"));
    assert_true(r.a.runs[0].result.complete);
    assert_int_equal(counter(&r, "rounds"), 2);
    assert_int_equal(counter(&r, "lists_undecided"), 0);
    release(&r);
}

static void a_pair_that_races_late_is_found_in_a_second_round(void **state)
{
    struct buf text = { 0 };
    struct run r;

    (void)state;
    ping_pong(&text, 1000);
    buf_addf(&text, "T1|w(f)|2\n");
    analyse(&r, &text, NULL);
    assert_int_equal(r.a.runs[0].result.races.count, 3);
    assert_non_null(race_of(&r, "2", "4"));
    assert_int_equal(race_of(&r, "2", "4")->second.position, 4000);
    assert_int_equal(race_of(&r, "2", "4")->strength, STRENGTH_WITNESSED);
    release(&r);
}

/* The second write of a word splits it; the histories of the parts begin with the whole. */
static void later_rounds_know_the_history_of_split_variables(void **state)
{
    struct buf text = { 0 };
    struct run r;

    (void)state;
    for (int i = 0; i < 600; i++)
        buf_addf(&text, "T1|r(0x1000:8)|1\nT1|w(0x1000:8)|2\nT2|r(0x1000:8)|3\nT2|w(0x1000:8)|4\n");
    buf_addf(&text, "T3|w(0x1004:2)|5\n");
    analyse(&r, &text, NULL);
    assert_non_null(race_of(&r, "4", "5"));
    assert_non_null(race_of(&r, "2", "5"));
    assert_null(race_of(&r, "2", "4"));
    assert_true(counter(&r, "rounds") >= 2);
    release(&r);
}

static void a_loop_that_does_not_synchronise_takes_no_memory(void **state)
{
    struct buf text = { 0 };
    struct run r;

    (void)state;
    for (int i = 0; i < 5000; i++)
        buf_addf(&text, "T%d|w(x)|%d\n", i % 2, i % 2);
    analyse(&r, &text, NULL);
    assert_int_equal(r.a.runs[0].result.races.count, 1);
    assert_int_equal(counter(&r, "kept_accesses"), 2);
    release(&r);
}

/* T1 and T2 with a section each, many variables: T2's section needs nothing of T1. */
static void many_variables(struct buf *text, int count)
{
    for (int i = 0; i < count; i++)
        buf_addf(text,
                 "T1|w(x%d)|1%d\nT1|acq(l)|1\nT1|rel(l)|2\n"
                 "T2|acq(l)|3\nT2|rel(l)|4\nT2|w(x%d)|2%d\n",
                 i, i % 10, i, i % 10);
}

static void the_number_of_threads_does_not_change_the_result(void **state)
{
    struct engine_options options = { .jobs = 4 };
    struct buf text = { 0 }, again = { 0 };
    struct run one, four;

    (void)state;
    many_variables(&text, 300);
    many_variables(&again, 300);
    analyse(&one, &text, NULL);
    analyse(&four, &again, &options);
    assert_int_equal(one.a.runs[0].result.races.count, 10);
    assert_int_equal(four.a.runs[0].result.races.count, 10);
    for (size_t i = 0; i < 10; i++) {
        const struct race *x = &one.a.runs[0].result.races.races[i];
        const struct race *y = &four.a.runs[0].result.races.races[i];

        assert_int_equal(x->first.position, y->first.position);
        assert_int_equal(x->second.position, y->second.position);
    }
    release(&one);
    release(&four);
}

static void long_schedules_are_checked_and_not_kept(void **state)
{
    struct engine_options options = { .max_witness = 50 };
    struct buf text = { 0 };
    struct run r;

    (void)state;
    many_variables(&text, 300);
    buf_addf(&text, "T1|w(y)|5\nT2|w(y)|6\n");
    analyse(&r, &text, &options);
    assert_int_equal(race_of(&r, "5", "6")->strength, STRENGTH_WITNESSED);
    assert_null(race_of(&r, "5", "6")->witness);
    assert_true(race_of(&r, "5", "6")->long_witness > 50);
    assert_int_equal(race_of(&r, "10", "20")->strength, STRENGTH_WITNESSED);
    assert_non_null(race_of(&r, "10", "20")->witness);
    assert_true(counter(&r, "witness_not_kept") >= 1);
    release(&r);
}

static void schedules_that_nobody_wants_are_checked_all_the_same(void **state)
{
    struct engine_options options = { .no_witness = true };
    struct buf text = { 0 };
    struct run r;

    (void)state;
    many_variables(&text, 1);
    analyse(&r, &text, &options);
    assert_int_equal(race_of(&r, "10", "20")->strength, STRENGTH_WITNESSED);
    assert_null(race_of(&r, "10", "20")->witness);
    assert_true(race_of(&r, "10", "20")->long_witness > 0);
    release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_that_never_races_is_decided_in_a_second_round),
        cmocka_unit_test(a_pair_that_races_late_is_found_in_a_second_round),
        cmocka_unit_test(later_rounds_know_the_history_of_split_variables),
        cmocka_unit_test(a_loop_that_does_not_synchronise_takes_no_memory),
        cmocka_unit_test(the_number_of_threads_does_not_change_the_result),
        cmocka_unit_test(long_schedules_are_checked_and_not_kept),
        cmocka_unit_test(schedules_that_nobody_wants_are_checked_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
