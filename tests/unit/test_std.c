/* test_std.c - the text format: reading and printing */
#include "formats.h"

#include <stdio.h>

static const char *const canonical[] = {
    "T0|r(V1)|14",
    "T0|w(V1)|14",
    "T0|r(V1=5)|20",
    "T0|w(V1=-5)|20",
    "T0|w(V1=0)|20",
    "T0|r(V1=18446744073709551615)|20",
    "T0|r(V1=-9223372036854775808)|20",
    "T0|r(0x7ffe0010:4)|x.c:3:1",
    "T0|w(0x7ffe0010:4=17)|x.c:3:1",
    "T0|w(0x0:1)|1",
    "T0|w(0x1ffffffffffffff:1)|1",
    "T0|w(0x10:1048576)|1",
    "T0|load.rlx(x)|1",
    "T0|load.con(x)|1",
    "T0|load.acq(x=1)|1",
    "T0|load.sc(0x10:8=1)|1",
    "T0|store.rel(x=1)|1",
    "T0|store.sc(x)|1",
    "T0|rmw.ar(x=1>2)|1",
    "T0|rmw.rlx(x=2)|1",
    "T0|rmw.sc(x)|1",
    "T0|rmw.sc(0x10:1=-1>3)|1",
    "T0|rmw.sc(x=3>-1)|1",
    "T0|rmw.sc(x=0>18446744073709551615)|1",
    "T0|fence.acq|1",
    "T0|fence.sc|1",
    "T0|acq(L1)|13",
    "T0|rel(L1)|13",
    "T0|acq(0x55d0)|13",
    "T0|acqs(L1)|13",
    "T0|rels(L1)|13",
    "T0|fork(T1)|12",
    "T0|join(T1)|12",
    "T0|begin|1",
    "T0|end|1",
    "T0|begin(T0)|1",
    "T0|end(T0)|1",
    "T0|wait(C)|1",
    "T0|signal(C)|1",
    "T0|broadcast(C)|1",
    "T0|enterb(B)|1",
    "T0|leaveb(B)|1",
    "T0|post(S)|1",
    "T0|semwait(S)|1",
    "T0|once(O)|1",
    "T0|before(X)|1",
    "T0|after(X)|1",
    "T0|alloc(0x1000:64)|1",
    "T0|free(0x1000:0)|1",
    "T0|free(0x1000:64)|1",
    "T0|alloc(p)|1",
    "T0|free(p)|1",
    "T0|call(f)|30",
    "T0|call(f:V1,V2)|30",
    "T0|call(f:V1,0x10:400,T0)|30",
    "T0|call(f:*)|30",
    "T0|call(f:begin(T9),sync(0x1),sync(L(1)),*,V1)|30",
    "T0|call(f:root(0x0),object(0x1ffffffffffffff:1),slot(0x10=0x1ffffffffffffff))|30",
    "T0|call(f:root(x),object(0x10:0),slot(0x10=16),sync(),root(0x200000000000000))|30", /* names */
    "T0|link(0x1000=0x2000)|31",
    "T0|link(0x0=0x0)|31",
    "T0|object(0x1000:64)|31",
    "T0|call(std::sort:V1)|30",
    "T0|ret(f)|31",
    "T0|branch|21",
    "T0|branch(1)|21",
    "T0|branch(-7)|21",
    "T0|enter(main)|1",
    "T0|exit(main)|1",
    "T0|r(x=5=7)|1", /* a variable x=5 with a value */
    "T0|rmw.sc(x=5=7>8)|1",
};
enum { CANONICAL = sizeof(canonical) / sizeof(canonical[0]) };

static void every_operation_reads_and_prints_as_itself(void **state)
{
    char text[512];

    (void)state;
    for (size_t i = 0; i < CANONICAL; i++) {
        /* as the first line (split with care) and as a later one (split by masks) */
        snprintf(text, sizeof(text), "%s\n%s\nT0|end|99\n", canonical[i], canonical[i]);
        expect_text(std_open, text, text);
    }
}

