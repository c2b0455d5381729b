/* test_rvp.c - binary traces of RV-Predict/C, read and written */
#include "formats.h"
#include "roundtrip.h"
#include "trace/text/rvp.h"

/* A small writer of its own, by the published description: all versions, widths and orders. */
struct maker {
    struct buf out;
    int version, width;
    bool big;
};

#define CENTER 0x500000u

static void put(struct maker *m, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_addch(&m->out, (char)(v >> 8 * (m->big ? bytes - 1 - i : i)));
}

static void make(struct maker *m, int version, int width, bool big)
{
    *m = (struct maker){ .version = version, .width = width, .big = big };
    buf_addstr(&m->out, "RVP_");
    buf_add(&m->out, (char[]){ 0, 0, 0, (char)version }, 4);
    buf_addstr(&m->out, big ? "3210" : "0123");
    buf_add(&m->out, (char[]){ (char)width, 4, 0, 0 }, 4);
}

static void word(struct maker *m, uint64_t v)
{
    put(m, v, m->width);
}

static void op(struct maker *m, int jump, int code)
{
    if (m->version >= 4)
        word(m, CENTER - 128 + (uint64_t)(code * 256 + 128 + jump));
    else
        word(m, CENTER + (uint64_t)(jump * 46 + code));
}

static void begin(struct maker *m, uint32_t tid)
{
    op(m, 0, RVP_BEGIN);
    put(m, tid, 4);
    put(m, 1, 8);
}

/* One of everything. */
static void make_all(struct maker *m, int version, int width, bool big)
{
    make(m, version, width, big);
    begin(m, 1);
    word(m, 0x4005d0); /* a jump */
    op(m, 0, RVP_ENTER);
    word(m, 0x7000);
    if (version >= 3)
        word(m, 0x4004);
    for (int w = 0; w < 5; w++) { /* loads of 1, 2, 4, 8, 16 bytes */
        op(m, 4, RVP_LOAD1 + w);
        word(m, 0x6000 + 16 * (uint64_t)w);
        if (w == 4 && big)
            put(m, 0, 8);
        put(m, 0x81828384, w < 3 ? 4 : 8);
        if (w == 4 && !big)
            put(m, 0, 8);
    }
    op(m, -20, RVP_STORE1 + 3);
    word(m, 0x6030);
    put(m, 0xfedcba9876543210u, 8);
    op(m, 127, RVP_FORK);
    put(m, 2, 4);
    op(m, -128, RVP_ACQUIRE);
    word(m, 0x6100);
    op(m, 0, RVP_SWITCH); /* a thread's first records follow a switch to it */
    put(m, 2, 4);
    begin(m, 2);
    word(m, 0x400700);
    op(m, 0, RVP_RMW1);
    word(m, 0x6200);
    put(m, 0x00120011, 4); /* new 0x12, old 0x11 */
    op(m, 1, RVP_RMW1 + 1);
    word(m, 0x6200);
    put(m, 0x22120011, 4);
    op(m, 1, RVP_RMW1 + 2);
    word(m, 0x6200);
    put(m, 5, 4);
    put(m, 6, 4);
    op(m, 1, RVP_RMW1 + 3);
    word(m, 0x6200);
    put(m, 7, 8);
    put(m, 8, 8);
    op(m, 1, RVP_ATOMIC_LOAD1);
    word(m, 0x6200);
    put(m, 0x11f, 4);
    op(m, 1, RVP_ATOMIC_STORE1 + 2);
    word(m, 0x6200);
    put(m, 9, 4);
    op(m, 0, RVP_GENERATION);
    put(m, 3, 8);
    op(m, 0, RVP_SIG_ESTABLISH); /* signals say nothing */
    word(m, 0x400800);
    put(m, 10, 4);
    put(m, 0, 4);
    op(m, 0, RVP_SIG_MASK_MEMO);
    put(m, 0, 8);
    put(m, 0, 4);
    put(m, 1, 4);
    op(m, 0, RVP_SIG_DEPTH);
    put(m, 1, 4);
    word(m, 0x400900);
    op(m, 0, RVP_SIG_ENTER);
    word(m, 0x400800);
    put(m, 1, 8);
    put(m, 10, 4);
    op(m, 2, RVP_STORE1); /* in a handler: a program counter of its own */
    word(m, 0x6300);
    put(m, 1, 4);
    op(m, 0, RVP_SIG_EXIT);
    op(m, 0, RVP_SIG_DEPTH);
    put(m, 0, 4);
    for (int code = RVP_SIG_SET_MASK; code < RVP_OPS; code++) {
        if (code == RVP_SIG_DEPTH)
            continue;
        op(m, 0, code);
        put(m, 0, 4);
        if (code == RVP_SIG_GETSET_MASK)
            put(m, 0, 4);
    }
    op(m, 0, RVP_SIG_DISESTABLISH);
    put(m, 10, 4);
    op(m, 3, RVP_END);
    op(m, 0, RVP_SWITCH);
    put(m, 1, 4);
    op(m, 0, RVP_RELEASE);
    word(m, 0x6100);
    op(m, 1, RVP_JOIN);
    put(m, 2, 4);
    op(m, 1, RVP_EXIT);
}

