/* input.c - byte streams from files, pipes and memory, decompressed on the way
 *
 * Two buffers: `raw` holds bytes as they are in the file, `out` what the
 * caller sees. For plain data the bytes are read straight into `out`. Each
 * kind of compression is one `decode` function that moves what it can from
 * raw to out.
 */
#include "trace/text/input.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* The window a caller usually sees. Large enough that the cost of a refill (a system call,
 * moving the last partial line) disappears, small enough to stay in the second-level cache. */
#define WINDOW_BYTES ((size_t)256 << 10)
#define RAW_BYTES    ((size_t)64 << 10)

struct input {
    char *path;
    int fd; /* -1: memory */
    bool own_fd, pipe;
    uint64_t size;
    const char *mem; /* borrowed */
    size_t mem_len;
    uint64_t pulled; /* bytes taken from the file so far */
    bool raw_eof;    /* nothing follows the bytes in raw */

    /* Decode what raw holds into out; called with room in out. Sets eof at the end. */
    int (*decode)(struct input *in, struct error *err);
    z_stream gz;
    bool gz_live, gz_between; /* between: a member ended, another may follow */
    ZSTD_DStream *zstd;
    bool zstd_open; /* inside a frame */

    char *raw;
    size_t raw_pos, raw_len;

    char *out; /* cap bytes and INPUT_PADDING more */
    size_t cap, start, end;
    bool eof; /* nothing follows the bytes in out */
};

static int decode_plain(struct input *in, struct error *err);
static int decode_gzip(struct input *in, struct error *err);
static int decode_zstd(struct input *in, struct error *err);

/* Read up to `room` raw bytes; sets raw_eof when there are none. */
static ssize_t pull(struct input *in, char *to, size_t room, struct error *err)
{
    ssize_t n;

    if (in->fd < 0) {
        size_t left = in->mem_len - in->pulled;

        n = (ssize_t)(left < room ? left : room);
        if (n)
            memcpy(to, in->mem + in->pulled, (size_t)n);
    } else {
        do
            n = read(in->fd, to, room);
        while (n < 0 && errno == EINTR);
    }
    if (n < 0)
        return error_set(err, "%s", strerror(errno));
    if (!n)
        in->raw_eof = true;
    in->pulled += (uint64_t)n;
    return n;
}

/* Have at least `want` raw bytes, unless the file ends before. */
static int fill_raw(struct input *in, size_t want, struct error *err)
{
    if (in->raw_len - in->raw_pos >= want)
        return 0;
    memmove(in->raw, in->raw + in->raw_pos, in->raw_len - in->raw_pos);
    in->raw_len -= in->raw_pos;
    in->raw_pos = 0;
    while (in->raw_len < want && !in->raw_eof) {
        ssize_t n = pull(in, in->raw + in->raw_len, RAW_BYTES - in->raw_len, err);

        if (n < 0)
            return -1;
        in->raw_len += (size_t)n;
    }
    return 0;
}

static int decode_plain(struct input *in, struct error *err)
{
    size_t have = in->raw_len - in->raw_pos;
    size_t room = in->cap - in->end;
    ssize_t n;

    if (have) { /* the bytes read to recognise the format */
        n = (ssize_t)(have < room ? have : room);
        memcpy(in->out + in->end, in->raw + in->raw_pos, (size_t)n);
        in->raw_pos += (size_t)n;
    } else {
        n = pull(in, in->out + in->end, room, err);
        if (n < 0)
            return -1;
        in->eof = n == 0;
    }
    in->end += (size_t)n;
    return 0;
}

/* A member ended. Another may follow; zero bytes may pad the file (tapes do that). */
static int gzip_next_member(struct input *in, struct error *err)
{
    const unsigned char *p;

    if (fill_raw(in, 2, err))
        return -1;
    p = (const unsigned char *)in->raw + in->raw_pos;
    if (in->raw_len == in->raw_pos) {
        in->eof = true;
    } else if (in->raw_len - in->raw_pos >= 2 && p[0] == 0x1f && p[1] == 0x8b) {
        inflateReset(&in->gz);
        in->gz_between = false;
    } else if (!p[0]) {
        in->raw_pos++;
    } else {
        return error_set(err, "byte %" PRIu64 ": no gzip data after the end of a gzip member",
                         in->pulled - (in->raw_len - in->raw_pos));
    }
    return 0;
}

static int decode_gzip(struct input *in, struct error *err)
{
    int r;

    if (in->gz_between)
        return gzip_next_member(in, err);
    if (fill_raw(in, 1, err))
        return -1;
    in->gz.next_in = (Bytef *)in->raw + in->raw_pos;
    in->gz.avail_in = (uInt)(in->raw_len - in->raw_pos);
    in->gz.next_out = (Bytef *)in->out + in->end;
    in->gz.avail_out = (uInt)(in->cap - in->end);
    if (!in->gz.avail_in)
        return error_set(err, "the gzip data is cut off at byte %" PRIu64, in->pulled);
    r = inflate(&in->gz, Z_NO_FLUSH);
    in->raw_pos = in->raw_len - in->gz.avail_in;
    in->end = in->cap - in->gz.avail_out;
    if (r == Z_STREAM_END)
        in->gz_between = true;
    else if (r != Z_OK && r != Z_BUF_ERROR)
        return error_set(err, "damaged gzip data near byte %" PRIu64 ": %s",
                         in->pulled - in->gz.avail_in, in->gz.msg ? in->gz.msg : "cannot inflate");
    return 0;
}

