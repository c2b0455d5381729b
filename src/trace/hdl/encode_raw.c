/* encode_raw.c - what most records say, straight from the records
 *
 * What encode.c does, with all that is in use in registers: the ends of the columns, the context
 * of the last site. Both files must write the same; tests/unit/test_moves.c compares them.
 */
#include "trace/hdl/encode_raw.h"
#include "base/alloc.h"
#include "abi/rt_ring.h"
#include "trace/hdl/codec_context.h"

#include <string.h>

enum {
    AT_ONCE = 256,  /* events for which room is made */
    MOST_BYTES = 24 /* that one event adds to a column */
};

/* Where the columns end. */
struct pens {
    uint8_t *flags, *sites, *targets, *values, *sizes, *sequence;
};

/* What is in a record. */
struct common {
    uint64_t where; /* a site's number, the process's own, or an address with WHERE_PC */
    uint64_t shape, target, value;
    uint64_t sequence; /* 0: none */
    uint32_t size;     /* where the shape has none */
    unsigned words;
    unsigned again; /* how often it is repeated, each time `step` further */
    uint64_t step;
    bool valued;
};

static inline uint64_t shape_of(unsigned op, unsigned size, unsigned flags)
{
    return size | (uint64_t)op << 32 | (uint64_t)flags << 48;
}

/* Several accesses as one, or a range. */
static inline bool read_long(struct common *c, unsigned write, uint64_t bytes)
{
    c->size = (uint32_t)bytes;
    c->shape = shape_of(OP_READ + write, c->size, 0);
    if (c->size > 16 || (c->size & (c->size - 1)))
        c->shape |= SIZE_EXPLICIT;
    return bytes && bytes <= ACCESS_MAX_BYTES;
}

/* Several accesses at equal distances. */
static inline bool read_steps(struct common *c, uint64_t word)
{
    unsigned n = ring_steps(word);

    c->again = n - 1;
    c->step = (uint64_t)ring_step(word);
    return n >= 2 && n <= STEPS_MAX && !((c->target + c->again * c->step) & ~RING_LOW);
}

static inline bool read_access(const uint64_t *w, const uint64_t *end, struct common *c)
{
    unsigned head = ring_head(w[0]), log = head >> ACCESS_SIZE_SHIFT & 7;
    bool wide = head & ACCESS_VALUE64, far = head & ACCESS_PC;

    c->valued = head & (ACCESS_VALUE32 | ACCESS_VALUE64);
    if (log > 4 || end - w < 2 + wide || (far && (c->valued || head & ACCESS_RUN)))
        return false;
    c->where = far ? w[1] : (uint32_t)w[1];
    c->target = ring_low(w[0]);
    c->words = 2 + wide;
    c->size = 0;
    if (head & ACCESS_RUN) {
        c->valued = false;
        if (!(head & ACCESS_VALUE32))
            return !wide && read_long(c, head & ACCESS_WRITE, w[1] >> 32);
        c->shape = shape_of(OP_READ + (head & ACCESS_WRITE), 1u << log, 0);
        return !wide && read_steps(c, w[1]);
    }
    c->value = wide ? w[2] : w[1] >> 32;
    c->shape = shape_of(OP_READ + (head & ACCESS_WRITE), 1u << log, c->valued ? EV_VALUE : 0);
    return true;
}

static bool read_sync(const uint64_t *w, struct common *c)
{
    unsigned op = ring_arg(w[0]);
    bool marked = ring_may_be_marked(op) && w[0] & RING_MARK;

    if (op < OP_ACQUIRE || op > OP_AFTER || (op >= OP_FORK && op <= OP_END))
        return false; /* those of threads make names, too */
    if (marked)
        c->target &= ~RING_MARK;
    c->shape = shape_of(op, 0, marked ? EV_BARE : 0);
    c->sequence = w[2];
    return true;
}

/* Without values, as default builds have them. */
static bool read_atomic(const uint64_t *w, struct common *c)
{
    unsigned arg = ring_arg(w[0]), op = OP_LOAD + (arg & 3), log = arg >> 2 & 15;
    unsigned order = w[2] & 0xff;

    if (op > OP_RMW || log > 4 || arg >> 6 || order < ORDER_RELAXED || order > ORDER_SEQ_CST)
        return false;
    c->shape = shape_of(op, 1u << log, 0) | (uint64_t)order << 40;
    c->sequence = w[2] >> 8;
    return true;
}

