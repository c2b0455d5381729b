/* hdl_write.c - writing .hdl files
 *
 * New names are written before the first chunk whose events use them, so a
 * file that is cut anywhere after a chunk has all that the chunk needs. Each
 * chunk goes to the system when it is complete, so that others can read it.
 */
#include "trace/hdl/hdl.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/tempfile.h"
#include "trace/hdl/codec.h"
#include "trace/hdl/compress.h"
#include "trace/hdl/varint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    DEFAULT_CHUNK_EVENTS = 65536, /* smaller: worse compression; larger: more memory, coarser
                                     windows and losses (bench/results/analysis.md) */
    /* A chunk of the merged layout, before compression: at first small, so that a file that is cut
     * loses but a part, then up to 2^18, at most 150 KB of a file. All with 2^17 makes files 1 to
     * 9 % larger, with 2^16 up to 26 %. */
    MERGED_BYTES_MIN = 1 << 15,
    MERGED_BYTES_MAX = 1 << 18,
    MERGED_CONTEXT_BITS = 12, /* 4,096 sites predicted at a time; 2,048 gave 25 % larger files
                                 for programs of 6,000 sites, 8,192 nothing more */
    THREAD_CONTEXT_BITS = 9,  /* a thread's stretch uses few; many streams are open at once */
    SLICE = 1024,             /* events encoded at a time: columns grow in small steps */
    MARKS = 64,               /* places to give up what follows, to make room for the end mark */
    MARK_BYTES = 1024,        /* between two of them; together more than a process and its notes */
    SKIP_BYTES = 4096, /* a smaller column says nothing about the next ones, and is soon tried */
    SKIP_CHUNKS = 31 /* a column of stretches that loses less than two thirds is not tried again for
                      so many chunks: zstd -9 spent an eighth of all CPU time to make the file a
                      seventh smaller */
};

/* What makes the payload of a chunk of events out of an encoder's columns. */
struct hdl_packer {
    struct compressor compressor;
    struct buf payload;
    uint64_t raw_bytes; /* of its columns */
    uint32_t count;     /* events in it */
    uint32_t context_bits;
    bool mixed;                  /* with records of stretches */
    uint8_t flags;               /* CHUNK_MOVES, CHUNK_REPEATS */
    uint8_t skip[COLUMNS_MIXED]; /* chunks in which to leave the column as it is */
};

struct hdl_packet {
    struct hdl_chunk_header header;
    size_t bytes;
    char payload[];
};

/* A place behind a chunk of events, where the file could end. */
struct mark {
    uint64_t bytes, position;
    uint32_t chunks;
};

/* How much of the tables is in the file. */
struct told {
    uint32_t names[HDL_TABLES];
    uint32_t stretches, moves;
    uint32_t modules; /* that sites come from */
};

/* A chunk, and what is in the file before it. */
struct place {
    uint64_t offset, stamp; /* stamp: of a chunk of events */
    struct told told;
};

struct hdl_writer {
    char *path, *temporary; /* temporary is NULL for a file in place */
    int fd;
    const struct tables *tables;
    struct hdl_options options;
    struct encoder encoder, thread_encoder;
    struct told told;
    struct told all;  /* while a past is written: as much as is to be told */
    struct buf *into; /* ... into this, not into the file */
    struct hdl_start start;
    struct place *places; /* of the chunks from start.number on; only with options.past */
    size_t places_cap;
    uint64_t past_end; /* of the chunk that stands for what was dropped */
    uint32_t chunks;
    uint64_t bytes;    /* in the file: whole chunks */
    uint64_t position; /* of the next event */
    uint64_t chunk_first;
    struct mark marks[MARKS]; /* the last ones, in place of each other */
    uint32_t nmarks;          /* that there were */
    uint64_t created;         /* seconds since 1970 */
    struct hdl_packer packer;
    struct buf small; /* payload of a chunk of one column */
};

/* ---- the file ---- */

static int write_error(struct hdl_writer *w, struct error *err)
{
    return error_set(err, "cannot write '%s': %s", w->path, strerror(errno));
}