static void names_may_hold_anything_but_blanks_and_bars(void **state)
{
    static const char *const names[] = { "java.lang.Foo@1f[3].x(int)",
                                         "a=b",
                                         "a==",
                                         "x=+1",
                                         "x=01",
                                         "x=-0",
                                         "=5",
                                         "x=5>6",
                                         "x=18446744073709551616",
                                         "((",
                                         "))",
                                         "0x",
                                         "0x10",
                                         "0xAB:4",
                                         "0x00:4",
                                         "0x10:0",
                                         "0x10:04",
                                         "0x200000000000000:1",
                                         "0x1ffffffffffffff:2",
                                         "\xc3\xa4",
                                         "a,b",
                                         ":",
                                         "#x" };
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct reading r;

        snprintf(text, sizeof(text), "T0|r(%s)|1\nT1|w(%s)|2\nT1|w(%s)|2\n", names[i], names[i],
                 names[i]);
        read_memory(&r, std_open, text, strlen(text));
        assert_int_equal(r.status, 0);
        assert_int_equal(r.tables.variables.count, 1);
        assert_string_equal(intern_get(&r.tables.variables, 0), names[i]);
        assert_int_equal(r.events[1].flags, 0);
        assert_string_equal(r.text.data, text);
        reading_release(&r);
    }
}

static void the_fields_of_an_event_are_right(void **state)
{
    static const char text[] = "A|fork(B)|x\n"
                               "B|w(V)|y\n"
                               "A|rmw.ar(0x10:2=-1>7)|x\n"
                               "B|acq(V)|y\n"
                               "A|alloc(0x1000:96)|x\n"
                               "A|call(f:0x20:3,B,V)|x\n"
                               "A|branch(-2)|x\n";
    struct reading r;
    struct event *e;

    (void)state;
    read_memory(&r, std_open, text, sizeof(text) - 1);
    assert_int_equal(r.status, 0);
    e = r.events;
    assert_int_equal(r.count, 7);
    assert_int_equal(e[0].op, OP_FORK);
    assert_int_equal(e[0].thread, 0);
    assert_int_equal(e[0].target, 1);
    assert_int_equal(e[1].thread, 1);
    assert_int_equal(e[1].target, NAMED_ADDRESS(0));
    assert_int_equal(e[1].size, 8);
    assert_int_equal(e[1].site, 1);
    assert_int_equal(e[2].target, 0x10);
    assert_int_equal(e[2].size, 2);
    assert_int_equal(e[2].old, UINT64_MAX);
    assert_int_equal(e[2].value, 7);
    assert_int_equal(e[2].order, ORDER_ACQ_REL);
    assert_int_equal(e[2].flags, EV_VALUE | EV_OLD | EV_SIGNED);
    assert_int_equal(e[3].target, NAMED_OBJECT(0));
    assert_int_equal(e[4].value, 96);
    assert_int_equal(e[4].size, 0);
    assert_int_equal(e[5].old, 3);
    assert_int_equal(e[6].value, (uint64_t)-2);
    assert_int_equal(e[6].flags, EV_VALUE | EV_SIGNED);
    assert_true(r.info.values && r.info.branches && r.info.calls);
    assert_int_equal(r.info.order, TRACE_EXACT);
    assert_string_equal(r.info.format, "std");
    reading_release(&r);
}

