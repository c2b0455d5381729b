/* test_rr.c - logs of RoadRunner's print tool, read and written */
#include "formats.h"
#include "roundtrip.h"

static void the_events_of_a_log_are_found_among_other_output(void **state)
{
    (void)state;
    expect_text(rr_open,
                "[main: RoadRunner starts]\n"
                "@   Start(0,1)\n"
                "Hello, @ Wr(1,x)\n"
                "@     Wr(1,@02.test/Race.x_I)  [W=(0:1) R=(1:2)]  Race.java:12:5\n"
                "@\tRd(0,null.test/Race.y_I)\tFinal\tRace.java:13:7\r\n"
                "@    ARd(2,@05[13])  Final  Functions.java:116:153\n"
                "@    AWr(2,@05[14])  Final  Functions.java:117:153\n"
                "@    VRd(0,@01.A.v_Z)  ShadowVolatile\n"
                "@    VWr(0,@01.A.v_Z)  ShadowVolatile  A.java:9:1\n"
                "@    VolatileRd(0,v)\n"
                "@    VolatileWr(0,v)\n"
                "@   Acquire(2,@03)\n"
                "@   Release(2,@03)\n"
                "@   test acquire @03\n"
                "@   Enter(1,test/Deadlock.doSomething(I)V) from A.java:3\n"
                "@   Exit(1,test/Deadlock.doSomething(I)V)\n"
                "@   Dummy(1,2)\n"
                "@   Wait(1,@03)\n"
                "@  stopped 1\n"
                "@Wr(1,x)\n"
                "@ \n"
                "\n"
                "! Wr(1,x)  a  b\n"
                "@   Join(0,1)",
                "T0|fork(T1)|?\n"
                "T1|w(@02.test/Race.x_I)|Race.java:12:5\n"
                "T0|r(null.test/Race.y_I)|Race.java:13:7\n"
                "T2|r(@05[13])|Functions.java:116:153\n"
                "T2|w(@05[14])|Functions.java:117:153\n"
                "T0|load.sc(@01.A.v_Z)|?\n"
                "T0|store.sc(@01.A.v_Z)|A.java:9:1\n"
                "T0|load.sc(v)|?\n"
                "T0|store.sc(v)|?\n"
                "T2|acq(@03)|?\n"
                "T2|rel(@03)|?\n"
                "T1|enter(test/Deadlock.doSomething(I)V)|A.java:3\n"
                "T1|exit(test/Deadlock.doSomething(I)V)|?\n"
                "T0|join(T1)|?\n");
}

static void a_log_says_nothing_about_its_order(void **state)
{
    struct reading r;

    (void)state;
    read_memory(&r, rr_open, "@ Wr(1,x)  a  b\n", 16);
    assert_int_equal(r.info.order, TRACE_UNKNOWN);
    assert_string_equal(r.info.format, "rr");
    assert_false(r.info.values);
    reading_release(&r);
}

static void a_broken_event_gets_an_exact_error(void **state)
{
    static const struct {
        const char *line, *error;
    } bad[] = {
        { "@ Wr(1)  a  b", "expected Wr(thread,argument), found 'Wr(1)  a  b'" },
        { "@ Wr(1,x", "expected Wr(thread,argument), found 'Wr(1,x'" },
        { "@ Wr(1,)", "expected Wr(thread,argument), found 'Wr(1,)'" },
        { "@ Wr(,x)", "expected Wr(thread,argument), found 'Wr(,x)'" },
        { "@ Wr(", "expected Wr(thread,argument), found 'Wr('" },
        { "@   Acquire(1 ,x)", "expected Acquire(thread,argument), found 'Acquire(1 ,x)'" },
        { "@ Rd(1,x\x01)", "control character in 'Rd(1,x\\x01)'" },
    };
    char text[200], error[200];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), "noise\n%s\n", bad[i].line);
        snprintf(error, sizeof(error), "line 2: %s", bad[i].error);
        expect_error(rr_open, text, strlen(text), error);
        expect_error(rr_open, text, strlen(text) - 1, error);
    }
}

static void what_is_written_reads_back(void **state)
{
    static const char text[] = "T0|fork(T12)|?\n"
                               "T12|w(a.b[3])|A.java:1:2\n"
                               "T0|r(a.b[3])|A.java:2:2\n"
                               "T12|load.sc(v)|x\n"
                               "T12|store.sc(v)|x\n"
                               "main|acq(L(1))|y\n"
                               "main|rel(L(1))|y\n"
                               "T0|enter(f(I)V)|z\n"
                               "T0|exit(f(I)V)|z\n"
                               "T0|join(T12)|?\n";
    struct export_lost lost;
    char *back;

    (void)state;
    back = convert(text, EXPORT_RR, rr_open, &lost);
    assert_string_equal(back, text);
    assert_true(nothing_lost(&lost));
    free(back);
}

static void what_cannot_be_written_is_counted(void **state)
{
    static const char text[] = "T0|w(x=5)|1\n"
                               "T0|r(0x10:4=5)|1\n"
                               "T0|rmw.acq(x)|1\n"
                               "T0|fence.sc|1\n"
                               "T0|fence.sc|1\n"
                               "T0|acqs(L)|1\n"
                               "T0|begin|1\n";
    struct export_lost lost;
    struct buf b = { 0 };
    char *back;

    (void)state;
    back = convert(text, EXPORT_RR, rr_open, &lost);
    assert_string_equal(back, "T0|w(x)|1\n"
                              "T0|r(%30x10:4)|1\n"
                              "T0|load.sc(x)|1\n"
                              "T0|store.sc(x)|1\n");
    assert_true(export_lost_text(&lost, &b));
    assert_string_equal(b.data, "2 fence, 1 acquire-shared, 1 begin, 2 values, 1 memory orders, "
                                "written as seq_cst, 1 address ranges, written as names");
    buf_release(&b);
    free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_events_of_a_log_are_found_among_other_output),
        cmocka_unit_test(a_log_says_nothing_about_its_order),
        cmocka_unit_test(a_broken_event_gets_an_exact_error),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(what_cannot_be_written_is_counted),
    };

    return cmocka_run_group_tests_name("rr", tests, NULL, NULL);
}
