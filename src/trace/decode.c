/* decode.c - the decoder half of the codec
 *
 * Input may be hostile. Three rules keep it simple and fast: every column is
 * copied out with SLACK zero bytes behind it, and a read checks that it
 * starts inside; shapes are checked once, when the dictionary is read;
 * every number that names something is checked against the tables.
 */
#include "trace/codec.h"
#include "base/alloc.h"
#include "trace/codec_context.h"
#include "trace/compress.h"

#include <stdlib.h>
#include <string.h>

enum { SLACK = 16, SHAPE_BYTES = 8 };

void decoder_release(struct decoder *d)
{
    context_release(&d->context);
    decompressor_release(&d->decompressor);
    free(d->data);
    free(d->extra);
    memset(d, 0, sizeof(*d));
}

static void set_thread(struct decoder *d, uint32_t thread)
{
    d->thread = thread;
    d->last_site = &d->context.last_site[thread % THREAD_CONTEXTS];
}

/* ---- the payload ---- */

/* Lengths of all columns; false where they do not add up to the payload. */
static bool read_column_headers(const struct hdl_chunk_header *h, const uint8_t *payload,
                                struct hdl_column_header *columns, uint64_t *raw_total)
{
    uint64_t stored = sizeof(*columns) * COLUMNS;

    if (h->stored_bytes < stored)
        return false;
    memcpy(columns, payload, sizeof(*columns) * COLUMNS);
    *raw_total = 0;
    for (int i = 0; i < COLUMNS; i++) {
        stored += columns[i].stored_bytes;
        *raw_total += columns[i].raw_bytes + (uint64_t)SLACK;
    }
    return stored == h->stored_bytes;
}

/* Compressed data may claim to become anything; more than the events can need is not believed. */
static bool column_is_plausible(int column, const struct hdl_column_header *c, uint32_t count)
{
    static const uint8_t most[COLUMNS] = {
        [COL_FLAGS] = 1,   [COL_THREADS] = 10, [COL_SITES] = 4, [COL_SHAPES] = 1,
        [COL_TARGETS] = 8, [COL_VALUES] = 20,  [COL_SIZES] = 5, [COL_SEQUENCE] = 10,
    };
    uint64_t limit = (uint64_t)count * most[column];

    if (column == COL_SHAPES)
        limit += 1 + SHAPES_MAX * SHAPE_BYTES;
    if (column == COL_CALLS)
        limit = CALLS_BYTES_MAX;
    return c->stored_bytes <= c->raw_bytes && c->raw_bytes <= limit;
}

static bool shape_is_valid(uint64_t shape, bool threads)
{
    uint32_t size = (uint32_t)shape;
    unsigned op = shape >> 32 & 0xff, order = shape >> 40 & 0xff, flags = (unsigned)(shape >> 48);
    unsigned allowed = EV_STORED_FLAGS | FILE_NAMED | (threads ? FILE_SEQUENCE : 0);

    if (!op_is_known(op) || order >= ORDER_COUNT || flags & ~allowed)
        return false;
    if (size != SIZE_EXPLICIT && (size > 16 || (size & (size - 1))))
        return false;
    if ((order != ORDER_NONE) != (op_is_atomic(op) || op == OP_FENCE))
        return false;
    if (op_is_access(op) ? !size : size != 0)
        return false;
    if ((flags & EV_OLD) && (op != OP_RMW || !(flags & EV_VALUE)))
        return false;
    if ((flags & EV_VALUE) && !op_is_access(op) && op != OP_BRANCH)
        return false;
    return true;
}

/* The dictionary stands at the front of its column: a count byte (0 is 256), then the shapes. */
static int read_shapes(struct decoder *d, struct error *err)
{
    const uint8_t *p = d->at[COL_SHAPES];
    size_t bytes = (size_t)(d->end[COL_SHAPES] - p);

    if (!bytes)
        return error_set(err, "no shapes");
    d->nshapes = p[0] ? p[0] : SHAPES_MAX;
    if (bytes < 1 + (size_t)d->nshapes * SHAPE_BYTES)
        return error_set(err, "shape dictionary is cut off");
    for (uint32_t i = 0; i < d->nshapes; i++) {
        memcpy(&d->shapes[i], p + 1 + i * SHAPE_BYTES, SHAPE_BYTES);
        if (!shape_is_valid(d->shapes[i], d->threads))
            return error_set(err, "impossible kind of event 0x%016llx",
                             (unsigned long long)d->shapes[i]);
    }
    d->at[COL_SHAPES] = p + 1 + d->nshapes * SHAPE_BYTES;
    return 0;
}

