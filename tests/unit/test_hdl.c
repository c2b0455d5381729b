/* test_hdl.c - .hdl files: written and read back, while they are written, where there is no room */
#include "hdl_tools.h"
#include "temporary.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const enum hdl_compression kinds[] = { HDL_RAW, HDL_LZ4, HDL_ZSTD };

static void assert_same_names(const struct intern *a, const struct intern *b)
{
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++)
        assert_string_equal(intern_get(a, i), intern_get(b, i));
}

static void assert_same_tables(const struct tables *a, const struct tables *b)
{
    assert_same_names(&a->threads, &b->threads);
    assert_same_names(&a->variables, &b->variables);
    assert_same_names(&a->objects, &b->objects);
    assert_same_names(&a->functions, &b->functions);
    assert_same_names(&a->sites, &b->sites);
    for (uint32_t i = 0; i < a->sites.count; i++) {
        const char *f = tables_site_function(a, i), *g = tables_site_function(b, i);

        assert_int_equal(!f, !g);
        if (f)
            assert_string_equal(f, g);
    }
}

/* The file holds exactly these events and names. */
static void expect_file(const char *path, const struct tables *t, const struct events *e)
{
    struct reading r;

    reading_start(&r, path);
    if (!r.source)
        fail_msg("%s", r.err.text);
    assert_string_equal(r.info.loss, "");
    assert_int_equal(r.info.lost_bytes, 0);
    assert_int_equal(r.info.expected_events, e->count);
    assert_int_equal(r.events.count, e->count);
    assert_events(e, 0, r.events.list, r.events.extra, r.events.count);
    assert_same_tables(t, &r.tables);
    reading_release(&r);
}

/* ---- written and read back ---- */

static void random_events_come_back_with_every_compression(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct hdl_options o = { .compression = kinds[seed % 3],
                                 .level = (int)(seed % 5),
                                 .chunk_events = seed % 2 ? 0 : 100 + (uint32_t)seed };
        struct tables t;
        struct events e;

        make_events(seed, 1 + (unsigned)seed * 100, 3000, &t, &e);
        write_merged(path_to("a.hdl"), &t, &e, &o);
        expect_file(path_to("a.hdl"), &t, &e);
        assert_false(has_temporary(path_to("a.hdl")));
        events_release(&e);
        tables_release(&t);
    }
}

static void a_long_trace_takes_several_chunks(void **state)
{
    struct tables t;
    struct events e;

    (void)state;
    make_events(5, 100, 150000, &t, &e);
    for (size_t i = 0; i < e.count; i++) /* few shapes: chunks of full length */
        if (e.list[i].op != OP_CALL)
            e.list[i] = (struct event){ .op = OP_READ,
                                        .size = 4,
                                        .target = 64 * i,
                                        .thread = e.list[i].thread,
                                        .site = e.list[i].site };
    for (int i = 0; i < 3; i++) {
        struct buf file = { 0 };
        struct hdl_options o = { .compression = kinds[i] };
        unsigned chunks = 0;

        write_merged(path_to("a.hdl"), &t, &e, &o);
        expect_file(path_to("a.hdl"), &t, &e);
        slurp(path_to("a.hdl"), &file);
        for (size_t k = 0; chunk_offset(&file, k) < file.len; k++) {
            struct hdl_chunk_header h = chunk_at(&file, chunk_offset(&file, k));

            chunks += h.kind == HDL_MERGED;
            assert_true(h.stored_bytes < file.len / 4); /* so much a cut loses, at most */
        }
        assert_in_range(chunks, 6, 30);
        buf_release(&file);
    }
    events_release(&e);
    tables_release(&t);
}

static void an_empty_trace_is_complete(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };

    (void)state;
    write_merged(path_to("a.hdl"), &t, &e, &(struct hdl_options){ .compression = HDL_ZSTD });
    expect_file(path_to("a.hdl"), &t, &e);
    fill_tables(&t, 3, 3); /* only names */
    write_merged(path_to("a.hdl"), &t, &e, &(struct hdl_options){ .compression = HDL_ZSTD });
    expect_file(path_to("a.hdl"), &t, &e);
    tables_release(&t);
}