static const char everything[] = "T1|begin|?\n"
                                 "T1|enter(0x4005d0)|0x4005d0\n"
                                 "T1|r(0x6000:1=132)|0x4005d4\n"
                                 "T1|r(0x6010:2=33668)|0x4005d8\n"
                                 "T1|r(0x6020:4=2172814212)|0x4005dc\n"
                                 "T1|r(0x6030:8=2172814212)|0x4005e0\n"
                                 "T1|r(0x6040:16)|0x4005e4\n"
                                 "T1|w(0x6030:8=18364758544493064720)|0x4005d0\n"
                                 "T1|fork(T2)|0x40064f\n"
                                 "T1|acq(0x6100)|0x4005cf\n"
                                 "T2|begin|?\n"
                                 "T2|rmw.sc(0x6200:1=17>18)|0x400700\n"
                                 "T2|rmw.sc(0x6200:2=17>8722)|0x400701\n"
                                 "T2|rmw.sc(0x6200:4=5>6)|0x400702\n"
                                 "T2|rmw.sc(0x6200:8=7>8)|0x400703\n"
                                 "T2|load.sc(0x6200:1=31)|0x400704\n"
                                 "T2|store.sc(0x6200:4=9)|0x400705\n"
                                 "T2|w(0x6300:1=1)|0x400902\n"
                                 "T2|end|0x400708\n"
                                 "T1|rel(0x6100)|0x4005cf\n"
                                 "T1|join(T2)|0x4005d0\n"
                                 "T1|exit(0x4005d0)|0x4005d1\n";

static void every_record_of_every_version_is_read(void **state)
{
    (void)state;
    for (int version = 2; version <= 4; version++) {
        for (int width = 4; width <= 8; width += 4) {
            for (int big = 0; big < 2; big++) {
                struct maker m;
                struct reading r;

                make_all(&m, version, width, big);
                read_memory(&r, rvp_open, m.out.data, m.out.len);
                if (r.status)
                    fail_msg("%s", r.err.text);
                assert_string_equal(r.text.data, everything);
                assert_int_equal(r.info.order, TRACE_UNKNOWN);
                assert_true(r.info.values);
                reading_release(&r);
                buf_release(&m.out);
            }
        }
    }
}

static void a_file_written_by_hand_is_read(void **state)
{
    /* Checked against the description byte by byte: the block of deltops is around 0x401000
     * (0, begin); store4 with jump 2 is 0x401000 + 2 * 46 + 9 = 0x401065. */
    /* clang-format off */
    static const unsigned char hex[] = {
        'R', 'V', 'P', '_', 0, 0, 0, 3, '0', '1', '2', '3', 8, 4, 0, 0,
        0x00, 0x10, 0x40, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0xd0, 0x05, 0x50, 0, 0, 0, 0, 0,
        0x65, 0x10, 0x40, 0, 0, 0, 0, 0, 0x40, 0x10, 0x60, 0, 0, 0, 0, 0, 0x2a, 0, 0, 0,
        0x01, 0x10, 0x40, 0, 0, 0, 0, 0,
    };
    /* clang-format on */
    struct reading r;

    (void)state;
    read_memory(&r, rvp_open, hex, sizeof(hex));
    assert_int_equal(r.status, 0);
    assert_string_equal(r.text.data, "T1|begin|?\n"
                                     "T1|w(0x601040:4=42)|0x5005d2\n"
                                     "T1|end|0x5005d2\n");
    reading_release(&r);
}

