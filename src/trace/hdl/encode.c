/* encode.c - the encoder half of the codec */
#include "trace/hdl/codec.h"
#include "base/alloc.h"
#include "trace/hdl/codec_context.h"

#include <stdlib.h>
#include <string.h>

/* No event adds more than this to a column (COL_CALLS is grown on its own): a 10-byte varint,
 * twice. */
enum { MOST_BYTES = 24, LIST_PLAIN_MAX = 8 };

void encoder_init(struct encoder *e, uint32_t context_bits, bool threads)
{
    memset(e, 0, sizeof(*e));
    e->threads = threads;
    context_init(&e->context, context_bits);
}

void encoder_release(struct encoder *e)
{
    for (int i = 0; i < COLUMNS_MIXED; i++)
        free(e->columns[i].data);
    context_release(&e->context);
    stretch_contexts_release(&e->stretches);
}

void encoder_resize(struct encoder *e, uint32_t context_bits)
{
    if (e->context.bits == context_bits)
        return;
    context_release(&e->context);
    context_init(&e->context, context_bits);
}

size_t encoder_bytes(const struct encoder *e)
{
    size_t bytes = 0;

    for (int i = 0; i < COLUMNS_MIXED; i++)
        bytes += e->columns[i].len;
    return bytes;
}

uint32_t encoder_contexts(const struct encoder *e)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i <= e->context.mask; i++)
        used += e->context.sites[i].shape != 0;
    return used;
}

void encoder_start(struct encoder *e, uint64_t stamp)
{
    context_reset(&e->context);
    stretch_contexts_reset(&e->stretches);
    e->plain = 0;
    e->mixed = e->moves = e->repeats = false;
    for (int i = 0; i < COLUMNS_MIXED; i++)
        e->columns[i].len = 0;
    memset(e->shape_hash, 0, sizeof(e->shape_hash));
    e->nshapes = 0;
    e->count = 0;
    e->stamp = stamp;
}

/* ---- columns; room is made once per call of encoder_add() ---- */

static inline void encode_put(struct column *c, uint64_t value, size_t bytes)
{
    memcpy(c->data + c->len, &value, 8);
    c->len += bytes;
}

