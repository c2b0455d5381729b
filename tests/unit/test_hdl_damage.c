/* test_hdl_damage.c - .hdl files that are cut off, damaged, or lie */
#include "hdl_tools.h"

static const enum hdl_compression kinds[] = { HDL_RAW, HDL_LZ4, HDL_ZSTD };

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
    struct reading r;

    reading_start(&r, memory_file(file->data, len));
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
    struct reading r;
    bool known = false;

    reading_start(&r, memory_file(data, len));
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
        struct tables t = { 0 };
        struct events e = { 0 };
        uint64_t seed = 8;

        fill_tables(&t, 2, 1);
        for (int k = 0; k < 12; k++)
            random_event(&seed, &t, &e);
        write_merged(path_to("a.hdl"), &t, &e,
                     &(struct hdl_options){ .compression = kinds[i], .chunk_events = 8 });
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

    reading_start(&r, memory_file(file->data, file->len));
    assert_null(r.source);
    assert_string_equal(r.err.text, reason);
    reading_release(&r);
}

/* It gives this many events and loses the rest, for this reason. */
static void expect_loss(const struct buf *file, size_t events, const char *reason)
{
    struct reading r;

    reading_start(&r, memory_file(file->data, file->len));
    assert_non_null(r.source);
    assert_int_equal(r.events.count, events);
    assert_string_equal(r.info.loss, reason);
    reading_release(&r);
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
    WITH(h.major = 2, "version 2.1 is not understood (this reads 1.x)");
    WITH(h.required = 4096, "needs features 0x1000 that this version does not know");
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
    h.minor = 99;
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
    WITH(h.stored_bytes = UINT32_MAX, "no end mark: the file was cut off")
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
        cmocka_unit_test(a_file_cut_within_its_magic_is_still_recognised),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
