/* output.c - writing files through an optional compressor */
#include "trace/text/output.h"
#include "base/alloc.h"
#include "base/tempfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define CHUNK_BYTES ((size_t)128 << 10)

struct output {
    char *path, *tmp;
    int fd;
    bool failed;
    char *chunk; /* bytes that wait for write() */
    size_t fill;
    z_stream *gz;
    ZSTD_CStream *zstd;
};

static int write_all(struct output *o, const char *data, size_t len, struct error *err)
{
    while (len) {
        ssize_t n = write(o->fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            o->failed = true;
            return error_set(err, "cannot write '%s': %s", o->path, strerror(errno));
        }
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int flush_chunk(struct output *o, struct error *err)
{
    size_t n = o->fill;

    o->fill = 0;
    return write_all(o, o->chunk, n, err);
}

static int write_plain(struct output *o, const char *data, size_t len, struct error *err)
{
    if (len > CHUNK_BYTES - o->fill && flush_chunk(o, err))
        return -1;
    if (len > CHUNK_BYTES)
        return write_all(o, data, len, err);
    memcpy(o->chunk + o->fill, data, len);
    o->fill += len;
    return 0;
}

/* Compress into the chunk; with `finish` until the stream is complete. */
static int write_gzip(struct output *o, const char *data, size_t len, bool finish,
                      struct error *err)
{
    int r;

    o->gz->next_in = (Bytef *)data;
    o->gz->avail_in = (uInt)len;
    do {
        if (o->fill == CHUNK_BYTES && flush_chunk(o, err))
            return -1;
        o->gz->next_out = (Bytef *)o->chunk + o->fill;
        o->gz->avail_out = (uInt)(CHUNK_BYTES - o->fill);
        r = deflate(o->gz, finish ? Z_FINISH : Z_NO_FLUSH);
        o->fill = CHUNK_BYTES - o->gz->avail_out;
    } while (o->gz->avail_in || (finish && r != Z_STREAM_END));
    return 0;
}

static int write_zstd(struct output *o, const char *data, size_t len, bool finish,
                      struct error *err)
{
    ZSTD_inBuffer from = { data, len, 0 };
    size_t left;

    do {
        ZSTD_outBuffer to = { o->chunk, CHUNK_BYTES, o->fill };

        left = ZSTD_compressStream2(o->zstd, &to, &from, finish ? ZSTD_e_end : ZSTD_e_continue);
        o->fill = to.pos;
        if (ZSTD_isError(left)) {
            o->failed = true;
            return error_set(err, "cannot compress '%s': %s", o->path, ZSTD_getErrorName(left));
        }
        if (o->fill == CHUNK_BYTES && flush_chunk(o, err))
            return -1;
    } while (from.pos < from.size || (finish && left));
    return 0;
}

static bool ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);

    return n > k && !strcmp(path + n - k, ending);
}

static int start_compression(struct output *o, struct error *err)
{
    if (ends_with(o->path, ".gz")) {
        o->gz = xcalloc(1, sizeof(*o->gz));
        if (deflateInit2(o->gz, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            return error_set(err, "cannot start zlib");
    } else if (ends_with(o->path, ".zst")) {
        o->zstd = ZSTD_createCStream();
        if (!o->zstd)
            return error_set(err, "cannot start zstd");
        ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_checksumFlag, 1);
    }
    return 0;
}

struct output *output_open(const char *path, struct error *err)
{
    struct output *o = xcalloc(1, sizeof(*o));

    o->path = xstrndup(path, strlen(path));
    o->chunk = xmalloc(CHUNK_BYTES);
    o->fd = tempfile_create(path, &o->tmp);
    if (o->fd < 0)
        error_set(err, "cannot create '%s': %s", path, strerror(errno));
    if (o->fd < 0 || start_compression(o, err)) {
        output_abort(o);
        return NULL;
    }
    return o;
}

int output_write(struct output *o, const void *data, size_t len, struct error *err)
{
    if (o->failed)
        return error_set(err, "cannot write '%s' after an earlier error", o->path);
    if (o->gz)
        return write_gzip(o, data, len, false, err);
    if (o->zstd)
        return write_zstd(o, data, len, false, err);
    return write_plain(o, data, len, err);
}

static void output_free(struct output *o)
{
    if (o->gz)
        deflateEnd(o->gz);
    free(o->gz);
    ZSTD_freeCStream(o->zstd);
    free(o->chunk);
    free(o->tmp);
    free(o->path);
    free(o);
}

/* End the compressed stream and write what waits. */
static int drain(struct output *o, struct error *err)
{
    if (o->failed)
        return error_set(err, "cannot write '%s' after an earlier error", o->path);
    if (o->gz && write_gzip(o, NULL, 0, true, err))
        return -1;
    if (o->zstd && write_zstd(o, NULL, 0, true, err))
        return -1;
    return flush_chunk(o, err);
}

int output_finish(struct output *o, struct error *err)
{
    int r = drain(o, err);

    if (close(o->fd) && !r) /* network file systems report a full disk here */
        r = error_set(err, "cannot write '%s': %s", o->path, strerror(errno));
    if (!r && tempfile_rename(o->tmp, o->path))
        r = error_set(err, "cannot create '%s': %s", o->path, strerror(errno));
    if (r)
        tempfile_remove(o->tmp);
    output_free(o);
    return r;
}

void output_abort(struct output *o)
{
    if (!o)
        return;
    if (o->fd >= 0) {
        close(o->fd);
        tempfile_remove(o->tmp);
    }
    output_free(o);
}