static void a_second_pass_reads_the_same(void **state)
{
    struct maker m;
    struct reading r = { 0 };
    struct source *s;

    (void)state;
    make_all(&m, 3, 8, false);
    s = rvp_open(input_from_memory(m.out.data, m.out.len, &r.err), &r.tables, &r.info, &r.err);
    for (int pass = 0; pass < 2; pass++) {
        r.count = r.text.len = 0;
        reading_pass(&r, s);
        assert_int_equal(r.status, 0);
        assert_string_equal(r.text.data, everything);
        assert_int_equal(s->ops->rewind(s, &r.err), 0);
    }
    s->ops->close(s);
    reading_release(&r);
    buf_release(&m.out);
}

static void bad_headers_get_exact_errors(void **state)
{
    char h[40] = "RVP_\0\0\0\3"
                 "0123\10\4";

    (void)state;
    expect_error(rvp_open, "", 0, "no RV-Predict/C header");
    expect_error(rvp_open, h, 15, "no RV-Predict/C header");
    expect_error(rvp_open, "XVP_aaaabbbbcccc", 16, "no RV-Predict/C header");
    expect_error(rvp_open, h, 23, "byte 16: the trace ends inside a record");
    h[7] = 9;
    expect_error(rvp_open, h, 40,
                 "RV-Predict/C format version 0.0.0.9, expected 0.0.0.2 to 0.0.0.4");
    h[7] = 3;
    h[8] = 'x';
    expect_error(rvp_open, h, 40, "byte 8: unknown byte order");
    h[8] = '0';
    h[12] = 2;
    expect_error(rvp_open, h, 40, "byte 12: pointers of 2 bytes, expected 4 or 8");
    h[12] = 8;
    h[13] = 8;
    expect_error(rvp_open, h, 40, "byte 13: data of 8 bytes, expected 4");
}

static void a_header_alone_is_an_empty_trace(void **state)
{
    struct maker m;
    struct reading r;

    (void)state;
    make(&m, 3, 8, false);
    read_memory(&r, rvp_open, m.out.data, m.out.len);
    assert_int_equal(r.status, 0);
    assert_int_equal(r.count, 0);
    reading_release(&r);
    buf_release(&m.out);
}

static void a_trace_cut_anywhere_fails_or_ends_with_a_record(void **state)
{
    struct maker m;
    size_t whole = 0;

    (void)state;
    make_all(&m, 3, 8, false);
    for (size_t n = 16; n < m.out.len; n++) {
        struct reading r;

        read_memory(&r, rvp_open, m.out.data, n);
        if (r.status)
            assert_non_null(strstr(r.err.text, ": the trace ends inside a record"));
        else
            assert_int_equal(strncmp(r.text.data, everything, r.text.len), 0);
        whole += r.status == 0;
        reading_release(&r);
    }
    assert_true(whole > 30);
    expect_error(rvp_open, m.out.data, 40, "byte 36: the trace ends inside a record");
    buf_release(&m.out);
}

static void bad_records_get_exact_errors(void **state)
{
    struct maker m;

    (void)state;
    make(&m, 3, 8, false);
    begin(&m, 1);
    op(&m, 0, RVP_LOAD1);
    word(&m, ADDRESS_LIMIT);
    put(&m, 0, 4);
    expect_error(rvp_open, m.out.data, m.out.len,
                 "byte 36: address 0x200000000000000 is out of range");
    m.out.len = 36;
    op(&m, 0, RVP_LOAD1 + 1);
    word(&m, ADDRESS_LIMIT - 1);
    put(&m, 0, 4);
    expect_error(rvp_open, m.out.data, m.out.len,
                 "byte 36: address 0x1ffffffffffffff is out of range");
    m.out.len = 36;
    op(&m, 0, RVP_ACQUIRE);
    word(&m, UINT64_MAX);
    expect_error(rvp_open, m.out.data, m.out.len,
                 "byte 36: address 0xffffffffffffffff is out of range");
    m.out.len = 36;
    op(&m, 0, RVP_SIG_DEPTH);
    put(&m, 16, 4);
    expect_error(rvp_open, m.out.data, m.out.len, "byte 36: signal depth 16, at most 15");
    buf_release(&m.out);
}