static bool read_memory(const uint64_t *w, struct common *c)
{
    unsigned op = ring_arg(w[0]);

    if ((op != OP_ALLOC && op != OP_FREE) || w[2] > RING_LOW)
        return false;
    c->shape = shape_of(op, 0, 0);
    c->value = op == OP_ALLOC && !w[2] ? 1 : w[2];
    c->valued = true;
    c->sequence = w[3];
    return true;
}

/* False: some record that is not for here, or one that goes beyond `end`. */
static bool read_other(const uint64_t *w, const uint64_t *end, struct common *c)
{
    unsigned kind = ring_kind(w[0]);

    if (kind == R_BRANCH) {
        c->where = (uint32_t)w[0];
        c->value = w[0] >> 32 & 0xffff;
        c->target = 0;
        c->shape = shape_of(OP_BRANCH, 0, EV_VALUE);
        c->words = 1;
        c->valued = true;
        return true;
    }
    c->words = kind == R_MEMORY ? 4 : 3;
    if (end - w < c->words)
        return false;
    c->where = w[1];
    c->target = ring_low(w[0]);
    if (kind == R_RANGE)
        return read_long(c, ring_arg(w[0]) & ACCESS_WRITE, w[2]);
    if (kind == R_SYNC)
        return read_sync(w, c);
    if (kind == R_ATOMIC)
        return read_atomic(w, c);
    return kind == R_MEMORY && read_memory(w, c);
}

static inline bool read_common(const uint64_t *w, const uint64_t *end, struct common *c)
{
    c->sequence = 0;
    c->again = 0;
    if (__builtin_expect(ring_kind(w[0]) == R_ACCESS, 1))
        return read_access(w, end, c);
    c->size = 0;
    c->valued = false;
    if (!read_other(w, end, c))
        return false;
    c->shape |= c->sequence ? (uint64_t)FILE_SEQUENCE << 48 : 0;
    return true;
}

static inline uint64_t encode_raw_place_of(const struct raw_run *r, uint32_t number)
{
    const uint64_t *page = __atomic_load_n(&r->pages[number >> r->page_bits], __ATOMIC_ACQUIRE);
    uint64_t place = 0;

    if (page)
        place = __atomic_load_n(&page[number & ((1u << r->page_bits) - 1)], __ATOMIC_RELAXED);
    return place ? place : SITE_NONE;
}

/* What a shape has of a place. */
static inline uint64_t marks_of(uint64_t place)
{
    return place & RAW_PLACE_LOOSE ? (uint64_t)EV_LOOSE << 48 : 0;
}

/* False: it is not known yet. */
static inline bool find_site(const struct raw_run *r, uint64_t where, uint32_t *site,
                             uint64_t *marks)
{
    uint64_t place;

    *marks = 0;
    if (__builtin_expect(where >> 32 != 0, 0)) {
        if (!(where & WHERE_PC) || !r->pc_site)
            return false;
        *site = r->pc_site(r->arg, where & ~WHERE_PC & RING_LOW);
        return true;
    }
    place = encode_raw_place_of(r, (uint32_t)where);
    *site = (uint32_t)place;
    *marks = marks_of(place);
    return *site != SITE_NONE;
}

static inline bool is_move(const struct raw_run *r, const uint64_t *w)
{
    return ring_head(*w) == R_MOVE << 8 && r->move_of;
}

bool raw_run_is_common(const struct raw_run *r)
{
    struct common c;
    uint32_t site;
    uint64_t marks;

    if (r->at < r->end && is_move(r, r->at))
        return r->move_is_known(r->arg, *r->at);
    return r->at < r->end && read_common(r->at, r->end, &c) && find_site(r, c.where, &site, &marks);
}

static inline bool is_stamp(const struct raw_run *r, const uint64_t *w)
{
    return ring_kind(*w) == R_STAMP && r->stamp_of;
}

void raw_run_take_stamps(struct raw_run *r)
{
    for (; r->at < r->end && is_stamp(r, r->at); r->at++)
        r->stamp = r->stamp_of(r->arg, *r->at);
}

/* ---- columns ---- */

static inline uint8_t *encode_raw_put(uint8_t *at, uint64_t value, size_t bytes)
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
    return encode_raw_put(at, v | (0x8080808080808080 & ((UINT64_C(1) << 8 * bytes) - 1)),
                          bytes + 1);
}

/* 1, 2, 4 or 8 bytes, as the number needs: log2 of that. */
static inline unsigned width_of(uint64_t number)
{
    unsigned bits = 63 - (unsigned)__builtin_clzll(number | 1);

    return 0xffa4 >> bits / 8 * 2 & 3; /* 0 1 2 2 3 3 3 3, two bits each */
}

