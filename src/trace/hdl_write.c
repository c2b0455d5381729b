/* hdl_write.c - writing .hdl files
 *
 * New names are written before the first chunk whose events use them, so a
 * file that is cut anywhere after a chunk has all that the chunk needs. Each
 * chunk goes to the system when it is complete, so that others can read it.
 */
#include "trace/hdl.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/tempfile.h"
#include "trace/codec.h"
#include "trace/compress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    DEFAULT_CHUNK_EVENTS = 65536, /* smaller: worse compression; larger: more memory, coarser
                                     windows and losses (docs/performance.md) */
    MERGED_CONTEXT_BITS = 12,     /* 4,096 sites predicted at a time; 2,048 gave 25 % larger files
                                     for programs of 6,000 sites, 8,192 nothing more */
    THREAD_CONTEXT_BITS = 9,      /* a thread's stretch uses few; many streams are open at once */
    SLICE = 4096                  /* events encoded at a time: columns grow in small steps */
};

struct hdl_writer {
    char *path, *temporary;
    FILE *file;
    const struct tables *tables;
    struct hdl_options options;
    struct compressor compressor;
    struct encoder encoder, thread_encoder;
    uint32_t written[HDL_TABLES]; /* names of each table in the file so far */
    uint32_t chunks;
    uint64_t position; /* of the next event */
    uint64_t chunk_first;
    struct buf payload;
};

static int write_error(struct hdl_writer *w, struct error *err)
{
    return error_set(err, "cannot write '%s': %s", w->path, strerror(errno));
}

static int write_bytes(struct hdl_writer *w, const void *data, size_t n, struct error *err)
{
    return fwrite(data, 1, n, w->file) == n ? 0 : write_error(w, err);
}

/* What was written so far can be read by others. */
static int show(struct hdl_writer *w, struct error *err)
{
    return fflush(w->file) ? write_error(w, err) : 0;
}

static int write_file_header(struct hdl_writer *w, struct error *err)
{
    struct hdl_file_header h = {
        .major = HDL_MAJOR,
        .minor = HDL_MINOR,
        .header_bytes = sizeof(h),
        .required = w->options.threads ? HDL_FEATURE_THREADS : 0,
        .order = (uint8_t)w->options.order,
        .pointer_bytes = 8,
        .stamp_ns = w->options.stamp_ns,
        .created = (uint64_t)time(NULL),
    };

    memcpy(h.magic, HDL_MAGIC, sizeof(h.magic));
    h.checksum = XXH32(&h, sizeof(h) - 4, 0);
    return write_bytes(w, &h, sizeof(h), err) < 0 ? -1 : show(w, err);
}

/* The header's own fields are the caller's, all about the payload is filled in here. */
static int write_chunk(struct hdl_writer *w, struct hdl_chunk_header h, struct error *err)
{
    h.magic = HDL_CHUNK_MAGIC;
    h.compression = (uint8_t)w->options.compression;
    h.stored_bytes = (uint32_t)w->payload.len;
    h.number = w->chunks++;
    h.checksum = XXH3_64bits(w->payload.data, w->payload.len);
    h.header_checksum = XXH32(&h, sizeof(h) - 4, 0);
    if (write_bytes(w, &h, sizeof(h), err) < 0 ||
        write_bytes(w, w->payload.data, w->payload.len, err) < 0)
        return -1;
    return show(w, err);
}

/* ---- names ---- */

static const struct intern *name_table(const struct tables *t, int table)
{
    const struct intern *const all[HDL_TABLES] = { &t->threads, &t->variables, &t->objects,
                                                   &t->functions, &t->sites };

    return all[table];
}

