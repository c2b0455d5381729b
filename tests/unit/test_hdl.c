/* test_hdl.c - .hdl files: written and read back, cut, damaged, unfinished, no room, windows */
#include "hdl_tools.h"
#include "trace/text.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const enum hdl_compression kinds[] = { HDL_RAW, HDL_LZ4, HDL_ZSTD };

static void make_events(uint64_t seed, unsigned threads, size_t count, struct tables *t,
                        struct events *e)
{
    *t = (struct tables){ 0 };
    *e = (struct events){ 0 };
    fill_tables(t, threads, 20);
    for (size_t i = 0; i < count; i++)
        random_event(&seed, t, e);
}

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
        assert_int_equal(access(path_to("a.hdl.tmp"), F_OK), -1);
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
        unsigned events = 0;

        write_merged(path_to("a.hdl"), &t, &e, &o);
        expect_file(path_to("a.hdl"), &t, &e);
        slurp(path_to("a.hdl"), &file);
        for (size_t k = 0; chunk_offset(&file, k) < file.len; k++)
            events += chunk_at(&file, chunk_offset(&file, k)).kind == HDL_MERGED;
        assert_int_equal(events, 3); /* 65536 each */
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

/* ---- cut off ---- */

/* Events in the chunks that lie wholly in the first `len` bytes. */
static size_t whole_events(const struct buf *file, size_t len)
{
    size_t events = 0;

    for (size_t k = 0; chunk_offset(file, k + 1) <= len && chunk_offset(file, k) < file->len; k++)
        if (chunk_at(file, chunk_offset(file, k)).kind == HDL_MERGED)
            events += chunk_at(file, chunk_offset(file, k)).count;
    return events;
}

static void expect_cut(const struct buf *file, size_t len, const struct events *e)
{
    const char *path = path_to("cut.hdl");
    struct reading r;

    write_file(path, file->data, len);
    reading_start(&r, path);
    if (len < sizeof(struct hdl_file_header)) {
        assert_null(r.source);
        assert_string_equal(r.err.text, "file header is cut off");
    } else {
        assert_non_null(r.source);
        assert_int_equal(r.events.count, whole_events(file, len));
        assert_events(e, 0, r.events.list, r.events.extra, r.events.count);
        if (len == file->len) {
            assert_string_equal(r.info.loss, "");
        } else {
            assert_non_null(strstr(r.info.loss, "no end mark"));
            assert_in_range(r.info.lost_bytes, 0, len - sizeof(struct hdl_file_header));
        }
    }
    reading_release(&r);
}

static void a_file_cut_at_any_byte_gives_its_whole_chunks(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct buf file = { 0 };
        struct tables t;
        struct events e;

        make_events(7, 3, 60, &t, &e);
        write_merged(path_to("a.hdl"), &t, &e,
                     &(struct hdl_options){ .compression = kinds[i], .chunk_events = 25 });
        slurp(path_to("a.hdl"), &file);
        for (size_t len = 0; len <= file.len; len++)
            expect_cut(&file, len, &e);
        buf_release(&file);
        events_release(&e);
        tables_release(&t);
    }
}

/* ---- damaged ---- */

/* A changed file is refused or gives a prefix, and always tells. */
static void expect_damage_is_told(const void *data, size_t len, const struct events *e)
{
    static const char *const errors[] = { "not a .hdl file", "version ",
                                          "file header: bad checksum" };
    const char *path = path_to("bad.hdl");
    struct reading r;
    bool known = false;

    write_file(path, data, len);
    reading_start(&r, path);
    if (r.source) {
        assert_true(r.info.loss[0]);
        assert_events(e, 0, r.events.list, r.events.extra, r.events.count);
    } else {
        for (int i = 0; i < 3; i++)
            known |= !strncmp(r.err.text, errors[i], strlen(errors[i]));
        assert_true(known);
    }
    reading_release(&r);
}

static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct buf file = { 0 };
        struct tables t;
        struct events e;

        make_events(8, 2, 30, &t, &e);
        write_merged(path_to("a.hdl"), &t, &e,
                     &(struct hdl_options){ .compression = kinds[i], .chunk_events = 16 });
        slurp(path_to("a.hdl"), &file);
        for (size_t at = 0; at < file.len; at++) {
            unsigned step = i ? 8 : 1; /* all bits of one file, all bytes of the others */

            for (unsigned bit = 0; bit < 8; bit += step) {
                file.data[at] ^= (char)(i ? 0xff : 1 << bit);
                expect_damage_is_told(file.data, file.len, &e);
                file.data[at] ^= (char)(i ? 0xff : 1 << bit);
            }
        }
        buf_release(&file);
        events_release(&e);
        tables_release(&t);
    }
}