static int unpack_columns(struct decoder *d, const struct hdl_chunk_header *h,
                          const uint8_t *payload, struct error *err)
{
    struct hdl_column_header columns[COLUMNS];
    const uint8_t *from = payload + sizeof(columns);
    uint64_t raw_total;
    uint8_t *to;

    if (!read_column_headers(h, payload, columns, &raw_total))
        return error_set(err, "column lengths do not add up");
    for (int i = 0; i < COLUMNS; i++)
        if (!column_is_plausible(i, &columns[i], h->count))
            return error_set(err, "column %d claims %u bytes", i, columns[i].raw_bytes);
    GROW(d->data, d->data_cap, raw_total);
    to = d->data;
    for (int i = 0; i < COLUMNS; i++) {
        if (decompress(&d->decompressor, (enum hdl_compression)h->compression, from,
                       columns[i].stored_bytes, to, columns[i].raw_bytes) < 0)
            return error_set(err, "column %d does not decompress", i);
        d->at[i] = to;
        d->end[i] = to + columns[i].raw_bytes;
        memset(to + columns[i].raw_bytes, 0, SLACK);
        from += columns[i].stored_bytes;
        to += columns[i].raw_bytes + SLACK;
    }
    return 0;
}

/* Target codes above TARGET_8 have both upper bits set. All at once, not event by event: the
 * compiler makes vectors of this. */
static bool targets_are_known(const uint8_t *flags, uint32_t count)
{
    unsigned both = 0;

    _Static_assert(TARGET_8 == 5 && FLAG_TARGET_SHIFT == 4, "bits 5 and 6 tell");
    for (uint32_t i = 0; i < count; i++)
        both |= flags[i] & flags[i] << 1;
    return !(both & 1 << 6);
}

int decoder_start(struct decoder *d, const struct hdl_chunk_header *h, const uint8_t *payload,
                  struct error *err)
{
    d->count = d->done = 0; /* no events, should anything be wrong */
    if (!h->count || h->count > CHUNK_EVENTS_MAX || h->context_bits > CONTEXT_BITS_MAX)
        return error_set(err, "impossible chunk header");
    if (d->context.sites && d->context.bits != h->context_bits)
        context_release(&d->context);
    if (!d->context.sites)
        context_init(&d->context, h->context_bits);
    context_reset(&d->context);
    d->threads = h->kind == HDL_THREAD;
    set_thread(d, h->kind == HDL_THREAD ? h->subject : THREAD_NONE);
    d->stamp = h->stamp_first;
    if (unpack_columns(d, h, payload, err) < 0 || read_shapes(d, err) < 0)
        return -1;
    if ((size_t)(d->end[COL_FLAGS] - d->at[COL_FLAGS]) != h->count)
        return error_set(err, "%u events but %zu flag bytes", h->count,
                         (size_t)(d->end[COL_FLAGS] - d->at[COL_FLAGS]));
    if (!targets_are_known(d->at[COL_FLAGS], h->count))
        return error_set(err, "unknown kind of target");
    d->count = h->count;
    return 0;
}

/* ---- reading columns ---- */

/* A number of 1 << log bytes. Reading past the end gives zeros; at > end tells later. */
static inline uint64_t take(const uint8_t **at, const uint8_t *end, unsigned log)
{
    static const uint64_t mask[4] = { 0xff, 0xffff, 0xffffffff, UINT64_MAX };
    uint64_t v;

    if (__builtin_expect(*at >= end, 0)) {
        *at = end + 1;
        return 0;
    }
    memcpy(&v, *at, 8);
    *at += (size_t)1 << log;
    return v & mask[log];
}

static inline uint64_t take_varint(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *p = *at;
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (__builtin_expect(p >= end, 0))
            break;
        v |= (uint64_t)(*p & 0x7f) << shift;
        if (*p++ < 0x80) {
            *at = p;
            return v;
        }
    }
    *at = end + 1;
    return 0;
}

static bool columns_overrun(const struct decoder *d)
{
    for (int i = 0; i < COLUMNS; i++)
        if (d->at[i] > d->end[i])
            return true;
    return false;
}

static bool columns_used_up(const struct decoder *d)
{
    for (int i = 0; i < COLUMNS; i++)
        if (d->at[i] != d->end[i])
            return false;
    return true;
}

/* ---- the parts of an event ---- */

static inline uint64_t take_target(struct decoder *d, struct site_context *c, unsigned code,
                                   unsigned op, bool named)
{
    uint64_t number, target;

    if (code == TARGET_STRIDE)
        return c->target += c->stride;
    if (code == TARGET_LAST)
        return c->target;
    number = take(&d->at[COL_TARGETS], d->end[COL_TARGETS], (code - TARGET_1) & 3);
    target = named ? NAMED_BASE + (number << target_shift(op)) : c->target + unzigzag(number);
    c->stride = target - c->target;
    return c->target = target;
}

