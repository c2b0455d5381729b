/* test_trace.c - opening traces of any format, reading them twice, loading them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "trace/hdl/hdl.h"
#include "trace/trace.h"

static char dir[] = "/tmp/heddle_test_trace_XXXXXX";

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char *command = xasprintf("rm -rf %s", dir);
    int r = system(command);

    (void)state;
    free(command);
    return r;
}

/* A path in the directory of this run; the caller frees it. */
static char *path_to(const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static char *write_file(const char *name, const char *text)
{
    char *path = path_to(name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    return path;
}

static struct trace *open_text(const char *name, const char *text)
{
    char *path = write_file(name, text);
    struct error err = { "" };
    struct trace *t = trace_open(path, &err);

    if (!t)
        fail_msg("%s", err.text);
    free(path);
    return t;
}

static size_t drain(struct trace *t)
{
    struct error err = { "" };
    struct batch b;
    size_t n = 0;
    int r;

    while ((r = trace_next(t, &b, &err)) > 0) {
        assert_int_equal(b.first, n);
        n += b.count;
    }
    if (r < 0)
        fail_msg("%s", err.text);
    return n;
}

/* Formats. */

static void expect_format(const char *name, const char *text, const char *format, size_t events)
{
    struct trace *t = open_text(name, text);

    assert_string_equal(trace_info(t)->format, format);
    assert_int_equal(drain(t), events);
    assert_int_equal(trace_info(t)->events, events);
    trace_close(t);
}

static void content_decides_the_format(void **state)
{
    (void)state;
    expect_format("a", "T0|w(x)|1\nT1|r(x)|2\n", "std", 2);
    expect_format("b", "# a comment\n\n  \nT0|w(x)|1\n", "std", 1);
    expect_format("c", "Hello from Java\n@ Wr(0,x) [s] [l]\nmore\n", "rr", 1);
    expect_format("d", "1,WR,7,a.go:1:2,0\n", "csv", 1);
}

static void content_beats_the_name(void **state)
{
    (void)state;
    expect_format("a.csv", "T0|w(x)|1\n", "std", 1);
    expect_format("a.std", "1,WR,7,a.go:1:2,0\n", "csv", 1);
}

static void the_name_decides_where_the_content_does_not(void **state)
{
    (void)state;
    expect_format("empty.rr", "", "rr", 0);
    expect_format("empty.csv", "", "csv", 0);
    expect_format("empty.std", "", "std", 0);
    expect_format("empty", "", "std", 0);
    expect_format("only_comments", "# nothing\n", "std", 0);
    expect_format("none.rr", "just some text\n", "rr", 0);
    /* the first line is a bar line, a later one is RoadRunner's */
    expect_format("both.rr", "a|b|c\n@ Wr(0,x) [s] [l]\n", "rr", 1);
}

static void a_directory_stands_for_its_trace(void **state)
{
    const struct hdl_options options = { .compression = HDL_RAW };
    char *path = path_to("run"), *file = path_to("run/trace.hdl");
    struct tables tables = { 0 };
    struct error err = { "" };
    struct hdl_writer *w;
    struct trace *t;

    (void)state;
    assert_int_equal(mkdir(path, 0777), 0);
    w = hdl_create(file, &tables, &options, &err);
    assert_non_null(w);
    assert_int_equal(hdl_finish(w, &err), 0);
    t = trace_open(path, &err);
    if (!t)
        fail_msg("%s", err.text);
    assert_string_equal(trace_info(t)->format, "hdl");
    assert_int_equal(drain(t), 0);
    trace_close(t);
    tables_release(&tables);
    free(file);
    free(path);
}

/* What cannot be opened. */

static void expect_error(const char *path, const char *reason)
{
    char *want = xasprintf("cannot read '%s': %s", path, reason);
    struct error err = { "" };

    assert_null(trace_open(path, &err));
    assert_string_equal(err.text, want);
    free(want);
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    expect_error("/proc/nonexistent/x.std", "No such file or directory");
}

static void a_directory_needs_exactly_one_trace(void **state)
{
    char *path = path_to("several");

    (void)state;
    assert_int_equal(mkdir(path, 0777), 0);
    expect_error(path, "a directory without an .hdl file");
    free(write_file("several/a.hdl", ""));
    free(write_file("several/b.hdl", ""));
    free(write_file("several/c.txt", ""));
    expect_error(path, "a directory with 2 .hdl files, name one of them");
    free(path);
}

static void bytes_that_are_no_text_are_no_trace(void **state)
{
    char *path = path_to("garbage");
    FILE *f = fopen(path, "w");

    (void)state;
    assert_non_null(f);
    for (int i = 0; i < 4096; i++)
        fputc((i * 7919) >> 3 & 0xff, f);
    assert_int_equal(fclose(f), 0);
    expect_error(path, "not a trace in any known format");
    free(path);
}

/* Reading. */

static void an_error_while_reading_names_file_and_line(void **state)
{
    char *path = write_file("bad.std", "T0|w(x)|1\nT0|flip(x)|2\n");
    struct error err = { "" };
    struct trace *t = trace_open(path, &err);
    struct batch b;
    int r;
    char *want = xasprintf("cannot read '%s': line 2: ", path);

    (void)state;
    assert_non_null(t);
    while ((r = trace_next(t, &b, &err)) > 0)
        ;
    assert_int_equal(r, -1);
    assert_memory_equal(err.text, want, strlen(want));
    trace_close(t);
    free(want);
    free(path);
}

static void a_second_pass_sees_the_same_and_tells_nothing_twice(void **state)
{
    struct trace *t = open_text("twice.std", "T0|rel(L)|1\nT0|w(x=1)|2\nT0|acq(L)|3\n");
    struct error err = { "" };

    (void)state;
    for (int pass = 0; pass < 3; pass++) {
        assert_int_equal(drain(t), 3);
        assert_int_equal(trace_info(t)->events, 3);
        assert_true(trace_info(t)->values);
        assert_int_equal(trace_diags(t)->count, 2);
        assert_int_equal(trace_diags(t)->total[DIAG_RELEASE_UNHELD], 1);
        assert_int_equal(trace_diags(t)->total[DIAG_OPEN_LOCK], 1);
        assert_int_equal(trace_rewind(t, &err), 0);
        assert_int_equal(trace_info(t)->events, 3);
    }
    trace_close(t);
}

/* Loading. */

static char *many_calls(size_t n)
{
    struct buf b = { 0 };

    buf_addstr(&b, "T0|fork(T1)|0\n"); /* only the name of a known thread stands for its end */
    for (size_t i = 0; i < n; i++)
        buf_addf(&b, "T0|call(f:v%zu,w,T1)|1\nT0|ret(f)|2\n", i);
    return buf_detach(&b);
}

static void a_loaded_trace_keeps_the_objects_of_every_call(void **state)
{
    const size_t calls = 20000; /* several batches */
    char *text = many_calls(calls);
    struct trace *t = open_text("calls.std", text);
    struct error err = { "" };
    struct trace_mem m;

    (void)state;
    assert_int_equal(trace_load(t, SIZE_MAX, &m, &err), 0);
    assert_int_equal(m.count, 1 + 2 * calls);
    for (size_t i = 0; i < calls; i++) {
        const struct event *ev = &m.events[1 + 2 * i];
        const uint64_t *d = m.extra + ev->value;

        assert_int_equal(ev->op, OP_CALL);
        assert_int_equal(ev->old, 3);
        assert_true(ev->value + 6 <= m.nextra);
        assert_true(is_named(d[0]) && is_named(d[2]));
        assert_int_equal(d[1], 8);
        assert_int_not_equal(d[0], d[2]);
        assert_true(D_IS_THREAD(d[4]));
    }
    trace_mem_release(&m);
    trace_close(t);
    free(text);
}

static void loading_more_than_allowed_is_an_error(void **state)
{
    struct trace *t = open_text("three.std", "T0|w(x)|1\nT0|w(x)|2\nT0|w(x)|3\n");
    struct error err = { "" };
    struct trace_mem m;

    (void)state;
    assert_int_equal(trace_load(t, 2, &m, &err), -1);
    assert_string_equal(err.text, "more than 2 events");
    assert_null(m.events);
    assert_int_equal(trace_rewind(t, &err), 0);
    assert_int_equal(trace_load(t, 3, &m, &err), 0);
    assert_int_equal(m.count, 3);
    trace_mem_release(&m);
    trace_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_decides_the_format),
        cmocka_unit_test(content_beats_the_name),
        cmocka_unit_test(the_name_decides_where_the_content_does_not),
        cmocka_unit_test(a_directory_stands_for_its_trace),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_directory_needs_exactly_one_trace),
        cmocka_unit_test(bytes_that_are_no_text_are_no_trace),
        cmocka_unit_test(an_error_while_reading_names_file_and_line),
        cmocka_unit_test(a_second_pass_sees_the_same_and_tells_nothing_twice),
        cmocka_unit_test(a_loaded_trace_keeps_the_objects_of_every_call),
        cmocka_unit_test(loading_more_than_allowed_is_an_error),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
