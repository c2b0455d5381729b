/* test_export.c - writing traces: the text format, and what all writers share */
#include "formats.h"
#include "roundtrip.h"
#include "temporary.h"

static void the_ending_of_a_name_gives_the_format(void **state)
{
    (void)state;
    assert_int_equal(export_format_of("a.std"), EXPORT_STD);
    assert_int_equal(export_format_of("a.std.gz"), EXPORT_STD);
    assert_int_equal(export_format_of("a.std.zst"), EXPORT_STD);
    assert_int_equal(export_format_of("x/a.rr"), EXPORT_RR);
    assert_int_equal(export_format_of("a.csv.gz"), EXPORT_CSV);
    assert_int_equal(export_format_of("a.rvp"), EXPORT_RVP);
    assert_int_equal(export_format_of("a.hdl"), -1);
    assert_int_equal(export_format_of("std"), -1);
    assert_int_equal(export_format_of(".std"), -1);
}

static void text_is_written_as_it_was_read(void **state)
{
    static const char *const suffixes[] = { ".std", ".std.gz", ".std.zst" };
    struct buf text = { 0 };

    (void)state;
    for (unsigned i = 0; i < 30000; i++)
        buf_addf(&text, "T%u|%s(V%u=%u)|x.c:%u\nT%u|call(f%u:V%u,0x%x:8)|9\n", i % 9,
                 i % 3 ? "r" : "w", i * 7919 % 1000, i, i % 800, i % 9, i % 5, i % 1000, i);
    for (int i = 0; i < 3; i++) {
        struct export_lost lost;
        struct reading r = { 0 };
        char *path = export_text(text.data, EXPORT_STD, suffixes[i], &lost);

        read_input(&r, std_open, input_open(path, &r.err));
        assert_int_equal(r.status, 0);
        assert_string_equal(r.text.data, text.data);
        assert_true(nothing_lost(&lost));
        unlink(path);
        free(path);
        reading_release(&r);
    }
    buf_release(&text);
}

static void giving_up_leaves_nothing(void **state)
{
    struct event ev = { .op = OP_FENCE, .order = ORDER_SEQ_CST };
    struct batch b = { &ev, 1, 0, NULL };
    struct tables t = { 0 };
    char *path = xasprintf("/tmp/heddle-export-%d.std", (int)getpid());
    struct error err;
    struct exporter *e = export_open(path, EXPORT_STD, &t, &err);

    (void)state;
    assert_non_null(e);
    assert_int_equal(export_write(e, &b, &err), 0);
    export_abort(e);
    export_abort(NULL);
    assert_int_equal(access(path, F_OK), -1);
    assert_false(has_temporary(path));
    assert_null(export_open("/proc/nonexistent/x.std", EXPORT_STD, &t, &err));
    assert_string_equal(err.text,
                        "cannot create '/proc/nonexistent/x.std': No such file or directory");
    free(path);
    tables_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ending_of_a_name_gives_the_format),
        cmocka_unit_test(text_is_written_as_it_was_read),
        cmocka_unit_test(giving_up_leaves_nothing),
    };

    return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
