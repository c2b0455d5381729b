/* hdl_file.c - headers, checksums and names of a .hdl file */
#include "trace/hdl/hdl_file.h"
#include "base/alloc.h"
#include "trace/hdl/compress.h"
#include "trace/hdl/varint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- opening ---- */

static int map_file(struct hdl_file *f, const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
    struct stat st;
    void *map;

    if (fd < 0)
        return error_set(err, "%s", strerror(errno));
    if (fstat(fd, &st) < 0) {
        r = error_set(err, "%s", strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        r = error_set(err, "not a regular file");
    } else if (st.st_size < (off_t)sizeof(f->header)) {
        r = error_set(err, "file header is cut off");
    } else {
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            r = error_set(err, "%s", strerror(errno));
        else
            f->map = map;
        f->size = f->mapped = (uint64_t)st.st_size;
        f->locked = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    }
    close(fd);
    return r;
}

static int check_file_header(const struct hdl_file *f, struct error *err)
{
    const struct hdl_file_header *h = &f->header;

    if (!memcmp(h->magic, "\x1f\x8b", 2) || !memcmp(h->magic, "\x28\xb5\x2f\xfd", 4))
        return error_set(err, "compressed as a whole (gzip or zstd), decompress it first");
    if (memcmp(h->magic, HDL_MAGIC, sizeof(h->magic)))
        return error_set(err, "not a .hdl file");
    if (h->major != HDL_MAJOR) /* before the checksum: another version may have it elsewhere */
        return error_set(err, "version %u.%u is not understood (this reads %u.x)", h->major,
                         h->minor, HDL_MAJOR);
    if (h->checksum != XXH32(h, sizeof(*h) - 4, 0))
        return error_set(err, "file header: bad checksum");
    if (h->required & ~HDL_FEATURES_KNOWN)
        return error_set(err, "needs features 0x%" PRIx64 " that this version does not know",
                         h->required & ~HDL_FEATURES_KNOWN);
    if (h->order > TRACE_UNKNOWN || h->header_bytes < sizeof(*h))
        return error_set(err, "file header: impossible values");
    if (h->header_bytes > f->size)
        return error_set(err, "file header is cut off");
    return 0;
}

/* Nothing from this chunk on is used. */
static void stop_before(struct hdl_file *f, size_t chunk, const char *why)
{
    if (chunk < f->count)
        f->events = hdl_file_chunk(f, chunk)->before;
    f->count = chunk;
    f->complete = false;
    snprintf(f->stop, sizeof(f->stop), "%.150s", why);
}

static bool is_cut(const struct hdl_file *f)
{
    return f->header.required & HDL_FEATURE_PAST;
}

/* The next chunk's, as chunks are counted in the file. */
static size_t next_number(const struct hdl_file *f)
{
    return f->count - f->past + f->start.number;
}

static bool header_is_whole(const struct hdl_chunk_header *h, size_t number)
{
    return h->magic == HDL_CHUNK_MAGIC && h->header_checksum == XXH32(h, sizeof(*h) - 4, 0) &&
           h->number == number;
}

/* What is wrong with a header that is whole, or NULL. */
static const char *header_fault(const struct hdl_file *f, const struct hdl_chunk_header *h)
{
    bool threads = f->header.required & HDL_FEATURE_THREADS;

    if (h->compression > HDL_ZSTD)
        return "unknown compression";
    if (h->kind == (threads ? HDL_MERGED : HDL_THREAD) || (h->kind == HDL_MIXED && !threads))
        return "events in the other layout than the file's";
    if (h->kind == HDL_MERGED && h->first != f->events)
        return "events are missing before it";
    if (h->kind == HDL_END && !is_cut(f) && h->first != f->events)
        return "the end mark counts other events than the file has";
    return NULL;
}

/* Why a file has no end: a writer has its lock as long as it lives. */
static const char *cut_off(const struct hdl_file *f)
{
    if (f->locked)
        return "no end mark: the recording is still running";
    if (!(f->header.required & HDL_FEATURE_THREADS))
        return f->events ? "no end mark: the file was cut off"
                         : "no end mark: the file was cut off, before its first event";
    return f->events ? "no end mark: the writer was killed, or the file was cut off"
                     : "no end mark: the writer was killed, or the file was cut off, before its "
                       "first event";
}

/* The header at this offset; NULL, or why there is no chunk that can be used. */
static const char *read_chunk_header(const struct hdl_file *f, uint64_t offset,
                                     struct hdl_chunk_header *h)
{
    uint64_t left = f->size - offset;

    if (left < sizeof(*h))
        return cut_off(f);
    if (f->fd < 0)
        memcpy(h, f->map + offset, sizeof(*h));
    else if (pread(f->fd, h, sizeof(*h), (off_t)offset) != sizeof(*h))
        return cut_off(f);
    if (!header_is_whole(h, next_number(f)))
        return "damaged chunk header";
    if (h->stored_bytes > left - sizeof(*h))
        return cut_off(f);
    return header_fault(f, h);
}

/* A walk touches little, but the system maps what is around it: let go of it now and then. It
 * stays in the system's cache. Returns up to where. */
static uint64_t hdl_file_let_go(const struct hdl_file *f, uint64_t from, uint64_t to)
{
    enum { AT_A_TIME = 4 << 20, PAGE = 4096 };

    if (to - from < AT_A_TIME || f->fd >= 0)
        return from;
    to &= ~(uint64_t)(PAGE - 1);
    (void)madvise((void *)(f->map + from), to - from, MADV_DONTNEED);
    return to;
}

static uint64_t end_of(const struct hdl_file *f, size_t chunks)
{
    const struct hdl_chunk *last;

    if (chunks == f->past)
        return is_cut(f) ? f->start.first : f->header.header_bytes;
    if (chunks <= f->gone)
        return f->header.header_bytes;
    last = hdl_file_chunk(f, chunks - 1);
    return last->offset + last->header.stored_bytes;
}

static void add_chunk(struct hdl_file *f, const struct hdl_chunk_header *h, uint64_t offset)
{
    GROW(f->chunks, f->cap, f->count - f->gone + 1);
    f->chunks[f->count++ - f->gone] = (struct hdl_chunk){ *h, offset, f->events };
    if (h->kind == HDL_MERGED || h->kind == HDL_THREAD || h->kind == HDL_MIXED)
        f->events += h->count;
}

/* From the chunk behind the last one that is known. */
static void walk_chunks(struct hdl_file *f)
{
    uint64_t offset = end_of(f, f->count), walked = offset;
    struct hdl_chunk_header h;
    const char *why = NULL;

    while (!f->complete && !(why = read_chunk_header(f, offset, &h))) {
        offset += sizeof(h);
        add_chunk(f, &h, offset);
        offset += h.stored_bytes;
        f->complete = h.kind == HDL_END;
        walked = hdl_file_let_go(f, walked, offset < f->size ? offset : f->size);
    }
    if (why)
        stop_before(f, f->count, why);
    else if (offset < f->size)
        snprintf(f->stop, sizeof(f->stop), "data behind the end mark");
}

/* ---- a beginning that is gone ---- */

static int read_start(struct hdl_file *f, struct error *err)
{
    const uint64_t end = sizeof(f->header) + sizeof(f->start);

    if (f->header.header_bytes < end)
        return error_set(err, "file header: impossible values");
    memcpy(&f->start, f->map + sizeof(f->header), sizeof(f->start));
    if (f->start.checksum != XXH32(&f->start, sizeof(f->start) - 4, 0))
        return error_set(err, "file header: bad checksum");
    if (f->start.first < end || f->start.past > f->size || f->start.first > f->size)
        return error_set(err, "file header is cut off");
    return 0;
}

/* The chunks inside of the one that stands for what is gone. */
static int read_past(struct hdl_file *f, struct error *err)
{
    struct hdl_chunk_header h, inner;
    uint64_t at = f->start.past + sizeof(h), end;

    if (!f->start.past)
        return 0;
    if (at > f->size)
        return error_set(err, "what stands for its beginning is cut off");
    memcpy(&h, f->map + f->start.past, sizeof(h));
    if (!header_is_whole(&h, h.number) || h.kind != HDL_PAST || h.stored_bytes > f->size - at ||
        XXH3_64bits(f->map + at, h.stored_bytes) != h.checksum)
        return error_set(err, "what stands for its beginning is damaged");
    for (end = at + h.stored_bytes; at < end; at += inner.stored_bytes) {
        if (end - at < sizeof(inner))
            return error_set(err, "what stands for its beginning is damaged");
        memcpy(&inner, f->map + at, sizeof(inner));
        at += sizeof(inner);
        if (!header_is_whole(&inner, f->count) || inner.stored_bytes > end - at ||
            inner.compression > HDL_ZSTD)
            return error_set(err, "what stands for its beginning is damaged");
        add_chunk(f, &inner, at);
    }
    f->past = f->count;
    return 0;
}

static int open_once(struct hdl_file *f, const char *path, struct error *err)
{
    *f = (struct hdl_file){ .fd = -1 };
    if (map_file(f, path, err) < 0)
        return -1;
    memcpy(&f->header, f->map, sizeof(f->header));
    if (check_file_header(f, err) < 0 ||
        (is_cut(f) && (read_start(f, err) < 0 || read_past(f, err) < 0)))
        return -1;
    walk_chunks(f);
    return 0;
}

/* Has what was its beginning gone meanwhile? */
static bool has_moved(const struct hdl_file *f)
{
    return f->map && f->locked && is_cut(f) && f->mapped >= sizeof(f->header) + sizeof(f->start) &&
           memcmp(&f->start, f->map + sizeof(f->header), sizeof(f->start)) != 0;
}

int hdl_file_open(struct hdl_file *f, const char *path, struct error *err)
{
    enum { TRIES = 8 };
    int r = open_once(f, path, err);

    for (int i = 0; i < TRIES && (r < 0 || !f->complete) && has_moved(f); i++) {
        hdl_file_close(f);
        r = open_once(f, path, err);
    }
    if (r < 0)
        hdl_file_close(f);
    return r;
}

void hdl_file_close(struct hdl_file *f)
{
    if (f->map)
        munmap((void *)f->map, f->mapped);
    free(f->buffer);
    if (f->fd >= 0)
        close(f->fd);
    free(f->chunks);
    *f = (struct hdl_file){ .fd = -1 };
}

/* ---- losses ---- */

void hdl_file_lost(const struct hdl_file *f, size_t chunk, const char *why, struct trace_info *info)
{
    info->lost_bytes = f->size - end_of(f, chunk);
    snprintf(info->loss, sizeof(info->loss),
             "chunk %zu (byte %" PRIu64 "): %.120s: the trace ends there, %" PRIu64 " bytes unread",
             chunk, end_of(f, chunk), why, info->lost_bytes);
}

/* ---- payloads and names ---- */

/* Payloads of the map that were looked at are in the way of nobody, but count as memory of this
 * process: let go of them now and then. */
static const uint8_t *map_payload(struct hdl_file *f, const struct hdl_chunk *c)
{
    enum { AT_A_TIME = 16 << 20 };

    f->looked_at += c->header.stored_bytes;
    if (f->looked_at > AT_A_TIME) {
        (void)madvise((void *)f->map, f->mapped, MADV_DONTNEED);
        f->looked_at = 0;
    }
    return f->map + c->offset;
}

/* NULL where it is not there any more. */
static const uint8_t *read_payload(struct hdl_file *f, const struct hdl_chunk *c)
{
    uint64_t bytes = c->header.stored_bytes, done = 0;
    ssize_t n = 1;

    GROW(f->buffer, f->buffer_cap, bytes + 1);
    while (done < bytes && n > 0) {
        n = pread(f->fd, f->buffer + done, bytes - done, (off_t)(c->offset + done));
        done += n > 0 ? (uint64_t)n : 0;
    }
    return done == bytes ? f->buffer : NULL;
}

const uint8_t *hdl_file_payload(struct hdl_file *f, size_t chunk, struct error *err)
{
    const struct hdl_chunk *c = hdl_file_chunk(f, chunk);
    const uint8_t *payload = f->fd < 0 ? map_payload(f, c) : read_payload(f, c);

    if (!payload) {
        error_set(err, "the file has become shorter");
        return NULL;
    }
    if (XXH3_64bits(payload, c->header.stored_bytes) != c->header.checksum) {
        error_set(err, "bad checksum");
        return NULL;
    }
    return payload;
}

static bool name_is_printable(const uint8_t *s, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if ((s[i] < 0x20 && s[i] != '\t') || s[i] == 0x7f)
            return false;
    return n > 0;
}

static struct intern *name_table(struct tables *t, uint32_t table)
{
    struct intern *const all[HDL_TABLES] = { &t->threads, &t->variables, &t->objects, &t->functions,
                                             &t->sites };

    return table < HDL_TABLES ? all[table] : NULL;
}

/* One name; p moves on. */
static int read_name(struct tables *t, struct intern *table, const uint8_t **p, const uint8_t *end)
{
    uint64_t n, function = 0;

    if (!take_varint(p, end, &n) || n > NAME_BYTES_MAX || n > (uint64_t)(end - *p) ||
        !name_is_printable(*p, n))
        return -1;
    intern_append(table, (const char *)*p, n);
    *p += n;
    if (table != &t->sites)
        return 0;
    if (!take_varint(p, end, &function) || function > t->functions.count)
        return -1;
    if (function)
        tables_set_site_function(t, table->count - 1, (uint32_t)function - 1);
    return 0;
}

static int read_names(struct tables *t, const struct hdl_chunk_header *h, const uint8_t *p,
                      const uint8_t *end, struct error *err)
{
    struct intern *table = name_table(t, h->subject);

    if (!table)
        return error_set(err, "names of an unknown table");
    if (h->first != table->count)
        return error_set(err, "names out of order");
    for (uint32_t i = 0; i < h->count; i++)
        if (read_name(t, table, &p, end) < 0)
            return error_set(err, "name %u: damaged", i);
    return p == end ? 0 : error_set(err, "bytes are left over behind the last name");
}

static int read_parents(struct tables *t, uint32_t count, const uint8_t *p, const uint8_t *end)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t site, parent;

        if (!take_varint(&p, end, &site) || !take_varint(&p, end, &parent) ||
            site >= t->sites.count || parent >= site)
            return -1;
        tables_set_site_parent(t, (uint32_t)site, (uint32_t)parent);
    }
    return p == end ? 0 : -1;
}

