/* touched.c - what a stretch of code touches, as entries of a call's D */
#include "trace/calls/touched.h"
#include "base/alloc.h"
#include "trace/event.h"

#include <stdlib.h>

enum { FIRST_MERGE = 64 };

void touched_release(struct touched *t)
{
    free(t->list);
    *t = (struct touched){ 0 };
}

static int touched_compare(const void *a, const void *b)
{
    const struct d_entry *x = a, *y = b;

    if (x->what != y->what)
        return x->what < y->what ? -1 : 1;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Two neighbours of the sorted list: does the first one take in the second? Variables that only
 * have a name stay apart, since their places mean nothing. */
static bool takes_in(struct d_entry *a, const struct d_entry *b)
{
    if (a->what == b->what)
        return true; /* the longer one came first */
    if (D_KIND(b->what) != D_MEMORY_KIND || is_named(b->what) || b->what - a->what > a->bytes)
        return false;
    if (b->what + b->bytes > a->what + a->bytes)
        a->bytes = b->what + b->bytes - a->what;
    return true;
}

static void become_all(struct touched *t)
{
    touched_release(t);
    GROW(t->list, t->cap, 1);
    t->list[0] = (struct d_entry){ D_ENTRY(D_ALL_KIND, 0), 0 };
    t->count = 1;
    t->all = true;
}

void touched_merge(struct touched *t)
{
    size_t kept = 0;

    if (t->all || t->count < 2)
        return;
    qsort(t->list, t->count, sizeof(*t->list), touched_compare);
    for (size_t i = 1; i < t->count; i++)
        if (!takes_in(&t->list[kept], &t->list[i]))
            t->list[++kept] = t->list[i];
    t->count = kept + 1;
    if (t->count > TOUCHED_MAX)
        become_all(t);
}

void touched_add(struct touched *t, uint64_t what, uint64_t bytes)
{
    if (t->all)
        return;
    if (D_KIND(what) == D_ALL_KIND) {
        become_all(t);
        return;
    }
    if (t->count >= FIRST_MERGE && t->count == t->cap) {
        touched_merge(t);
        if (t->all)
            return;
        if (t->count > t->cap / 2)
            GROW(t->list, t->cap, t->cap + 1);
    }
    GROW(t->list, t->cap, t->count < FIRST_MERGE ? FIRST_MERGE : t->count + 1);
    t->list[t->count++] = (struct d_entry){ what, bytes };
}

void touched_add_memory(struct touched *t, uint64_t address, uint64_t bytes)
{
    struct d_entry *last = t->count && !t->all ? &t->list[t->count - 1] : NULL;

    if (!bytes)
        return;
    if (last && !is_named(address) && D_KIND(last->what) == D_MEMORY_KIND &&
        address >= last->what && address - last->what <= last->bytes) {
        if (address + bytes > last->what + last->bytes)
            last->bytes = address + bytes - last->what;
        return;
    }
    touched_add(t, address, bytes);
}

/* Merged entries are sorted by where they end, too. */
static size_t first_behind(const struct touched *t, uint64_t address)
{
    size_t low = 0, high = t->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (t->list[middle].what + t->list[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void touched_add_common(struct touched *t, struct d_entry memory, const struct touched *other)
{
    uint64_t end = memory.what + memory.bytes;

    if (other->all || D_KIND(memory.what) != D_MEMORY_KIND) {
        touched_add(t, memory.what, memory.bytes);
        return;
    }
    for (size_t i = first_behind(other, memory.what); i < other->count && other->list[i].what < end;
         i++) {
        const struct d_entry *e = &other->list[i];
        uint64_t from = e->what > memory.what ? e->what : memory.what;
        uint64_t to = e->what + e->bytes < end ? e->what + e->bytes : end;

        touched_add_memory(t, from, to - from);
    }
}
