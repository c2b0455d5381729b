/* prop_live.c - what is found while events come by is what hb finds; what is not, is suspect
 *
 * Where there are calls of untraced code, what is found is unordered by the literal rules of
 * docs/design/rdit.md together with happens-before.
 */
#include "properties.h"

#include "hide.h"
#include "naive_calls.h"

#include "base/alloc.h"
#include "engines/live/live.h"

#include <stdlib.h>
#include <string.h>

enum { RACES_KEPT = 512 };

struct heard {
    struct live *live;
    struct live_race races[RACES_KEPT];
    size_t count;
};

static void hear(void *arg, const struct live_race *r)
{
    struct heard *h = arg;

    if (h->count < RACES_KEPT)
        h->races[h->count++] = *r;
}

static bool listen(struct subject *s, struct heard *h, struct buf *why)
{
    struct error err = { "" };
    struct batch b;
    int r = trace_rewind(s->trace, &err);

    while (r == 0 && (r = trace_next(s->trace, &b, &err)) > 0) {
        live_batch(h->live, &b);
        r = 0;
    }
    if (r < 0)
        buf_addf(why, "%s", err.text);
    return r == 0;
}

/* Each event is its own site. */
static size_t event_at(const struct subject *s, uint32_t site)
{
    size_t i = 0;

    while (i < s->mem.count && s->mem.events[i].site != site)
        i++;
    return i;
}

static bool has_calls(const struct subject *s)
{
    for (size_t i = 0; i < s->mem.count; i++)
        if (s->mem.events[i].op == OP_CALL && !(s->mem.events[i].flags & EV_IGNORED))
            return true;
    return false;
}

/* What the trace up to an event orders by happens-before, and by its calls; false: there are too
 * many. */
static bool order_up_to(const struct subject *s, const struct trace_mem *t, size_t last,
                        struct relation *r)
{
    struct trace_mem prefix = *t;
    bool fits;

    prefix.count = last + 1;
    naive_order(&prefix, NAIVE_HB, r);
    fits = naive_calls(&prefix, CALL_RULE_PAIRS, trace_tables(s->trace), r);
    relation_close(r);
    return fits;
}

/* Neither happens-before nor what calls may do orders the two. */
static enum verdict nothing_orders(const struct subject *s, const struct trace_mem *t, size_t a,
                                   size_t b, struct buf *why)
{
    size_t first = a < b ? a : b, last = a < b ? b : a;
    struct relation order;
    enum verdict v = DOES_NOT_APPLY;

    if (order_up_to(s, t, last, &order))
        v = relation_has(&order, first, last) ? VIOLATED : HOLDS;
    relation_release(&order);
    if (v == VIOLATED)
        buf_addf(why, "live has a race of events %zu and %zu, which calls may order", a, b);
    return v;
}

static size_t place_in(const struct trace_mem *t, uint32_t site)
{
    size_t i = 0;

    while (i < t->count && t->events[i].site != site)
        i++;
    return i;
}

static enum verdict nothing_orders_any(const struct subject *s, const struct trace_mem *t,
                                       const struct heard *h, struct buf *why)
{
    enum verdict v = HOLDS;

    for (size_t i = 0; i < h->count && v == HOLDS; i++)
        v = nothing_orders(s, t, place_in(t, h->races[i].first.site),
                           place_in(t, h->races[i].second.site), why);
    return v;
}

/* Two accesses that conflict, and that happens-before leaves unordered. */
static enum verdict is_race(const struct subject *s, const struct heard *h, struct buf *why)
{
    for (size_t i = 0; i < h->count; i++) {
        size_t a = event_at(s, h->races[i].first.site), b = event_at(s, h->races[i].second.site);

        if (pair_set_has(&s->hb_unordered, a, b))
            continue;
        buf_addf(why, "live has a race of events %zu and %zu, which are ordered", a, b);
        return VIOLATED;
    }
    return HOLDS;
}

/* Of an access that races with several others one is enough: it may cover them. */
static bool is_heard(const struct heard *h, const struct race *r)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->races[i].second.site == r->second.site)
            return true;
    return false;
}

/* What hb finds between accesses is found here, or suspect. (What a free does to bytes that nobody
 * has touched is left to hb.) */