/* All of it, or the file stays as it was. */
static int write_bytes(struct hdl_writer *w, struct iovec *parts, int n, struct error *err)
{
    uint64_t done = 0;

    for (int i = 0; w->into && i < n; i++)
        buf_add(w->into, parts[i].iov_base, parts[i].iov_len);
    if (w->into)
        return 0;
    while (n) {
        ssize_t got = writev(w->fd, parts, n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            write_error(w, err);
            if (ftruncate(w->fd, (off_t)w->bytes) == 0)
                (void)lseek(w->fd, (off_t)w->bytes, SEEK_SET);
            return -1;
        }
        done += (uint64_t)got;
        for (; n && (size_t)got >= parts->iov_len; parts++, n--)
            got -= (ssize_t)parts->iov_len;
        if (n) {
            parts->iov_base = (char *)parts->iov_base + got;
            parts->iov_len -= (size_t)got;
        }
    }
    w->bytes += done;
    return 0;
}

static struct hdl_file_header file_header(const struct hdl_options *o, uint64_t created)
{
    struct hdl_file_header h = {
        .major = HDL_MAJOR,
        .minor = o->loose       ? HDL_MINOR
                 : o->past      ? HDL_MINOR_PAST
                 : o->repeats   ? HDL_MINOR_REPEATS
                 : o->requests  ? HDL_MINOR_REQUESTS
                 : o->stretches ? HDL_MINOR_STRETCHES
                 : o->moves     ? HDL_MINOR_MOVES
                 : o->lists     ? HDL_MINOR_LISTS
                                : HDL_MINOR_EVENTS,
        .header_bytes = sizeof(h) + (o->past ? sizeof(struct hdl_start) : 0),
        .required =
            (o->threads ? HDL_FEATURE_THREADS : 0) | (o->stripes ? HDL_FEATURE_STRIPES : 0) |
            (o->stretches ? HDL_FEATURE_STRETCHES | HDL_FEATURE_PATHS | HDL_FEATURE_VALUES |
                                HDL_FEATURE_FRAMES
                          : 0) |
            (o->lists ? HDL_FEATURE_LISTS : 0) | (o->moves ? HDL_FEATURE_MOVES : 0) |
            (o->requests ? HDL_FEATURE_REQUESTS : 0) | (o->repeats ? HDL_FEATURE_REPEATS : 0) |
            (o->past ? HDL_FEATURE_PAST : 0) | (o->loose ? HDL_FEATURE_LOOSE : 0),
        .order = (uint8_t)o->order,
        .pointer_bytes = 8,
        .stamp_ns = o->stamp_ns,
        .created = created,
    };

    memcpy(h.magic, HDL_MAGIC, sizeof(h.magic));
    h.checksum = XXH32(&h, sizeof(h) - 4, 0);
    return h;
}

static struct hdl_start start_at(uint64_t past, uint64_t first, uint32_t number)
{
    struct hdl_start s = { .past = past, .first = first, .number = number };

    s.checksum = XXH32(&s, sizeof(s) - 4, 0);
    return s;
}

static int write_file_header(struct hdl_writer *w, struct error *err)
{
    struct hdl_file_header h;

    w->created = (uint64_t)time(NULL);
    h = file_header(&w->options, w->created);
    w->start = start_at(0, sizeof(h) + sizeof(w->start), 0);
    return write_bytes(w, (struct iovec[]){ { &h, sizeof(h) }, { &w->start, sizeof(w->start) } },
                       w->options.past ? 2 : 1, err);
}

/* Only now is it known whether the events need version 1.3 or 1.7. The file has its temporary name
 * yet, so nobody has read the header that is replaced. */
