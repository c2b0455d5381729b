/* test_foreign.c - files of other tools, tests/traces/foreign, give the events next to them
 *
 * Runs in the folder of those files.
 */
#include "formats.h"

#include <stdio.h>

static void expect_file(const char *path, open_fn *open, const char *expected)
{
    struct reading r = { 0 }, e = { 0 };

    read_input(&r, open, input_open(path, &r.err));
    if (r.status)
        fail_msg("%s", r.err.text);
    read_input(&e, std_open, input_open(expected, &e.err));
    assert_int_equal(e.status, 0);
    assert_true(e.count > 0);
    assert_string_equal(r.text.data, e.text.data);
    reading_release(&r);
    reading_release(&e);
}

static void a_roadrunner_log_gives_its_events(void **state)
{
    (void)state;
    expect_file("print-tool.rr", rr_open, "print-tool.expected");
}

static void a_prototype_csv_gives_its_events(void **state)
{
    (void)state;
    expect_file("pairs.csv", csv_open, "pairs.expected");
}

static void an_rv_predict_trace_gives_its_events(void **state)
{
    (void)state;
    expect_file("all-records.rvp", rvp_open, "all-records.expected");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_roadrunner_log_gives_its_events),
        cmocka_unit_test(a_prototype_csv_gives_its_events),
        cmocka_unit_test(an_rv_predict_trace_gives_its_events),
    };

    return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}