static inline void put_varint(struct column *c, uint64_t v)
{
    while (v >= 0x80) {
        c->data[c->len++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    c->data[c->len++] = (uint8_t)v;
}

static void encode_make_room(struct encoder *e, size_t events)
{
    for (int i = 0; i < COLUMNS; i++) {
        struct column *c = &e->columns[i];

        if (c->cap < c->len + events * MOST_BYTES + MOST_BYTES) /* few events: calls would show */
            GROW(c->data, c->cap, c->len + events * MOST_BYTES + MOST_BYTES);
    }
}

/* ---- shapes ---- */

/* Lists that readers of version 1.2 know and that are short stay as those know them. */
static bool needs_differences(const struct event *ev, const uint64_t *extra)
{
    if (ev->old > LIST_PLAIN_MAX)
        return true;
    for (uint64_t i = 0; i < ev->old; i++)
        if (D_KIND(extra[ev->value + 2 * i]) > D_THREAD_KIND)
            return true;
    return false;
}

/* The end of struct event as it is, without what files do not have, plus what only they have. */
static inline uint64_t shape_of(const struct event *ev, const uint64_t *extra, bool sequence)
{
    uint64_t shape;

    memcpy(&shape, &ev->size, sizeof(shape)); /* decode.c asserts the layout */
    shape &= UINT32_MAX | (uint64_t)0xffff << 32 | (uint64_t)EV_STORED_FLAGS << 48;
    shape |= (ev->target >> NAMED_BIT & 1) * ((uint64_t)FILE_NAMED << 48);
    shape |= sequence * ((uint64_t)FILE_SEQUENCE << 48);
    if (__builtin_expect(ev->size > 16 || (ev->size & (ev->size - 1)), 0))
        shape |= SIZE_EXPLICIT;
    if (__builtin_expect(ev->op == OP_CALL, 0) && needs_differences(ev, extra))
        shape |= (uint64_t)FILE_LIST << 48;
    return shape;
}

/* The shape's number in the chunk's dictionary, or -1 where that is full. */
static int shape_number(struct encoder *e, uint64_t shape)
{
    uint32_t i = (uint32_t)(shape * 0x9e3779b97f4a7c15u >> 55);

    for (;; i = (i + 1) % (2 * SHAPES_MAX)) {
        if (!e->shape_hash[i])
            break;
        if (e->shapes[e->shape_hash[i] - 1] == shape)
            return e->shape_hash[i] - 1;
    }
    if (e->nshapes == SHAPES_MAX)
        return -1;
    e->shapes[e->nshapes++] = shape;
    e->shape_hash[i] = (uint16_t)e->nshapes;
    return (int)e->nshapes - 1;
}

bool encoder_put_shape(struct encoder *e, struct site_context *c, uint64_t shape)
{
    int number = shape_number(e, shape);

    e->loose |= shape >> 48 & EV_LOOSE;
    if (number < 0)
        return false;
    encode_put(&e->columns[COL_SHAPES], (uint64_t)number, 1);
    c->shape = shape;
    return true;
}

/* ---- the parts of an event ---- */

static inline unsigned put_site(struct encoder *e, uint32_t predicted, uint32_t site)
{
    if (site == predicted)
        return 0;
    if (site < 1 << 8) {
        encode_put(&e->columns[COL_SITES], site, 1);
        return 1 << FLAG_SITE_SHIFT;
    }
    if (site < 1 << 16) {
        encode_put(&e->columns[COL_SITES], site, 2);
        return 2 << FLAG_SITE_SHIFT;
    }
    encode_put(&e->columns[COL_SITES], site, 4);
    return 3 << FLAG_SITE_SHIFT;
}

static unsigned put_target_number(struct encoder *e, uint64_t number)
{
    unsigned code = number < 1 << 8    ? TARGET_1
                    : number < 1 << 16 ? TARGET_2
                    : number >> 32     ? TARGET_8
                                       : TARGET_4;

    encode_put(&e->columns[COL_TARGETS], number, (size_t)1 << (code - TARGET_1));
    return code;
}

static inline unsigned put_target(struct encoder *e, struct site_context *c, const struct event *ev)
{
    uint64_t target = ev->target, delta = target - c->target;
    unsigned code;

    if (delta == c->stride) {
        code = TARGET_STRIDE;
    } else if (!delta) {
        code = TARGET_LAST;
    } else {
        if (is_named(target))
            code = put_target_number(e, (target - NAMED_BASE) >> target_shift(ev->op));
        else
            code = put_target_number(e, zigzag(delta));
        c->stride = delta;
    }
    c->target = target;
    return code << FLAG_TARGET_SHIFT;
}

static unsigned put_value(struct encoder *e, struct site_context *c, const struct event *ev)
{
    uint64_t *value = value_of(&e->context, c);
    unsigned flag = 0;

    if (ev->value != *value) {
        put_varint(&e->columns[COL_VALUES], zigzag(ev->value - *value));
        *value = ev->value;
        flag = FLAG_VALUE;
    }
    if (ev->flags & EV_OLD)
        put_varint(&e->columns[COL_VALUES], zigzag(ev->old - ev->value));
    return flag;
}

/* An entry of a list with differences; `at` is the address before. */
static void put_entry(struct column *c, const uint64_t *d, uint64_t *at)
{
    unsigned kind = D_KIND(d[0]);
    uint64_t low = D_LOW(d[0]);

    if (is_named(low) && kind == D_MEMORY_KIND) {
        put_varint(c, (uint64_t)named_variable(low) << LIST_KIND_BITS | LIST_VARIABLE);
        return;
    }
    if (!list_kind_has_address(kind)) {
        put_varint(c, low << LIST_KIND_BITS | kind);
        return;
    }
    put_varint(c, zigzag(low - *at) << LIST_KIND_BITS | kind);
    *at = low;
    if (kind == D_SLOT_KIND)
        put_varint(c, zigzag(d[1] - low));
    else if (kind != D_ROOT_KIND)
        put_varint(c, d[1]);
}

/* With differences the first address is one to that of the site's list before: a function is often
 * called with the same objects again. */
static void put_call(struct encoder *e, struct site_context *s, const struct event *ev,
                     const uint64_t *extra)
{
    struct column *c = &e->columns[COL_CALLS];
    const uint64_t *d = ev->old ? extra + ev->value : NULL; /* extra is NULL if no D has any */
    uint64_t *value = value_of(&e->context, s), at = list_start(*value);

    GROW(c->data, c->cap, c->len + (ev->old + 1) * MOST_BYTES);
    put_varint(c, ev->old);
    for (uint64_t i = 0; i < ev->old; i++) {
        if (s->shape >> 48 & FILE_LIST) {
            put_entry(c, d + 2 * i, &at);
        } else {
            put_varint(c, d[2 * i]);
            put_varint(c, d[2 * i + 1]);
        }
        if (!i)
            *value = at;
    }
}

/* D lists have no bound of their own, but columns do. */
static inline bool calls_are_full(const struct encoder *e)
{
    return e->columns[COL_CALLS].len >= CALLS_BYTES_FULL;
}

/* Thread chunks: when it happened, and its place among the operations on its object. */
unsigned encoder_put_stamp(struct encoder *e, uint64_t stamp)
{
    if (stamp == e->stamp)
        return 0;
    put_varint(&e->columns[COL_THREADS], stamp - e->stamp);
    e->stamp = stamp;
    return FLAG_SWITCH;
}

static inline unsigned put_thread(struct encoder *e, uint32_t thread)
{
    struct codec_context *x = &e->context;

    if (thread == x->thread)
        return 0;
    put_varint(&e->columns[COL_THREADS], thread);
    x->thread = thread;
    return FLAG_SWITCH;
}

/* A move: its number where an event has its site. */
static void put_move(struct encoder *e, uint32_t thread, uint32_t number)
{
    struct codec_context *x = &e->context;
    uint32_t *expected = expected_move(x, x->last_site[thread % THREAD_CONTEXTS]);
    unsigned flags = TARGET_MOVE << FLAG_TARGET_SHIFT;

    flags |= put_site(e, *expected, number);
    *expected = x->last_move = number;
    e->columns[COL_FLAGS].data[e->columns[COL_FLAGS].len++] |= (uint8_t)flags;
    e->moves = true;
}

enum put { PUT_REFUSED, PUT_DONE, PUT_LAST };

/* Everything of an event but its thread. Refused: the shape dictionary is full. */
static inline enum put put_event(struct encoder *e, const struct event *ev, const uint64_t *extra,
                                 uint64_t sequence)
{
    struct codec_context *x = &e->context;
    uint32_t *last = &x->last_site[ev->thread % THREAD_CONTEXTS];
    struct site_context *c = context_of(x, ev->site);
    uint32_t *expected = expected_site(x, *last);
    uint64_t shape = shape_of(ev, extra, sequence != 0);
    unsigned flags = 0;

    if (shape != c->shape) {
        if (!encoder_put_shape(e, c, shape))
            return PUT_REFUSED;
        flags |= FLAG_SHAPE;
    }
    flags |= put_site(e, *expected, ev->site);
    *expected = *last = ev->site;
    x->last_move = MOVE_NONE;
    flags |= put_target(e, c, ev);
    if (has_value(ev->op, ev->flags))
        flags |= put_value(e, c, ev);
    if ((uint32_t)shape == SIZE_EXPLICIT)
        put_varint(&e->columns[COL_SIZES], ev->size);
    if (sequence) {
        put_varint(&e->columns[COL_SEQUENCE], zigzag(sequence - x->sequence));
        x->sequence = sequence;
    }
    e->columns[COL_FLAGS].data[e->columns[COL_FLAGS].len++] |= (uint8_t)flags;
    if (ev->op != OP_CALL) {
        e->lists |= ev->op > OP_EXIT;
        e->requests |= ev->op > OP_RESULT;
        return PUT_DONE;
    }
    e->lists |= shape >> 48 & FILE_LIST;
    put_call(e, c, ev, extra);
    return calls_are_full(e) ? PUT_LAST : PUT_DONE;
}

size_t encoder_add(struct encoder *e, const struct event *events, size_t n, const uint64_t *extra,
                   const uint64_t *sequence, const uint64_t *stamp, uint32_t limit)
{
    struct column *flags = &e->columns[COL_FLAGS];
    uint32_t more = 0; /* events of moves beyond one each */
    size_t i;

    if (n > limit - e->count)
        n = limit - e->count;
    if (calls_are_full(e))
        n = 0;
    encode_make_room(e, n);
    for (i = 0; i < n; i++) {
        struct column threads = e->columns[COL_THREADS];
        uint32_t thread = e->context.thread;
        uint64_t before = e->stamp;
        enum put put;

        if (e->count + i + more + (events[i].op == OP_MOVE ? events[i].size : 1) > limit)
            break;
        flags->data[flags->len] = (uint8_t)(e->threads ? encoder_put_stamp(e, stamp[i])
                                                       : put_thread(e, events[i].thread));
        if (__builtin_expect(events[i].op == OP_MOVE, 0)) {
            put_move(e, events[i].thread, (uint32_t)events[i].target);
            more += events[i].size - 1;
            continue;
        }
        put = put_event(e, &events[i], extra, sequence ? sequence[i] : 0);
        if (__builtin_expect(put == PUT_DONE, 1))
            continue;
        if (put == PUT_LAST) {
            i++;
        } else {
            e->columns[COL_THREADS].len = threads.len; /* not this one: next chunk */
            e->context.thread = thread;
            e->stamp = before;
        }
        break;
    }
    e->count += (uint32_t)i + more;
    e->plain += (uint32_t)i;
    return i;
}