static int settle_file_header(struct hdl_writer *w, struct error *err)
{
    struct hdl_file_header h;

    bool lists = w->encoder.lists || w->thread_encoder.lists || w->options.lists;
    bool requests = w->encoder.requests || w->thread_encoder.requests || w->options.requests;
    bool loose = w->encoder.loose || w->thread_encoder.loose || w->options.loose;

    if (w->options.in_place ||
        (lists == w->options.lists && requests == w->options.requests && loose == w->options.loose))
        return 0;
    w->options.lists = lists;
    w->options.requests = requests;
    w->options.loose = loose;
    h = file_header(&w->options, w->created);
    return pwrite(w->fd, &h, sizeof(h), 0) == sizeof(h) ? 0 : write_error(w, err);
}

/* The next chunk begins here. */
static void note_place(struct hdl_writer *w, uint64_t stamp)
{
    size_t n = w->chunks - w->start.number;

    if (!w->options.past || w->into)
        return;
    GROW(w->places, w->places_cap, n + 1);
    w->places[n] = (struct place){ w->bytes, stamp, w->told };
}

/* The header's own fields are the caller's, all about the payload is filled in here. */
static int write_chunk(struct hdl_writer *w, struct hdl_chunk_header h, const void *payload,
                       size_t bytes, struct error *err)
{
    struct iovec parts[] = { { &h, sizeof(h) }, { (void *)(uintptr_t)payload, bytes } };

    h.magic = HDL_CHUNK_MAGIC;
    h.compression = (uint8_t)w->options.compression;
    h.stored_bytes = (uint32_t)bytes;
    h.number = w->chunks;
    h.checksum = XXH3_64bits(payload, bytes);
    h.header_checksum = XXH32(&h, sizeof(h) - 4, 0);
    note_place(w, h.stamp_first);
    if (write_bytes(w, parts, bytes ? 2 : 1, err) < 0)
        return -1;
    w->chunks++;
    return 0;
}

/* A chunk whose payload is one column. */
static int write_small(struct hdl_writer *w, struct hdl_chunk_header h, const struct buf *raw,
                       struct error *err)
{
    struct hdl_column_header column = { 0 };

    w->small.len = 0;
    buf_add(&w->small, &column, sizeof(column));
    column.raw_bytes = (uint32_t)raw->len;
    column.stored_bytes = (uint32_t)compress(&w->packer.compressor, raw->data, raw->len, &w->small);
    memcpy(w->small.data, &column, sizeof(column));
    return write_chunk(w, h, w->small.data, w->small.len, err);
}

/* ---- names ---- */

