/* test_input.c - byte streams: files, pipes, compression; and the output that makes them */
#include "formats.h"
#include "temporary.h"
#include "trace/text/output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* A trace that is larger than any buffer, and not too regular. */
static void make_text(struct buf *b, unsigned lines)
{
    for (unsigned i = 0; i < lines; i++)
        buf_addf(b, "T%u|w(V%u=%u)|%u\n", i % 7, i * 7919 % 1000, i * 2654435761u, i % 900);
}

static void gzip(const void *data, size_t len, struct buf *out)
{
    z_stream z = { 0 };
    size_t room = len + 1000;

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    buf_reserve(out, room);
    z.next_in = (Bytef *)data;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)out->data + out->len;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->len += room - z.avail_out;
    deflateEnd(&z);
}

static void zstd(const void *data, size_t len, struct buf *out)
{
    size_t room = ZSTD_compressBound(len), n;
    ZSTD_CCtx *c = ZSTD_createCCtx();

    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    buf_reserve(out, room);
    n = ZSTD_compress2(c, out->data + out->len, room, data, len);
    assert_false(ZSTD_isError(n));
    out->len += n;
    ZSTD_freeCCtx(c);
}

static char *temp_name(const char *suffix)
{
    char path[] = "/tmp/heddle-input-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    return xasprintf("%s%s", path, suffix);
}

static void write_file(const char *path, const void *data, size_t len)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    fclose(f);
}

/* The whole stream, taken in odd pieces. */
static int slurp(struct input *in, struct buf *out, struct error *err)
{
    const char *data;
    size_t len, used = 0, round = 0;
    bool eof = false;

    do {
        if (input_more(in, used, &data, &len, &eof, err))
            return -1;
        for (int i = 0; i < INPUT_PADDING; i++) /* readable, says the header */
            round += (unsigned char)data[len + (size_t)i] & 0;
        used = eof ? len : len - (len > 5 ? ++round % 5 : 0);
        buf_add(out, data, used);
    } while (!eof);
    return 0;
}

static void expect_stream(const char *path, const struct buf *expected)
{
    struct error err;
    struct input *in = input_open(path, &err);
    struct buf got = { 0 };

    assert_non_null(in);
    for (int pass = 0; pass < 2; pass++) {
        got.len = 0;
        if (slurp(in, &got, &err))
            fail_msg("%s", err.text);
        assert_int_equal(got.len, expected->len);
        assert_memory_equal(got.data, expected->data, expected->len);
        assert_int_equal(input_consumed(in), input_size(in));
        assert_int_equal(input_rewind(in, &err), 0);
    }
    input_close(in);
    buf_release(&got);
}

static void files_plain_and_compressed_give_the_same_bytes(void **state)
{
    struct buf text = { 0 }, gz = { 0 }, zs = { 0 };
    char *path = temp_name(".std");

    (void)state;
    make_text(&text, 60000);
    gzip(text.data, text.len, &gz);
    zstd(text.data, text.len, &zs);
    write_file(path, text.data, text.len);
    expect_stream(path, &text);
    write_file(path, gz.data, gz.len); /* the content decides, not the name */
    expect_stream(path, &text);
    write_file(path, zs.data, zs.len);
    expect_stream(path, &text);
    unlink(path);
    free(path);
    buf_release(&text);
    buf_release(&gz);
    buf_release(&zs);
}

static void concatenated_members_and_frames_are_one_stream(void **state)
{
    struct buf text = { 0 }, joined = { 0 };
    char *path = temp_name("");
    static const char skippable[12] = "\x50\x2a\x4d\x18\x04\0\0\0skip";

    (void)state;
    make_text(&text, 5000);
    gzip(text.data, 1000, &joined);
    gzip(text.data + 1000, 0, &joined);
    gzip(text.data + 1000, text.len - 1000, &joined);
    buf_add(&joined, "\0\0\0\0", 4); /* padding */
    write_file(path, joined.data, joined.len);
    expect_stream(path, &text);
    joined.len = 0;
    buf_add(&joined, skippable, sizeof(skippable));
    zstd(text.data, 1000, &joined);
    zstd(text.data + 1000, 0, &joined);
    buf_add(&joined, skippable, sizeof(skippable));
    zstd(text.data + 1000, text.len - 1000, &joined);
    write_file(path, joined.data, joined.len);
    expect_stream(path, &text);
    unlink(path);
    free(path);
    buf_release(&text);
    buf_release(&joined);
}