static void the_entries_of_a_call_are_pairs_of_words(void **state)
{
    static const char text[] = "T0|fork(T1)|1\nT0|w(V)|1\nT0|call(f:0x20:3,T1,V,T9)|2\n";
    struct reading r = { 0 };
    struct input *in = input_from_memory(text, sizeof(text) - 1, &r.err);
    struct source *s = std_open(in, &r.tables, &r.info, &r.err);
    struct batch b;

    (void)state;
    assert_int_equal(s->ops->next(s, &b, &r.err), 1);
    assert_int_equal(b.events[2].value, 0);
    assert_int_equal(b.events[2].old, 4);
    assert_int_equal(b.extra[0], 0x20);
    assert_int_equal(b.extra[1], 3);
    assert_int_equal(b.extra[2], D_THREAD(1));
    assert_int_equal(b.extra[3], 0);
    assert_int_equal(b.extra[4], NAMED_ADDRESS(0));
    assert_int_equal(b.extra[5], 8);
    assert_int_equal(b.extra[6], NAMED_ADDRESS(1)); /* T9 is not known as a thread */
    s->ops->close(s);
    reading_release(&r);
}

static void a_second_pass_reads_the_same(void **state)
{
    /* On the second pass T2 and V2 are in the tables from the start. */
    static const char text[] = "T0|call(f:T2)|1\n"
                               "T0|fork(T2)|1\n"
                               "T0|call(f:T2)|1\n"
                               "T0|fork(T3)|1\n"
                               "T0|call(f:T3)|1\n"
                               "T0|w(T3)|1\n"
                               "T0|fork(5)|1\n"
                               "5|w(x)|1\n"
                               "T0|join(5)|1\n";
    struct reading r = { 0 };
    struct source *s =
        std_open(input_from_memory(text, sizeof(text) - 1, &r.err), &r.tables, &r.info, &r.err);
    char *first;

    (void)state;
    reading_pass(&r, s);
    assert_int_equal(r.status, 0);
    assert_string_equal(r.text.data, text);
    assert_int_equal(r.events[6].flags, EV_BARE);
    assert_int_equal(r.events[8].flags, 0); /* by then a thread 5 is known */
    first = buf_detach(&r.text);
    r.count = 0;
    assert_int_equal(s->ops->rewind(s, &r.err), 0);
    reading_pass(&r, s);
    assert_string_equal(r.text.data, first);
    s->ops->close(s);
    free(first);
    reading_release(&r);
}

static void a_bare_number_in_fork_and_join_means_the_t_thread(void **state)
{
    static const char text[] = "T0|fork(155)|1\nT155|w(x)|2\nT0|join(155)|3\n";
    struct reading r;

    (void)state;
    read_memory(&r, std_open, text, sizeof(text) - 1);
    assert_int_equal(r.tables.threads.count, 2);
    assert_int_equal(r.events[0].target, r.events[1].thread);
    assert_int_equal(r.events[0].flags, EV_BARE);
    assert_int_equal(r.events[2].flags, EV_BARE);
    assert_string_equal(r.text.data, text);
    reading_release(&r);
    /* not where the threads of the file are plain numbers */
    read_memory(&r, std_open, "0|fork(155)|1\n155|w(x)|2\n", 24);
    assert_int_equal(r.events[0].flags, 0);
    assert_int_equal(r.events[0].target, r.events[1].thread);
    reading_release(&r);
}

static void line_ends_comments_and_blank_lines_do_not_matter(void **state)
{
    const char *plain = "T0|w(x)|1\nT1|r(x)|2\n";

    (void)state;
    expect_text(std_open, "T0|w(x)|1\r\nT1|r(x)|2\r\n", plain);
    expect_text(std_open, "T0|w(x)|1\nT1|r(x)|2", plain);
    expect_text(std_open, "T0|w(x)|1\r\nT1|r(x)|2\r", plain);
    expect_text(std_open, "# head\n\n  \t\n  # x|y|z\nT0|w(x)|1\n#T0|w(x)|1\n\r\nT1|r(x)|2\n\n",
                plain);
    expect_text(std_open, "\xef\xbb\xbfT0|w(x)|1\nT1|r(x)|2\n", plain);
    expect_text(std_open, "T0|w(x)|1\n\xef\xbb\xbf\xef\xbb\xbfT1|r(x)|2\n", plain);
    expect_text(std_open, "T0|fence.sc()|1\n", "T0|fence.sc|1\n");
    expect_text(std_open, "T0|begin(0)|1\nT0|end(x)|1\n", "T0|begin|1\nT0|end|1\n");
    expect_text(std_open, "", "");
    expect_text(std_open, "\n# nothing\n", "");
}

