/* encode_raw.c - accesses and branches, straight from their records
 *
 * What encode.c does, with all that is in use in registers: the ends of the columns, the context
 * of the last site. Both files must write the same; tests/unit/test_record.c compares them.
 */
#include "trace/encode_raw.h"
#include "base/alloc.h"
#include "base/rt_ring.h"
#include "trace/codec_context.h"

#include <string.h>

enum {
    AT_ONCE = 256,  /* events for which room is made */
    MOST_BYTES = 24 /* that one event adds to a column */
};

/* Where the columns end. */
struct pens {
    uint8_t *flags, *sites, *targets, *values, *sizes;
};

/* What is in a record. */
struct common {
    uint32_t number; /* of the site, the process's own */
    uint64_t shape, target, value;
    uint32_t size; /* where the shape has none */
    unsigned words;
};

static inline uint64_t shape_of(unsigned op, unsigned size, unsigned flags)
{
    return size | (uint64_t)op << 32 | (uint64_t)flags << 48;
}

/* Several accesses as one. */
static inline bool read_run(const uint64_t *w, const uint64_t *end, struct common *c)
{
    unsigned head = (unsigned)(w[0] >> 48);

    if (head & ACCESS_PC || end - w < 2)
        return false;
    c->number = (uint32_t)w[1];
    c->size = (uint32_t)(w[1] >> 32);
    c->value = 0;
    c->target = w[0] & RING_LOW;
    c->shape = shape_of(OP_READ + (head & ACCESS_WRITE), c->size, 0);
    if (c->size > 16 || (c->size & (c->size - 1)))
        c->shape |= SIZE_EXPLICIT;
    c->words = 2;
    return c->size && c->size <= ACCESS_MAX_BYTES;
}

/* False: some other record, or one that goes beyond `end`. */
static inline bool read_common(const uint64_t *w, const uint64_t *end, struct common *c)
{
    uint64_t word = w[0];
    unsigned head = (unsigned)(word >> 48), log = head >> ACCESS_SIZE_SHIFT & 7;

    if (head >> 8 == R_ACCESS) {
        bool wide = head & ACCESS_VALUE64, valued = head & (ACCESS_VALUE32 | ACCESS_VALUE64);

        if (log > 4)
            return false;
        if (head & ACCESS_RUN)
            return !wide && read_run(w, end, c);
        if (head & ACCESS_PC || end - w < 2 + wide)
            return false;
        c->number = (uint32_t)w[1];
        c->size = 0;
        c->value = wide ? w[2] : w[1] >> 32;
        c->target = word & RING_LOW;
        c->shape = shape_of(OP_READ + (head & ACCESS_WRITE), 1u << log, valued ? EV_VALUE : 0);
        c->words = 2 + wide;
        return true;
    }
    c->number = (uint32_t)word;
    c->size = 0;
    c->value = word >> 32 & 0xffff;
    c->target = 0;
    c->shape = shape_of(OP_BRANCH, 0, EV_VALUE);
    c->words = 1;
    return head >> 8 == R_BRANCH;
}

static inline uint32_t site_of(const struct raw_run *r, uint32_t number)
{
    const uint64_t *page = __atomic_load_n(&r->pages[number >> r->page_bits], __ATOMIC_ACQUIRE);
    uint64_t place = 0;

    if (page)
        place = __atomic_load_n(&page[number & ((1u << r->page_bits) - 1)], __ATOMIC_RELAXED);
    return place ? (uint32_t)place : SITE_NONE;
}

bool raw_run_is_common(const struct raw_run *r)
{
    struct common c;

    return r->at < r->end && read_common(r->at, r->end, &c) && site_of(r, c.number) != SITE_NONE;
}

static inline bool is_stamp(const struct raw_run *r, const uint64_t *w)
{
    return *w >> 56 == R_STAMP && r->stamp_of;
}

void raw_run_take_stamps(struct raw_run *r)
{
    for (; r->at < r->end && is_stamp(r, r->at); r->at++)
        r->stamp = r->stamp_of(r->arg, *r->at);
}

/* ---- columns ---- */

static inline uint8_t *put(uint8_t *at, uint64_t value, size_t bytes)
{
    memcpy(at, &value, 8);
    return at + bytes;
}

/* Groups of 7 bits apart, to 8 bits each: no loop, so nothing to mispredict. */
static inline uint8_t *put_varint(uint8_t *at, uint64_t v)
{
    unsigned bytes;

    if (__builtin_expect(v >> 56 != 0, 0)) {
        for (; v >= 0x80; v >>= 7)
            *at++ = (uint8_t)(v | 0x80);
        *at++ = (uint8_t)v;
        return at;
    }
    v = (v & 0xfffffff) | (v & 0xfffffff0000000) << 4;
    v = (v & 0x3fff00003fff) | (v & 0xfffc0000fffc000) << 2;
    v = (v & 0x7f007f007f007f) | (v & 0x3f803f803f803f80) << 1;
    bytes = (63 - (unsigned)__builtin_clzll(v | 1)) / 8;
    return put(at, v | (0x8080808080808080 & ((UINT64_C(1) << 8 * bytes) - 1)), bytes + 1);
}

