/* holds.c - the locks that threads hold, event by event */
#include "engines/predict/holds.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

bool holds_common(const struct holds *h, uint32_t a, uint32_t b)
{
    const uint32_t *x = h->list + a, *y = h->list + b;

    for (uint32_t i = 1; i <= x[0]; i++)
        for (uint32_t k = 1; k <= y[0]; k++)
            if (x[i] / 2 == y[k] / 2 && !(x[i] & y[k] & 1))
                return true;
    return false;
}

bool holds_same(const struct holds *h, uint32_t a, uint32_t b)
{
    return a == b || (h->list[a] == h->list[b] &&
                      !memcmp(h->list + a, h->list + b, (h->list[a] + 1) * sizeof(*h->list)));
}

uint32_t holds_with(struct holds *h, uint32_t set, uint32_t lock)
{
    uint32_t n = h->list[set], i = n, *new, at = (uint32_t)h->count;

    GROW(h->list, h->cap, h->count + n + 2);
    new = h->list + at;
    memcpy(new, h->list + set, (n + 1) * sizeof(*new));
    for (; i > 0 && new[i] > lock; i--)
        new[i + 1] = new[i];
    new[i + 1] = lock;
    new[0]++;
    h->count += n + 2;
    return at;
}

uint32_t holds_without(struct holds *h, uint32_t set, uint32_t lock)
{
    uint32_t n = h->list[set], i = 1, *new, at = (uint32_t)h->count;

    while (i <= n && h->list[set + i] != lock)
        i++;
    if (i > n)
        return set;
    if (n == 1)
        return 0;
    GROW(h->list, h->cap, h->count + n);
    new = h->list + at;
    memcpy(new, h->list + set, i * sizeof(*new));
    memcpy(new + i, h->list + set + i + 1, (n - i) * sizeof(*new));
    new[0]--;
    h->count += n;
    return at;
}

static uint32_t lock_of(const struct view_section *s)
{
    return 2 * s->lock + s->shared;
}

/* Walk the sections: `ends` lists them by the event that ends them. */
static void walk(struct holds *h, const struct view *v, const uint32_t *ends_first,
                 const uint32_t *ends)
{
    uint32_t *now = xcalloc((size_t)v->nthreads + 1, sizeof(*now));

    for (uint32_t i = 0; i < v->count; i++) {
        uint32_t *set = &now[v->events[i].thread], s = v->section_of[i];

        if (v->rank[i] == VIEW_NONE)
            continue;
        h->of[i] = *set;
        if (s != VIEW_NONE && v->sections[s].acquire == i)
            *set = holds_with(h, *set, lock_of(&v->sections[s]));
        for (uint32_t k = ends_first[i]; k < ends_first[i + 1]; k++)
            *set = holds_without(h, *set, lock_of(&v->sections[ends[k]]));
    }
    free(now);
}

void holds_init(struct holds *h, const struct view *v)
{
    uint32_t *first = xcalloc((size_t)v->count + 2, sizeof(*first));
    uint32_t *list = xcalloc((size_t)v->nsections + 1, sizeof(*list));
    uint32_t *next = xcalloc((size_t)v->count + 2, sizeof(*next));

    *h = (struct holds){ .of = xcalloc((size_t)v->count + 1, sizeof(*h->of)) };
    GROW(h->list, h->cap, 1);
    h->list[h->count++] = 0; /* the empty set */
    for (uint32_t s = 0; s < v->nsections; s++)
        if (v->sections[s].end != VIEW_NONE)
            first[v->sections[s].end + 1]++;
    for (uint32_t i = 0; i < v->count; i++)
        first[i + 1] += first[i];
    memcpy(next, first, ((size_t)v->count + 1) * sizeof(*next));
    for (uint32_t s = 0; s < v->nsections; s++)
        if (v->sections[s].end != VIEW_NONE)
            list[next[v->sections[s].end]++] = s;
    walk(h, v, first, list);
    free(first);
    free(list);
    free(next);
}

void holds_release(struct holds *h)
{
    free(h->of);
    free(h->list);
    *h = (struct holds){ 0 };
}