static void mistakes_get_exact_errors(void **state)
{
    static const struct {
        const char *line, *error;
    } bad[] = {
        { "foo", "expected thread|operation|location, found 'foo'" },
        { "T0|w(x)", "expected thread|operation|location, found 'T0|w(x)'" },
        { "T0|w(x)|1|2", "expected thread|operation|location, found 'T0|w(x)|1|2'" },
        { "|w(x)|1", "empty thread name in '|w(x)|1'" },
        { "T0|w(x)|", "empty location in 'T0|w(x)|'" },
        { "T0||1", "unknown operation ''" },
        { "T0|foo(x)|1", "unknown operation 'foo'" },
        { "T0|foo|1", "unknown operation 'foo'" },
        { "T0|W(x)|1", "unknown operation 'W'" },
        { "T0|r.acq(x)|1", "unknown operation 'r.acq'" },
        { "T0|(x)|1", "unknown operation ''" },
        { "T0|w|1", "w needs an argument in parentheses" },
        { "T0|acq|1", "acq needs an argument in parentheses" },
        { "T0|w(x|1", "no ')' at the end of 'w(x'" },
        { "T0|w(x)y|1", "no ')' at the end of 'w(x)y'" },
        { "T0|w()|1", "empty argument in 'w()'" },
        { "T0|acq()|1", "empty argument in 'acq()'" },
        { "T0|begin()|1", "empty argument in 'begin()'" },
        { "T0|branch()|1", "empty argument in 'branch()'" },
        { "T0|branch(x)|1", "bad branch outcome 'x'" },
        { "T0|branch(01)|1", "bad branch outcome '01'" },
        { "T0|fence.sc(x)|1", "fence takes no argument, found 'fence.sc(x)'" },
        { "T0|fence|1", "fence needs a memory order (rlx con acq rel ar sc), found 'fence'" },
        { "T0|load(x)|1", "load needs a memory order (rlx con acq rel ar sc), found 'load'" },
        { "T0|load.(x)|1", "load needs a memory order (rlx con acq rel ar sc), found 'load.'" },
        { "T0|rmw.foo(x)|1", "rmw needs a memory order (rlx con acq rel ar sc), found 'rmw.foo'" },
        { "T0|rmw.sc(x=-1>9223372036854775808)|1",
          "value out of range beside a negative one in '=-1>9223372036854775808'" },
        { "T0|alloc(x=5)|1", "alloc takes no value, found 'x=5'" },
        { "T0|w(0x10:1048577)|1", "access of 1048577 bytes, at most 1048576" },
        { "T0|free(0x10:8=5)|1", "free takes no value, found '0x10:8=5'" },
        { "T0|call(f:)|1", "empty name in call(f:)" },
        { "T0|link(x=0x10)|1", "link needs 0xADDRESS=0xPOINTER, found 'x=0x10'" },
        { "T0|link(0x10=16)|1", "link needs 0xADDRESS=0xPOINTER, found '0x10=16'" },
        { "T0|link(0x10=0x200000000000000)|1",
          "link needs 0xADDRESS=0xPOINTER, found '0x10=0x200000000000000'" },
        { "T0|link|1", "link needs an argument in parentheses" },
        { "T0|object(x)|1", "object needs 0xADDRESS:BYTES, found 'x'" },
        { "T0|object(0x10:0)|1", "object needs 0xADDRESS:BYTES, found '0x10:0'" },
        { "T0|call(:x)|1", "empty name in call(:x)" },
        { "T0|call(f:x,,y)|1", "empty name in call(f:x,,y)" },
        { "T0|call(f:x,)|1", "empty name in call(f:x,)" },
        { "T0|w(x y)|1", "blank in 'T0|w(x y)|1'" },
        { "T0|w(x)|1 ", "blank in 'T0|w(x)|1 '" },
        { "T0|w(x)|1\t", "blank in 'T0|w(x)|1\t'" },
        { "T0|w(\x01)|1", "control character 0x01" },
        { "T0|w(\x7f)|1", "control character 0x7f" },
        { "T0|w(x)|\r1", "control character 0x0d" },
    };
    char text[256], error[256];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t n = strlen(bad[i].line);

        snprintf(error, sizeof(error), "line 1: %s", bad[i].error);
        if (!strchr(bad[i].line, '\t')) /* quoting shows control characters as \xNN */
            expect_error(std_open, bad[i].line, n, error);
        snprintf(text, sizeof(text), "T0|w(x)|1\n\n%s\nT0|w(x)|1\n", bad[i].line);
        snprintf(error, sizeof(error), "line 3: %s", bad[i].error);
        if (!strchr(bad[i].line, '\t'))
            expect_error(std_open, text, strlen(text), error);
    }
    expect_error(std_open, "T0|w(x)|1\t\n", 11, "line 1: blank in 'T0|w(x)|1\\x09'");
    expect_error(std_open, "T0|w(x)|1\nT0|w(\0)|1\n", 21, "line 2: control character 0x00");
}