static const struct intern *name_table(const struct tables *t, int table)
{
    const struct intern *const all[HDL_TABLES] = { &t->threads, &t->variables, &t->objects,
                                                   &t->functions, &t->sites };

    return all[table];
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

static void hdl_write_add_name(struct hdl_writer *w, struct buf *raw, int table, uint32_t id)
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

/* What is known of the sites [first, last) beyond their names: one entry for each that has it. */
static uint32_t add_parents(const struct tables *t, uint32_t first, uint32_t last, struct buf *raw)
{
    uint32_t count = 0;

    for (uint32_t site = first; site < last; site++) {
        uint32_t parent = tables_site_parent(t, site);

        if (parent == SITE_NONE)
            continue;
        add_varint(raw, site);
        add_varint(raw, parent);
        count++;
    }
    return count;
}

static uint32_t add_variables(const struct tables *t, uint32_t first, uint32_t last,
                              struct buf *raw)
{
    uint32_t count = 0;

    for (uint32_t site = first; site < last; site++) {
        const char *name = tables_site_variable(t, site);

        if (!name)
            continue;
        add_varint(raw, site);
        add_text(raw, name);
        count++;
    }
    return count;
}

/* A module is told when it is first used; `modules` counts those that were. */
static uint32_t add_origins(const struct tables *t, uint32_t first, uint32_t last,
                            uint32_t *modules, struct buf *raw)
{
    uint32_t count = 0;

    for (uint32_t site = first; site < last; site++) {
        struct site_origin o = tables_site_origin(t, site);

        if (!o.module)
            continue;
        for (; *modules < o.module; ++*modules, count++) {
            add_varint(raw, 0);
            add_varint(raw, t->modules[*modules].image);
            buf_add(raw, t->modules[*modules].id, 16);
        }
        add_varint(raw, o.module);
        add_varint(raw, site);
        add_varint(raw, o.index);
        count++;
    }
    return count;
}

static int write_origins(struct hdl_writer *w, uint32_t first, uint32_t last, struct error *err)
{
    struct hdl_chunk_header h = { .kind = HDL_ORIGINS };
    struct buf raw = { 0 };
    uint32_t modules = w->told.modules;
    int r = 0;

    h.count = add_origins(w->tables, first, last, &modules, &raw);
    if (h.count)
        r = write_small(w, h, &raw, err);
    buf_release(&raw);
    if (r == 0)
        w->told.modules = modules;
    return r;
}

static int write_attributes(struct hdl_writer *w, uint32_t first, uint32_t last, struct error *err)
{
    struct hdl_chunk_header inlined = { .kind = HDL_INLINED }, named = { .kind = HDL_VARIABLES };
    struct buf raw = { 0 };
    int r = 0;

    inlined.count = add_parents(w->tables, first, last, &raw);
    if (inlined.count)
        r = write_small(w, inlined, &raw, err);
    raw.len = 0;
    named.count = add_variables(w->tables, first, last, &raw);
    if (r == 0 && named.count)
        r = write_small(w, named, &raw, err);
    buf_release(&raw);
    return r < 0 ? r : write_origins(w, first, last, err);
}

/* What the file is to have when all has been told. */
static struct told to_tell(const struct hdl_writer *w)
{
    struct told all = { .stretches = w->tables->stretches.count, .moves = w->tables->moves.count };

    if (w->into)
        return w->all;
    for (int table = 0; table < HDL_TABLES; table++)
        all.names[table] = name_table(w->tables, table)->count;
    return all;
}

/* A names chunk is one column, and stays small. */
static int write_names(struct hdl_writer *w, int table, struct error *err)
{
    uint32_t first = w->told.names[table], total = to_tell(w).names[table];
    struct hdl_chunk_header h = { .kind = HDL_NAMES, .subject = (uint32_t)table, .first = first };
    struct buf raw = { 0 };
    int r;

    for (; h.count < total - first && raw.len < NAMES_BYTES_FULL; h.count++)
        hdl_write_add_name(w, &raw, table, first + h.count);
    r = write_small(w, h, &raw, err);
    buf_release(&raw);
    if (r < 0)
        return -1;
    w->told.names[table] += h.count;
    return table == HDL_TABLE_SITES ? write_attributes(w, first, first + h.count, err) : 0;
}

static int write_stretches(struct hdl_writer *w, struct error *err)
{
    const struct stretches *s = &w->tables->stretches;
    struct hdl_chunk_header h = { .kind = HDL_STRETCHES, .first = w->told.stretches };
    uint32_t left = to_tell(w).stretches - w->told.stretches;
    struct buf raw = { 0 };
    int r;

    for (; h.count < left && raw.len < NAMES_BYTES_FULL; h.count++)
        stretches_encode(s, w->told.stretches + h.count, &raw);
    r = write_small(w, h, &raw, err);
    buf_release(&raw);
    if (r == 0)
        w->told.stretches += h.count;
    return r;
}

static int write_moves(struct hdl_writer *w, struct error *err)
{
    const struct moves *m = &w->tables->moves;
    struct hdl_chunk_header h = { .kind = HDL_MOVES, .first = w->told.moves };
    uint32_t left = to_tell(w).moves - w->told.moves;
    struct buf raw = { 0 };
    int r;

    for (; h.count < left && raw.len < NAMES_BYTES_FULL; h.count++)
        moves_encode(m, w->told.moves + h.count, &raw);
    r = write_small(w, h, &raw, err);
    buf_release(&raw);
    if (r == 0)
        w->told.moves += h.count;
    return r;
}

int hdl_append_names(struct hdl_writer *w, struct error *err)
{
    struct told all = to_tell(w);

    /* Functions before sites, which refer to them, and those before stretches and moves. */
    for (int table = 0; table < HDL_TABLES; table++)
        while (w->told.names[table] < all.names[table])
            if (write_names(w, table, err) < 0)
                return -1;
    while (w->told.stretches < all.stretches)
        if (write_stretches(w, err) < 0)
            return -1;
    while (w->told.moves < all.moves)
        if (write_moves(w, err) < 0)
            return -1;
    return 0;
}

/* ---- the process ---- */

/* All of them, those of earlier chunks too: what is known of an image grows. */
static int write_images(struct hdl_writer *w, struct error *err)
{
    const struct tables *t = w->tables;
    struct hdl_chunk_header h = { .kind = HDL_IMAGES };
    struct buf raw = { 0 };
    int r;

    for (; h.count < t->nimages && raw.len < NAMES_BYTES_FULL; h.count++)
        image_encode(&t->images[h.count], &raw);
    r = write_small(w, h, &raw, err);
    buf_release(&raw);
    return r;
}

int hdl_write_process(struct hdl_writer *w, struct error *err)
{
    struct hdl_chunk_header h = { .kind = HDL_PROCESS };
    struct buf raw = { 0 };
    int r;

    if (w->tables->nimages && write_images(w, err) < 0)
        return -1;
    if (!w->tables->process.known)
        return 0;
    h.count = process_encode(&w->tables->process, &raw);
    r = write_small(w, h, &raw, err);
    buf_release(&raw);
    return r;
}

uint64_t hdl_bytes(const struct hdl_writer *w)
{
    return w->bytes;
}

/* ---- events ---- */

/* The column's bytes into the payload; the length there. */
static size_t pack_column(struct hdl_packer *p, int i, const void *data, size_t n)
{
    size_t stored, worth;

    if (p->skip[i] && n >= SKIP_BYTES) {
        p->skip[i]--;
        buf_add(&p->payload, data, n);
        return n;
    }
    stored = compress(&p->compressor, data, n, &p->payload);
    worth = i < COLUMNS ? n - n / 4 : n / 3;
    if (p->compressor.kind == HDL_LZ4 && stored > worth && n >= SKIP_BYTES)
        p->skip[i] = SKIP_CHUNKS;
    return stored;
}

static void add_column(struct hdl_packer *p, const struct encoder *e, int i)
{
    struct hdl_column_header column;
    struct buf shapes = { 0 };
    const void *data = e->columns[i].data;
    size_t n = e->columns[i].len;

    if (i == COL_SHAPES && e->nshapes) {      /* a chunk of stretches alone has none */
        buf_addch(&shapes, (char)e->nshapes); /* 256 becomes 0 */
        buf_add(&shapes, e->shapes, e->nshapes * sizeof(e->shapes[0]));
        buf_add(&shapes, data, n);
        data = shapes.data;
        n = shapes.len;
    }
    p->raw_bytes += n;
    column.raw_bytes = (uint32_t)n;
    column.stored_bytes = (uint32_t)pack_column(p, i, data, n);
    memcpy(p->payload.data + (size_t)i * sizeof(column), &column, sizeof(column));
    buf_release(&shapes);
}

void hdl_pack(struct hdl_packer *p, struct encoder *e)
{
    struct hdl_column_header columns[COLUMNS_MIXED] = { 0 };
    int n = e->mixed ? COLUMNS_MIXED : COLUMNS;

    if (e->mixed)
        encoder_settle(e);
    p->payload.len = 0;
    p->raw_bytes = 0;
    buf_add(&p->payload, columns, (size_t)n * sizeof(*columns));
    for (int i = 0; i < n; i++)
        add_column(p, e, i);
    p->mixed = e->mixed;
    p->flags = (e->moves ? CHUNK_MOVES : 0) | (e->repeats ? CHUNK_REPEATS : 0);
    p->count = e->count;
    p->context_bits = e->context.bits;
}

struct hdl_packed hdl_packed(const struct hdl_packer *p)
{
    size_t columns = (p->mixed ? COLUMNS_MIXED : COLUMNS) * sizeof(struct hdl_column_header);

    return (struct hdl_packed){ p->raw_bytes, p->payload.len - columns,
                                columns + sizeof(struct hdl_chunk_header) };
}

struct hdl_packer *hdl_packer_new(enum hdl_compression compression, int level)
{
    struct hdl_packer *p = xcalloc(1, sizeof(*p));

    compressor_init(&p->compressor, compression, level);
    return p;
}

void hdl_packer_free(struct hdl_packer *p)
{
    if (!p)
        return;
    compressor_release(&p->compressor);
    buf_release(&p->payload);
    free(p);
}

struct hdl_packet *hdl_packet_new(const struct hdl_packer *p, uint32_t thread, uint64_t first,
                                  uint64_t stamp_first, uint64_t stamp_last)
{
    struct hdl_packet *c = xmalloc(sizeof(*c) + p->payload.len);

    c->header = (struct hdl_chunk_header){ .kind = p->mixed ? HDL_MIXED : HDL_THREAD,
                                           .context_bits = (uint8_t)p->context_bits,
                                           .flags = p->flags,
                                           .count = p->count,
                                           .subject = thread,
                                           .first = first,
                                           .stamp_first = stamp_first,
                                           .stamp_last = stamp_last };
    c->bytes = p->payload.len;
    memcpy(c->payload, p->payload.data, c->bytes);
    return c;
}

void hdl_packet_free(struct hdl_packet *c)
{
    free(c);
}

/* The file may end here. Chunks of short threads are small: places close to each other are one. */
static void add_mark(struct hdl_writer *w)
{
    uint32_t n = w->nmarks;

    if (n > 1 && w->bytes < w->marks[(n - 2) % MARKS].bytes + MARK_BYTES)
        w->nmarks--;
    w->marks[w->nmarks++ % MARKS] = (struct mark){ w->bytes, w->position, w->chunks };
}

int hdl_append(struct hdl_writer *w, const struct hdl_packet *c, struct error *err)
{
    if (hdl_append_names(w, err) < 0 || write_chunk(w, c->header, c->payload, c->bytes, err) < 0)
        return -1;
    w->position += c->header.count;
    add_mark(w);
    return 0;
}

static int flush_merged(struct hdl_writer *w, struct error *err)
{
    struct hdl_chunk_header h = { .kind = HDL_MERGED, .first = w->chunk_first };
    const struct hdl_packer *p = &w->packer;
    int r = 0;

    if (w->encoder.count) {
        hdl_pack(&w->packer, &w->encoder);
        h.count = p->count;
        h.context_bits = (uint8_t)p->context_bits;
        r = hdl_append_names(w, err);
        if (r == 0)
            r = write_chunk(w, h, p->payload.data, p->payload.len, err);
    }
    w->chunk_first = w->position;
    encoder_start(&w->encoder, 0);
    return r;
}

/* How large a chunk may be here. */
static uint64_t merged_bytes(const struct hdl_writer *w)
{
    uint64_t bytes = w->bytes / 4;

    return bytes < MERGED_BYTES_MIN ? MERGED_BYTES_MIN
                                    : (bytes < MERGED_BYTES_MAX ? bytes : MERGED_BYTES_MAX);
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
        if (n < want || w->encoder.count == w->options.chunk_events ||
            encoder_bytes(&w->encoder) >= merged_bytes(w))
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
        struct hdl_packet *c;
        size_t n;
        int r;

        encoder_start(e, s->stamps[done]);
        n = encoder_add(e, s->events + done, s->count - done, s->extra, s->sequences + done,
                        s->stamps + done, w->options.chunk_events);

        hdl_pack(&w->packer, e);
        c = hdl_packet_new(&w->packer, thread, first + done, s->stamps[done],
                           s->stamps[done + n - 1]);
        r = hdl_append(w, c, err);
        hdl_packet_free(c);
        if (r < 0)
            return -1;
        done += n;
    }
    return 0;
}