static int decode_zstd(struct input *in, struct error *err)
{
    ZSTD_outBuffer to = { in->out, in->cap, in->end };
    ZSTD_inBuffer from;
    size_t r;

    if (fill_raw(in, 1, err))
        return -1;
    from = (ZSTD_inBuffer){ in->raw + in->raw_pos, in->raw_len - in->raw_pos, 0 };
    if (!from.size && !in->zstd_open) {
        in->eof = true;
        return 0;
    }
    /* With no input left there may still be output inside the decoder. */
    r = ZSTD_decompressStream(in->zstd, &to, &from);
    if (ZSTD_isError(r))
        return error_set(err, "damaged zstd data after byte %" PRIu64 ": %s",
                         in->pulled - from.size, ZSTD_getErrorName(r));
    if (!from.size && to.pos == in->end)
        return error_set(err, "the zstd data is cut off at byte %" PRIu64, in->pulled);
    in->zstd_open = r != 0;
    in->raw_pos += from.pos;
    in->end = to.pos;
    return 0;
}

/* Decide by the first bytes how to decode. */
static int start_decoding(struct input *in, struct error *err)
{
    const unsigned char *p = (const unsigned char *)in->raw;
    size_t n;

    if (fill_raw(in, 4, err))
        return -1;
    n = in->raw_len;
    in->decode = decode_plain;
    if (n >= 2 && p[0] == 0x1f && p[1] == 0x8b) {
        in->decode = decode_gzip;
        in->gz_between = false;
        if (in->gz_live)
            inflateReset(&in->gz);
        else if (inflateInit2(&in->gz, 15 + 16) != Z_OK) /* 16: the gzip wrapper */
            return error_set(err, "cannot start zlib");
        in->gz_live = true;
    } else if (n >= 4 && ((p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd) ||
                          (p[0] >> 4 == 5 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18))) {
        in->decode = decode_zstd;
        if (!in->zstd)
            in->zstd = ZSTD_createDStream();
        if (!in->zstd || ZSTD_isError(ZSTD_initDStream(in->zstd)))
            return error_set(err, "cannot start zstd");
        in->zstd_open = false;
    }
    return 0;
}

static struct input *input_new(const char *path)
{
    struct input *in = xcalloc(1, sizeof(*in));

    in->path = xstrndup(path, strlen(path));
    in->fd = -1;
    in->raw = xmalloc(RAW_BYTES);
    in->cap = WINDOW_BYTES;
    in->out = xcalloc(1, in->cap + INPUT_PADDING);
    return in;
}

static int open_file(struct input *in, struct error *err)
{
    struct stat st;

    if (!strcmp(in->path, "-")) {
        in->fd = STDIN_FILENO;
    } else {
        in->fd = open(in->path, O_RDONLY | O_CLOEXEC);
        in->own_fd = true;
    }
    if (in->fd < 0 || fstat(in->fd, &st))
        return error_set(err, "%s", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return error_set(err, "%s", strerror(EISDIR));
    if (S_ISREG(st.st_mode)) {
        in->size = (uint64_t)st.st_size;
        posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    } else {
        in->pipe = true;
    }
    return 0;
}

struct input *input_open(const char *path, struct error *err)
{
    struct input *in = input_new(path);

    if (open_file(in, err) || start_decoding(in, err)) {
        input_close(in);
        return NULL;
    }
    return in;
}

struct input *input_from_memory(const void *data, size_t len, struct error *err)
{
    struct input *in = input_new("memory");

    in->mem = data;
    in->mem_len = len;
    in->size = len;
    if (start_decoding(in, err)) {
        input_close(in);
        return NULL;
    }
    return in;
}

void input_close(struct input *in)
{
    if (!in)
        return;
    if (in->own_fd && in->fd >= 0)
        close(in->fd);
    if (in->gz_live)
        inflateEnd(&in->gz);
    ZSTD_freeDStream(in->zstd);
    free(in->raw);
    free(in->out);
    free(in->path);
    free(in);
}

/* Room in out: by moving what is left to the front, else by doubling. */
static void input_make_room(struct input *in)
{
    if (in->start) {
        memmove(in->out, in->out + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    if (in->end == in->cap) {
        in->cap *= 2;
        in->out = xrealloc(in->out, 1, in->cap + INPUT_PADDING);
        memset(in->out + in->end, 0, in->cap + INPUT_PADDING - in->end);
    }
}

/* Make the window at least `want` bytes long, unless the stream ends before. */
static int extend(struct input *in, size_t want, struct error *err)
{
    while (in->end - in->start < want && !in->eof) {
        input_make_room(in);
        if (in->decode(in, err))
            return -1;
    }
    return 0;
}

int input_more(struct input *in, size_t used, const char **data, size_t *len, bool *eof,
               struct error *err)
{
    in->start += used;
    if (extend(in, in->end - in->start + 1, err))
        return -1;
    *data = in->out + in->start;
    *len = in->end - in->start;
    *eof = in->eof;
    return 0;
}

int input_peek(struct input *in, size_t want, const char **data, size_t *len, bool *eof,
               struct error *err)
{
    if (extend(in, want, err))
        return -1;
    *data = in->out + in->start;
    *len = in->end - in->start;
    *eof = in->eof;
    return 0;
}

int input_rewind(struct input *in, struct error *err)
{
    if (in->pipe || (in->fd >= 0 && lseek(in->fd, 0, SEEK_SET) < 0))
        return error_set(err, "a pipe cannot be read twice");
    in->pulled = 0;
    in->raw_eof = in->eof = false;
    in->raw_pos = in->raw_len = 0;
    in->start = in->end = 0;
    return start_decoding(in, err);
}

uint64_t input_size(const struct input *in)
{
    return in->size;
}

uint64_t input_consumed(const struct input *in)
{
    return in->pulled;
}

bool input_is_pipe(const struct input *in)
{
    return in->pipe;
}