static void long_text_in_an_error_is_shortened(void **state)
{
    char text[256], error[256];

    (void)state;
    memset(text, 'q', 200);
    memcpy(text + 200, "\n", 2);
    snprintf(error, sizeof(error), "line 1: expected thread|operation|location, found '%.60s...'",
             text);
    expect_error(std_open, text, 201, error);
}

static void a_line_has_a_maximum_length(void **state)
{
    size_t limit = (size_t)1 << 20;
    char *text = malloc(limit + 100);
    struct reading r;

    (void)state;
    memset(text, 'x', limit + 100);
    memcpy(text, "T0|w(", 5);
    memcpy(text + limit - 3, ")|1\nT0|r(y)|2\n", 14); /* exactly the limit */
    read_memory(&r, std_open, text, limit + 11);
    assert_int_equal(r.status, 0);
    assert_int_equal(r.count, 2);
    reading_release(&r);
    memset(text + limit - 3, 'x', 14);
    memcpy(text + limit - 2, ")|1\nT0|r(y)|2\n", 14); /* one more */
    expect_error(std_open, text, limit + 12, "line 1: longer than 1048576 bytes");
    free(text);
}

/* Random canonical lines with a fixed seed. */

static uint64_t seed = 12345;

static unsigned pick(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static void add_random_name(struct buf *b)
{
    static const char letters[] = "abcXYZ019_.[]()=@$<>;-+*~/\\'\"!?&%^{}:\xc3\xa4";
    unsigned n = 1 + (pick(10) ? pick(12) : pick(90));

    buf_addch(b, (char)('g' + (int)pick(15))); /* never an address, a digit or a comment */
    while (--n)
        buf_addch(b, letters[pick(sizeof(letters) - 1)]);
    buf_addch(b, '~'); /* never a value */
}

static void add_random_value(struct buf *b)
{
    if (pick(3) == 0)
        buf_addf(b, "-%llu", 1 + (unsigned long long)(seed >> (1 + pick(63))));
    else
        buf_addf(b, "%llu", (unsigned long long)seed >> pick(64));
}

static void add_random_memory(struct buf *b)
{
    if (pick(2))
        add_random_name(b);
    else
        buf_addf(b, "0x%llx:%u", (unsigned long long)seed >> (8 + pick(56)), 1 + pick(64));
}

static void add_random_operation(struct buf *b)
{
    static const char *const objects[] = { "acq",    "rel",    "acqs",   "rels",    "wait",
                                           "signal", "enterb", "leaveb", "semwait", "broadcast" };
    static const char *const orders[] = { "rlx", "con", "acq", "rel", "ar", "sc" };

    switch (pick(6)) {
    case 0:
        buf_addf(b, "%s(", objects[pick(10)]);
        add_random_name(b);
        break;
    case 1:
        buf_addf(b, "%s.%s(", pick(2) ? "load" : "store", orders[pick(6)]);
        add_random_memory(b);
        if (pick(2)) {
            buf_addch(b, '=');
            add_random_value(b);
        }
        break;
    case 2:
        buf_addstr(b, "branch(");
        add_random_value(b);
        break;
    default:
        buf_addstr(b, pick(2) ? "r(" : "w(");
        add_random_memory(b);
        if (pick(2)) {
            buf_addch(b, '=');
            add_random_value(b);
        }
    }
    buf_addch(b, ')');
}

static void random_lines_survive_a_round_trip(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        struct buf text = { 0 };
        struct reading r;

        for (int i = 0; i < 500; i++) {
            add_random_name(&text);
            buf_addch(&text, '|');
            add_random_operation(&text);
            buf_addf(&text, "|%u\n", pick(1000));
        }
        read_memory(&r, std_open, text.data, text.len);
        if (r.status)
            fail_msg("%s", r.err.text);
        assert_int_equal(r.count, 500);
        assert_string_equal(r.text.data, text.data);
        reading_release(&r);
        buf_release(&text);
    }
}

