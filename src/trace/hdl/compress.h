/* compress.h - LZ4 and zstd behind one pair of calls */
#ifndef HEDDLE_TRACE_HDL_COMPRESS_H
#define HEDDLE_TRACE_HDL_COMPRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "trace/hdl/hdl.h"

struct compressor {
    enum hdl_compression kind;
    int level;
    void *zstd; /* ZSTD_CCtx, kept between calls */
};

void compressor_init(struct compressor *c, enum hdl_compression kind, int level);
void compressor_release(struct compressor *c);

/* Append the data to `to`, compressed where that makes it smaller; returns the bytes added.
 * As many as came in: it was stored as it is. */
size_t compress(struct compressor *c, const void *data, size_t bytes, struct buf *to);

/* Kept between calls: zstd's context is 150 KiB, and making one costs more than most columns. */
struct decompressor {
    void *zstd; /* ZSTD_DCtx, made when needed */
};

void decompressor_release(struct decompressor *d); /* a zeroed struct is ready */

/* Exactly raw_bytes into `to`, or -1. Equal lengths mean: stored as it is. */
int decompress(struct decompressor *d, enum hdl_compression kind, const void *data, size_t bytes,
               void *to, size_t raw_bytes);

#endif