static void damage_anywhere_in_a_larger_file_is_noticed(void **state)
{
    struct buf file = { 0 };
    struct tables t;
    struct events e;
    uint64_t seed = 9;

    (void)state;
    make_events(9, 40, 30000, &t, &e);
    write_merged(path_to("a.hdl"), &t, &e, &(struct hdl_options){ .compression = HDL_LZ4 });
    slurp(path_to("a.hdl"), &file);
    for (int i = 0; i < 60; i++) {
        size_t at = below(&seed, file.len), n = 1 + below(&seed, 300);
        char *copy = xmalloc(file.len);

        memcpy(copy, file.data, file.len);
        for (size_t k = at; k < at + n && k < file.len; k++)
            copy[k] ^= (char)(1 + below(&seed, 255));
        expect_damage_is_told(copy, file.len, &e);
        free(copy);
    }
    buf_release(&file);
    events_release(&e);
    tables_release(&t);
}

/* The file as it is now cannot be opened, for this reason. */
static void expect_refused(const struct buf *file, const char *reason)
{
    struct reading r;

    write_file(path_to("bad.hdl"), file->data, file->len);
    reading_start(&r, path_to("bad.hdl"));
    assert_null(r.source);
    assert_string_equal(r.err.text, reason);
    reading_release(&r);
}

/* It gives this many events and loses the rest, for this reason. */
static void expect_loss(const struct buf *file, size_t events, const char *reason)
{
    struct reading r;

    write_file(path_to("bad.hdl"), file->data, file->len);
    reading_start(&r, path_to("bad.hdl"));
    assert_non_null(r.source);
    assert_int_equal(r.events.count, events);
    assert_string_equal(r.info.loss, reason);
    reading_release(&r);
}

/* Two names chunks (threads, sites), three chunks of ten events, the end. */
static void small_file(struct buf *file)
{
    struct tables t = { 0 };
    struct events e = { 0 };

    fill_names(&t.threads, 'T', 2);
    fill_names(&t.sites, 's', 2);
    for (uint32_t i = 0; i < 30; i++)
        events_add(
            &e, (struct event){
                    .op = OP_WRITE, .size = 4, .target = 4 * i, .thread = i % 2, .site = i % 2 });
    write_merged(path_to("small.hdl"), &t, &e,
                 &(struct hdl_options){ .compression = HDL_RAW, .chunk_events = 10 });
    slurp(path_to("small.hdl"), file);
    assert_int_equal(chunk_offset(file, 6), file->len);
    events_release(&e);
    tables_release(&t);
}

static void file_headers_are_checked(void **state)
{
    struct buf file = { 0 };
    struct hdl_file_header good, h;

    (void)state;
    small_file(&file);
    memcpy(&good, file.data, sizeof(good));
#define WITH(change, reason)                                                                       \
    h = good;                                                                                      \
    change;                                                                                        \
    h.checksum = XXH32(&h, sizeof(h) - 4, 0);                                                      \
    memcpy(file.data, &h, sizeof(h));                                                              \
    expect_refused(&file, reason)
    WITH(h.magic[6] = '\n', "not a .hdl file");
    WITH(h.major = 2, "version 2.0 is not understood (this reads 1.x)");
    WITH(h.required = 2, "needs features 0x2 that this version does not know");
    WITH(h.required = (uint64_t)1 << 63 | 1,
         "needs features 0x8000000000000000 that this version does not know");
    WITH(h.order = 3, "file header: impossible values");
    WITH(h.header_bytes = 63, "file header: impossible values");
    WITH(h.header_bytes = (uint32_t)file.len + 1, "file header is cut off");
#undef WITH
    buf_release(&file);
}