/* Which of the following is to be said changes from event to event, so nothing here branches: what
 * need not be said is written, too, and then written over. */

/* What the number takes if it is to be said; its flags. */
static inline unsigned put_site_if(struct pens *p, bool wanted, uint32_t site)
{
    unsigned width = width_of(site);

    p->sites = encode_raw_put(p->sites, site, (size_t)wanted << width);
    return -(unsigned)wanted & (width + 1) << FLAG_SITE_SHIFT;
}

static inline unsigned put_target(struct pens *p, struct site_context *c, uint64_t target)
{
    uint64_t delta = target - c->target, number = zigzag(delta);
    unsigned width = width_of(number), code;
    bool strides = delta == c->stride, lasts = !delta & !strides, told = delta && !strides;

    c->target = target;
    c->stride = lasts ? c->stride : delta;
    p->targets = encode_raw_put(p->targets, number, (size_t)told << width);
    code = strides ? TARGET_STRIDE : TARGET_LAST;
    return (told ? TARGET_1 + width : code) << FLAG_TARGET_SHIFT;
}

static inline unsigned put_value(struct pens *p, uint64_t *last, uint64_t value)
{
    if (value == *last)
        return 0;
    p->values = put_varint(p->values, zigzag(value - *last));
    *last = value;
    return FLAG_VALUE;
}

/* The last event again. */
static inline void put_repeat(struct pens *p, struct site_context *c, const struct common *k)
{
    *p->flags++ = TARGET_REPEAT << FLAG_TARGET_SHIFT;
    p->sizes = put_varint(p->sizes, k->again);
    p->sizes = put_varint(p->sizes, zigzag(k->step));
    c->target += k->again * k->step;
    c->stride = k->step;
}

/* ---- runs ---- */

static void encode_raw_make_room(struct encoder *e, size_t events, struct pens *p)
{
    static const uint8_t used[] = { COL_FLAGS,   COL_THREADS, COL_SITES, COL_SHAPES,
                                    COL_TARGETS, COL_VALUES,  COL_SIZES, COL_SEQUENCE };
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
    p->sequence = c[COL_SEQUENCE].data + c[COL_SEQUENCE].len;
}

static void note_ends(struct encoder *e, const struct pens *p)
{
    struct column *c = e->columns;

    c[COL_FLAGS].len = (size_t)(p->flags - c[COL_FLAGS].data);
    c[COL_SITES].len = (size_t)(p->sites - c[COL_SITES].data);
    c[COL_TARGETS].len = (size_t)(p->targets - c[COL_TARGETS].data);
    c[COL_VALUES].len = (size_t)(p->values - c[COL_VALUES].data);
    c[COL_SIZES].len = (size_t)(p->sizes - c[COL_SIZES].data);
    c[COL_SEQUENCE].len = (size_t)(p->sequence - c[COL_SEQUENCE].data);
}

/* What is predicted after the last event or move. */
struct expected {
    uint32_t *site, *move;
};

/* A move, of not more than `most` events. How many, 0: not now. */
static inline size_t add_move(struct encoder *e, struct raw_run *r, uint64_t word, struct pens *p,
                              struct expected *next, size_t most)
{
    struct codec_context *x = &e->context;
    unsigned flags = TARGET_MOVE << FLAG_TARGET_SHIFT;
    uint64_t move;
    uint32_t number;

    if (most < MOVE_FRAMES_MAX || !(move = r->move_of(r->arg, word)))
        return 0;
    number = (uint32_t)move;
    flags |= put_site_if(p, *next->move != number, number);
    *next->move = number;
    if (__builtin_expect(r->stamp != e->stamp, 0))
        flags |= encoder_put_stamp(e, r->stamp);
    *p->flags++ = (uint8_t)flags;
    x->last_move = number;
    next->site = &x->moves[number & x->mask].site;
    next->move = &x->moves[number & x->mask].move;
    e->moves = true;
    return move >> 32;
}

/* Most records are of one access, without a value, at a site. Their shapes, by head & 15; 0: none.
 */
static inline bool is_plain(const uint64_t *w, const uint64_t *end)
{
    const uint64_t may = ACCESS_WRITE | 7 << ACCESS_SIZE_SHIFT;

    return (ring_head(*w) & ~may) == R_ACCESS << 8 && end - w >= 2;
}

#define PLAIN(log)                                                                                 \
    [2 * (log)] = 1 << (log) | (uint64_t)OP_READ << 32,                                            \
         [2 * (log) + 1] = 1 << (log) | (uint64_t)OP_WRITE << 32