static void take_value(struct decoder *d, struct site_context *c, unsigned flags, struct event *ev)
{
    if (flags & FLAG_VALUE)
        c->value += unzigzag(take_varint(&d->at[COL_VALUES], d->end[COL_VALUES]));
    ev->value = c->value;
    if (ev->flags & EV_OLD)
        ev->old = ev->value + unzigzag(take_varint(&d->at[COL_VALUES], d->end[COL_VALUES]));
}

static bool entry_is_valid(const struct tables *t, uint64_t entry, uint64_t bytes)
{
    if (D_IS_THREAD(entry))
        return (entry & 0x1fffffffffffffff) < t->threads.count && !bytes;
    if (is_named(entry))
        return entry - NAMED_BASE < 8 * (uint64_t)t->variables.count && entry % 8 == 0 &&
               bytes == 8;
    return entry < ADDRESS_LIMIT && bytes && bytes <= ADDRESS_LIMIT - entry;
}

static bool take_call(struct decoder *d, const struct tables *t, struct event *ev)
{
    const uint8_t **at = &d->at[COL_CALLS], *end = d->end[COL_CALLS];
    uint64_t n = take_varint(at, end);

    if (*at > end || n > (uint64_t)(end - *at) / 2 || n > CALL_ENTRIES_MAX)
        return false;
    GROW(d->extra, d->extra_cap, d->nextra + 2 * n);
    ev->value = d->nextra;
    ev->old = n;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t entry = take_varint(at, end), bytes = take_varint(at, end);

        if (*at > end || !entry_is_valid(t, entry, bytes))
            return false;
        d->extra[d->nextra++] = entry;
        d->extra[d->nextra++] = bytes;
    }
    return true;
}

static inline bool memory_is_valid(const struct tables *t, const struct event *ev, uint64_t bytes)
{
    if (__builtin_expect(is_named(ev->target), 0))
        return ev->target - NAMED_BASE < 8 * (uint64_t)t->variables.count && ev->target % 8 == 0 &&
               bytes == 8;
    return ev->target < ADDRESS_LIMIT && bytes <= ADDRESS_LIMIT - ev->target;
}

static bool other_is_valid(const struct tables *t, const struct event *ev)
{
    switch (op_class_of(ev->op)) {
    case CLASS_MEMORY:
        if (!ev->value && ev->op == OP_FREE) /* size unknown: never of a name */
            return ev->target < ADDRESS_LIMIT;
        return ev->value && memory_is_valid(t, ev, ev->value);
    case CLASS_THREAD:
        return ev->op == OP_FORK || ev->op == OP_JOIN ? ev->target < t->threads.count : !ev->target;
    case CLASS_CALL:
    case CLASS_STACK:
        return ev->target < t->functions.count;
    case CLASS_FENCE:
    case CLASS_BRANCH:
        return !ev->target;
    default:
        return is_named(ev->target) ? ev->target - NAMED_BASE < t->objects.count
                                    : ev->target < ADDRESS_LIMIT;
    }
}

/* Threads and sites are checked where they are read. */
static inline bool event_is_valid(const struct tables *t, const struct event *ev)
{
    if (__builtin_expect(op_is_access(ev->op), 1))
        return ev->size && memory_is_valid(t, ev, ev->size);
    return other_is_valid(t, ev);
}

/* ---- events ---- */

/* A merged chunk goes on with another thread; in a thread's chunk the stamp moves on. */
static bool take_switch(struct decoder *d, const struct tables *t)
{
    uint64_t v = take_varint(&d->at[COL_THREADS], d->end[COL_THREADS]);

    if (d->threads) {
        d->stamp += v;
        return true;
    }
    if (v >= t->threads.count)
        return false;
    set_thread(d, (uint32_t)v);
    return true;
}

static inline bool take_site(struct decoder *d, const struct tables *t, unsigned code,
                             uint32_t *site)
{
    struct site_context *before = context_of(&d->context, *d->last_site);

    *site = before->next;
    if (code) {
        *site = before->next = (uint32_t)take(&d->at[COL_SITES], d->end[COL_SITES], code - 1);
        if (*site >= t->sites.count && *site != SITE_NONE)
            return false;
    }
    *d->last_site = *site;
    return true;
}

/* The end of struct event and a shape hold the same fields in the same order. */
_Static_assert(offsetof(struct event, op) == offsetof(struct event, size) + 4 &&
                   offsetof(struct event, order) == offsetof(struct event, size) + 5 &&
                   offsetof(struct event, flags) == offsetof(struct event, size) + 6,
               "shapes are copied into events");