/* ---- only the end is kept ---- */

static const struct place *hdl_write_place_of(const struct hdl_writer *w, uint32_t number)
{
    return &w->places[number - w->start.number];
}

uint64_t hdl_kept(const struct hdl_writer *w)
{
    return w->bytes - w->start.first;
}

uint64_t hdl_stamp_before(const struct hdl_writer *w, uint64_t bytes)
{
    uint64_t stamp = 0;

    if (hdl_kept(w) <= bytes)
        return 0;
    for (uint32_t n = w->chunks; n > w->start.number; n--) {
        const struct place *p = hdl_write_place_of(w, n - 1);

        if (p->stamp && w->bytes - p->offset > bytes)
            return stamp ? stamp : p->stamp;
        stamp = p->stamp ? p->stamp : stamp;
    }
    return 0;
}

uint64_t hdl_stamp_first(const struct hdl_writer *w)
{
    for (uint32_t n = w->start.number; n < w->chunks; n++)
        if (hdl_write_place_of(w, n)->stamp)
            return hdl_write_place_of(w, n)->stamp;
    return 0;
}

uint64_t hdl_bytes_before(const struct hdl_writer *w, uint32_t number)
{
    uint64_t end = number < w->chunks ? hdl_write_place_of(w, number)->offset : w->bytes;

    return number > w->start.number ? end - w->start.first : 0;
}