static void what_is_written_reads_back(void **state)
{
    /* All that the format can say, as its reader says it. */
    static const char text[] = "T1|begin|?\n"
                               "T1|enter(0x4005d0)|0x4005d0\n"
                               "T1|r(0x6000:1=132)|0x4005d4\n"
                               "T1|r(0x6010:2=33668)|0x4005d8\n"
                               "T1|r(0x6020:4=2172814212)|0x4005dc\n"
                               "T1|w(0x6030:8=18364758544493064720)|0x4005d0\n"
                               "T1|r(0x6040:16)|0x7ffff7dd0000\n"
                               "T1|fork(T2)|0x40064f\n"
                               "T1|acq(0x6100)|0x4005cf\n"
                               "T2|begin|?\n"
                               "T2|rmw.sc(0x6200:1=17>18)|0x400700\n"
                               "T2|rmw.sc(0x6200:2=17>8722)|0x400701\n"
                               "T2|rmw.sc(0x6200:4=5>6)|0x400702\n"
                               "T2|rmw.sc(0x6200:8=7>8)|0x400703\n"
                               "T2|load.sc(0x6200:1=31)|0x400704\n"
                               "T2|store.sc(0x6200:4=9)|0x400705\n"
                               "T2|end|0x400708\n"
                               "T1|rel(0x6100)|0x4005cf\n"
                               "T1|join(T2)|0x4005d0\n"
                               "T1|exit(0x4005d0)|0x4005d1\n";
    struct export_lost lost;
    char *back = convert(text, EXPORT_RVP, rvp_open, &lost);

    (void)state;
    assert_string_equal(back, text);
    assert_true(nothing_lost(&lost));
    free(back);
}

static void names_become_addresses_and_losses_are_counted(void **state)
{
    static const char text[] = "main|w(x)|a.c:1\n"
                               "main|acq(x)|a.c:2\n"
                               "worker|r(x=-1)|a.c:1\n"
                               "worker|w(0x10:3)|a.c:1\n"
                               "worker|fence.sc|a.c:1\n"
                               "worker|load.acq(0x10:4=7)|a.c:1\n";
    struct export_lost lost;
    char *back = convert(text, EXPORT_RVP, rvp_open, &lost);

    (void)state;
    assert_string_equal(back, "T1|begin|?\n"
                              "T1|w(0x80000000000000:8=0)|0x20000000000000\n"
                              "T1|acq(0x90000000000000)|0x20000000000010\n"
                              "T2|begin|?\n"
                              "T2|r(0x80000000000000:8=18446744073709551615)|0x20000000000000\n"
                              "T2|load.sc(0x10:4=7)|0x20000000000000\n");
    assert_int_equal(lost.ops[OP_WRITE], 1);
    assert_int_equal(lost.ops[OP_FENCE], 1);
    assert_int_equal(lost.invented_values, 1);
    assert_int_equal(lost.orders, 1);
    free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_of_every_version_is_read),
        cmocka_unit_test(a_file_written_by_hand_is_read),
        cmocka_unit_test(a_second_pass_reads_the_same),
        cmocka_unit_test(bad_headers_get_exact_errors),
        cmocka_unit_test(a_header_alone_is_an_empty_trace),
        cmocka_unit_test(a_trace_cut_anywhere_fails_or_ends_with_a_record),
        cmocka_unit_test(bad_records_get_exact_errors),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(names_become_addresses_and_losses_are_counted),
    };

    return cmocka_run_group_tests_name("rvp", tests, NULL, NULL);
}
