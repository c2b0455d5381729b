/* stretch.c - shapes of stretches: kept, stored, applied
 *
 * A shape is checked when it is added; then there is no record that would be impossible: addresses
 * are modulo 2^48, whatever they are computed from.
 */
#include "trace/stretch.h"
#include "base/alloc.h"
#include "trace/varint.h"

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
    return stretch_value_bytes(1u << a->log);
}

/* ---- adding ---- */

static bool access_is_possible(const struct stretch_access *a, unsigned i)
{
    unsigned back = a[i].from & FROM_BACK;

    if (a[i].log > 4)
        return false;
    if (!a[i].from)
        return true;
    return back && back <= i && (!(a[i].from & FROM_VALUE) || a[i - back].log == 3);
}

/* Where everything stands in the record; its words. */
static unsigned lay_out(struct stretch_access *a, unsigned n, bool branches)
{
    struct stretch_room room = STRETCH_ROOM;

    if (branches)
        stretch_place(&room, 1);
    for (unsigned i = 0; i < n; i++)
        a[i].address_at = a[i].from ? 0 : (uint8_t)stretch_place(&room, STRETCH_ADDRESS_BYTES);
    for (unsigned i = 0; i < n; i++)
        a[i].value_at = (uint8_t)stretch_place(&room, value_bytes(&a[i]));
    return stretch_words(&room);
}

bool stretches_add(struct stretches *s, const struct stretch_access *accesses, unsigned n,
                   bool branches, uint32_t branch_site)
{
    struct stretch_access a[STRETCH_ACCESSES_MAX];
    unsigned words;

    if (n > STRETCH_ACCESSES_MAX || !(n + branches) || s->count == STRETCH_NONE)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!access_is_possible(accesses, i))
            return false;
    if (n)
        memcpy(a, accesses, n * sizeof(*a));
    words = lay_out(a, n, branches);
    if (words > STRETCH_WORDS_MAX)
        return false;
    GROW(s->at, s->cap, s->count + (size_t)1);
    s->at[s->count++] = (struct stretch){ .first = (uint32_t)s->naccesses,
                                          .branch_site = branch_site,
                                          .accesses = (uint8_t)n,
                                          .words = (uint8_t)words,
                                          .branches = branches };
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

void stretch_expand(const struct stretches *s, uint32_t number, const uint64_t *record,
                    uint32_t thread, struct event *out)
{
    const struct stretch *shape = &s->at[number];
    const struct stretch_access *a = s->accesses + shape->first;

    for (unsigned i = 0; i < shape->accesses; i++, a++, out++) {
        const struct event *base = out - (a->from & FROM_BACK);
        uint64_t address;

        if (!a->from)
            address = bytes_at(record, a->address_at, STRETCH_ADDRESS_BYTES);
        else
            address = (a->from & FROM_VALUE ? base->value : base->target) + (uint64_t)a->offset;
        *out = (struct event){ .target = address & ADDRESS_MASK,
                               .value = bytes_at(record, a->value_at, value_bytes(a)),
                               .thread = thread,
                               .site = a->site,
                               .size = 1u << a->log,
                               .op = a->write ? OP_WRITE : OP_READ,
                               .flags = value_bytes(a) ? EV_VALUE : 0 };
    }
    if (shape->branches)
        *out = (struct event){ .value = bytes_at(record, 4, 1),
                               .thread = thread,
                               .site = shape->branch_site,
                               .op = OP_BRANCH,
                               .flags = EV_VALUE };
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

    add_varint(to, shape->accesses << 1 | shape->branches);
    for (unsigned i = 0; i < shape->accesses; i++, a++) {
        add_varint(to, a->site);
        add_varint(to, a->write | a->log << 1 | (unsigned)a->from << 4);
        if (a->from)
            add_varint(to, zigzag(a->offset));
    }
    if (shape->branches)
        add_varint(to, shape->branch_site);
}

static bool decode_access(const uint8_t **at, const uint8_t *end, uint32_t sites,
                          struct stretch_access *a)
{
    uint64_t site, kind, offset = 0;

    if (!take_varint(at, end, &site) || !take_varint(at, end, &kind) || site >= sites || kind >> 12)
        return false;
    *a = (struct stretch_access){ .site = (uint32_t)site,
                                  .from = (uint8_t)(kind >> 4),
                                  .log = kind >> 1 & 7,
                                  .write = kind & 1 };
    if (a->from && !take_varint(at, end, &offset))
        return false;
    a->offset = (int32_t)(offset >> 1 ^ -(offset & 1));
    return offset >> 32 == 0;
}

bool stretches_decode(struct stretches *s, const uint8_t **at, const uint8_t *end, uint32_t sites)
{
    struct stretch_access a[STRETCH_ACCESSES_MAX];
    uint64_t head, branch_site = SITE_NONE;

    if (!take_varint(at, end, &head) || head >> 1 > STRETCH_ACCESSES_MAX)
        return false;
    for (unsigned i = 0; i < head >> 1; i++)
        if (!decode_access(at, end, sites, &a[i]))
            return false;
    if (head & 1 && (!take_varint(at, end, &branch_site) || branch_site >= sites))
        return false;
    return stretches_add(s, a, (unsigned)(head >> 1), head & 1, (uint32_t)branch_site);
}