static int write_seam(struct hdl_writer *w, const struct seam *c, struct error *err)
{
    struct buf raw = { 0 };
    int r = 0;

    for (size_t at = 0, next; r == 0 && at < c->count; at = next) {
        struct hdl_chunk_header h = { .kind = HDL_SEAM };

        raw.len = 0;
        next = seam_encode(c, at, NAMES_BYTES_FULL, &raw);
        h.count = (uint32_t)(next - at);
        r = write_small(w, h, &raw, err);
    }
    buf_release(&raw);
    return r;
}

static int write_past_events(struct hdl_writer *w, const struct trace_mem *m, struct error *err)
{
    struct encoder *e = &w->encoder;
    size_t done = 0;

    while (done < m->count) {
        struct hdl_chunk_header h = { .kind = HDL_MERGED, .first = done };

        encoder_start(e, 0);
        done += encoder_add(e, m->events + done, m->count - done, m->extra, NULL, NULL,
                            w->options.chunk_events);
        hdl_pack(&w->packer, e);
        h.count = w->packer.count;
        h.context_bits = (uint8_t)w->packer.context_bits;
        if (write_chunk(w, h, w->packer.payload.data, w->packer.payload.len, err) < 0)
            return -1;
    }
    encoder_start(e, 0);
    return 0;
}