static void the_order_of_the_trace_is_kept(void **state)
{
    static const enum trace_order orders[] = { TRACE_EXACT, TRACE_SYNC_EXACT, TRACE_UNKNOWN };
    struct tables t = { 0 };
    struct events e = { 0 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct reading r;

        write_merged(path_to("a.hdl"), &t, &e, &(struct hdl_options){ .order = orders[i] });
        reading_start(&r, path_to("a.hdl"));
        assert_int_equal(r.info.order, orders[i]);
        assert_string_equal(r.info.format, "hdl");
        reading_release(&r);
    }
}

static void names_may_grow_while_events_are_written(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    struct error err = { "" };
    struct hdl_options o = { .compression = HDL_LZ4, .chunk_events = 50 };
    struct hdl_writer *w = hdl_create(path_to("a.hdl"), &t, &o, &err);
    uint64_t seed = 4;

    (void)state;
    assert_non_null(w);
    for (unsigned round = 0; round < 20; round++) {
        size_t first = e.count;
        struct batch b;

        fill_tables(&t, 2, 3);
        tables_set_site_function(&t, t.sites.count - 1, t.functions.count - 1);
        for (int i = 0; i < 77; i++)
            random_event(&seed, &t, &e);
        b = events_batch(&e, first, 77);
        assert_int_equal(hdl_write(w, &b, &err), 0);
    }
    assert_int_equal(hdl_finish(w, &err), 0);
    expect_file(path_to("a.hdl"), &t, &e);
    events_release(&e);
    tables_release(&t);
}

static void names_of_every_length_come_back(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    char *huge = xmalloc(NAME_BYTES_MAX);

    (void)state;
    memset(huge, 'n', NAME_BYTES_MAX);
    for (size_t n = 1; n <= NAME_BYTES_MAX; n *= 4)
        intern_append(&t.sites, huge, n);
    for (int i = 0; i < 5; i++) /* more than fits a chunk */
        intern_append(&t.objects, huge, NAME_BYTES_MAX);
    intern_append(&t.functions, "tab\there, \xc3\xa4 and \xff", 17);
    fill_names(&t.threads, 'T', 200000);
    for (int i = 0; i < 3; i++) {
        write_merged(path_to("a.hdl"), &t, &e, &(struct hdl_options){ .compression = kinds[i] });
        expect_file(path_to("a.hdl"), &t, &e);
    }
    free(huge);
    tables_release(&t);
}

static void names_that_no_reader_takes_are_written_so_that_it_does(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    struct reading r;
    char *huge = xmalloc(NAME_BYTES_MAX + 1);

    (void)state;
    memset(huge, 'n', NAME_BYTES_MAX + 1);
    intern_append(&t.sites, "a\nb\x7f\x01", 5);
    intern_append(&t.sites, "", 0);
    intern_append(&t.sites, huge, NAME_BYTES_MAX + 1);
    write_merged(path_to("a.hdl"), &t, &e, &(struct hdl_options){ 0 });
    reading_start(&r, path_to("a.hdl"));
    assert_string_equal(r.info.loss, "");
    assert_string_equal(intern_get(&r.tables.sites, 0), "a%0Ab%7F%01");
    assert_string_equal(intern_get(&r.tables.sites, 1), "?");
    assert_in_range(strlen(intern_get(&r.tables.sites, 2)), NAME_BYTES_MAX - 8, NAME_BYTES_MAX);
    reading_release(&r);
    free(huge);
    tables_release(&t);
}

static void a_second_pass_is_like_the_first(void **state)
{
    struct tables t;
    struct events e;
    struct reading r;
    struct batch b;

    (void)state;
    make_events(6, 10, 20000, &t, &e);
    write_merged(path_to("a.hdl"), &t, &e, &(struct hdl_options){ .compression = HDL_LZ4 });
    reading_start(&r, path_to("a.hdl"));
    for (int i = 0; i < 3; i++) {
        events_release(&r.events);
        assert_int_equal(r.source->ops->rewind(r.source, &r.err), 0);
        if (i == 1) { /* from the middle too */
            assert_int_equal(r.source->ops->next(r.source, &b, &r.err), 1);
            assert_int_equal(r.source->ops->rewind(r.source, &r.err), 0);
        }
        reading_pass(&r);
        assert_int_equal(r.events.count, e.count);
        assert_events(&e, 0, r.events.list, r.events.extra, e.count);
    }
    assert_same_tables(&t, &r.tables);
    reading_release(&r);
    events_release(&e);
    tables_release(&t);
}

