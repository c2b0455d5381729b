/* recipe_pairs.c - accesses of code that was not executed, and who conflicts; see recipe_pairs.h */
#include "engines/values/recipe_pairs.h"
#include "base/alloc.h"
#include "engines/race.h"

#include <stdlib.h>
#include <string.h>

/* Of a pair of sites, for one new access: on each side of the branch the two nearest; the first and
 * the last. An access of 1 MiB is not looked at word by word. */
enum { NEAREST = 2, WORDS_MAX = 64 };

enum { HARD_BYTES_MAX = 256 << 20 };

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

static void index_words(struct access_index *x)
{
    const struct trace_mem *trace = x->trace;
    uint64_t from, to;
    uint32_t *next;

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

/* ---- locks ---- */

/* The locks before each event of a path; one that the trace has no section of guards nothing. */
static void index_path(struct access_index *x, const struct map *locks, uint32_t path)
{
    const struct flip_path *p = flips_get(x->flips, path);
    uint32_t set = x->holds.of[p->branch];

    for (size_t i = 0; i < p->nevents; i++) {
        const struct event *e = &p->events[i].event;
        bool shared = e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED;
        const uint32_t *lock = op_class_of(e->op) == CLASS_LOCK ? map_get(locks, e->target) : NULL;

        x->path_held[x->path_first[path] + i] = set;
        if (lock && (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED))
            set = holds_with(&x->holds, set, 2 * *lock + shared);
        else if (lock)
            set = holds_without(&x->holds, set, 2 * *lock + shared);
    }
}

static void index_locks(struct access_index *x, const struct view *v)
{
    size_t n = flips_count(x->flips);
    struct map locks = { 0 };

    holds_init(&x->holds, v);
    for (uint32_t s = 0; s < v->nsections; s++)
        map_put(&locks, v->events[v->sections[s].acquire].target, v->sections[s].lock);
    x->path_first = xcalloc(n + 1, sizeof(*x->path_first));
    for (size_t i = 0; i < n; i++)
        x->path_first[i + 1] = x->path_first[i] + (uint32_t)flips_get(x->flips, i)->nevents;
    x->path_held = xcalloc((size_t)x->path_first[n] + 1, sizeof(*x->path_held));
    for (size_t i = 0; i < n; i++)
        index_path(x, &locks, (uint32_t)i);
    map_release(&locks);
}

void access_index_init(struct access_index *x, const struct trace_mem *trace, const struct view *v,
                       const struct flips *flips)
{
    *x = (struct access_index){ .trace = trace, .view = v, .flips = flips };
    x->hard = hard_new(v, HARD_BYTES_MAX);
    index_words(x);
    index_locks(x, v);
}

void access_index_release(struct access_index *x)
{
    holds_release(&x->holds);
    hard_free(x->hard);
    free(x->path_first);
    free(x->path_held);
    map_release(&x->words);
    free(x->first);
    free(x->list);
}

/* ---- pairs ---- */

struct suspect suspect_recorded(const struct access_index *x, uint32_t position)
{
    return (struct suspect){ &x->trace->events[position], x->holds.of[position], position, false };
}

struct suspect suspect_new(const struct access_index *x, uint32_t path, uint32_t event)
{
    const struct flip_path *p = flips_get(x->flips, path);

    return (struct suspect){ &p->events[event].event, x->path_held[x->path_first[path] + event],
                             (uint32_t)p->branch, true };
}

/* How many events of a thread must be executed when the access is next. */
static uint32_t needs_of(const struct access_index *x, const struct suspect *s, uint32_t thread)
{
    const struct view *v = x->view;
    uint32_t rank = v->rank[s->position], at = v->thread_first[s->event->thread];

    if (s->is_new)
        return hard_needs(x->hard, s->position, thread);
    return rank ? hard_needs(x->hard, v->thread_event[at + rank - 1], thread) : 0;
}

/* Is one of them executed whenever the other is next, or what follows it in its thread? */
static bool are_ordered(const struct access_index *x, const struct suspect *a,
                        const struct suspect *b)
{
    uint32_t of_a = x->view->rank[a->position], of_b = x->view->rank[b->position];

    if (!x->hard || of_a == VIEW_NONE || of_b == VIEW_NONE)
        return false;
    return needs_of(x, a, b->event->thread) > of_b + b->is_new ||
           needs_of(x, b, a->event->thread) > of_a + a->is_new;
}

bool suspects_may_meet(const struct access_index *x, const struct suspect *a,
                       const struct suspect *b)
{
    const struct event *e = a->event, *f = b->event;

    return e->thread != f->thread && e->target < f->target + f->size &&
           f->target < e->target + e->size && (op_table[e->op].writes || op_table[f->op].writes) &&
           !(op_is_atomic(e->op) && op_is_atomic(f->op)) &&
           !holds_common(&x->holds, a->held, b->held) && !are_ordered(x, a, b);
}

static void recipe_pairs_add(struct candidates *c, uint32_t event, uint64_t position, uint32_t a,
                             uint32_t b)
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
                         uint32_t path, uint32_t event, uint32_t position, size_t most)
{
    struct suspect mine = suspect_new(x, path, event), other = suspect_recorded(x, position);
    uint32_t site = mine.event->site, other_site = other.event->site;

    if (!suspects_may_meet(x, &mine, &other))
        return;
    if (has(c, from, event, site_pair(site, other_site)) >= most)
        c->cut++;
    else
        recipe_pairs_add(c, event, position, site, other_site);
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

static void try_word(struct candidates *c, size_t from, const struct access_index *x, uint32_t path,
                     uint32_t event, uint32_t word)
{
    enum { LOOK_MAX = 256 };
    uint32_t first = x->first[word], end = x->first[word + 1];
    uint32_t at = find_behind(x, word, flips_get(x->flips, path)->branch), n = 0;

    for (uint32_t i = at; i < end && n < LOOK_MAX; i++, n++)
        try_position(c, from, x, path, event, x->list[i], NEAREST);
    n = 0;
    for (uint32_t i = at; i-- > first && n < LOOK_MAX; n++)
        try_position(c, from, x, path, event, x->list[i], 2 * NEAREST);
    if (end > first) {
        try_position(c, from, x, path, event, x->list[first], 2 * NEAREST + 1);
        try_position(c, from, x, path, event, x->list[end - 1], 2 * NEAREST + 2);
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

void candidates_of_path(struct candidates *c, const struct access_index *x, uint32_t path)
{
    const struct flip_path *p = flips_get(x->flips, path);
    size_t from = c->count;

    for (uint32_t i = 0; i < p->nevents; i++) {
        const struct event *e = &p->events[i].event;
        uint64_t word, last;

        if (!counts(e))
            continue;
        for (each_word(e, &word, &last); word <= last; word++) {
            const uint32_t *n = map_get(&x->words, word);

            if (n)
                try_word(c, from, x, path, i, *n - 1);
        }
    }
    if (c->count > from + 1)
        qsort(c->list + from, c->count - from, sizeof(*c->list), by_pair);
    drop_doubles(c, from);
}