static void what_is_new_in_a_minor_version_does_not_disturb(void **state)
{
    struct hdl_chunk_header unknown = { .magic = HDL_CHUNK_MAGIC,
                                        .kind = 200,
                                        .stored_bytes = 8,
                                        .number = 5,
                                        .count = 99,
                                        .first = 77 };
    struct hdl_chunk_header end;
    struct hdl_file_header h;
    struct buf file = { 0 }, newer = { 0 };
    size_t at;

    (void)state;
    small_file(&file);
    memcpy(&h, file.data, sizeof(h));
    h.minor = 7;
    h.optional = ~(uint64_t)0;
    h.reserved0 = h.reserved2 = 1;
    h.header_bytes += 8;
    h.checksum = XXH32(&h, sizeof(h) - 4, 0);
    buf_add(&newer, &h, sizeof(h));
    buf_add(&newer, "more....", 8);
    at = chunk_offset(&file, 5);
    buf_add(&newer, file.data + sizeof(h), at - sizeof(h));
    unknown.checksum = XXH3_64bits("unknown.", 8);
    unknown.header_checksum = XXH32(&unknown, sizeof(unknown) - 4, 0);
    buf_add(&newer, &unknown, sizeof(unknown));
    buf_add(&newer, "unknown.", 8);
    end = chunk_at(&file, at);
    end.number = 6;
    buf_add(&newer, &end, sizeof(end));
    put_chunk_header(&newer, newer.len - sizeof(end), end);
    expect_loss(&newer, 30, "");
    buf_release(&file);
    buf_release(&newer);
}

static void chunk_headers_are_checked(void **state)
{
    struct buf file = { 0 };
    struct hdl_chunk_header h;
    size_t at;
    char reason[256];

    (void)state;
    small_file(&file);
    at = chunk_offset(&file, 3);
#define WITH(change, why)                                                                          \
    h = chunk_at(&file, at);                                                                       \
    change;                                                                                        \
    snprintf(reason, sizeof(reason),                                                               \
             "chunk 3 (byte %zu): %s: the trace ends there, %zu bytes unread", at, why,            \
             file.len - at);                                                                       \
    {                                                                                              \
        struct hdl_chunk_header was = chunk_at(&file, at);                                         \
        put_chunk_header(&file, at, h);                                                            \
        expect_loss(&file, 10, reason);                                                            \
        memcpy(file.data + at, &was, sizeof(was));                                                 \
    }
    WITH(h.magic ^= 1, "damaged chunk header")
    WITH(h.number = 4, "damaged chunk header")
    WITH(h.compression = 3, "unknown compression")
    WITH(h.kind = HDL_THREAD, "events in the other layout than the file's")
    WITH(h.first = 11, "events are missing before it")
    WITH(h.checksum ^= 1, "bad checksum")
    WITH(h.count = 11, "11 events but 10 flag bytes")
    WITH(h.context_bits = 15, "impossible chunk header")
    WITH(h.stored_bytes = UINT32_MAX, "no end mark: the recording was cut off or is still running")
    WITH((h.kind = HDL_END, h.first = 11), "the end mark counts other events than the file has")
#undef WITH
    buf_release(&file);
}

static void a_chunk_that_is_missing_ends_the_trace(void **state)
{
    struct buf file = { 0 }, less = { 0 };
    size_t from, to;
    char reason[256];

    (void)state;
    small_file(&file);
    from = chunk_offset(&file, 3);
    to = chunk_offset(&file, 4);
    buf_add(&less, file.data, from);
    buf_add(&less, file.data + to, file.len - to);
    snprintf(reason, sizeof(reason),
             "chunk 3 (byte %zu): damaged chunk header: the trace ends there, %zu bytes unread",
             from, less.len - from);
    expect_loss(&less, 10, reason);
    buf_release(&file);
    buf_release(&less);
}

static void data_behind_the_end_is_told(void **state)
{
    struct buf file = { 0 };
    char reason[256];

    (void)state;
    small_file(&file);
    snprintf(reason, sizeof(reason),
             "chunk 6 (byte %zu): data behind the end mark: the trace ends there, 3 bytes unread",
             file.len);
    buf_add(&file, "xyz", 3);
    expect_loss(&file, 30, reason);
    buf_release(&file);
}

/* Change the payload of a names chunk of the small file. */
static void expect_names_refused(size_t chunk, size_t byte, char value, const char *why)
{
    struct buf file = { 0 };
    struct hdl_chunk_header h;
    size_t at;
    char reason[256];

    small_file(&file);
    at = chunk_offset(&file, chunk);
    h = chunk_at(&file, at);
    file.data[at + sizeof(h) + byte] = value;
    h.checksum = XXH3_64bits(file.data + at + sizeof(h), h.stored_bytes);
    put_chunk_header(&file, at, h);
    snprintf(reason, sizeof(reason),
             "chunk %zu (byte %zu): %s: the trace ends there, %zu bytes unread", chunk, at, why,
             file.len - at);
    expect_loss(&file, 0, reason);
    buf_release(&file);
}