/* 1, 2, 4 or 8 bytes, as the number needs: log2 of that. */
static inline unsigned width_of(uint64_t number)
{
    static const uint8_t width[8] = { 0, 1, 2, 2, 3, 3, 3, 3 };

    return width[(63 - (unsigned)__builtin_clzll(number | 1)) / 8];
}

static inline unsigned put_site(struct pens *p, uint32_t site)
{
    unsigned width = width_of(site);

    p->sites = put(p->sites, site, (size_t)1 << width);
    return (width + 1) << FLAG_SITE_SHIFT;
}

static inline unsigned put_target(struct pens *p, struct site_context *c, uint64_t target)
{
    uint64_t delta = target - c->target, number;
    unsigned width;

    c->target = target;
    if (delta == c->stride)
        return TARGET_STRIDE << FLAG_TARGET_SHIFT;
    if (!delta)
        return TARGET_LAST << FLAG_TARGET_SHIFT;
    c->stride = delta;
    number = zigzag(delta);
    width = width_of(number);
    p->targets = put(p->targets, number, (size_t)1 << width);
    return (TARGET_1 + width) << FLAG_TARGET_SHIFT;
}

static inline unsigned put_value(struct pens *p, struct site_context *c, uint64_t value)
{
    if (value == c->value)
        return 0;
    p->values = put_varint(p->values, zigzag(value - c->value));
    c->value = value;
    return FLAG_VALUE;
}

/* ---- runs ---- */

static void make_room(struct encoder *e, size_t events, struct pens *p)
{
    static const uint8_t used[] = { COL_FLAGS,   COL_THREADS, COL_SITES, COL_SHAPES,
                                    COL_TARGETS, COL_VALUES,  COL_SIZES };
    struct column *c;

    for (size_t i = 0; i < sizeof(used); i++) {
        c = &e->columns[used[i]];
        GROW(c->data, c->cap, c->len + events * MOST_BYTES + MOST_BYTES);
    }
    c = e->columns;
    p->flags = c[COL_FLAGS].data + c[COL_FLAGS].len;
    p->sites = c[COL_SITES].data + c[COL_SITES].len;
    p->targets = c[COL_TARGETS].data + c[COL_TARGETS].len;
    p->values = c[COL_VALUES].data + c[COL_VALUES].len;
    p->sizes = c[COL_SIZES].data + c[COL_SIZES].len;
}

static void note_ends(struct encoder *e, const struct pens *p)
{
    struct column *c = e->columns;

    c[COL_FLAGS].len = (size_t)(p->flags - c[COL_FLAGS].data);
    c[COL_SITES].len = (size_t)(p->sites - c[COL_SITES].data);
    c[COL_TARGETS].len = (size_t)(p->targets - c[COL_TARGETS].data);
    c[COL_VALUES].len = (size_t)(p->values - c[COL_VALUES].data);
    c[COL_SIZES].len = (size_t)(p->sizes - c[COL_SIZES].data);
}

/* Up to `most` events, for which there is room. */
static size_t add_some(struct encoder *e, struct raw_run *r, struct pens *pens, size_t most)
{
    uint32_t *last = &e->context.last_site[r->thread % THREAD_CONTEXTS];
    struct site_context *before = context_of(&e->context, *last);
    struct pens p = *pens; /* in registers */
    const uint64_t *w = r->at;
    uint32_t site = *last;
    size_t n = 0;

    while (n < most && w < r->end) {
        struct site_context *c;
        struct common k;
        uint32_t next;
        unsigned flags = 0;

        if (__builtin_expect(is_stamp(r, w), 0)) {
            r->stamp = r->stamp_of(r->arg, *w++);
            continue;
        }
        if (!read_common(w, r->end, &k) || (next = site_of(r, k.number)) == SITE_NONE)
            break;
        c = context_of(&e->context, next);
        if (__builtin_expect(k.shape != c->shape, 0)) {
            if (!encoder_put_shape(e, c, k.shape))
                break;
            flags = FLAG_SHAPE;
        }
        if (before->next != next) {
            flags |= put_site(&p, next);
            before->next = next;
        }
        flags |= put_target(&p, c, k.target);
        if (k.shape >> 48)
            flags |= put_value(&p, c, k.value);
        if (__builtin_expect((uint32_t)k.shape == SIZE_EXPLICIT, 0))
            p.sizes = put_varint(p.sizes, k.size);
        if (__builtin_expect(r->stamp != e->stamp, 0))
            flags |= encoder_put_stamp(e, r->stamp);
        *p.flags++ = (uint8_t)flags;
        n++;
        before = c;
        site = next;
        w += k.words;
    }
    *last = site;
    r->at = w;
    *pens = p;
    return n;
}

size_t encoder_add_raw(struct encoder *e, struct raw_run *r, uint32_t limit)
{
    size_t all = 0, n = AT_ONCE;

    while (n == AT_ONCE && e->count < limit) {
        size_t most = limit - e->count < AT_ONCE ? limit - e->count : AT_ONCE;
        struct pens p;

        make_room(e, most, &p);
        n = add_some(e, r, &p, most);
        note_ends(e, &p);
        if (n)
            r->encoded = e->stamp;
        e->count += (uint32_t)n;
        e->plain += (uint32_t)n;
        all += n;
    }
    return all;
}
