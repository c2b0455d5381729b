/* load.c - a whole trace in memory
 *
 * Lists of calls that are equal are kept once: a program may pass the same objects to untraced code
 * a million times.
 */
#include "trace/load.h"
#include "base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { D_WORDS = 2 }; /* an entry of a call's D: address or D_THREAD, then bytes */

static uint64_t hash_words(const uint64_t *words, size_t n)
{
    uint64_t h = n;

    for (size_t i = 0; i < n; i++)
        h = map_hash(h ^ words[i]) + i;
    return h;
}

static bool is_at(const struct loader *l, size_t at, const uint64_t *words, size_t n)
{
    return at + n <= l->mem.nextra && memcmp(l->mem.extra + at, words, n * sizeof(*words)) == 0;
}

/* Where in mem.extra these words are; they are copied unless they are there. */
static size_t place_words(struct loader *l, const uint64_t *words, size_t n)
{
    uint32_t *at = map_put(&l->lists, hash_words(words, n), 0);
    size_t end = l->mem.nextra;

    if (*at && is_at(l, *at - 1, words, n))
        return *at - 1;
    GROW(l->mem.extra, l->extra_cap, end + n);
    memcpy(l->mem.extra + end, words, n * sizeof(*words));
    l->mem.nextra += n;
    *at = end < UINT32_MAX ? (uint32_t)end + 1 : 0;
    return end;
}

/* Let the call's list be in mem.extra. Lists that calls of a batch share are looked at once. */
static void add_entries(struct loader *l, struct event *ev, const uint64_t *extra)
{
    uint32_t *known;
    size_t at;

    if (!ev->old) {
        ev->value = 0;
        return;
    }
    known = map_put(&l->batch, ev->value << 21 ^ ev->old, 0); /* CALL_ENTRIES_MAX is 2^20 */
    at = *known ? *known - 1 : place_words(l, extra + ev->value, (size_t)ev->old * D_WORDS);
    *known = at < UINT32_MAX ? (uint32_t)at + 1 : 0;
    ev->value = at;
}

void loader_add(struct loader *l, const struct batch *b, size_t from, size_t count)
{
    struct event *to;

    GROW_LARGE(l->mem.events, l->events_cap, l->mem.count + count);
    to = l->mem.events + l->mem.count;
    memcpy(to, b->events + from, count * sizeof(*to));
    if (l->batch.count)
        map_clear(&l->batch);
    for (size_t i = 0; i < count; i++)
        if (to[i].op == OP_CALL)
            add_entries(l, &to[i], b->extra);
    l->mem.count += count;
}

void loader_release(struct loader *l)
{
    map_release(&l->lists);
    map_release(&l->batch);
}

int trace_load(struct trace *t, size_t max_events, struct trace_mem *out, struct error *err)
{
    struct loader l = { 0 };
    struct batch b;
    int r;

    while ((r = trace_next(t, &b, err)) > 0) {
        if (b.count > max_events - l.mem.count) {
            r = error_set(err, "more than %zu events", max_events);
            break;
        }
        loader_add(&l, &b, 0, b.count);
    }
    if (r < 0)
        trace_mem_release(&l.mem);
    loader_release(&l);
    *out = l.mem;
    return r;
}

int trace_load_first(struct trace *t, size_t events, struct trace_mem *out, struct error *err)
{
    struct loader l = { 0 };
    struct batch b;
    int r = 0;

    while (l.mem.count < events && (r = trace_next(t, &b, err)) > 0) {
        if (b.count > events - l.mem.count)
            b.count = events - l.mem.count;
        loader_add(&l, &b, 0, b.count);
    }
    if (r < 0)
        trace_mem_release(&l.mem);
    loader_release(&l);
    *out = l.mem;
    return r < 0 ? -1 : 0;
}

void trace_mem_release(struct trace_mem *m)
{
    free(m->events);
    free(m->extra);
    *m = (struct trace_mem){ 0 };
}