static int read_variables(struct tables *t, uint32_t count, const uint8_t *p, const uint8_t *end)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *name;
        uint64_t site, n;

        if (!take_varint(&p, end, &site) || !take_bytes(&p, end, &name, &n) ||
            site >= t->sites.count || !name_is_printable(name, n))
            return -1;
        tables_set_site_variable(t, (uint32_t)site, (const char *)name, n);
    }
    return p == end ? 0 : -1;
}

static int read_origins(struct tables *t, uint32_t count, const uint8_t *p, const uint8_t *end)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t module, site, index, id[2];

        if (!take_varint(&p, end, &module) || !take_varint(&p, end, &site))
            return -1;
        if (module == 0) { /* a new one: image, identity */
            if (end - p < 16 || site > UINT32_MAX)
                return -1;
            memcpy(id, p, 16);
            p += 16;
            tables_add_module(t, id, (uint32_t)site);
            continue;
        }
        if (!take_varint(&p, end, &index) || module > t->nmodules || site >= t->sites.count ||
            index > UINT32_MAX)
            return -1;
        tables_set_site_origin(t, (uint32_t)site, (uint32_t)module - 1, (uint32_t)index);
    }
    return p == end ? 0 : -1;
}

static int read_stretches(struct tables *t, const struct hdl_chunk_header *h, const uint8_t *p,
                          const uint8_t *end)
{
    if (h->first != t->stretches.count)
        return -1;
    for (uint32_t i = 0; i < h->count; i++)
        if (!stretches_decode(&t->stretches, &p, end, t->sites.count, t->functions.count))
            return -1;
    return p == end ? 0 : -1;
}

