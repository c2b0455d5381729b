/* parts.c - a long trace in parts that fit into memory */
#include "trace/parts.h"
#include "base/alloc.h"
#include "trace/load.h"
#include "trace/prefix.h"

#include <stdlib.h>
#include <string.h>

struct parts {
    struct trace *trace;
    size_t length;
    uint64_t at;       /* position up to which the prefix has come */
    struct batch rest; /* what was read and not used yet */
    bool over;
    struct prefix *prefix;
    struct parts_watcher watcher;
    struct part part;
};

void part_release(struct part *p)
{
    trace_mem_release(&p->mem);
    free(p->positions);
    *p = (struct part){ 0 };
}

void parts_free(struct parts *p)
{
    if (!p)
        return;
    part_release(&p->part);
    prefix_free(p->prefix);
    free(p);
}

const struct part *parts_now(const struct parts *p)
{
    return &p->part;
}

/* ---- reading ---- */

/* Is there something in p->rest? 0 at the end. */
static int refill(struct parts *p, struct error *err)
{
    int r = 1;

    while (r > 0 && !p->over && !p->rest.count)
        r = trace_next(p->trace, &p->rest, err);
    p->over |= r == 0;
    return r < 0 ? -1 : !p->over;
}

static void use(struct parts *p, size_t n)
{
    p->rest.events += n;
    p->rest.count -= n;
    p->rest.first += n;
}

static size_t at_most(const struct parts *p, uint64_t n)
{
    return p->rest.count < n ? p->rest.count : (size_t)n;
}

static void pass(struct parts *p, const struct event *e, uint64_t position, const uint64_t *extra)
{
    prefix_add(p->prefix, e, position, extra);
    if (p->watcher.event)
        p->watcher.event(p->watcher.arg, e, position);
}

/* Let the events before that position go by. */
static int skip_to(struct parts *p, uint64_t position, struct error *err)
{
    int r = 1;

    while (p->at < position && (r = refill(p, err)) > 0) {
        size_t n = at_most(p, position - p->at);

        for (size_t i = 0; i < n; i++)
            pass(p, &p->rest.events[i], p->at + i, p->rest.extra);
        p->at += n;
        use(p, n);
    }
    return r;
}

/* ---- a part ---- */

/* The first events of the old part go by; the others begin the new one. */
static void slide(struct parts *p, struct loader *l)
{
    struct part *old = &p->part;
    size_t own = old->mem.count - old->kept, half = p->length / 2;
    struct batch b = { .events = old->mem.events + old->kept, .extra = old->mem.extra };

    for (size_t i = 0; i < half && i < own; i++)
        pass(p, &b.events[i], p->at + i, b.extra);
    p->at += half < own ? half : own;
    if (own > half)
        loader_add(l, &b, half, own - half);
    part_release(old);
}

static int parts_fill(struct parts *p, struct loader *l, struct error *err)
{
    int r = 1;

    while (l->mem.count < p->length && (r = refill(p, err)) > 0) {
        size_t n = at_most(p, p->length - l->mem.count);

        loader_add(l, &p->rest, 0, n);
        use(p, n);
    }
    return r;
}

static void put_words(struct trace_mem *m, struct event *call, const uint64_t *words)
{
    size_t n = 2 * (size_t)call->old;

    call->value = m->nextra;
    m->extra = xrealloc(m->extra, m->nextra + n + 1, sizeof(*m->extra));
    if (n)
        memcpy(m->extra + m->nextra, words, n * sizeof(*words));
    m->nextra += n;
}

/* What stands for all before comes before the part's own events. */
static void put_prefix(struct parts *p)
{
    struct part *x = &p->part;
    struct trace_mem *m = &x->mem;
    struct prefix_event *list = prefix_list(p->prefix, m->events, m->count, &x->kept);

    m->events = xrealloc(m->events, m->count + x->kept + 1, sizeof(*m->events));
    memmove(m->events + x->kept, m->events, m->count * sizeof(*m->events));
    m->count += x->kept;
    x->positions = xcalloc(x->kept + 1, sizeof(*x->positions));
    for (size_t i = 0; i < x->kept; i++) {
        m->events[i] = list[i].event;
        x->positions[i] = list[i].position;
        if (list[i].event.op == OP_CALL)
            put_words(m, &m->events[i], list[i].words);
    }
    x->complete = prefix_is_complete(p->prefix);
    free(list);
}

static int make_part(struct parts *p, bool first, struct error *err)
{
    struct loader l = { 0 };
    uint64_t had;
    int r;

    if (!first)
        slide(p, &l);
    had = l.mem.count;
    r = parts_fill(p, &l, err);
    p->part = (struct part){ .first = p->at, .new = p->at + had, .mem = l.mem };
    loader_release(&l);
    if (r < 0)
        return -1;
    if (p->part.mem.count == had)
        return 0;
    put_prefix(p);
    return 1;
}

/* ---- all of them ---- */

struct parts *parts_new(struct trace *t, uint64_t covered, size_t length,
                        const struct parts_watcher *watcher, struct error *err)
{
    struct parts *p = xcalloc(1, sizeof(*p));
    const struct trace_info *info = trace_info(t);
    uint64_t half = length / 2;

    p->trace = t;
    p->length = length;
    if (watcher)
        p->watcher = *watcher;
    p->prefix = prefix_new(info->order == TRACE_SYNC_EXACT && !info->values);
    if (trace_rewind(t, err) < 0 || skip_to(p, covered > half ? covered - half : 0, err) < 0) {
        parts_free(p);
        return NULL;
    }
    return p;
}

int parts_next(struct parts *p, struct error *err)
{
    bool first = !p->part.mem.events;
    int r = make_part(p, first, err);

    if (r > 0 && first) {
        struct part *x = &p->part;
        size_t own = x->mem.count - x->kept;

        x->new = x->first + (p->length / 2 < own ? p->length / 2 : own);
        r = x->new < x->first + own;
    }
    return r;
}

int part_load(struct trace *t, uint64_t first, size_t length, struct part *out, struct error *err)
{
    struct parts *p = parts_new(t, 0, length, NULL, err);
    int r = p && skip_to(p, first, err) >= 0 ? make_part(p, true, err) : -1;

    *out = (struct part){ 0 };
    if (r > 0) {
        *out = p->part;
        p->part = (struct part){ 0 };
    }
    parts_free(p);
    return r < 0 ? -1 : 0;
}
