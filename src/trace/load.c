/* load.c - a whole trace in memory */
#include "trace/load.h"
#include "base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { D_WORDS = 2 }; /* an entry of a call's D: address or D_THREAD, then bytes */

/* Copy the D entries of a call and let the event point to the copy. */
static void add_entries(struct loader *l, struct event *ev, const uint64_t *extra)
{
    size_t words = (size_t)ev->old * D_WORDS;

    GROW(l->mem.extra, l->extra_cap, l->mem.nextra + words);
    if (words)
        memcpy(l->mem.extra + l->mem.nextra, extra + ev->value, words * sizeof(*extra));
    ev->value = l->mem.nextra;
    l->mem.nextra += words;
}

void loader_add(struct loader *l, const struct batch *b, size_t from, size_t count)
{
    struct event *to;

    GROW(l->mem.events, l->events_cap, l->mem.count + count);
    to = l->mem.events + l->mem.count;
    memcpy(to, b->events + from, count * sizeof(*to));
    for (size_t i = 0; i < count; i++)
        if (to[i].op == OP_CALL)
            add_entries(l, &to[i], b->extra);
    l->mem.count += count;
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
    *out = l.mem;
    return r < 0 ? -1 : 0;
}

void trace_mem_release(struct trace_mem *m)
{
    free(m->events);
    free(m->extra);
    *m = (struct trace_mem){ 0 };
}
