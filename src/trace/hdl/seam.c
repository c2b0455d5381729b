/* seam.c - where a beginning that is gone ends, as bytes
 *
 * An entry is a varint, kind + 8 * zigzag(key - the last key of that kind), and a varint, the
 * value; that of a slot, a pointer, as the difference to its address.
 */
#include "trace/hdl/seam.h"
#include "base/alloc.h"
#include "abi/rt_stripe.h"
#include "trace/event.h"
#include "trace/hdl/varint.h"

#include <stdlib.h>

enum { KIND_BITS = 3 };

void seam_release(struct seam *c)
{
    free(c->entries);
    *c = (struct seam){ 0 };
}

void seam_add(struct seam *c, enum seam_kind kind, uint64_t key, uint64_t value)
{
    GROW(c->entries, c->cap, c->count + 1);
    c->entries[c->count++] = (struct seam_entry){ key, value, kind };
}

uint64_t seam_number(const struct seam *c, enum seam_number key)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->entries[i].kind == SEAM_EVENTS && c->entries[i].key == key)
            return c->entries[i].value;
    return 0;
}

static uint64_t zigzag(uint64_t d)
{
    return d << 1 ^ (uint64_t)((int64_t)d >> 63);
}

static uint64_t unzigzag(uint64_t z)
{
    return z >> 1 ^ -(z & 1);
}

size_t seam_encode(const struct seam *c, size_t from, size_t most, struct buf *out)
{
    uint64_t last[SEAM_KINDS] = { 0 };

    for (; from < c->count && out->len < most; from++) {
        const struct seam_entry *e = &c->entries[from];

        add_varint(out, zigzag(e->key - last[e->kind]) << KIND_BITS | e->kind);
        add_varint(out, e->kind == SEAM_SLOT ? zigzag(e->value - e->key) : e->value);
        last[e->kind] = e->key;
    }
    return from;
}

static bool is_possible(enum seam_kind kind, uint64_t key, uint64_t value)
{
    switch (kind) {
    case SEAM_EVENTS:
        return true;
    case SEAM_THREAD:
        return key < UINT32_MAX;
    case SEAM_STRIPE:
        return key < RING_STRIPES;
    default:
        return key < ADDRESS_LIMIT && value && value < ADDRESS_LIMIT &&
               (kind == SEAM_SLOT || value <= ADDRESS_LIMIT - key);
    }
}

int seam_decode(struct seam *c, uint32_t count, const uint8_t *at, const uint8_t *end)
{
    uint64_t last[SEAM_KINDS] = { 0 }, key, value;

    for (uint32_t i = 0; i < count; i++) {
        enum seam_kind kind;

        if (!take_varint(&at, end, &key) || !take_varint(&at, end, &value))
            return -1;
        kind = (enum seam_kind)(key & ((1 << KIND_BITS) - 1));
        if (kind >= SEAM_KINDS)
            return -1;
        last[kind] += unzigzag(key >> KIND_BITS);
        if (kind == SEAM_SLOT)
            value = last[kind] + unzigzag(value);
        if (!is_possible(kind, last[kind], value))
            return -1;
        seam_add(c, kind, last[kind], value);
    }
    return at == end ? 0 : -1;
}