/* ---- while it is written ---- */

static void an_unfinished_file_is_readable(void **state)
{
    struct tables t;
    struct events e;
    struct error err = { "" };
    struct hdl_options o = { .compression = HDL_ZSTD, .chunk_events = 100 };
    struct hdl_writer *w;
    struct reading r;

    (void)state;
    make_events(11, 5, 1050, &t, &e);
    for (size_t i = 0; i < e.count; i++) /* no chunk ends for its shapes */
        e.list[i] = (struct event){
            .op = OP_FREE, .target = 64 * i, .value = i + 1, .thread = e.list[i].thread
        };
    w = hdl_create(path_to("grow.hdl"), &t, &o, &err);
    for (size_t i = 0; i < e.count; i += 50) {
        struct batch b = events_batch(&e, i, 50);

        assert_int_equal(hdl_write(w, &b, &err), 0);
        assert_int_equal(access(path_to("grow.hdl"), F_OK), -1); /* not before it is whole */
        reading_start(&r, temporary_of(path_to("grow.hdl")));
        assert_non_null(r.source);
        assert_int_equal(r.events.count, (i + 50) / 100 * 100);
        assert_events(&e, 0, r.events.list, r.events.extra, r.events.count);
        assert_non_null(strstr(r.info.loss, "the file was cut off"));
        reading_release(&r);
    }
    assert_int_equal(hdl_finish(w, &err), 0);
    expect_file(path_to("grow.hdl"), &t, &e);
    events_release(&e);
    tables_release(&t);
}

/* In a process of its own: writes, and gives others time to read. */
static _Noreturn void write_slowly(const struct tables *t, const struct events *e)
{
    struct error err;
    struct hdl_options o = { .compression = HDL_LZ4, .chunk_events = 64 };
    struct hdl_writer *w = hdl_create(path_to("live.hdl"), t, &o, &err);
    int r = w ? 0 : -1;

    for (size_t i = 0; !r && i < e->count; i += 100) {
        struct batch b = events_batch(e, i, 100);

        r = hdl_write(w, &b, &err);
        usleep(500);
    }
    _exit(r || hdl_finish(w, &err) ? 1 : 0);
}

static void a_file_can_be_read_while_another_process_writes_it(void **state)
{
    struct tables t;
    struct events e;
    size_t seen = 0;
    int status = -1;
    pid_t pid;

    (void)state;
    make_events(12, 5, 20000, &t, &e);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        write_slowly(&t, &e);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        struct reading r;

        reading_start(&r, temporary_of(path_to("live.hdl")));
        if (r.source) { /* else it has no header yet, or is complete and has its name */
            assert_true(r.events.count >= seen);
            assert_events(&e, 0, r.events.list, r.events.extra, r.events.count);
            seen = r.events.count;
        }
        reading_release(&r);
    }
    assert_int_equal(status, 0);
    assert_true(seen > 0);
    expect_file(path_to("live.hdl"), &t, &e);
    events_release(&e);
    tables_release(&t);
}

/* ---- no room ---- */

enum { WROTE, REFUSED_AT_CREATE, REFUSED_AT_WRITE, REFUSED_AT_FINISH, ODD };

/* In a process of its own, whose files may have `limit` bytes. */
static _Noreturn void write_limited(const struct tables *t, const struct events *e, size_t limit,
                                    uint32_t chunk_events)
{
    struct rlimit l = { limit, limit };
    struct hdl_options o = { .compression = HDL_RAW, .chunk_events = chunk_events };
    struct error err = { "" };
    struct batch b = events_batch(e, 0, e->count);
    struct hdl_writer *w;
    int r = WROTE;

    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &l);
    w = hdl_create(path_to("full.hdl"), t, &o, &err);
    if (!w) {
        r = REFUSED_AT_CREATE;
    } else if (hdl_write(w, &b, &err) < 0) {
        hdl_abort(w);
        r = REFUSED_AT_WRITE;
    } else if (hdl_finish(w, &err) < 0) {
        r = REFUSED_AT_FINISH;
    }
    if (r != WROTE && (!strstr(err.text, "cannot write '") || !strstr(err.text, strerror(EFBIG))))
        r = ODD;
    _exit(r);
}

