/* stretch.c - shapes of stretches: kept, stored, applied
 *
 * A shape is checked when it is added; then there is no record that would be impossible: addresses
 * are modulo 2^48, whatever they are computed from. Only the call's site of an entry, which is in
 * the record, is for the decoder to check.
 */
#include "trace/hdl/stretch.h"
#include "base/alloc.h"
#include "trace/hdl/varint.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESS_MASK ((UINT64_C(1) << 8 * STRETCH_ADDRESS_BYTES) - 1)

void stretches_release(struct stretches *s)
{
    free(s->at);
    free(s->accesses);
    *s = (struct stretches){ 0 };
}

/* The bytes of an access's value in the record. */
static inline unsigned value_bytes(const struct stretch_access *a)
{
    return a->told || a->log > 4 ? 0 : stretch_value_bytes(1u << a->log);
}

static inline bool is_branch(const struct stretch_access *a)
{
    return a->log == STRETCH_DECIDED;
}

static inline bool is_frame(const struct stretch_access *a)
{
    return a->log == STRETCH_ENTER || a->log == STRETCH_EXIT;
}

static inline bool is_access(const struct stretch_access *a)
{
    return a->log <= 4;
}

/* ---- adding ---- */

/* A value that follows: of a write, from an access with at least as many bytes. */
static bool value_is_possible(const struct stretch_access *a, unsigned i)
{
    unsigned back = a[i].value_from;

    if (!a[i].told)
        return !back && !a[i].value_offset;
    return a[i].write && a[i].log <= 3 && back <= i && back <= FROM_BACK &&
           (!back || (a[i - back].log <= 3 && a[i - back].log >= a[i].log));
}

static bool access_is_possible(const struct stretch_access *a, unsigned i)
{
    unsigned back = a[i].from & FROM_BACK;

    if (a[i].begins > BLOCK_BEGINS_WORD || !value_is_possible(a, i))
        return false;
    if (is_branch(&a[i]))
        return !a[i].from && !a[i].write && !a[i].begins && a[i].offset >= 0 &&
               a[i].offset < STRETCH_OUTCOMES;
    if (is_frame(&a[i]))
        return !a[i].from && !a[i].write && !a[i].told && a[i].offset >= 0;
    if (!is_access(&a[i]))
        return false;
    if (!a[i].from)
        return true;
    return back && back <= i && is_access(&a[i - back]) &&
           (!(a[i].from & FROM_VALUE) || a[i - back].log == 3);
}

/* An entry comes first, an exit last, with no branch behind it. FRAME_ENTERED, FRAME_LEFT, or -1:
 * that is not so. */
static int frame_of(const struct stretch_access *a, unsigned n, unsigned flags)
{
    int frame = 0;

    for (unsigned i = 0; i < n; i++) {
        if (!is_frame(&a[i]))
            continue;
        if (a[i].log == STRETCH_ENTER ? i || a[i].begins : i != n - 1 || flags & STRETCH_BRANCHES)
            return -1;
        frame |= a[i].log == STRETCH_ENTER ? FRAME_ENTERED : FRAME_LEFT;
    }
    return frame && !(flags & STRETCH_LONG) ? -1 : frame;
}

/* The entries of one block; how many bytes there are afterwards may be too many for `at`. */
static void lay_out_block(struct stretch_room *room, struct stretch_access *a, unsigned n)
{
    if (n && a->begins == BLOCK_BEGINS_WORD)
        room->next = 8 * stretch_words(room);
    for (unsigned i = 0; i < n; i++) {
        unsigned bytes = a[i].log == STRETCH_ENTER        ? STRETCH_FRAME_BYTES
                         : a[i].from || !is_access(&a[i]) ? 0
                                                          : STRETCH_ADDRESS_BYTES;

        a[i].address_at = bytes ? (uint8_t)stretch_place(room, bytes) : 0;
    }
    for (unsigned i = 0; i < n; i++)
        a[i].value_at = (uint8_t)stretch_place(room, value_bytes(&a[i]));
}

