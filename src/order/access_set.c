/* access_set.c - sets with more than one access */
#include "order/access_set.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Below this a scan of the entries (24 bytes each) is cheaper than a hash. */
enum { INDEXED_ABOVE = 32 };

/* Sets up to this size are pruned even by those who would not need it: a set that shrinks to one
 * access is no set any more. */
enum { PRUNED_UP_TO = 16 };

static void drop_index(struct access_set *s)
{
    if (s->index) {
        map_release(s->index);
        free(s->index);
        s->index = NULL;
    }
}

void access_set_clear(struct access_set *s)
{
    if (s->cap) {
        drop_index(s);
        free(s->many);
    }
    memset(s, 0, sizeof(*s));
}

void access_set_empty(struct access_set *s)
{
    if (s->cap)
        drop_index(s);
    s->count = 0;
}

void access_set_copy(struct access_set *to, const struct access_set *from)
{
    *to = *from;
    if (!from->cap)
        return;
    to->many = xmalloc(from->cap * sizeof(*to->many));
    memcpy(to->many, from->many, from->count * sizeof(*to->many));
    to->index = NULL;
}

static void access_set_make_room(struct access_set *s)
{
    struct set_access one = s->one;

    if (!s->cap) {
        s->cap = 4;
        s->many = xmalloc(s->cap * sizeof(*s->many));
        s->many[0] = one;
        s->index = NULL;
    } else if (s->count == s->cap) {
        s->cap *= 2;
        s->many = xrealloc(s->many, s->cap, sizeof(*s->many));
    }
}

static void build_index(struct access_set *s)
{
    if (!s->index)
        s->index = xcalloc(1, sizeof(*s->index));
    map_clear(s->index);
    for (uint32_t i = 0; i < s->count; i++)
        *map_put(s->index, s->many[i].slot, 0) = i;
}

/* The entry of a slot, or NULL. */
static struct set_access *access_set_find(struct access_set *s, uint32_t slot)
{
    if (s->count > INDEXED_ABOVE) {
        uint32_t *place;

        if (!s->index)
            build_index(s);
        place = map_get(s->index, slot);
        return place && *place < s->count && s->many[*place].slot == slot ? &s->many[*place] : NULL;
    }
    for (uint32_t i = 0; i < s->count; i++)
        if (s->many[i].slot == slot)
            return &s->many[i];
    return NULL;
}

/* Keep what the thread does not know. */
static void prune(struct access_set *s, const struct hb_thread *t)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < s->count; i++)
        if (!hb_knows(t, s->many[i].slot, s->many[i].time))
            s->many[kept++] = s->many[i];
    if (kept != s->count)
        drop_index(s);
    s->count = kept;
}

void access_set_append(struct access_set *s, struct set_access a)
{
    if (!s->cap && !s->count) {
        s->one = a;
        s->count = 1;
        return;
    }
    access_set_make_room(s);
    s->many[s->count] = a;
    if (s->index)
        *map_put(s->index, a.slot, 0) = s->count;
    s->count++;
}

/* In place of another one: any, but always the same. */
static void take_place(struct access_set *s, struct set_access a)
{
    uint32_t place = a.position % ACCESS_SET_MAX;

    s->many[place] = a;
    if (s->index)
        *map_put(s->index, a.slot, 0) = place;
}

void access_set_put_slow(struct access_set *s, const struct hb_thread *t, struct set_access a)
{
    struct set_access *own;

    if (s->cap) {
        own = access_set_find(s, a.slot);
        if (own && own->version == a.version) { /* nothing learned: nothing to throw out */
            *own = a;
            return;
        }
        prune(s, t);
    }
    if (access_set_is_full(s))
        take_place(s, a);
    else
        access_set_append(s, a);
}

void access_set_put_lazy(struct access_set *s, const struct hb_thread *t, uint64_t position,
                         uint32_t site)
{
    struct set_access a = { position, t->clock.slot, t->clock.time, site, t->version };
    struct set_access *own;

    if (s->count <= PRUNED_UP_TO) {
        access_set_put(s, t, position, site);
        return;
    }
    own = access_set_find(s, a.slot);
    if (own) {
        *own = a;
        return;
    }
    if (s->count == s->cap) /* before it grows */
        prune(s, t);
    access_set_append(s, a);
}

void access_set_prune(struct access_set *s, const struct hb_thread *t)
{
    const struct set_access *a = access_set_entries(s);
    struct access_set kept = { 0 };

    for (uint32_t i = 0; i < s->count; i++)
        if (!hb_knows(t, a[i].slot, a[i].time))
            access_set_append(&kept, a[i]);
    access_set_clear(s);
    *s = kept;
}