static void names_from_elsewhere_are_escaped(void **state)
{
    struct tables t = { 0 };
    struct event ev = { .op = OP_READ, .size = 8 };
    struct buf b = { 0 };

    (void)state;
    intern_put(&t.threads, "main thread", 11);
    intern_put(&t.sites, "a b|c", 5);
    intern_put(&t.variables, "x=5", 3);
    intern_put(&t.variables, "0x10:8", 6);
    intern_put(&t.functions, "-[A b:c]", 8);
    ev.target = NAMED_ADDRESS(0);
    text_event(&b, &ev, NULL, &t);
    ev.target = NAMED_ADDRESS(1);
    text_event(&b, &ev, NULL, &t);
    ev = (struct event){ .op = OP_RETURN };
    text_event(&b, &ev, NULL, &t);
    assert_string_equal(b.data, "main%20thread|r(x%3D5)|a%20b%7Cc\n"
                                "main%20thread|r(%30x10:8)|a%20b%7Cc\n"
                                "main%20thread|ret(-[A%20b%3Ac])|a%20b%7Cc\n");
    buf_release(&b);
    tables_release(&t);
}

static void many_events_come_in_consecutive_batches(void **state)
{
    struct buf text = { 0 };
    struct reading r;

    (void)state;
    for (int i = 0; i < 50000; i++)
        buf_addf(&text, "T%u|%s(V%u)|%u\n", pick(70), pick(2) ? "r" : "w", pick(30000),
                 pick(50000));
    read_memory(&r, std_open, text.data, text.len); /* reading_pass checks the positions */
    assert_int_equal(r.count, 50000);
    assert_string_equal(r.text.data, text.data);
    reading_release(&r);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_reads_and_prints_as_itself),
        cmocka_unit_test(names_may_hold_anything_but_blanks_and_bars),
        cmocka_unit_test(the_fields_of_an_event_are_right),
        cmocka_unit_test(the_entries_of_a_call_are_pairs_of_words),
        cmocka_unit_test(a_second_pass_reads_the_same),
        cmocka_unit_test(a_bare_number_in_fork_and_join_means_the_t_thread),
        cmocka_unit_test(line_ends_comments_and_blank_lines_do_not_matter),
        cmocka_unit_test(mistakes_get_exact_errors),
        cmocka_unit_test(long_text_in_an_error_is_shortened),
        cmocka_unit_test(a_line_has_a_maximum_length),
        cmocka_unit_test(random_lines_survive_a_round_trip),
        cmocka_unit_test(names_from_elsewhere_are_escaped),
        cmocka_unit_test(many_events_come_in_consecutive_batches),
    };

    return cmocka_run_group_tests_name("std", tests, NULL, NULL);
}