/* Chunks, counted from 0: the process, all names that those from `number` on do not tell, and what
 * stands for the events. */
static int past_payload(struct hdl_writer *w, uint32_t number, const struct hdl_past *p,
                        struct buf *out, struct error *err)
{
    const struct told before = w->told;
    const uint32_t chunks = w->chunks;
    int r;

    w->all = number < w->chunks ? hdl_write_place_of(w, number)->told : w->told;
    w->told = (struct told){ 0 };
    w->chunks = 0;
    w->into = out;
    r = hdl_write_process(w, err) < 0 || hdl_append_names(w, err) < 0 ||
                write_seam(w, p->seam, err) < 0 || write_past_events(w, p->events, err) < 0
            ? -1
            : 0;
    w->into = NULL;
    w->told = before;
    w->chunks = chunks;
    return r;
}

/* Whole pages between the offsets. */
static int give_back(const struct hdl_writer *w, uint64_t from, uint64_t to)
{
    const uint64_t page = 4096;

    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from >= to)
        return 0;
    return fallocate(w->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                     (off_t)(to - from));
}

static void forget_places(struct hdl_writer *w, uint32_t number)
{
    size_t n = number - w->start.number;

    memmove(w->places, w->places + n, (w->chunks - number) * sizeof(*w->places));
}

