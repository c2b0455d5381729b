/* recipe_pairs.c - accesses of code that was not executed, and who conflicts; see recipe_pairs.h */
#include "engines/recipe_pairs.h"
#include "base/alloc.h"
#include "engines/race.h"

#include <stdlib.h>
#include <string.h>

/* Of a pair of sites, for one new access: on each side of the branch the two nearest; the first and
 * the last. An access of 1 MiB is not looked at word by word. */
enum { NEAREST = 2, WORDS_MAX = 64 };

/* ---- recorded accesses ---- */

static bool counts(const struct event *e)
{
    return op_is_access(e->op) && e->size && !(e->flags & EV_IGNORED);
}

static void each_word(const struct event *e, uint64_t *first, uint64_t *last)
{
    *first = e->target / 8;
    *last = (e->target + e->size - 1) / 8;
    if (*last - *first >= WORDS_MAX)
        *last = *first + WORDS_MAX - 1;
}

void access_index_init(struct access_index *x, const struct trace_mem *trace)
{
    uint64_t from, to;
    uint32_t *next;

    *x = (struct access_index){ .trace = trace };
    for (size_t i = 0; i < trace->count; i++)
        if (counts(&trace->events[i])) {
            each_word(&trace->events[i], &from, &to);
            for (; from <= to; from++) {
                uint32_t *n = map_put(&x->words, from, 0);
                if (!*n)
                    *n = ++x->nwords;
            }
        }
    x->first = xcalloc((size_t)x->nwords + 2, sizeof(*x->first));
    for (size_t i = 0; i < trace->count; i++)
        if (counts(&trace->events[i]))
            for (each_word(&trace->events[i], &from, &to); from <= to; from++)
                x->first[*map_get(&x->words, from)]++;
    for (uint32_t n = 0; n < x->nwords; n++)
        x->first[n + 1] += x->first[n];
    x->list = xmalloc(((size_t)x->first[x->nwords] + 1) * sizeof(*x->list));
    next = xmalloc(((size_t)x->nwords + 1) * sizeof(*next));
    memcpy(next, x->first, ((size_t)x->nwords + 1) * sizeof(*next));
    for (size_t i = 0; i < trace->count; i++)
        if (counts(&trace->events[i]))
            for (each_word(&trace->events[i], &from, &to); from <= to; from++)
                x->list[next[*map_get(&x->words, from) - 1]++] = (uint32_t)i;
    free(next);
}

void access_index_release(struct access_index *x)
{
    map_release(&x->words);
    free(x->first);
    free(x->list);
}

/* ---- pairs ---- */

static bool conflict(const struct event *a, const struct event *b)
{
    return a->thread != b->thread && a->target < b->target + b->size &&
           b->target < a->target + a->size && (op_table[a->op].writes || op_table[b->op].writes) &&
           !(op_is_atomic(a->op) && op_is_atomic(b->op));
}

static void add(struct candidates *c, uint32_t event, uint64_t position, uint32_t a, uint32_t b)
{
    GROW(c->list, c->cap, c->count + 1);
    c->list[c->count++] = (struct candidate){ event, position, site_pair(a, b) };
}

/* How many of the pair the access has already. */
static size_t has(const struct candidates *c, size_t from, uint32_t event, uint64_t pair)
{
    size_t n = 0;

    for (size_t i = c->count; i-- > from && n < 64;)
        n += c->list[i].event == event && c->list[i].pair == pair;
    return n;
}

static void try_position(struct candidates *c, size_t from, const struct access_index *x,
                         const struct flip_path *p, uint32_t event, uint32_t position, size_t most)
{
    const struct event *mine = &p->events[event].event, *other = &x->trace->events[position];

    if (!conflict(mine, other))
        return;
    if (has(c, from, event, site_pair(mine->site, other->site)) >= most)
        c->cut++;
    else
        add(c, event, position, mine->site, other->site);
}

/* The first entry behind a position. */
static uint32_t find_behind(const struct access_index *x, uint32_t word, uint64_t position)
{
    uint32_t low = x->first[word], high = x->first[word + 1];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (x->list[middle] <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void try_word(struct candidates *c, size_t from, const struct access_index *x,
                     const struct flip_path *p, uint32_t event, uint32_t word)
{
    enum { LOOK_MAX = 256 };
    uint32_t first = x->first[word], end = x->first[word + 1];
    uint32_t at = find_behind(x, word, p->branch), n = 0;

    for (uint32_t i = at; i < end && n < LOOK_MAX; i++, n++)
        try_position(c, from, x, p, event, x->list[i], NEAREST);
    n = 0;
    for (uint32_t i = at; i-- > first && n < LOOK_MAX; n++)
        try_position(c, from, x, p, event, x->list[i], 2 * NEAREST);
    if (end > first) {
        try_position(c, from, x, p, event, x->list[first], 2 * NEAREST + 1);
        try_position(c, from, x, p, event, x->list[end - 1], 2 * NEAREST + 2);
    }
}

static int by_pair(const void *a, const void *b)
{
    const struct candidate *p = a, *q = b;

    if (p->pair != q->pair)
        return p->pair < q->pair ? -1 : 1;
    if (p->event != q->event)
        return p->event < q->event ? -1 : 1;
    return p->position < q->position ? -1 : p->position > q->position;
}

static void drop_doubles(struct candidates *c, size_t from)
{
    size_t n = from;

    for (size_t i = from; i < c->count; i++)
        if (i == from || by_pair(&c->list[i], &c->list[n - 1]) != 0)
            c->list[n++] = c->list[i];
    c->count = n;
}

void candidates_of_path(struct candidates *c, const struct access_index *x,
                        const struct flip_path *p)
{
    size_t from = c->count;

    for (uint32_t i = 0; i < p->nevents; i++) {
        const struct event *e = &p->events[i].event;
        uint64_t word, last;

        if (!counts(e))
            continue;
        for (each_word(e, &word, &last); word <= last; word++) {
            const uint32_t *n = map_get(&x->words, word);

            if (n)
                try_word(c, from, x, p, i, *n - 1);
        }
    }
    if (c->count > from + 1)
        qsort(c->list + from, c->count - from, sizeof(*c->list), by_pair);
    drop_doubles(c, from);
}
