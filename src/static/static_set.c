/* static_set.c - sparse sets of locations: sorted words of 64 bits
 *
 * Points-to sets are small and clustered (fields of an object have neighbouring numbers), so a
 * sorted array of words is both small and quick to join. Cost: O(words).
 */
#include "base/alloc.h"
#include "static/static_inside.h"

#include <stdlib.h>
#include <string.h>

void set_release(struct set *s)
{
    free(s->words);
    *s = (struct set){ 0 };
}

static uint32_t static_set_find(const struct set *s, uint32_t at)
{
    uint32_t low = 0, high = s->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (s->words[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool set_has(const struct set *s, uint32_t i)
{
    uint32_t k = static_set_find(s, i / 64);

    return k < s->count && s->words[k].at == i / 64 && s->words[k].bits >> i % 64 & 1;
}

static void reserve(struct set *s, uint32_t n)
{
    if (n <= s->cap)
        return;
    s->cap = n < 4 ? 4 : n + n / 2;
    s->words = xrealloc(s->words, s->cap, sizeof(*s->words));
}

bool set_add(struct set *s, uint32_t i)
{
    uint32_t k = static_set_find(s, i / 64);
    uint64_t bit = UINT64_C(1) << i % 64;

    if (k < s->count && s->words[k].at == i / 64) {
        if (s->words[k].bits & bit)
            return false;
        s->words[k].bits |= bit;
        return true;
    }
    reserve(s, s->count + 1);
    memmove(s->words + k + 1, s->words + k, (s->count - k) * sizeof(*s->words));
    s->words[k] = (struct set_word){ i / 64, bit };
    s->count++;
    return true;
}

/* How many words of `from` are not in `to`, and is any bit new? */
static uint32_t missing(const struct set *to, const struct set *from, bool *any)
{
    uint32_t k = 0, n = 0;

    *any = false;
    for (uint32_t i = 0; i < from->count; i++) {
        while (k < to->count && to->words[k].at < from->words[i].at)
            k++;
        if (k == to->count || to->words[k].at != from->words[i].at)
            n++;
        else
            *any |= (from->words[i].bits & ~to->words[k].bits) != 0;
    }
    *any |= n > 0;
    return n;
}

bool set_join(struct set *to, const struct set *from)
{
    bool any;
    uint32_t more = missing(to, from, &any), i = to->count, j = from->count, k;

    if (!any)
        return false;
    reserve(to, to->count + more);
    k = to->count + more;
    to->count = k;
    while (j > 0) { /* from the end, in place */
        if (i > 0 && to->words[i - 1].at > from->words[j - 1].at) {
            to->words[--k] = to->words[--i];
        } else if (i > 0 && to->words[i - 1].at == from->words[j - 1].at) {
            to->words[--k] = to->words[--i];
            to->words[k].bits |= from->words[--j].bits;
        } else {
            to->words[--k] = from->words[--j];
        }
    }
    return true;
}

void set_minus(struct set *out, const struct set *a, const struct set *b)
{
    uint32_t k = 0;

    reserve(out, a->count);
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t bits = a->words[i].bits;

        while (k < b->count && b->words[k].at < a->words[i].at)
            k++;
        if (k < b->count && b->words[k].at == a->words[i].at)
            bits &= ~b->words[k].bits;
        if (bits)
            out->words[out->count++] = (struct set_word){ a->words[i].at, bits };
    }
}

void set_meet(struct set *to, const struct set *with)
{
    uint32_t n = 0, k = 0;

    for (uint32_t i = 0; i < to->count; i++) {
        while (k < with->count && with->words[k].at < to->words[i].at)
            k++;
        if (k == with->count || with->words[k].at != to->words[i].at ||
            !(to->words[i].bits & with->words[k].bits))
            continue;
        to->words[n] = to->words[i];
        to->words[n++].bits &= with->words[k].bits;
    }
    to->count = n;
}

uint32_t set_size(const struct set *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->count; i++)
        n += (uint32_t)__builtin_popcountll(s->words[i].bits);
    return n;
}

uint64_t set_hash(const struct set *s)
{
    uint64_t h = s->count;

    for (uint32_t i = 0; i < s->count; i++)
        h = map_hash(h ^ s->words[i].bits ^ (uint64_t)s->words[i].at << 17);
    return h;
}

bool set_equal(const struct set *a, const struct set *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->words[i].at != b->words[i].at || a->words[i].bits != b->words[i].bits)
            return false;
    return true;
}
