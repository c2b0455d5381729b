/* decode.c - the decoder half of the codec
 *
 * Input may be hostile. Three rules keep it simple and fast: every column is
 * copied out with SLACK zero bytes behind it, and a read checks that it
 * starts inside; shapes are checked once, when the dictionary is read;
 * every number that names something is checked against the tables.
 */
#include "trace/hdl/codec.h"
#include "base/alloc.h"
#include "trace/hdl/codec_context.h"
#include "trace/hdl/compress.h"

#include <stdlib.h>
#include <string.h>

enum { SLACK = 16, SHAPE_BYTES = 8 };

void decoder_release(struct decoder *d)
{
    context_release(&d->context);
    stretch_contexts_release(&d->stretches);
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
static bool read_column_headers(const struct decoder *d, const struct hdl_chunk_header *h,
                                const uint8_t *payload, struct hdl_column_header *columns,
                                uint64_t *raw_total)
{
    uint64_t stored = sizeof(*columns) * (size_t)d->columns;

    if (h->stored_bytes < stored)
        return false;
    memcpy(columns, payload, stored);
    *raw_total = 0;
    for (int i = 0; i < d->columns; i++) {
        stored += columns[i].stored_bytes;
        *raw_total += columns[i].raw_bytes + (uint64_t)SLACK;
    }
    return stored == h->stored_bytes;
}

/* Compressed data may claim to become anything; more than the events can need is not believed. */
static bool column_is_plausible(int column, const struct hdl_column_header *c, uint32_t count)
{
    static const uint16_t most[COLUMNS_MIXED] = {
        [COL_FLAGS] = 1,   [COL_THREADS] = 10,
        [COL_SITES] = 4,   [COL_SHAPES] = 1,
        [COL_TARGETS] = 8, [COL_VALUES] = 20,
        [COL_SIZES] = 5,   [COL_SEQUENCE] = 10,
        [COL_ITEMS] = 1,   [COL_STRETCHES] = 5,
        [COL_MASKS] = 2,   [COL_BYTES] = 3 + 14, /* an access has at most 14 bytes of data */
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
    unsigned allowed = EV_STORED_FLAGS | FILE_NAMED | (threads ? FILE_SEQUENCE : 0) |
                       (op == OP_CALL ? FILE_LIST : 0);

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
    if ((flags & EV_VALUE) && !op_is_access(op) && op != OP_BRANCH && op != OP_RESULT)
        return false;
    if ((flags & EV_LOOSE) && !op_is_access(op))
        return false;
    return true;
}

/* The dictionary stands at the front of its column: a count byte (0 is 256), then the shapes. */
static int read_shapes(struct decoder *d, struct error *err)
{
    const uint8_t *p = d->at[COL_SHAPES];
    size_t bytes = (size_t)(d->end[COL_SHAPES] - p);

    d->nshapes = 0;
    d->valued = d->columns == COLUMNS_MIXED;
    if (!bytes && (d->columns == COLUMNS_MIXED || d->moves))
        return 0; /* records of stretches and moves need none */
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
        d->valued |= d->shapes[i] >> 48 & EV_VALUE;
    }
    d->at[COL_SHAPES] = p + 1 + d->nshapes * SHAPE_BYTES;
    return 0;
}

static int unpack_columns(struct decoder *d, const struct hdl_chunk_header *h,
                          const uint8_t *payload, struct error *err)
{
    struct hdl_column_header columns[COLUMNS_MIXED];
    const uint8_t *from = payload + sizeof(*columns) * (size_t)d->columns;
    uint64_t raw_total;
    uint8_t *to;

    if (!read_column_headers(d, h, payload, columns, &raw_total))
        return error_set(err, "column lengths do not add up");
    for (int i = 0; i < d->columns; i++)
        if (!column_is_plausible(i, &columns[i], h->count))
            return error_set(err, "column %d claims %u bytes", i, columns[i].raw_bytes);
    GROW(d->data, d->data_cap, raw_total);
    to = d->data;
    for (int i = 0; i < d->columns; i++) {
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
static bool targets_are_known(const uint8_t *flags, uint32_t count, bool moves, bool repeats)
{
    unsigned six = 0, seven = 0;

    _Static_assert(TARGET_8 == 5 && FLAG_TARGET_SHIFT == 4, "bits 5 and 6 tell");
    for (uint32_t i = 0; i < count; i++) {
        unsigned bits = flags[i] & flags[i] << 1; /* bit 6: 6 or 7 */

        six |= bits & ~(unsigned)flags[i] << 2;
        seven |= bits & (unsigned)flags[i] << 2;
    }
    return !((six & 1 << 6 && !moves) || (seven & 1 << 6 && !repeats));
}

static int check_flags(const struct decoder *d, const struct hdl_chunk_header *h, struct error *err)
{
    size_t n = (size_t)(d->end[COL_FLAGS] - d->at[COL_FLAGS]);

    if (d->columns == COLUMNS && !d->moves && !d->repeats ? n != h->count : n > h->count)
        return error_set(err, "%u events but %zu flag bytes", h->count, n);
    return targets_are_known(d->at[COL_FLAGS], (uint32_t)n, d->moves, d->repeats)
               ? 0
               : error_set(err, "unknown kind of target");
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
    d->threads = h->kind != HDL_MERGED;
    d->moves = d->threads && h->flags & CHUNK_MOVES;
    d->repeats = d->threads && h->flags & CHUNK_REPEATS;
    d->columns = h->kind == HDL_MIXED ? COLUMNS_MIXED : COLUMNS;
    set_thread(d, d->threads ? h->subject : THREAD_NONE);
    d->stamp = h->stamp_first;
    d->plain = d->nwaiting = d->waiting_at = 0;
    if (unpack_columns(d, h, payload, err) < 0 || read_shapes(d, err) < 0 ||
        check_flags(d, h, err) < 0)
        return -1;
    if (d->columns == COLUMNS_MIXED)
        stretch_contexts_reset(&d->stretches);
    d->count = h->count;
    return 0;
}

/* ---- reading columns ---- */

/* A number of 1 << log bytes. Reading past the end gives zeros; at > end tells later. */
static inline uint64_t decode_take(const uint8_t **at, const uint8_t *end, unsigned log)
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
    for (int i = 0; i < d->columns; i++)
        if (d->at[i] > d->end[i])
            return true;
    return false;
}

static bool columns_used_up(const struct decoder *d)
{
    for (int i = 0; i < d->columns; i++)
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
    number = decode_take(&d->at[COL_TARGETS], d->end[COL_TARGETS], (code - TARGET_1) & 3);
    target = named ? NAMED_BASE + (number << target_shift(op)) : c->target + unzigzag(number);
    c->stride = target - c->target;
    return c->target = target;
}

static void take_value(struct decoder *d, struct site_context *c, unsigned flags, struct event *ev)
{
    uint64_t *value = value_of(&d->context, c);

    if (flags & FLAG_VALUE)
        *value += unzigzag(take_varint(&d->at[COL_VALUES], d->end[COL_VALUES]));
    ev->value = *value;
    if (ev->flags & EV_OLD)
        ev->old = ev->value + unzigzag(take_varint(&d->at[COL_VALUES], d->end[COL_VALUES]));
}

static bool range_is_valid(uint64_t address, uint64_t bytes)
{
    return address < ADDRESS_LIMIT && bytes && bytes <= ADDRESS_LIMIT - address;
}

static bool entry_is_valid(const struct tables *t, const uint64_t *entry)
{
    uint64_t low = D_LOW(entry[0]), second = entry[1];

    switch (D_KIND(entry[0])) {
    case D_MEMORY_KIND:
        if (is_named(low))
            return low - NAMED_BASE < 8 * (uint64_t)t->variables.count && low % 8 == 0 &&
                   second == 8;
        return range_is_valid(low, second);
    case D_THREAD_KIND:
    case D_START_KIND:
        return low < t->threads.count && !second;
    case D_SYNC_KIND:
        return low < t->objects.count && !second;
    case D_ALL_KIND:
        return !low && !second;
    case D_ROOT_KIND:
        return low < ADDRESS_LIMIT && !second;
    case D_EXTENT_KIND:
        return range_is_valid(low, second);
    case D_SLOT_KIND:
        return low < ADDRESS_LIMIT && second < ADDRESS_LIMIT;
    }
    return false;
}

/* An entry of a list with differences; false: there is no such kind. */
static bool take_entry(struct decoder *d, uint64_t *entry, uint64_t *address)
{
    const uint8_t **at = &d->at[COL_CALLS], *end = d->end[COL_CALLS];
    uint64_t v = take_varint(at, end), low = v >> LIST_KIND_BITS;
    unsigned kind = v & ((1u << LIST_KIND_BITS) - 1);

    entry[1] = 0;
    if (kind == LIST_VARIABLE) {
        entry[0] = NAMED_ADDRESS(low & UINT32_MAX);
        entry[1] = 8;
        return low <= UINT32_MAX;
    }
    if (kind >= LIST_KINDS)
        return false;
    if (list_kind_has_address(kind)) {
        low = *address += unzigzag(low);
        if (low >= ADDRESS_LIMIT)
            return false;
        if (kind != D_ROOT_KIND)
            entry[1] = take_varint(at, end);
        if (kind == D_SLOT_KIND)
            entry[1] = low + unzigzag(entry[1]);
    }
    entry[0] = D_ENTRY(kind, low);
    return true;
}

/* An entry as it is: memory or the end of a thread. */
static bool take_plain_entry(struct decoder *d, uint64_t *entry)
{
    const uint8_t **at = &d->at[COL_CALLS], *end = d->end[COL_CALLS];

    entry[0] = take_varint(at, end);
    entry[1] = take_varint(at, end);
    return D_KIND(entry[0]) <= D_THREAD_KIND;
}

static bool take_call(struct decoder *d, const struct tables *t, struct site_context *c,
                      struct event *ev)
{
    const uint8_t **at = &d->at[COL_CALLS], *end = d->end[COL_CALLS];
    uint64_t *value = value_of(&d->context, c);
    uint64_t n = take_varint(at, end), address = list_start(*value);
    bool differences = c->shape >> 48 & FILE_LIST;

    if (*at > end || n > (uint64_t)(end - *at) / (differences ? 1 : 2) || n > CALL_ENTRIES_MAX)
        return false;
    GROW(d->extra, d->extra_cap, d->nextra + 2 * n);
    ev->value = d->nextra;
    ev->old = n;
    for (uint64_t i = 0; i < n; i++, d->nextra += 2) {
        uint64_t *entry = d->extra + d->nextra;

        if (!(differences ? take_entry(d, entry, &address) : take_plain_entry(d, entry)) ||
            *at > end || !entry_is_valid(t, entry))
            return false;
        if (!i)
            *value = address;
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
    case CLASS_LINK:
        if (ev->op == OP_LINK)
            return ev->target < ADDRESS_LIMIT && ev->value < ADDRESS_LIMIT;
        return range_is_valid(ev->target, ev->value);
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
    uint32_t *expected = expected_site(&d->context, *d->last_site);

    *site = *expected;
    if (code) {
        *site = *expected = (uint32_t)decode_take(&d->at[COL_SITES], d->end[COL_SITES], code - 1);
        if (*site >= t->sites.count && *site != SITE_NONE)
            return false;
    }
    *d->last_site = *site;
    d->context.last_move = MOVE_NONE;
    return true;
}

/* The end of struct event and a shape hold the same fields in the same order. */
_Static_assert(offsetof(struct event, op) == offsetof(struct event, size) + 4 &&
                   offsetof(struct event, order) == offsetof(struct event, size) + 5 &&
                   offsetof(struct event, flags) == offsetof(struct event, size) + 6,
               "shapes are copied into events");

/* What of a shape is the end of struct event. */
static inline void apply_shape(struct event *ev, uint64_t shape)
{
    uint64_t tail = shape & ~((uint64_t)(FILE_LIST | FILE_NAMED | FILE_SEQUENCE) << 48);

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
    return ev->op != OP_CALL || take_call(d, t, c, ev);
}

/* Nothing to read but the flag byte and a shape that says it all? */
static bool shape_is_simple(uint64_t shape)
{
    return op_is_access(shape >> 32 & 0xff) && (uint32_t)shape != SIZE_EXPLICIT &&
           !(shape >> 48 & (EV_VALUE | EV_OLD | FILE_SEQUENCE));
}

/* False: damage that the column ends do not show. */
static inline __attribute__((always_inline)) bool
decode_take_event(struct decoder *d, const struct tables *t, unsigned flags, struct event *ev,
                  uint64_t *sequence)
{
    struct site_context *c;
    uint32_t site;

    if (flags & FLAG_SWITCH && !take_switch(d, t))
        return false;
    if (!take_site(d, t, flags >> FLAG_SITE_SHIFT & 3, &site))
        return false;
    c = context_of(&d->context, site);
    if (flags & FLAG_SHAPE) {
        unsigned number = (unsigned)decode_take(&d->at[COL_SHAPES], d->end[COL_SHAPES], 0);

        if (number >= d->nshapes)
            return false;
        c->shape = d->shapes[number];
        c->simple = shape_is_simple(c->shape);
    } else if (!c->shape) {
        return false; /* the first event of a site must bring its shape */
    }
    ev->thread = d->thread;
    ev->site = site;
    ev->value = ev->old = 0;
    apply_shape(ev, c->shape);
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

/* ---- moves and repeats ---- */

/* Its events wait to be handed out. False: damage. */
static bool take_move(struct decoder *d, const struct tables *t, unsigned flags)
{
    uint32_t *expected = expected_move(&d->context, *d->last_site), number;
    unsigned code = flags >> FLAG_SITE_SHIFT & 3;

    if (flags & (FLAG_SHAPE | FLAG_VALUE) || (flags & FLAG_SWITCH && !take_switch(d, t)))
        return false;
    if (code)
        *expected = (uint32_t)decode_take(&d->at[COL_SITES], d->end[COL_SITES], code - 1);
    number = d->context.last_move = *expected;
    if (number >= t->moves.count)
        return false;
    move_expand(&t->moves, number, d->thread, d->waiting);
    d->nwaiting = move_events(&t->moves.at[number]);
    d->waiting_at = 0;
    return true;
}

/* The last event again, some times, each a step further. False: damage. */
static bool take_repeat(struct decoder *d, const struct tables *t, unsigned flags)
{
    struct site_context *c = context_of(&d->context, *d->last_site);
    uint64_t n = take_varint(&d->at[COL_SIZES], d->end[COL_SIZES]);

    c->stride = unzigzag(take_varint(&d->at[COL_SIZES], d->end[COL_SIZES]));
    if (flags != TARGET_REPEAT << FLAG_TARGET_SHIFT || d->context.last_move != MOVE_NONE ||
        !c->simple || !n || n > REPEATS_MAX)
        return false;
    for (unsigned i = 0; i < n; i++) {
        struct event *ev = &d->waiting[i];

        *ev = (struct event){ .thread = d->thread, .site = *d->last_site };
        apply_shape(ev, c->shape);
        ev->target = c->target += c->stride;
        if (!event_is_valid(t, ev))
            return false;
    }
    d->nwaiting = (unsigned)n;
    d->waiting_at = 0;
    return true;
}

/* One event of a thread's chunk in which there may be moves and repeats. */
static bool take_moved(struct decoder *d, const struct tables *t, struct event *ev,
                       uint64_t *sequence)
{
    if (d->waiting_at == d->nwaiting) {
        unsigned flags, target;

        if (d->at[COL_FLAGS] == d->end[COL_FLAGS])
            return false;
        flags = *d->at[COL_FLAGS]++;
        target = flags >> FLAG_TARGET_SHIFT & 7;
        if (target < TARGET_MOVE)
            return decode_take_event(d, t, flags, ev, sequence);
        if (!(target == TARGET_MOVE ? take_move : take_repeat)(d, t, flags))
            return false;
    }
    *ev = d->waiting[d->waiting_at++];
    return true;
}

/* ---- stretches ---- */

/* A word of a record: the bytes that the mask names changed. */
static uint64_t take_word(struct decoder *d, uint64_t last, unsigned mask)
{
    uint64_t change = 0;

    for (; mask; mask &= mask - 1)
        change |= decode_take(&d->at[COL_BYTES], d->end[COL_BYTES], 0)
                  << 8 * (unsigned)__builtin_ctz(mask);
    return bytes_plus(last, change);
}

/* The masks of words 1 to 7 of a record that has no more: those of the last one, or others. */
static uint64_t take_masks(struct decoder *d, uint64_t last, unsigned words, bool same)
{
    uint64_t masks = 0;

    if (same)
        return last;
    for (unsigned i = 1; i < words; i++)
        masks |= decode_take(&d->at[COL_MASKS], d->end[COL_MASKS], 0) << 8 * (i - 1);
    return masks;
}

/* The next record, into the contexts: its stretch, or STRETCH_NONE. */
static uint32_t take_record(struct decoder *d, const struct stretches *s, unsigned item,
                            const uint64_t **record)
{
    uint32_t *expected = stretch_expected(&d->stretches);
    uint64_t number = *expected, *words;
    const struct stretch *shape;
    struct stretch_context *c;
    bool few;

    if (item & ITEM_NUMBER)
        number = take_varint(&d->at[COL_STRETCHES], d->end[COL_STRETCHES]);
    if (number >= s->count)
        return STRETCH_NONE;
    *expected = (uint32_t)number;
    shape = &s->at[number];
    few = shape->words <= ITEM_SAME_WORDS;
    if (item & ITEM_SAME && !few)
        return STRETCH_NONE;
    c = stretch_context_of(&d->stretches, (uint32_t)number, shape->words);
    words = d->stretches.words + c->at;
    words[0] = take_word(d, words[0], item & 7u << ITEM_BYTES_SHIFT);
    if (few)
        c->masks = take_masks(d, c->masks, shape->words, item & ITEM_SAME);
    for (unsigned i = 1; i < shape->words; i++)
        words[i] = take_word(d, words[i],
                             few ? (unsigned)(c->masks >> 8 * (i - 1)) & 0xff
                                 : (unsigned)decode_take(&d->at[COL_MASKS], d->end[COL_MASKS], 0));
    stretch_context_moves(&d->stretches, (uint32_t)number, words[0]);
    *record = words;
    return (uint32_t)number;
}

/* The next item: events to come in the other columns, or a record's, which wait to be handed out.
 * False: damage. */
static bool take_item(struct decoder *d, const struct tables *t)
{
    unsigned item = (unsigned)decode_take(&d->at[COL_ITEMS], d->end[COL_ITEMS], 0);
    const uint64_t *record;
    uint32_t number;

    if (d->at[COL_ITEMS] > d->end[COL_ITEMS])
        return false;
    if (item & ITEM_EVENTS) {
        d->plain = (item & (ITEM_EVENTS_MAX - 1)) + 1;
        return d->plain <= (size_t)(d->end[COL_FLAGS] - d->at[COL_FLAGS]);
    }
    if (item & ITEM_STAMP)
        take_switch(d, t);
    number = take_record(d, &t->stretches, item, &record);
    if (number == STRETCH_NONE)
        return false;
    stretch_expand(&t->stretches, number, record, d->thread, d->waiting);
    d->nwaiting = stretch_events(&t->stretches.at[number]);
    d->waiting_at = 0;
    return !(t->stretches.at[number].frame & FRAME_ENTERED) || d->waiting[0].site == SITE_NONE ||
           d->waiting[0].site < t->sites.count;
}

/* One event of a mixed chunk. */
static bool take_mixed(struct decoder *d, const struct tables *t, struct event *ev,
                       uint64_t *sequence)
{
    while (!d->plain && d->waiting_at == d->nwaiting)
        if (!take_item(d, t))
            return false;
    if (d->waiting_at == d->nwaiting)
        d->plain--;
    return take_moved(d, t, ev, sequence);
}

/* The chunk's last event is the last of an item, too. */
static bool items_are_used_up(const struct decoder *d)
{
    return !d->plain && d->waiting_at == d->nwaiting;
}

static long next_mixed(struct decoder *d, const struct tables *t, struct event *events, size_t n,
                       uint64_t *sequence, uint64_t *stamp, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        sequence[i] = 0;
        if (!take_mixed(d, t, &events[i], &sequence[i]))
            return damaged(d, i, err);
        stamp[i] = d->stamp;
    }
    return 0;
}

/* The same for a thread's chunk with moves or repeats and without stretches. */
static long next_moved(struct decoder *d, const struct tables *t, struct event *events, size_t n,
                       uint64_t *sequence, uint64_t *stamp, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        sequence[i] = 0;
        if (!take_moved(d, t, &events[i], &sequence[i]))
            return damaged(d, i, err);
        stamp[i] = d->stamp;
    }
    return 0;
}

/* The same for chunks with neither. */
static long next_plain(struct decoder *d, const struct tables *t, struct event *events, size_t n,
                       uint64_t *sequence, uint64_t *stamp, struct error *err)
{
    const uint8_t *flags = d->at[COL_FLAGS];
    uint64_t none;

    if (!d->threads) {
        for (size_t i = 0; i < n; i++)
            if (!decode_take_event(d, t, flags[i], &events[i], &none))
                return damaged(d, i, err);
    } else {
        for (size_t i = 0; i < n; i++) {
            sequence[i] = 0;
            if (!decode_take_event(d, t, flags[i], &events[i], &sequence[i]))
                return damaged(d, i, err);
            stamp[i] = d->stamp;
        }
    }
    d->at[COL_FLAGS] += n;
    return 0;
}

long decoder_next(struct decoder *d, const struct tables *t, struct event *events, size_t n,
                  uint64_t *sequence, uint64_t *stamp, struct error *err)
{
    bool mixed = d->columns == COLUMNS_MIXED, moved = d->moves || d->repeats;

    if (n > d->count - d->done)
        n = d->count - d->done;
    if (!n)
        return 0;
    d->nextra = 0;
    if (!thread_is_known(d, t))
        return damaged(d, 0, err);
    if ((mixed   ? next_mixed
         : moved ? next_moved
                 : next_plain)(d, t, events, n, sequence, stamp, err) < 0)
        return -1;
    if (columns_overrun(d))
        return error_set(err, "events %u to %zu: a column ends too early", d->done,
                         d->done + n - 1);
    d->done += (uint32_t)n;
    if (d->done == d->count && !(columns_used_up(d) && items_are_used_up(d)))
        return error_set(err, "bytes are left over behind the last event");
    return (long)n;
}