/* Where everything stands in the record; its words. */
static unsigned lay_out(struct stretch_access *a, unsigned n, unsigned flags)
{
    struct stretch_room room = flags & STRETCH_LONG ? STRETCH_ROOM_LONG : STRETCH_ROOM;

    if (flags == STRETCH_BRANCHES)
        stretch_place(&room, 1);
    for (unsigned i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !a[end].begins;)
            end++;
        lay_out_block(&room, a + i, end - i);
    }
    return stretch_words(&room);
}

bool stretches_add(struct stretches *s, const struct stretch_access *accesses, unsigned n,
                   unsigned flags, uint32_t branch_site)
{
    struct stretch_access a[STRETCH_ACCESSES_MAX];
    bool branches = flags & STRETCH_BRANCHES;
    int frame = n <= STRETCH_ACCESSES_MAX ? frame_of(accesses, n, flags) : -1;
    unsigned words;

    if (frame < 0 || !(n + branches) || s->count == STRETCH_NONE)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!access_is_possible(accesses, i))
            return false;
    if (n)
        memcpy(a, accesses, n * sizeof(*a));
    words = lay_out(a, n, flags);
    if (words > STRETCH_WORDS_MAX)
        return false;
    GROW(s->at, s->cap, s->count + (size_t)1);
    s->at[s->count++] = (struct stretch){ .first = (uint32_t)s->naccesses,
                                          .branch_site = branch_site,
                                          .accesses = (uint8_t)n,
                                          .words = (uint8_t)words,
                                          .branches = branches,
                                          .is_long = flags & STRETCH_LONG,
                                          .frame = (uint8_t)frame };
    GROW(s->accesses, s->accesses_cap, s->naccesses + n);
    if (n)
        memcpy(s->accesses + s->naccesses, a, n * sizeof(*a));
    s->naccesses += n;
    return true;
}

/* ---- events ---- */

static inline uint64_t bytes_at(const uint64_t *record, unsigned at, unsigned n)
{
    uint64_t v = 0;

    memcpy(&v, (const char *)record + at, n);
    return v;
}

/* `a` is that of the event at `out`; those before are there. */
static inline uint64_t value_of(const struct stretch_access *a, const uint64_t *record,
                                const struct event *out)
{
    uint64_t v = (uint64_t)(int64_t)a->value_offset;

    if (!a->told)
        return bytes_at(record, a->value_at, value_bytes(a));
    if (a->value_from)
        v += (out - a->value_from)->value;
    return v & UINT64_MAX >> (64 - (8 << a->log));
}

static inline struct event branch_event(uint32_t site, uint64_t outcome, uint32_t thread)
{
    return (struct event){
        .value = outcome, .thread = thread, .site = site, .op = OP_BRANCH, .flags = EV_VALUE
    };
}

static inline struct event frame_event(const struct stretch_access *a, const uint64_t *record,
                                       uint32_t thread)
{
    bool enters = a->log == STRETCH_ENTER;

    return (struct event){ .target = (uint64_t)a->offset,
                           .thread = thread,
                           .site = enters ? (uint32_t)bytes_at(record, a->address_at, 4) : a->site,
                           .op = enters ? OP_ENTER : OP_EXIT };
}

void stretch_expand(const struct stretches *s, uint32_t number, const uint64_t *record,
                    uint32_t thread, struct event *out)
{
    const struct stretch *shape = &s->at[number];
    const struct stretch_access *a = s->accesses + shape->first;

    for (unsigned i = 0; i < shape->accesses; i++, a++, out++) {
        const struct event *base = out - (a->from & FROM_BACK);
        uint64_t address;

        if (is_branch(a)) {
            *out = branch_event(a->site, (uint64_t)a->offset, thread);
            continue;
        }
        if (is_frame(a)) {
            *out = frame_event(a, record, thread);
            continue;
        }
        if (!a->from)
            address = bytes_at(record, a->address_at, STRETCH_ADDRESS_BYTES);
        else
            address = (a->from & FROM_VALUE ? base->value : base->target) + (uint64_t)a->offset;
        *out = (struct event){ .target = address & ADDRESS_MASK,
                               .value = value_of(a, record, out),
                               .thread = thread,
                               .site = a->site,
                               .size = 1u << a->log,
                               .op = a->write ? OP_WRITE : OP_READ,
                               .flags = a->log <= 3 ? EV_VALUE : 0 };
    }
    if (shape->branches)
        *out = branch_event(shape->branch_site, bytes_at(record, 4, 1), thread);
}