static enum verdict nothing_is_missed(const struct subject *s, const struct heard *h,
                                      struct buf *why)
{
    const struct race_table *hb = &subject_result(s, &engine_hb)->races;

    for (size_t i = 0; i < hb->count; i++) {
        const struct race *r = &hb->races[i];
        const struct event *a = &s->mem.events[r->first.position];
        const struct event *b = &s->mem.events[r->second.position];

        if (!op_is_access(a->op) || !op_is_access(b->op) || is_heard(h, r) ||
            live_is_suspect(h->live, b->target) ||
            live_is_suspect(h->live, b->target + b->size - 1))
            continue;
        buf_addf(why, "hb has a race of events %llu and %llu, live has none",
                 (unsigned long long)r->first.position, (unsigned long long)r->second.position);
        return VIOLATED;
    }
    return HOLDS;
}

static enum verdict live_hears_what_hb_finds(struct subject *s, struct buf *why)
{
    struct heard h = { .count = 0 };
    enum verdict v = VIOLATED;

    h.live = live_new(hear, &h, trace_tables(s->trace));
    if (listen(s, &h, why))
        v = h.count < RACES_KEPT ? is_race(s, &h, why) : HOLDS;
    if (v == HOLDS && h.count < RACES_KEPT)
        v = has_calls(s) ? nothing_orders_any(s, &s->mem, &h, why) : nothing_is_missed(s, &h, why);
    live_free(h.live);
    return v;
}

/* ---- traces of which parts are hidden in calls ---- */

static uint64_t seed_of(const struct buf *text)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < text->len; i++)
        h = (h ^ (uint8_t)text->data[i]) * 1099511628211u;
    return h;
}

/* What was hidden does not order them. */
static enum verdict nothing_hidden_orders(const struct subject *s, const struct hidden *h,
                                          const struct live_race *r, struct buf *why)
{
    size_t a = h->origin[place_in(&h->mem, r->first.site)];
    size_t b = h->origin[place_in(&h->mem, r->second.site)];

    if (!relation_has(&s->hb, a < b ? a : b, a < b ? b : a))
        return HOLDS;
    buf_addf(why, "live has a race of events %zu and %zu, which hidden events order", a, b);
    return VIOLATED;
}

static void show_hidden(const struct hidden *h, struct buf *why)
{
    for (size_t i = 0; i < h->mem.count; i++) {
        const struct event *e = &h->mem.events[i];

        buf_addf(why, "\n%3zu T%u %s %llx:%u", i, e->thread, op_table[e->op].name,
                 (unsigned long long)e->target, e->size);
        for (uint64_t k = 0; e->op == OP_CALL && k < e->old; k++)
            buf_addf(why, " %llx:%llu", (unsigned long long)h->mem.extra[e->value + 2 * k],
                     (unsigned long long)h->mem.extra[e->value + 2 * k + 1]);
    }
}

static enum verdict listen_to_hidden(struct subject *s, struct hidden *h, struct buf *why)
{
    struct heard heard = { .count = 0 };
    struct trace_mem copy = h->mem; /* live marks events */
    enum verdict v;

    copy.events = xcalloc(copy.count + 1, sizeof(*copy.events));
    memcpy(copy.events, h->mem.events, copy.count * sizeof(*copy.events));
    heard.live = live_new(hear, &heard, trace_tables(s->trace));
    live_batch(heard.live, &(struct batch){ copy.events, copy.count, 0, copy.extra });
    v = nothing_orders_any(s, &h->mem, &heard, why);
    for (size_t i = 0; i < heard.count && v == HOLDS; i++)
        v = nothing_hidden_orders(s, h, &heard.races[i], why);
    live_free(heard.live);
    free(copy.events);
    return v;
}

static enum verdict live_hears_nothing_that_hidden_events_order(struct subject *s, struct buf *why)
{
    struct hidden h;
    enum verdict v;

    hide(&s->mem, trace_tables(s->trace), seed_of(&s->text), &h);
    v = listen_to_hidden(s, &h, why);
    if (v == VIOLATED)
        show_hidden(&h, why);
    hidden_release(&h);
    return v;
}

const struct property properties_live[] = {
    { "live-hears-what-hb-finds", live_hears_what_hb_finds, 1 },
    { "live-hears-nothing-that-hidden-events-order", live_hears_nothing_that_hidden_events_order,
      1 },
    { NULL, NULL, 0 },
};