static inline void apply_shape(struct event *ev, uint64_t tail)
{
    memcpy(&ev->size, &tail, sizeof(tail));
}

/* What few events have: value, odd size, sequence number, D. */
static bool take_rest(struct decoder *d, const struct tables *t, struct site_context *c,
                      unsigned flags, struct event *ev, uint64_t *sequence)
{
    if (has_value(ev->op, ev->flags))
        take_value(d, c, flags, ev);
    if (ev->size == SIZE_EXPLICIT) {
        uint64_t size = take_varint(&d->at[COL_SIZES], d->end[COL_SIZES]);

        ev->size = size <= ACCESS_MAX_BYTES ? (uint32_t)size : 0; /* which is refused */
    }
    if (c->shape >> 48 & FILE_SEQUENCE) {
        d->context.sequence += unzigzag(take_varint(&d->at[COL_SEQUENCE], d->end[COL_SEQUENCE]));
        *sequence = d->context.sequence;
    }
    return ev->op != OP_CALL || take_call(d, t, ev);
}

/* Nothing to read but the flag byte and a shape that says it all? */
static bool shape_is_simple(uint64_t shape)
{
    return op_is_access(shape >> 32 & 0xff) && (uint32_t)shape != SIZE_EXPLICIT &&
           !(shape >> 48 & (EV_VALUE | EV_OLD | FILE_SEQUENCE));
}

/* False: damage that the column ends do not show. */
static inline __attribute__((always_inline)) bool take_event(struct decoder *d,
                                                             const struct tables *t, unsigned flags,
                                                             struct event *ev, uint64_t *sequence)
{
    struct site_context *c;
    uint32_t site;

    if (flags & FLAG_SWITCH && !take_switch(d, t))
        return false;
    if (!take_site(d, t, flags >> FLAG_SITE_SHIFT & 3, &site))
        return false;
    c = context_of(&d->context, site);
    if (flags & FLAG_SHAPE) {
        unsigned number = (unsigned)take(&d->at[COL_SHAPES], d->end[COL_SHAPES], 0);

        if (number >= d->nshapes)
            return false;
        c->shape = d->shapes[number];
        c->tail = c->shape & ~((uint64_t)(FILE_NAMED | FILE_SEQUENCE) << 48);
        c->simple = shape_is_simple(c->shape);
    } else if (!c->shape) {
        return false; /* the first event of a site must bring its shape */
    }
    ev->thread = d->thread;
    ev->site = site;
    ev->value = ev->old = 0;
    apply_shape(ev, c->tail);
    ev->target =
        take_target(d, c, flags >> FLAG_TARGET_SHIFT & 7, ev->op, c->shape >> 48 & FILE_NAMED);
    if (!c->simple && !take_rest(d, t, c, flags, ev, sequence))
        return false;
    return event_is_valid(t, ev);
}

static long damaged(const struct decoder *d, size_t i, struct error *err)
{
    return error_set(err, "event %zu: damaged", d->done + i);
}

/* Does the first of the next events have a thread? */
static bool thread_is_known(const struct decoder *d, const struct tables *t)
{
    if (d->threads)
        return d->thread < t->threads.count;
    return d->thread != THREAD_NONE || *d->at[COL_FLAGS] & FLAG_SWITCH;
}

long decoder_next(struct decoder *d, const struct tables *t, struct event *events, size_t n,
                  uint64_t *sequence, uint64_t *stamp, struct error *err)
{
    const uint8_t *flags;
    uint64_t none;

    if (n > d->count - d->done)
        n = d->count - d->done;
    if (!n)
        return 0;
    d->nextra = 0;
    if (!thread_is_known(d, t))
        return damaged(d, 0, err);
    flags = d->at[COL_FLAGS];
    if (!d->threads) {
        for (size_t i = 0; i < n; i++)
            if (!take_event(d, t, flags[i], &events[i], &none))
                return damaged(d, i, err);
    } else {
        for (size_t i = 0; i < n; i++) {
            sequence[i] = 0;
            if (!take_event(d, t, flags[i], &events[i], &sequence[i]))
                return damaged(d, i, err);
            stamp[i] = d->stamp;
        }
    }
    d->at[COL_FLAGS] += n;
    if (columns_overrun(d))
        return error_set(err, "events %u to %zu: a column ends too early", d->done,
                         d->done + n - 1);
    d->done += (uint32_t)n;
    if (d->done == d->count && !columns_used_up(d))
        return error_set(err, "bytes are left over behind the last event");
    return (long)n;
}