unsigned stretch_events_within(const struct stretches *s, uint32_t number, size_t bytes)
{
    const struct stretch *shape = &s->at[number];
    const struct stretch_access *a = s->accesses + shape->first;

    for (unsigned i = 0; i < shape->accesses; i++)
        if ((!a[i].from && a[i].address_at + (size_t)STRETCH_ADDRESS_BYTES > bytes) ||
            a[i].value_at + value_bytes(&a[i]) > bytes)
            return i;
    return stretch_events(shape);
}

/* ---- in files ---- */

static uint64_t zigzag(int64_t n)
{
    return (uint64_t)n << 1 ^ (uint64_t)(n >> 63);
}

void stretches_encode(const struct stretches *s, uint32_t number, struct buf *to)
{
    const struct stretch *shape = &s->at[number];
    const struct stretch_access *a = s->accesses + shape->first;

    add_varint(to, shape->accesses << 1 | shape->branches | (unsigned)shape->is_long << 8);
    for (unsigned i = 0; i < shape->accesses; i++, a++) {
        add_varint(to, a->site);
        add_varint(to, a->write | a->log << 1 | (unsigned)a->from << 4 | (unsigned)a->begins << 12 |
                           (unsigned)a->told << 14);
        if (a->from || !is_access(a))
            add_varint(to, zigzag(a->offset));
        if (a->told) {
            add_varint(to, a->value_from);
            add_varint(to, zigzag(a->value_offset));
        }
    }
    if (shape->branches)
        add_varint(to, shape->branch_site);
}

/* zigzag() of what fits 32 bits. */
static bool take_offset(const uint8_t **at, const uint8_t *end, int32_t *out)
{
    uint64_t n;

    if (!take_varint(at, end, &n) || n >> 32)
        return false;
    *out = (int32_t)(n >> 1 ^ -(n & 1));
    return true;
}

static bool decode_value(const uint8_t **at, const uint8_t *end, struct stretch_access *a)
{
    uint64_t from;

    if (!take_varint(at, end, &from) || from > FROM_BACK)
        return false;
    a->value_from = (uint8_t)from;
    return take_offset(at, end, &a->value_offset);
}

static bool decode_access(const uint8_t **at, const uint8_t *end, uint32_t sites,
                          uint32_t functions, struct stretch_access *a)
{
    uint64_t site, kind;

    if (!take_varint(at, end, &site) || !take_varint(at, end, &kind) || site >= sites || kind >> 15)
        return false;
    *a = (struct stretch_access){ .site = (uint32_t)site,
                                  .from = (uint8_t)(kind >> 4),
                                  .log = kind >> 1 & 7,
                                  .write = kind & 1,
                                  .told = kind >> 14,
                                  .begins = kind >> 12 & 3 };
    if ((a->from || !is_access(a)) && !take_offset(at, end, &a->offset))
        return false;
    if (is_frame(a) && (uint32_t)a->offset >= functions)
        return false;
    return !a->told || decode_value(at, end, a);
}

bool stretches_decode(struct stretches *s, const uint8_t **at, const uint8_t *end, uint32_t sites,
                      uint32_t functions)
{
    struct stretch_access a[STRETCH_ACCESSES_MAX];
    uint64_t head, branch_site = SITE_NONE;
    unsigned n;

    if (!take_varint(at, end, &head) || head >> 9)
        return false;
    n = head >> 1 & 127;
    if (n > STRETCH_ACCESSES_MAX)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!decode_access(at, end, sites, functions, &a[i]))
            return false;
    if (head & 1 && (!take_varint(at, end, &branch_site) || branch_site >= sites))
        return false;
    return stretches_add(s, a, n,
                         (head & 1 ? STRETCH_BRANCHES : 0) | (head >> 8 ? STRETCH_LONG : 0),
                         (uint32_t)branch_site);
}