static void add_varint(struct buf *b, uint64_t v)
{
    while (v >= 0x80) {
        buf_addch(b, (char)(v | 0x80));
        v >>= 7;
    }
    buf_addch(b, (char)v);
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

/* What a reader would refuse is written as %XX, an empty name as "?". */
static void add_text(struct buf *raw, const char *name)
{
    struct buf safe = { 0 };

    for (const char *p = name; *p && safe.len < NAME_BYTES_MAX - 3; p++) {
        if (is_control(*p))
            buf_addf(&safe, "%%%02X", (unsigned char)*p);
        else
            buf_addch(&safe, *p);
    }
    if (!safe.len)
        buf_addch(&safe, '?');
    add_varint(raw, safe.len);
    buf_add(raw, safe.data, safe.len);
    buf_release(&safe);
}

static bool is_writable(const char *name, size_t n)
{
    if (!n || n > NAME_BYTES_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (is_control(name[i]))
            return false;
    return true;
}

static void add_name(struct hdl_writer *w, struct buf *raw, int table, uint32_t id)
{
    const char *name = intern_get(name_table(w->tables, table), id);
    size_t n = strlen(name);

    if (is_writable(name, n)) {
        add_varint(raw, n);
        buf_add(raw, name, n);
    } else {
        add_text(raw, name);
    }
    if (table == HDL_TABLE_SITES)
        add_varint(raw, id < w->tables->site_function_cap ? w->tables->site_function[id] : 0);
}

/* A names chunk is one column, and stays small. */
static int write_names(struct hdl_writer *w, int table, struct error *err)
{
    uint32_t first = w->written[table], total = name_table(w->tables, table)->count;
    uint32_t count = 0;
    struct hdl_column_header column = { 0 };
    struct buf raw = { 0 };
    int r;

    for (; count < total - first && raw.len < NAMES_BYTES_FULL; count++)
        add_name(w, &raw, table, first + count);
    w->payload.len = 0;
    buf_add(&w->payload, &column, sizeof(column));
    column.raw_bytes = (uint32_t)raw.len;
    column.stored_bytes = (uint32_t)compress(&w->compressor, raw.data, raw.len, &w->payload);
    memcpy(w->payload.data, &column, sizeof(column));
    w->written[table] += count;
    r = write_chunk(
        w,
        (struct hdl_chunk_header){
            .kind = HDL_NAMES, .count = count, .subject = (uint32_t)table, .first = first },
        err);
    buf_release(&raw);
    return r;
}

static int write_new_names(struct hdl_writer *w, struct error *err)
{
    /* Functions before sites, which refer to them. */
    for (int table = 0; table < HDL_TABLES; table++)
        while (w->written[table] < name_table(w->tables, table)->count)
            if (write_names(w, table, err) < 0)
                return -1;
    return 0;
}

/* ---- events ---- */

static void add_column(struct hdl_writer *w, const struct encoder *e, int i)
{
    struct hdl_column_header column;
    struct buf shapes = { 0 };
    const void *data = e->columns[i].data;
    size_t n = e->columns[i].len;

    if (i == COL_SHAPES && e->count) {
        buf_addch(&shapes, (char)e->nshapes); /* 256 becomes 0 */
        buf_add(&shapes, e->shapes, e->nshapes * sizeof(e->shapes[0]));
        buf_add(&shapes, data, n);
        data = shapes.data;
        n = shapes.len;
    }
    column.raw_bytes = (uint32_t)n;
    column.stored_bytes = (uint32_t)compress(&w->compressor, data, n, &w->payload);
    memcpy(w->payload.data + (size_t)i * sizeof(column), &column, sizeof(column));
    buf_release(&shapes);
}

static int flush_events(struct hdl_writer *w, struct encoder *e, struct hdl_chunk_header h,
                        struct error *err)
{
    struct hdl_column_header columns[COLUMNS] = { 0 };

    if (!e->count)
        return 0;
    if (write_new_names(w, err) < 0)
        return -1;
    w->payload.len = 0;
    buf_add(&w->payload, columns, sizeof(columns));
    for (int i = 0; i < COLUMNS; i++)
        add_column(w, e, i);
    h.count = e->count;
    h.context_bits = (uint8_t)e->context.bits;
    return write_chunk(w, h, err);
}

static int flush_merged(struct hdl_writer *w, struct error *err)
{
    int r =
        flush_events(w, &w->encoder,
                     (struct hdl_chunk_header){ .kind = HDL_MERGED, .first = w->chunk_first }, err);

    w->chunk_first = w->position;
    encoder_start(&w->encoder, 0);
    return r;
}

int hdl_write(struct hdl_writer *w, const struct batch *b, struct error *err)
{
    size_t done = 0;

    while (done < b->count) {
        size_t want = b->count - done < SLICE ? b->count - done : SLICE;
        size_t n = encoder_add(&w->encoder, b->events + done, want, b->extra, NULL, NULL,
                               w->options.chunk_events);

        done += n;
        w->position += n;
        if (n < want || w->encoder.count == w->options.chunk_events)
            if (flush_merged(w, err) < 0)
                return -1;
    }
    return 0;
}

int hdl_write_thread(struct hdl_writer *w, uint32_t thread, uint64_t first,
                     const struct hdl_stream *s, struct error *err)
{
    struct encoder *e = &w->thread_encoder;
    size_t done = 0;

    while (done < s->count) {
        encoder_start(e, s->stamps[done]);
        size_t n = encoder_add(e, s->events + done, s->count - done, s->extra, s->sequences + done,
                               s->stamps + done, w->options.chunk_events);
        struct hdl_chunk_header h = { .kind = HDL_THREAD,
                                      .subject = thread,
                                      .first = first + done,
                                      .stamp_first = s->stamps[done],
                                      .stamp_last = s->stamps[done + n - 1] };

        if (flush_events(w, e, h, err) < 0)
            return -1;
        done += n;
        w->position += n;
    }
    return 0;
}

/* ---- life cycle ---- */

static void writer_free(struct hdl_writer *w)
{
    if (w->file)
        fclose(w->file);
    encoder_release(&w->encoder);
    encoder_release(&w->thread_encoder);
    compressor_release(&w->compressor);
    buf_release(&w->payload);
    free(w->path);
    free(w->temporary);
    free(w);
}

struct hdl_writer *hdl_create(const char *path, const struct tables *tables,
                              const struct hdl_options *options, struct error *err)
{
    struct hdl_writer *w = xcalloc(1, sizeof(*w));
    int fd;

    w->path = xstrndup(path, strlen(path));
    w->tables = tables;
    w->options = *options;
    if (!w->options.chunk_events || w->options.chunk_events > CHUNK_EVENTS_MAX)
        w->options.chunk_events = DEFAULT_CHUNK_EVENTS;
    compressor_init(&w->compressor, options->compression, options->level);
    encoder_init(&w->encoder, MERGED_CONTEXT_BITS, false);
    encoder_init(&w->thread_encoder, THREAD_CONTEXT_BITS, true);
    encoder_start(&w->encoder, 0);
    fd = tempfile_create(path, &w->temporary);
    w->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!w->file) {
        write_error(w, err);
        writer_free(w);
        return NULL;
    }
    if (write_file_header(w, err) < 0) {
        hdl_abort(w);
        return NULL;
    }
    return w;
}

/* The end chunk, then everything to the system, then the name. */
static int complete(struct hdl_writer *w, struct error *err)
{
    FILE *file = w->file;

    if (flush_merged(w, err) < 0 || write_new_names(w, err) < 0)
        return -1;
    w->payload.len = 0;
    if (write_chunk(w, (struct hdl_chunk_header){ .kind = HDL_END, .first = w->position }, err) < 0)
        return -1;
    w->file = NULL;
    if (fclose(file) || rename(w->temporary, w->path))
        return write_error(w, err);
    return 0;
}

int hdl_finish(struct hdl_writer *w, struct error *err)
{
    if (complete(w, err) < 0) {
        hdl_abort(w);
        return -1;
    }
    writer_free(w);
    return 0;
}

void hdl_abort(struct hdl_writer *w)
{
    unlink(w->temporary);
    writer_free(w);
}