static const uint64_t plain_shapes[16] = { PLAIN(0), PLAIN(1), PLAIN(2), PLAIN(3), PLAIN(4) };

/* What the record says, at its site. False: the dictionary of shapes is full, and nothing was
 * added. Inlined twice: for plain accesses nearly all of `k` is constant. */
static inline __attribute__((always_inline)) bool
add_common(struct encoder *e, const struct raw_run *r, struct pens *p, struct expected *expected,
           const struct common *k, uint32_t site)
{
    struct codec_context *x = &e->context;
    struct site_context *c = context_of(x, site);
    unsigned flags = 0;

    if (__builtin_expect(k->shape != c->shape, 0)) {
        if (!encoder_put_shape(e, c, k->shape))
            return false;
        flags = FLAG_SHAPE;
    }
    flags |= put_site_if(p, *expected->site != site, site);
    *expected->site = site;
    flags |= put_target(p, c, k->target);
    if (k->valued)
        flags |= put_value(p, value_of(x, c), k->value);
    if (__builtin_expect((uint32_t)k->shape == SIZE_EXPLICIT, 0))
        p->sizes = put_varint(p->sizes, k->size);
    if (k->sequence) {
        p->sequence = put_varint(p->sequence, zigzag(k->sequence - x->sequence));
        x->sequence = k->sequence;
    }
    if (__builtin_expect(r->stamp != e->stamp, 0))
        flags |= encoder_put_stamp(e, r->stamp);
    *p->flags++ = (uint8_t)flags;
    if (k->again) {
        put_repeat(p, c, k);
        e->repeats = true;
    }
    *expected = (struct expected){ &c->next, &x->moves_after[site & x->mask] };
    x->last_move = MOVE_NONE;
    return true;
}

/* Up to `most` events, for which there is room; how many flag bytes that took is in `p`. */
static size_t add_some(struct encoder *e, struct raw_run *r, struct pens *pens, size_t most)
{
    struct codec_context *x = &e->context;
    uint32_t *last = &x->last_site[r->thread % THREAD_CONTEXTS];
    struct expected expected = { expected_site(x, *last), expected_move(x, *last) };
    struct pens p = *pens; /* in registers */
    uint64_t *w = r->at;
    size_t n = 0;

    while (n < most && w < r->end) {
        struct common k;
        uint32_t site;
        uint64_t marks;

        if (__builtin_expect(is_plain(w, r->end), 1)) {
            uint64_t shape = plain_shapes[ring_arg(*w) & 15],
                     place = encode_raw_place_of(r, (uint32_t)w[1]);
            const struct common plain = { .shape = shape | marks_of(place),
                                          .target = ring_low(*w) };

            site = (uint32_t)place;
            if (site == SITE_NONE || !shape || !add_common(e, r, &p, &expected, &plain, site))
                break;
            *last = site;
            w += 2;
            n++;
            continue;
        }
        if (__builtin_expect(is_stamp(r, w), 0)) {
            r->stamp = r->stamp_of(r->arg, *w++);
            continue;
        }
        if (is_move(r, w)) {
            size_t events = add_move(e, r, *w, &p, &expected, most - n);

            if (!events)
                break;
            n += events;
            w++;
            continue;
        }
        if (!read_common(w, r->end, &k) || k.again >= most - n ||
            !find_site(r, k.where, &site, &marks))
            break;
        if (ring_kind(w[0]) == R_ACCESS || ring_kind(w[0]) == R_ATOMIC)
            k.shape |= marks;
        if (!add_common(e, r, &p, &expected, &k, site))
            break;
        *last = site;
        w += k.words;
        n += 1 + k.again;
    }
    r->at = w;
    *pens = p;
    return n;
}

size_t encoder_add_raw(struct encoder *e, struct raw_run *r, uint32_t limit)
{
    size_t all = 0, n, most;

    do {
        size_t flags = e->columns[COL_FLAGS].len;
        struct pens p;

        most = limit - e->count < AT_ONCE ? limit - e->count : AT_ONCE;
        encode_raw_make_room(e, most, &p);
        n = add_some(e, r, &p, most);
        note_ends(e, &p);
        if (n)
            r->encoded = e->stamp;
        e->count += (uint32_t)n;
        e->plain += (uint32_t)(e->columns[COL_FLAGS].len - flags);
        all += n;
    } while (n + MOVE_FRAMES_MAX > most && n && e->count < limit);
    return all;
}