static int read_moves(struct tables *t, const struct hdl_chunk_header *h, const uint8_t *p,
                      const uint8_t *end)
{
    if (h->first != t->moves.count)
        return -1;
    for (uint32_t i = 0; i < h->count; i++)
        if (!moves_decode(&t->moves, &p, end, t->functions.count, t->sites.count))
            return -1;
    return p == end ? 0 : -1;
}

static int read_images(struct tables *t, const struct hdl_chunk_header *h, const uint8_t *p,
                       const uint8_t *end)
{
    tables_forget_images(t); /* a list replaces the one before */
    for (uint32_t i = 0; i < h->count; i++) {
        struct image m = { 0 };

        if (image_decode(&m, &p, end) < 0)
            return -1;
        *tables_add_image(t) = m;
    }
    return p == end ? 0 : -1;
}

/* The column of a chunk that is no chunk of events. */
static int read_small(struct tables *t, const struct hdl_chunk_header *h, const uint8_t *p,
                      const uint8_t *end, struct error *err)
{
    int r = 0;

    switch (h->kind) {
    case HDL_NAMES:
        return read_names(t, h, p, end, err);
    case HDL_PROCESS:
        r = process_decode(&t->process, h->count, p, end);
        break;
    case HDL_IMAGES:
        r = read_images(t, h, p, end);
        break;
    case HDL_INLINED:
        r = read_parents(t, h->count, p, end);
        break;
    case HDL_VARIABLES:
        r = read_variables(t, h->count, p, end);
        break;
    case HDL_STRETCHES:
        r = read_stretches(t, h, p, end);
        break;
    case HDL_MOVES:
        r = read_moves(t, h, p, end);
        break;
    case HDL_ORIGINS:
        r = read_origins(t, h->count, p, end);
        break;
    case HDL_SEAM:
        r = seam_decode(&t->seam, h->count, p, end);
        break;
    }
    return r < 0 ? error_set(err, "damaged entry of a chunk of kind %u", h->kind) : 0;
}

