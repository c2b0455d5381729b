/* test_ahead.c - who reads ahead sees what the trace has */
#include "hdl_tools.h"
#include "trace/ahead.h"

static struct trace *open_trace(const char *path)
{
    struct error err = { "" };
    struct trace *t = trace_open(path, &err);

    if (!t)
        fail_msg("%s", err.text);
    return t;
}

/* Two readings of one file, side by side. */
static void expect_same(const char *path, unsigned threads)
{
    struct trace *plain = open_trace(path), *read = open_trace(path);
    struct ahead *a = ahead_new(read, threads, NULL);
    struct error err = { "" }, ahead_err = { "" };
    struct batch b, c;
    int r, s;

    do {
        r = trace_next(plain, &b, &err);
        s = ahead_next(a, &c, &ahead_err);
        assert_int_equal(r, s);
        assert_int_equal(trace_info(plain)->events, ahead_info(a)->events);
        if (r > 0) {
            struct events all = { .list = b.events,
                                  .count = b.count,
                                  .extra = (uint64_t *)b.extra };

            assert_int_equal(b.first, c.first);
            assert_int_equal(b.count, c.count);
            assert_events(&all, 0, c.events, c.extra, c.count);
        }
    } while (r > 0);
    assert_string_equal(err.text, ahead_err.text);
    assert_int_equal(ahead_next(a, &c, &ahead_err), r); /* the end stays the end */
    ahead_free(a);
    assert_int_equal(trace_info(read)->events, trace_info(plain)->events);
    trace_close(plain);
    trace_close(read);
}

static void all_events_come_in_order(void **state)
{
    struct tables t;
    struct events e;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        make_events(16 + i, 6, i == 3 ? 3 : 70000, &t, &e); /* more than the ring holds */
        write_merged(path_to("a.hdl"), &t, &e,
                     &(struct hdl_options){ .compression = HDL_LZ4, .chunk_events = 1000 });
        expect_same(path_to("a.hdl"), 1);
        expect_same(path_to("a.hdl"), 2);
        events_release(&e);
        tables_release(&t);
    }
}

static void an_error_comes_where_it_is(void **state)
{
    static const char text[] = "T0|w(x)|1\nT0|w(x)|2\nnonsense\nT0|w(x)|3\n";
    struct error err = { "" };
    struct trace *t;
    struct ahead *a;
    struct batch b;
    int r;

    (void)state;
    write_file(path_to("a.std"), text, strlen(text));
    t = open_trace(path_to("a.std"));
    a = ahead_new(t, 2, NULL);
    while ((r = ahead_next(a, &b, &err)) > 0)
        ;
    assert_int_equal(r, -1);
    assert_non_null(strstr(err.text, "line 3: "));
    ahead_free(a);
    trace_close(t);
}

/* Whoever stops early has the trace back, and may begin again. */
static void it_can_be_left_at_any_time(void **state)
{
    struct error err = { "" };
    struct tables t;
    struct events e;
    struct trace *trace;

    (void)state;
    make_events(5, 6, 70000, &t, &e);
    write_merged(path_to("a.hdl"), &t, &e,
                 &(struct hdl_options){ .compression = HDL_LZ4, .chunk_events = 1000 });
    trace = open_trace(path_to("a.hdl"));
    for (unsigned taken = 0; taken < 18; taken++) {
        struct ahead *a = ahead_new(trace, 2, NULL);
        struct batch b;

        for (unsigned i = 0; i < taken; i++)
            if (ahead_next(a, &b, &err) > 0)
                assert_int_equal(b.first, i ? b.first : 0);
        ahead_free(a);
        assert_int_equal(trace_rewind(trace, &err), 0);
    }
    trace_close(trace);
    events_release(&e);
    tables_release(&t);
}

/* ---- work for the reader ---- */

struct seen {
    uint64_t next;               /* position that comes next */
    uint64_t first[AHEAD_SLOTS]; /* of the batch in the slot */
};

static void see(void *arg, struct batch *b, unsigned slot)
{
    struct seen *s = arg;

    if (b->first == s->next) /* else it stays behind */
        s->next += b->count;
    s->first[slot] = b->first;
    b->events[0].value = b->first + 7;
}

static void the_reader_works_on_each_batch_once_and_in_order(void **state)
{
    struct error err = { "" };
    struct tables t;
    struct events e;
    struct trace *trace;

    (void)state;
    make_events(6, 6, 70000, &t, &e);
    write_merged(path_to("a.hdl"), &t, &e,
                 &(struct hdl_options){ .compression = HDL_LZ4, .chunk_events = 1000 });
    trace = open_trace(path_to("a.hdl"));
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct seen seen = { 0 };
        struct ahead *a = ahead_new(trace, threads, &(struct ahead_work){ see, &seen });
        struct batch b;

        while (ahead_next(a, &b, &err) > 0) {
            assert_int_equal(seen.first[ahead_slot(a)], b.first);
            assert_int_equal(b.events[0].value, b.first + 7);
        }
        assert_int_equal(seen.next, e.count);
        ahead_free(a);
        assert_int_equal(trace_rewind(trace, &err), 0);
    }
    trace_close(trace);
    events_release(&e);
    tables_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reader_works_on_each_batch_once_and_in_order),
        cmocka_unit_test(all_events_come_in_order),
        cmocka_unit_test(an_error_comes_where_it_is),
        cmocka_unit_test(it_can_be_left_at_any_time),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
