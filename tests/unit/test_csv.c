/* test_csv.c - the SSHB prototype's CSV, read and written */
#include "formats.h"
#include "roundtrip.h"

static void every_operation_is_read(void **state)
{
    (void)state;
    expect_text(csv_open,
                "1,SIG,0,nil,1\n"
                "2,WT,0,nil,1\n"
                "1,LK,7,nil,1\n"
                "1,WR,5,Test.java:1:1,1\n"
                "1,UK,7,nil,0\r\n"
                "\n"
                "2,RD,5,Test.java:2:1,1\n"
                "2,ARD,6,a,b.go:2:1,1\n"
                "2,AWR,6,a.go:3:1,1\n"
                "2,NT,0,nil,1\n"
                "1,NTWT,0,nil,1\n"
                "2,PREBRANCH,0,a.go:4:1,1\n"
                "2,POSTBRANCH,0,a.go:4:1,1\n"
                "2,SIGNALJOIN,0,nil,2\n"
                "1,WAITJOIN,0,nil,2\n"
                "1,SIGNALNOTIFY,0,nil,3\n"
                "1,WAITNOTIFY,0,nil,3",
                "T1|before(s1)|nil\n"
                "T2|after(s1)|nil\n"
                "T1|acq(7)|nil\n"
                "T1|w(5)|Test.java:1:1\n"
                "T1|rel(7)|nil\n"
                "T2|r(5)|Test.java:2:1\n"
                "T2|load.sc(6)|a,b.go:2:1\n"
                "T2|store.sc(6)|a.go:3:1\n"
                "T2|signal(n1)|nil\n"
                "T1|wait(n1)|nil\n"
                "T2|branch|a.go:4:1\n"
                "T2|before(s2)|nil\n"
                "T1|after(s2)|nil\n"
                "T1|signal(s3)|nil\n"
                "T1|wait(s3)|nil\n");
}

static void the_number_of_a_signal_is_the_last_field(void **state)
{
    (void)state;
    expect_text(csv_open, "3,SIG,8,nil,1\n4,WT,9,nil,1\n", "T3|before(s1)|nil\nT4|after(s1)|nil\n");
}

static void a_file_says_nothing_about_its_order(void **state)
{
    struct reading r;

    (void)state;
    read_memory(&r, csv_open, "1,PREBRANCH,0,x,0\n", 18);
    assert_int_equal(r.info.order, TRACE_UNKNOWN);
    assert_string_equal(r.info.format, "csv");
    assert_true(r.info.branches);
    reading_release(&r);
}

static void mistakes_get_exact_errors(void **state)
{
    static const struct {
        const char *line, *error;
    } bad[] = {
        { "1", "expected thread,operation,object,location,index, found '1'" },
        { "1,WR,1,x", "expected thread,operation,object,location,index, found '1,WR,1,x'" },
        { "1,FOO,1,x,1", "unknown operation 'FOO'" },
        { "1,wr,1,x,1", "unknown operation 'wr'" },
        { "1,,1,x,1", "unknown operation ''" },
        { ",WR,1,x,1", "bad thread ''" },
        { "T1,WR,1,x,1", "bad thread 'T1'" },
        { "1 ,WR,1,x,1", "bad thread '1 '" },
        { "123456789012345678901,WR,1,x,1", "bad thread '123456789012345678901'" },
        { "1,WR,,x,1", "bad variable ''" },
        { "1,RD,-1,x,1", "bad variable '-1'" },
        { "1,LK,a,x,1", "bad lock 'a'" },
        { "1,SIG,1,nil,", "bad signal number ''" },
        { "1,WT,1,nil,x", "bad signal number 'x'" },
        { "1,WR,1,,1", "empty location in '1,WR,1,,1'" },
        { "1,WR,1,\x02,1", "control character 0x02" },
    };
    char text[200], error[200];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), "1,WR,1,x,1\n%s\n", bad[i].line);
        snprintf(error, sizeof(error), "line 2: %s", bad[i].error);
        expect_error(csv_open, text, strlen(text), error);
        expect_error(csv_open, text, strlen(text) - 1, error);
    }
}

static void what_is_written_reads_back(void **state)
{
    static const char text[] = "T1|before(s4)|nil\n"
                               "T2|after(s4)|nil\n"
                               "T2|w(17)|a.go:1:1\n"
                               "T2|acq(17)|nil\n"
                               "T2|rel(17)|nil\n"
                               "T1|load.sc(3)|b:2\n"
                               "T1|store.sc(3)|b:2\n"
                               "T1|branch|b:3\n";
    struct export_lost lost;
    char *back = convert(text, EXPORT_CSV, csv_open, &lost);

    (void)state;
    assert_string_equal(back, text);
    assert_true(nothing_lost(&lost));
    free(back);
}

static void forks_and_joins_become_pairs_of_signals(void **state)
{
    static const char text[] = "main|fork(T9)|1\n"
                               "main|w(x)|2\n"
                               "T9|r(x=1)|3\n"
                               "T9|fence.sc|4\n"
                               "main|join(T9)|5\n";
    struct export_lost lost;
    char *back = convert(text, EXPORT_CSV, csv_open, &lost);

    (void)state;
    /* main is 2^31 + 1: the fork took the first number */
    assert_string_equal(back, "T2147483649|before(s2147483648)|nil\n"
                              "T2147483649|w(2147483650)|2\n"
                              "T9|after(s2147483648)|nil\n"
                              "T9|r(2147483650)|3\n"
                              "T9|before(s2147483651)|nil\n"
                              "T2147483649|after(s2147483651)|nil\n");
    assert_int_equal(lost.ops[OP_FENCE], 1);
    assert_int_equal(lost.values, 1);
    free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_read),
        cmocka_unit_test(the_number_of_a_signal_is_the_last_field),
        cmocka_unit_test(a_file_says_nothing_about_its_order),
        cmocka_unit_test(mistakes_get_exact_errors),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(forks_and_joins_become_pairs_of_signals),
    };

    return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