static int small_chunk(struct hdl_file *f, size_t chunk, struct tables *t, struct error *err)
{
    const struct hdl_chunk_header *h = &hdl_file_chunk(f, chunk)->header;
    const uint8_t *payload = hdl_file_payload(f, chunk, err);
    struct hdl_column_header column;
    struct decompressor d = { 0 };
    uint8_t *raw;
    int r;

    if (!payload)
        return -1;
    if (h->stored_bytes < sizeof(column))
        return error_set(err, "cut off");
    memcpy(&column, payload, sizeof(column));
    if (column.stored_bytes != h->stored_bytes - sizeof(column) ||
        column.stored_bytes > column.raw_bytes || column.raw_bytes > NAMES_BYTES_MAX)
        return error_set(err, "lengths do not add up");
    raw = xmalloc((size_t)column.raw_bytes + 1);
    if (decompress(&d, (enum hdl_compression)h->compression, payload + sizeof(column),
                   column.stored_bytes, raw, column.raw_bytes) < 0)
        r = error_set(err, "does not decompress");
    else
        r = read_small(t, h, raw, raw + column.raw_bytes, err);
    decompressor_release(&d);
    free(raw);
    return r;
}

/* Kinds whose payload is one column and goes into the tables. */
static bool hdl_file_is_small(unsigned kind)
{
    return kind == HDL_NAMES || (kind >= HDL_PROCESS && kind <= HDL_VARIABLES) ||
           kind == HDL_STRETCHES || kind == HDL_ORIGINS || kind == HDL_MOVES || kind == HDL_SEAM;
}

