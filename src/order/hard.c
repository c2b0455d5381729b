/* hard.c - what must come before an event by program order and needs alone */
#include "order/hard.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct hard {
    const struct view *v;
    uint32_t *row_of; /* event -> row */
    uint32_t *rows;   /* nthreads numbers each; the first is all 0 */
    size_t nrows, cap;
};

static uint32_t *row_at(const struct hard *h, uint32_t row)
{
    return h->rows + (size_t)row * h->v->nthreads;
}

uint32_t hard_needs(const struct hard *h, uint32_t event, uint32_t thread)
{
    if (h->v->events[event].thread == thread)
        return h->v->rank[event];
    return row_at(h, h->row_of[event])[thread];
}

/* Does an event that must come before bring news? */
static bool is_news(const struct hard *h, uint32_t event, uint32_t need)
{
    const struct event *e = &h->v->events[need];

    return hard_needs(h, event, e->thread) <= h->v->rank[need];
}

static void join(struct hard *h, uint32_t event, uint32_t need)
{
    const uint32_t *other = row_at(h, h->row_of[need]);
    uint32_t *row = row_at(h, h->row_of[event]);

    for (uint32_t t = 0; t < h->v->nthreads; t++)
        row[t] = row[t] > other[t] ? row[t] : other[t];
    row[h->v->events[need].thread] = h->v->rank[need] + 1;
}

static void add_row(struct hard *h, uint32_t event)
{
    uint32_t n = h->v->nthreads, from = h->row_of[event];

    GROW(h->rows, h->cap, (h->nrows + 1) * n);
    memcpy(row_at(h, (uint32_t)h->nrows), row_at(h, from), n * sizeof(*h->rows));
    h->row_of[event] = (uint32_t)h->nrows++;
}

static void add_event(struct hard *h, uint32_t i, uint32_t *last)
{
    const struct view *v = h->v;
    bool own = false;

    h->row_of[i] = *last;
    for (uint32_t k = v->need_first[i]; k < v->need_first[i + 1]; k++) {
        if (!is_news(h, i, v->need[k]))
            continue;
        if (!own)
            add_row(h, i);
        own = true;
        join(h, i, v->need[k]);
    }
    *last = h->row_of[i];
}

struct hard *hard_new(const struct view *v, uint64_t most)
{
    struct hard *h = xcalloc(1, sizeof(*h));
    uint32_t *last = xcalloc((size_t)v->nthreads + 1, sizeof(*last));
    uint32_t i = 0;

    h->v = v;
    h->row_of = xcalloc((size_t)v->count + 1, sizeof(*h->row_of));
    GROW(h->rows, h->cap, (size_t)v->nthreads + 1);
    h->nrows = 1;
    for (; i < v->count && h->cap * sizeof(*h->rows) <= most; i++)
        if (v->rank[i] != VIEW_NONE)
            add_event(h, i, &last[v->events[i].thread]);
    free(last);
    if (i == v->count)
        return h;
    hard_free(h);
    return NULL;
}

void hard_free(struct hard *h)
{
    if (!h)
        return;
    free(h->row_of);
    free(h->rows);
    free(h);
}