int hdl_drop(struct hdl_writer *w, uint32_t number, const struct hdl_past *p, struct error *err)
{
    const struct hdl_start before = w->start;
    const uint64_t old_end = w->past_end;
    struct hdl_start start;
    struct buf payload = { 0 };
    int r = past_payload(w, number, p, &payload, err);

    start = start_at(w->bytes,
                     number < w->chunks ? hdl_write_place_of(w, number)->offset : w->bytes, number);
    if (r == 0)
        r = write_chunk(w, (struct hdl_chunk_header){ .kind = HDL_PAST }, payload.data, payload.len,
                        err);
    buf_release(&payload);
    if (r < 0)
        return -1;
    if (pwrite(w->fd, &start, sizeof(start), sizeof(struct hdl_file_header)) != sizeof(start))
        return write_error(w, err);
    forget_places(w, number);
    w->start = start;
    w->past_end = w->bytes;
    if (give_back(w, sizeof(struct hdl_file_header) + sizeof(start), start.first) < 0 ||
        (before.past > start.first &&
         give_back(w, before.past + sizeof(struct hdl_chunk_header), old_end) < 0))
        return error_set(err, "the file system cannot free what is dropped: %s", strerror(errno));
    return 0;
}

/* ---- life cycle ---- */

static void writer_free(struct hdl_writer *w)
{
    if (w->fd >= 0)
        close(w->fd);
    encoder_release(&w->encoder);
    encoder_release(&w->thread_encoder);
    compressor_release(&w->packer.compressor);
    buf_release(&w->packer.payload);
    buf_release(&w->small);
    free(w->places);
    free(w->path);
    free(w->temporary);
    free(w);
}

struct hdl_writer *hdl_create(const char *path, const struct tables *tables,
                              const struct hdl_options *options, struct error *err)
{
    struct hdl_writer *w = xcalloc(1, sizeof(*w));

    w->path = xstrndup(path, strlen(path));
    w->tables = tables;
    w->options = *options;
    if (!w->options.chunk_events || w->options.chunk_events > CHUNK_EVENTS_MAX)
        w->options.chunk_events = DEFAULT_CHUNK_EVENTS;
    compressor_init(&w->packer.compressor, options->compression, options->level);
    encoder_init(&w->encoder, MERGED_CONTEXT_BITS, false);
    encoder_init(&w->thread_encoder, THREAD_CONTEXT_BITS, true);
    encoder_start(&w->encoder, 0);
    w->fd = options->in_place ? options->fd : tempfile_create(path, &w->temporary);
    if (w->fd < 0) {
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

/* The process as it was in the end, and the end mark. */
static int write_end(struct hdl_writer *w, struct error *err)
{
    struct hdl_chunk_header end = { .kind = HDL_END, .first = w->position };

    return hdl_write_process(w, err) < 0 ? -1 : write_chunk(w, end, NULL, 0, err);
}

/* The end in place of the last chunks: no room is left behind them, and a file that says why it
 * ends is worth more. The blocks are there already, so they are written over, and only then is the
 * file made shorter. */
static int end_earlier(struct hdl_writer *w, struct error *err)
{
    uint32_t least = w->nmarks > MARKS ? w->nmarks - MARKS : 0;

    for (uint32_t i = w->nmarks; i > least; i--) {
        struct mark m = w->marks[(i - 1) % MARKS];

        if (m.bytes > w->bytes)
            continue;
        if (m.bytes < w->past_end)
            break; /* the file begins with it */
        w->bytes = m.bytes;
        w->position = m.position;
        w->chunks = m.chunks;
        if (lseek(w->fd, (off_t)m.bytes, SEEK_SET) >= 0 && write_end(w, err) == 0)
            return ftruncate(w->fd, (off_t)w->bytes) == 0 ? 0 : write_error(w, err);
    }
    return -1;
}

/* The end chunk, then everything to the system, then the name. */
static int complete(struct hdl_writer *w, struct error *err)
{
    int fd = w->fd;

    if ((flush_merged(w, err) < 0 || hdl_append_names(w, err) < 0 || write_end(w, err) < 0) &&
        (!w->options.in_place || end_earlier(w, err) < 0))
        return -1;
    if (settle_file_header(w, err) < 0)
        return -1;
    w->fd = -1;
    if (close(fd) || tempfile_rename(w->temporary, w->path))
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
    tempfile_remove(w->temporary);
    writer_free(w);
}