static void names_from(struct hdl_file *f, size_t from, struct tables *t)
{
    struct error err;

    for (size_t i = from; i < f->count; i++) {
        unsigned kind = hdl_file_chunk(f, i)->header.kind;

        if (hdl_file_is_small(kind) && !(kind == HDL_SEAM && i >= f->past) &&
            small_chunk(f, i, t, &err) < 0)
            stop_before(f, i, err.text);
    }
}

void hdl_file_names(struct hdl_file *f, struct tables *t)
{
    names_from(f, 0, t);
}

/* ---- files that grow ---- */

int hdl_file_follow(struct hdl_file *f, const char *path)
{
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    return f->fd < 0 ? -1 : 0;
}

bool hdl_file_is_overtaken(const struct hdl_file *f)
{
    struct hdl_start now;

    return is_cut(f) && pread(f->fd, &now, sizeof(now), sizeof(f->header)) == sizeof(now) &&
           now.first > end_of(f, f->count);
}

void hdl_file_forget(struct hdl_file *f, size_t chunk)
{
    enum { AT_A_TIME = 256 };
    size_t n;

    if (chunk >= f->count) /* the last one says where the next begins */
        chunk = f->count ? f->count - 1 : 0;
    n = chunk > f->gone ? chunk - f->gone : 0;
    if (n < AT_A_TIME || f->fd < 0)
        return;
    memmove(f->chunks, f->chunks + n, (f->count - chunk) * sizeof(*f->chunks));
    f->gone = chunk;
}

void hdl_file_grow(struct hdl_file *f, struct tables *t)
{
    size_t known = f->count;
    struct stat st;

    if (f->complete || f->count < f->past || fstat(f->fd, &st) < 0 ||
        (uint64_t)st.st_size <= f->size)
        return;
    f->size = (uint64_t)st.st_size;
    f->stop[0] = 0;
    walk_chunks(f);
    names_from(f, known, t);
}
