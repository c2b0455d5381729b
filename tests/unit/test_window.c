/* test_window.c - windows are slices of the whole, whatever the format */
#include "hdl_tools.h"
#include "trace/text/event_text.h"

static struct trace *open_trace(const char *path)
{
    struct error err = { "" };
    struct trace *t = trace_open(path, &err);

    if (!t)
        fail_msg("%s", err.text);
    return t;
}

/* All events, without the marks that windows do not have. */
static void load_all(struct trace *t, struct events *e)
{
    struct error err = { "" };
    struct trace_mem m;

    if (trace_load(t, 1 << 20, &m, &err) < 0)
        fail_msg("%s", err.text);
    *e = (struct events){ m.events, m.count, m.count, m.extra, m.nextra, m.nextra };
    for (size_t i = 0; i < e->count; i++)
        e->list[i].flags &= EV_STORED_FLAGS;
}

static void expect_window(struct trace *t, const struct events *all, uint64_t first, size_t count)
{
    size_t want = first >= all->count ? 0 : count < all->count - first ? count : all->count - first;
    struct error err = { "" };
    struct trace_mem m;

    if (trace_window(t, first, count, &m, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(m.count, want);
    assert_events(all, first < all->count ? first : 0, m.events, m.extra, m.count);
    trace_mem_release(&m);
}

static void expect_windows(const char *path, int rounds)
{
    struct trace *t = open_trace(path);
    struct events all, again;
    struct error err = { "" };
    struct batch b;
    uint64_t seed = 15;

    load_all(t, &all);
    assert_true(all.count > 10000);
    for (int i = 0; i < rounds; i++)
        expect_window(t, &all, below(&seed, all.count + 100), below(&seed, 1 << below(&seed, 15)));
    for (size_t i = 0; i < all.count; i += 5000) /* in order */
        expect_window(t, &all, i, 5000);
    expect_window(t, &all, 0, all.count);
    expect_window(t, &all, 0, SIZE_MAX);
    expect_window(t, &all, all.count - 1, 1);
    expect_window(t, &all, all.count, 1);
    expect_window(t, &all, UINT64_MAX, 10);
    expect_window(t, &all, UINT64_MAX - 5, 10);
    expect_window(t, &all, 5, 0);
    assert_int_equal(trace_next(t, &b, &err), -1); /* it says that it is somewhere else */
    assert_non_null(strstr(err.text, "not rewound after a window"));
    assert_int_equal(trace_rewind(t, &err), 0);
    load_all(t, &again);
    assert_int_equal(again.count, all.count);
    assert_events(&all, 0, again.list, again.extra, again.count);
    assert_int_equal(trace_info(t)->events, all.count);
    events_release(&all);
    events_release(&again);
    trace_close(t);
}

/* Threads in the order of the trace, without sequence numbers: the stamps are the order. */
static void write_threads(const char *path, const struct tables *t, const struct events *e)
{
    struct hdl_options o = { .compression = HDL_LZ4, .threads = true, .chunk_events = 300 };
    struct error err = { "" };
    struct hdl_writer *w = hdl_create(path, t, &o, &err);

    assert_non_null(w);
    for (uint32_t thread = 0; thread < t->threads.count; thread++) {
        struct events own = { 0 };
        uint64_t *stamps = xcalloc(e->count, sizeof(*stamps));
        uint64_t *sequences = xcalloc(e->count, sizeof(*sequences));
        struct hdl_stream s;

        for (size_t i = 0; i < e->count; i++) {
            if (e->list[i].thread != thread)
                continue;
            stamps[own.count] = i;
            events_add(&own, e->list[i]);
        }
        s = (struct hdl_stream){ own.list, sequences, stamps, e->extra, own.count };
        assert_int_equal(hdl_write_thread(w, thread, 0, &s, &err), 0);
        free(stamps);
        free(sequences);
        events_release(&own);
    }
    assert_int_equal(hdl_finish(w, &err), 0);
}

static void write_text(const char *path, const struct tables *t, const struct events *e)
{
    struct buf text = { 0 };

    for (size_t i = 0; i < e->count; i++)
        text_event(&text, &e->list[i], e->extra, t);
    write_file(path, text.data, text.len);
    buf_release(&text);
}

static void windows_are_slices_of_the_whole(void **state)
{
    struct tables t;
    struct events e;

    (void)state;
    make_events(16, 6, 20000, &t, &e);
    write_merged(path_to("w.hdl"), &t, &e,
                 &(struct hdl_options){ .compression = HDL_ZSTD, .chunk_events = 1000 });
    expect_windows(path_to("w.hdl"), 300);
    write_threads(path_to("w.hdl"), &t, &e);
    expect_windows(path_to("w.hdl"), 30);
    write_text(path_to("w.std"), &t, &e);
    expect_windows(path_to("w.std"), 30);
    events_release(&e);
    tables_release(&t);
}

static void no_window_shows_what_is_behind_known_damage(void **state)
{
    struct buf file = { 0 };
    struct events all;
    struct trace *t;
    struct error err;

    (void)state;
    small_file(&file);
    file.data[chunk_offset(&file, 4) - 1] ^= 1; /* the last byte of events 10 to 19 */
    write_file(path_to("w.hdl"), file.data, file.len);
    t = open_trace(path_to("w.hdl"));
    load_all(t, &all);
    assert_int_equal(all.count, 10);
    expect_window(t, &all, 5, 3);
    expect_window(t, &all, 5, 20);
    expect_window(t, &all, 15, 1);
    expect_window(t, &all, 25, 1);
    expect_window(t, &all, 0, 30);
    assert_int_equal(trace_rewind(t, &err), 0);
    events_release(&all);
    load_all(t, &all);
    assert_int_equal(all.count, 10);
    events_release(&all);
    trace_close(t);
    buf_release(&file);
}

static void a_window_of_a_broken_text_is_an_error(void **state)
{
    static const char text[] = "T0|w(x)|1\nT0|w(x)|2\nnonsense\nT0|w(x)|3\n";
    struct error err = { "" };
    struct trace_mem m;
    struct trace *t;

    (void)state;
    write_file(path_to("w.std"), text, strlen(text));
    t = open_trace(path_to("w.std"));
    assert_int_equal(trace_window(t, 0, 10, &m, &err), -1);
    assert_non_null(strstr(err.text, "line 3: "));
    assert_null(m.events);
    trace_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_slices_of_the_whole),
        cmocka_unit_test(no_window_shows_what_is_behind_known_damage),
        cmocka_unit_test(a_window_of_a_broken_text_is_an_error),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