static void names_are_checked(void **state)
{
    (void)state;
    /* 8 bytes of lengths, then 2 "T0" 2 "T1"; sites: 2 "s0" 0 2 "s1" 0 */
    expect_names_refused(0, 0, 5, "lengths do not add up");
    expect_names_refused(0, 8, 0, "name 0: damaged");
    expect_names_refused(0, 8, 100, "name 0: damaged");
    expect_names_refused(0, 12, 0, "name 1: damaged");
    expect_names_refused(0, 11, 1, "bytes are left over behind the last name");
    expect_names_refused(0, 9, '\n', "name 0: damaged");
    expect_names_refused(0, 9, 0, "name 0: damaged");
    expect_names_refused(1, 11, 1, "name 0: damaged"); /* there is no function */
    expect_names_refused(1, 15, (char)0x80, "name 1: damaged");
}

static void tables_of_names_are_checked(void **state)
{
    struct buf file = { 0 };
    struct hdl_chunk_header h;
    char reason[256];
    size_t at;

    (void)state;
    small_file(&file);
    at = chunk_offset(&file, 1);
    h = chunk_at(&file, at);
    h.first = 1;
    put_chunk_header(&file, at, h);
    snprintf(reason, sizeof(reason),
             "chunk 1 (byte %zu): names out of order: the trace ends there, %zu bytes unread", at,
             file.len - at);
    expect_loss(&file, 0, reason);
    h.first = 0;
    h.subject = HDL_TABLES;
    put_chunk_header(&file, at, h);
    snprintf(
        reason, sizeof(reason),
        "chunk 1 (byte %zu): names of an unknown table: the trace ends there, %zu bytes unread", at,
        file.len - at);
    expect_loss(&file, 0, reason);
    buf_release(&file);
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
        reading_start(&r, path_to("grow.hdl.tmp"));
        assert_non_null(r.source);
        assert_int_equal(r.events.count, (i + 50) / 100 * 100);
        assert_events(&e, 0, r.events.list, r.events.extra, r.events.count);
        assert_non_null(strstr(r.info.loss, "is still running"));
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

        reading_start(&r, path_to("live.hdl.tmp"));
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
        assert_int_equal(access(path_to("full.hdl.tmp"), F_OK), -1);
    }
    last = outcome_with_limit(&t, &e, (size_t)st.st_size - 1, 64); /* the end mark does not fit */
    assert_int_equal(last, REFUSED_AT_FINISH);
    assert_int_equal(access(path_to("full.hdl.tmp"), F_OK), -1);
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
    assert_int_equal(mkdir(path_to("dir.hdl"), 0700), 0); /* its name is taken */
    w = hdl_create(path_to("dir.hdl"), &t, &o, &err);
    assert_non_null(w);
    assert_int_equal(hdl_finish(w, &err), -1);
    assert_int_equal(access(path_to("dir.hdl.tmp"), F_OK), -1);
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
    assert_int_equal(access(path_to("old.hdl.tmp"), F_OK), -1);
    expect_file(path_to("old.hdl"), &t, &e);
    events_release(&e);
    tables_release(&t);
}

/* ---- windows ---- */

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

static void a_file_cut_within_its_magic_is_still_recognised(void **state)
{
    (void)state;
    for (size_t n = 0; n < 8; n++) {
        struct error err = { "" };

        write_file(path_to("m.hdl"), HDL_MAGIC, n);
        assert_null(trace_open(path_to("m.hdl"), &err));
        assert_non_null(strstr(err.text, "file header is cut off"));
    }
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
        cmocka_unit_test(a_file_cut_at_any_byte_gives_its_whole_chunks),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(damage_anywhere_in_a_larger_file_is_noticed),
        cmocka_unit_test(file_headers_are_checked),
        cmocka_unit_test(what_is_new_in_a_minor_version_does_not_disturb),
        cmocka_unit_test(chunk_headers_are_checked),
        cmocka_unit_test(a_chunk_that_is_missing_ends_the_trace),
        cmocka_unit_test(data_behind_the_end_is_told),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(tables_of_names_are_checked),
        cmocka_unit_test(an_unfinished_file_is_readable),
        cmocka_unit_test(a_file_can_be_read_while_another_process_writes_it),
        cmocka_unit_test(a_full_disk_is_an_error_and_leaves_nothing),
        cmocka_unit_test(a_path_that_cannot_be_written_is_an_error),
        cmocka_unit_test(giving_up_leaves_an_older_file_alone),
        cmocka_unit_test(windows_are_slices_of_the_whole),
        cmocka_unit_test(no_window_shows_what_is_behind_known_damage),
        cmocka_unit_test(a_window_of_a_broken_text_is_an_error),
        cmocka_unit_test(a_file_cut_within_its_magic_is_still_recognised),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
