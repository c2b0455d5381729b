/* prop_live.c - what is found while events come by is what hb finds; what is not, is suspect */
#include "properties.h"

#include "engines/live.h"

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

/* Two accesses that conflict, and that happens-before leaves unordered. */
static enum verdict is_unordered(const struct subject *s, const struct heard *h, struct buf *why)
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

    h.live = live_new(hear, &h);
    if (listen(s, &h, why))
        v = h.count < RACES_KEPT ? is_unordered(s, &h, why) : HOLDS;
    if (v == HOLDS && h.count < RACES_KEPT)
        v = nothing_is_missed(s, &h, why);
    live_free(h.live);
    return v;
}

const struct property properties_live[] = {
    { "live-hears-what-hb-finds", live_hears_what_hb_finds, 1 },
    { NULL, NULL, 0 },
};