/* Every way to read fails with `error`, somewhere. */
static void expect_damage(const struct buf *data, const char *error)
{
    struct reading r;

    read_memory(&r, std_open, data->data, data->len);
    assert_int_equal(r.status, -1);
    assert_string_equal(r.err.text, error);
    reading_release(&r);
}

static void truncated_and_damaged_streams_say_so(void **state)
{
    struct buf text = { 0 }, packed = { 0 };
    char error[128];

    (void)state;
    make_text(&text, 20000);
    gzip(text.data, text.len, &packed);
    for (int cut = 1; cut < 40000; cut = cut * 3 + 1) {
        struct buf part = { packed.data, packed.len - (size_t)cut, 0 };

        snprintf(error, sizeof(error), "the gzip data is cut off at byte %zu", part.len);
        expect_damage(&part, error);
    }
    packed.data[packed.len - 6] ^= 1; /* the checksum */
    snprintf(error, sizeof(error), "damaged gzip data near byte %zu: incorrect data check",
             packed.len - 4);
    expect_damage(&packed, error);
    packed.data[packed.len - 6] ^= 1;
    buf_addstr(&packed, "xyz");
    snprintf(error, sizeof(error), "byte %zu: no gzip data after the end of a gzip member",
             packed.len - 3);
    expect_damage(&packed, error);
    packed.len = 0;
    zstd(text.data, text.len, &packed);
    for (int cut = 1; cut < 20000; cut = cut * 3 + 1) {
        struct buf part = { packed.data, packed.len - (size_t)cut, 0 };

        snprintf(error, sizeof(error), "the zstd data is cut off at byte %zu", part.len);
        expect_damage(&part, error);
    }
    packed.data[packed.len - 1] ^= 1; /* the checksum */
    snprintf(error, sizeof(error),
             "damaged zstd data after byte %zu: Restored data doesn't match checksum",
             (packed.len - 1) / 65536 * 65536); /* where the last piece began */
    expect_damage(&packed, error);
    buf_release(&text);
    buf_release(&packed);
}

static void what_is_no_file_gets_a_clear_error(void **state)
{
    struct error err;

    (void)state;
    assert_null(input_open("/proc/nonexistent/x.std", &err));
    assert_string_equal(err.text, "No such file or directory");
    assert_null(input_open("/", &err));
    assert_string_equal(err.text, "Is a directory");
}

static void an_empty_file_is_an_empty_stream(void **state)
{
    char *path = temp_name("");
    struct buf nothing = { 0 }, packed = { 0 };

    (void)state;
    buf_add(&nothing, "", 0);
    write_file(path, "", 0);
    expect_stream(path, &nothing);
    gzip("", 0, &packed);
    write_file(path, packed.data, packed.len);
    expect_stream(path, &nothing);
    unlink(path);
    free(path);
    buf_release(&nothing);
    buf_release(&packed);
}

