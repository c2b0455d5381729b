/* compress.c - LZ4 and zstd */
#include "trace/hdl/compress.h"

#include <lz4.h>
#include <string.h>
#include <zstd.h>

/* Below this nothing is gained. */
enum { WORTH_BYTES = 32 };

void compressor_init(struct compressor *c, enum hdl_compression kind, int level)
{
    *c = (struct compressor){ .kind = kind, .level = level ? level : 1 };
    if (kind == HDL_ZSTD)
        c->zstd = ZSTD_createCCtx();
}

void compressor_release(struct compressor *c)
{
    ZSTD_freeCCtx(c->zstd);
    c->zstd = NULL;
}

/* Compressed length, 0 where it did not work or did not pay. */
static size_t try_compress(struct compressor *c, const void *data, size_t bytes, char *to,
                           size_t room)
{
    size_t n = 0;

    if (bytes < WORTH_BYTES)
        return 0;
    if (c->kind == HDL_LZ4) /* levels below 0 are faster, as zstd has them */
        n = (size_t)LZ4_compress_fast(data, to, (int)bytes, (int)room, -c->level);
    else if (c->kind == HDL_ZSTD && c->zstd)
        n = ZSTD_compressCCtx(c->zstd, to, room, data, bytes, c->level);
    return ZSTD_isError(n) || n >= bytes ? 0 : n;
}

size_t compress(struct compressor *c, const void *data, size_t bytes, struct buf *to)
{
    size_t room = ZSTD_compressBound(bytes), n;

    buf_reserve(to, room);
    n = try_compress(c, data, bytes, to->data + to->len, room);
    if (!n) {
        if (bytes)
            memcpy(to->data + to->len, data, bytes);
        n = bytes;
    }
    to->len += n;
    return n;
}

void decompressor_release(struct decompressor *d)
{
    ZSTD_freeDCtx(d->zstd);
    d->zstd = NULL;
}

/* The length, or 0. */
static size_t decompress_zstd(struct decompressor *d, const void *data, size_t bytes, void *to,
                              size_t raw_bytes)
{
    size_t n;

    if (!d->zstd)
        d->zstd = ZSTD_createDCtx();
    if (!d->zstd)
        return 0;
    n = ZSTD_decompressDCtx(d->zstd, to, raw_bytes, data, bytes);
    return ZSTD_isError(n) ? 0 : n;
}

int decompress(struct decompressor *d, enum hdl_compression kind, const void *data, size_t bytes,
               void *to, size_t raw_bytes)
{
    size_t n = 0;

    if (bytes == raw_bytes) {
        if (bytes)
            memcpy(to, data, bytes);
        return 0;
    }
    if (kind == HDL_LZ4) {
        int r = LZ4_decompress_safe(data, to, (int)bytes, (int)raw_bytes);

        n = r < 0 ? 0 : (size_t)r;
    } else if (kind == HDL_ZSTD) {
        n = decompress_zstd(d, data, bytes, to, raw_bytes);
    }
    return n == raw_bytes ? 0 : -1;
}