static int outcome_with_limit(const struct tables *t, const struct events *e, size_t limit,
                              uint32_t chunk_events)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (!pid)
        write_limited(t, e, limit, chunk_events);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_full_disk_is_an_error_and_leaves_nothing(void **state)
{
    struct tables t;
    struct events e;
    struct stat st;
    int last;

    (void)state;
    make_events(13, 5, 2000, &t, &e);
    write_merged(path_to("whole.hdl"), &t, &e, &(struct hdl_options){ .chunk_events = 64 });
    assert_int_equal(stat(path_to("whole.hdl"), &st), 0);
    for (size_t limit = 0; limit < (size_t)st.st_size; limit += 1 + (size_t)st.st_size / 37) {
        assert_in_range(outcome_with_limit(&t, &e, limit, 64), REFUSED_AT_CREATE,
                        REFUSED_AT_FINISH);
        assert_int_equal(access(path_to("full.hdl"), F_OK), -1);
        assert_false(has_temporary(path_to("full.hdl")));
    }
    last = outcome_with_limit(&t, &e, (size_t)st.st_size - 1, 64); /* the end mark does not fit */
    assert_int_equal(last, REFUSED_AT_FINISH);
    assert_false(has_temporary(path_to("full.hdl")));
    assert_int_equal(outcome_with_limit(&t, &e, (size_t)st.st_size, 64), WROTE);
    expect_file(path_to("full.hdl"), &t, &e);
    events_release(&e);
    tables_release(&t);
}

static void a_path_that_cannot_be_written_is_an_error(void **state)
{
    struct tables t = { 0 };
    struct hdl_options o = { 0 };
    struct error err = { "" };
    struct hdl_writer *w;
    char reason[256];

    (void)state;
    assert_null(hdl_create(path_to("none/x.hdl"), &t, &o, &err));
    snprintf(reason, sizeof(reason), "cannot write '%s': No such file or directory",
             path_to("none/x.hdl"));
    assert_string_equal(err.text, reason);
    w = hdl_create(path_to("dir.hdl"), &t, &o, &err);
    assert_non_null(w);
    assert_int_equal(mkdir(path_to("dir.hdl"), 0700), 0); /* its name is taken */
    assert_null(hdl_create(path_to("dir.hdl"), &t, &o, &err));
    assert_int_equal(hdl_finish(w, &err), -1);
    assert_false(has_temporary(path_to("dir.hdl")));
}

static void giving_up_leaves_an_older_file_alone(void **state)
{
    struct tables t;
    struct events e;
    struct error err;
    struct hdl_options o = { 0 };
    struct hdl_writer *w;

    (void)state;
    make_events(14, 2, 100, &t, &e);
    write_merged(path_to("old.hdl"), &t, &e, &o);
    w = hdl_create(path_to("old.hdl"), &t, &o, &err);
    assert_non_null(w);
    hdl_abort(w);
    assert_false(has_temporary(path_to("old.hdl")));
    expect_file(path_to("old.hdl"), &t, &e);
    events_release(&e);
    tables_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events_come_back_with_every_compression),
        cmocka_unit_test(a_long_trace_takes_several_chunks),
        cmocka_unit_test(an_empty_trace_is_complete),
        cmocka_unit_test(the_order_of_the_trace_is_kept),
        cmocka_unit_test(names_may_grow_while_events_are_written),
        cmocka_unit_test(names_of_every_length_come_back),
        cmocka_unit_test(names_that_no_reader_takes_are_written_so_that_it_does),
        cmocka_unit_test(a_second_pass_is_like_the_first),
        cmocka_unit_test(an_unfinished_file_is_readable),
        cmocka_unit_test(a_file_can_be_read_while_another_process_writes_it),
        cmocka_unit_test(a_full_disk_is_an_error_and_leaves_nothing),
        cmocka_unit_test(a_path_that_cannot_be_written_is_an_error),
        cmocka_unit_test(giving_up_leaves_an_older_file_alone),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