static void a_pipe_is_read_in_pieces_but_only_once(void **state)
{
    struct buf text = { 0 }, got = { 0 };
    char *path = temp_name(".fifo");
    struct input *in;
    struct error err;
    pid_t child;

    (void)state;
    make_text(&text, 30000);
    assert_int_equal(mkfifo(path, 0600), 0);
    child = fork();
    if (!child) {
        int fd = open(path, O_WRONLY);
        size_t done = 0;

        while (fd >= 0 && done < text.len) {
            size_t piece = done % 3000 + 1 < text.len - done ? done % 3000 + 1 : text.len - done;
            ssize_t n = write(fd, text.data + done, piece);

            if (n < 0)
                break;
            done += (size_t)n;
        }
        _exit(0);
    }
    in = input_open(path, &err);
    assert_non_null(in);
    assert_true(input_is_pipe(in));
    assert_int_equal(input_size(in), 0);
    assert_int_equal(slurp(in, &got, &err), 0);
    assert_int_equal(got.len, text.len);
    assert_memory_equal(got.data, text.data, text.len);
    assert_int_equal(input_rewind(in, &err), -1);
    assert_string_equal(err.text, "a pipe cannot be read twice");
    input_close(in);
    unlink(path);
    free(path);
    buf_release(&text);
    buf_release(&got);
}

static void the_window_grows_when_nothing_is_used(void **state)
{
    struct buf text = { 0 };
    struct error err;
    struct input *in;
    const char *data;
    size_t len = 0;
    bool eof = false;

    (void)state;
    make_text(&text, 60000);
    in = input_from_memory(text.data, text.len, &err);
    assert_int_equal(input_peek(in, 10, &data, &len, &eof, &err), 0);
    assert_true(len >= 10);
    while (!eof) {
        size_t before = len;

        assert_int_equal(input_more(in, 0, &data, &len, &eof, &err), 0);
        assert_true(eof || len > before);
    }
    assert_int_equal(len, text.len);
    assert_memory_equal(data, text.data, len);
    input_close(in);
    buf_release(&text);
}

static void output_appears_only_when_finished(void **state)
{
    static const char *const suffixes[] = { ".std", ".std.gz", ".std.zst" };
    struct buf text = { 0 };
    struct error err;

    (void)state;
    make_text(&text, 60000);
    for (int i = 0; i < 3; i++) {
        char *path = temp_name(suffixes[i]);
        struct output *o = output_open(path, &err);

        assert_non_null(o);
        for (size_t at = 0; at < text.len; at += 77777)
            assert_int_equal(output_write(o, text.data + at,
                                          text.len - at < 77777 ? text.len - at : 77777, &err),
                             0);
        assert_int_equal(access(path, F_OK), -1);
        assert_true(has_temporary(path));
        assert_int_equal(output_finish(o, &err), 0);
        assert_false(has_temporary(path));
        expect_stream(path, &text);
        o = output_open(path, &err);
        assert_int_equal(output_write(o, "x", 1, &err), 0);
        output_abort(o);
        assert_false(has_temporary(path));
        expect_stream(path, &text); /* the old file is still there */
        unlink(path);
        free(path);
    }
    buf_release(&text);
}

static void a_full_disk_is_reported(void **state)
{
    struct buf text = { 0 };
    char *path = temp_name("");
    struct rlimit old, small;
    struct output *o;
    struct error err;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    make_text(&text, 10000);
    o = output_open(path, &err);
    assert_non_null(o);
    assert_int_equal(output_write(o, text.data, text.len, &err), -1);
    assert_non_null(strstr(err.text, "File too large"));
    assert_int_equal(output_write(o, "x", 1, &err), -1);
    assert_int_equal(output_finish(o, &err), -1);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(access(path, F_OK), -1);
    assert_false(has_temporary(path));
    assert_null(output_open("/proc/nonexistent/x.std", &err));
    assert_string_equal(err.text,
                        "cannot create '/proc/nonexistent/x.std': No such file or directory");
    free(path);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_plain_and_compressed_give_the_same_bytes),
        cmocka_unit_test(concatenated_members_and_frames_are_one_stream),
        cmocka_unit_test(truncated_and_damaged_streams_say_so),
        cmocka_unit_test(what_is_no_file_gets_a_clear_error),
        cmocka_unit_test(an_empty_file_is_an_empty_stream),
        cmocka_unit_test(a_pipe_is_read_in_pieces_but_only_once),
        cmocka_unit_test(the_window_grows_when_nothing_is_used),
        cmocka_unit_test(output_appears_only_when_finished),
        cmocka_unit_test(a_full_disk_is_reported),
    };

    return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
