/* reach_lists.c - lists that were made for calls, kept until they do not hold any more
 *
 * A list is kept in one of a few places that its question, the key, names. The objects that it was
 * made from have watchers, which say which list; they are found when the object changes. A list
 * that is made anew has another stamp, so that watchers of the old one are known to be gone.
 */
#include "trace/calls/reach_inside.h"
#include "base/alloc.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

void reach_forget_lists(struct reach *r)
{
    for (size_t i = 0; r->results && i < (size_t)1 << RESULT_BITS; i++) {
        free(r->results[i].words);
        r->results[i] = (struct result){ 0 };
    }
    for (size_t i = 0; i < r->map.nobjects; i++)
        r->map.objects[i].watchers = 0;
    r->cached = r->nwatchers = 0;
}

/* ---- watchers ---- */

/* Is the object one of those that the list was made from? */
static bool is_watched_by(const struct reach *r, uint32_t object, const struct watcher *w)
{
    uint32_t n = object == REACH_NONE ? 0 : r->map.objects[object].watchers;

    for (int i = 0; n && i < WATCHERS_WALKED; i++, n = r->watchers[n - 1].next)
        if (r->watchers[n - 1].result == w->result && r->watchers[n - 1].stamp == w->stamp)
            return true;
    return false;
}

/* An object changes: a pointer is gone, or there is one to `to` (0: none). False: the list was made
 * anew since, or is of no use any more. */
static bool tell_watcher(struct reach *r, const struct watcher *w, uint64_t to)
{
    struct result *x = &r->results[w->result];

    if (!x->used || x->stamp != w->stamp)
        return false;
    if (!to || is_watched_by(r, reach_map_find(&r->map, to), w))
        x->stale = true;
    else
        x->used = false;
    return x->used;
}

/* Those that hear for nothing are let go. Of an object with many watchers all are told that their
 * lists are void, so that telling costs no more than the watching did. */
void reach_object_changes(struct reach *r, uint32_t object, uint64_t to)
{
    uint32_t *link = object == REACH_NONE ? NULL : &r->map.objects[object].watchers;

    for (int i = 0; link && *link; i++) {
        struct watcher *w = &r->watchers[*link - 1];

        if (i < WATCHERS_WALKED && tell_watcher(r, w, to)) {
            link = &w->next;
            continue;
        }
        if (i >= WATCHERS_WALKED && r->results[w->result].stamp == w->stamp)
            r->results[w->result].used = false;
        *link = w->next;
    }
}

static size_t loose_bit(uint64_t address)
{
    return map_hash(address >> REACH_PAGE_BITS) & ((1u << REACH_HINT_BITS) - 1);
}

bool reach_is_loose_page(const struct reach *r, uint64_t address)
{
    size_t bit = loose_bit(address);

    return r->loose && r->loose[bit / 8] >> bit % 8 & 1;
}

/* ---- keeping ---- */

static bool is_for_key(const struct reach *r, const struct result *x)
{
    return x->words && x->nkey == r->nkey &&
           memcmp(x->words, r->key, r->nkey * sizeof(*r->key)) == 0;
}

/* The place of the key's list: where it is, or a free one, or any of its set. */
static struct result *result_of(struct reach *r)
{
    uint64_t h = r->nkey;
    struct result *set, *place;

    if (!r->results)
        r->results = xcalloc((size_t)1 << RESULT_BITS, sizeof(*r->results));
    for (size_t i = 0; i < r->nkey; i++)
        h = map_hash(h ^ r->key[i]);
    set = &r->results[h % (1u << RESULT_BITS) / WAYS * WAYS];
    place = &set[r->stamp % WAYS];
    for (int i = 0; i < WAYS; i++) {
        if (is_for_key(r, &set[i]))
            return &set[i];
        if (!set[i].used)
            place = &set[i];
    }
    return place;
}

/* Pointers that led nowhere still do. */
static bool leads_nowhere(struct reach *r, struct result *x)
{
    const uint64_t *loose = x->words + x->nkey + x->nlist;

    if (x->appeared == r->appeared)
        return true;
    r->credit -= (int64_t)x->nloose / 4;
    for (size_t i = 0; i < x->nloose; i++)
        if (reach_map_find(&r->map, loose[i]) != REACH_NONE)
            return false;
    x->appeared = r->appeared;
    return true;
}

/* May it be used? What says too much is made anew as long as there is credit. */
static bool holds(struct reach *r, struct result *x)
{
    if (!x->used)
        return false;
    if (x->over)
        return r->events < x->until;
    return leads_nowhere(r, x) && (!x->stale || r->credit < 0);
}

static void add_words(struct result *x, size_t *at, const uint64_t *words, size_t n)
{
    if (n)
        memcpy(x->words + *at, words, n * sizeof(*words));
    *at += n;
}

/* Note that these pointers led nowhere; each once. */
static void mark_loose(struct reach *r)
{
    size_t n = 0;

    if (r->nnowhere > 1)
        qsort(r->nowhere, r->nnowhere, sizeof(*r->nowhere), sorted_compare);
    for (size_t i = 0; i < r->nnowhere; i++)
        if (!n || r->nowhere[n - 1] != r->nowhere[i])
            r->nowhere[n++] = r->nowhere[i];
    r->nnowhere = n;
    if (r->nnowhere && !r->loose)
        r->loose = xcalloc((size_t)1 << (REACH_HINT_BITS - 3), 1);
    for (size_t i = 0; i < r->nnowhere; i++) {
        size_t bit = loose_bit(r->nowhere[i]);

        r->loose[bit / 8] |= (uint8_t)(1 << bit % 8);
    }
}

static void reach_lists_watch(struct reach *r, const struct result *x, uint32_t object)
{
    uint32_t *first = &r->map.objects[object].watchers;

    if (r->nwatchers == r->watchers_cap)
        GROW(r->watchers, r->watchers_cap, r->nwatchers + 1);
    r->watchers[r->nwatchers++] = (struct watcher){ (uint32_t)(x - r->results), x->stamp, *first };
    *first = (uint32_t)r->nwatchers;
}

/* Keep what the search has found. */
static void reach_lists_keep(struct reach *r, struct result *x)
{
    size_t before = x->words_cap, at = 0;

    mark_loose(r);
    GROW(x->words, x->words_cap, r->nkey + r->nlist + r->nnowhere);
    add_words(x, &at, r->key, x->nkey = r->nkey);
    add_words(x, &at, r->list, x->nlist = r->nlist);
    add_words(x, &at, r->nowhere, x->nloose = r->nnowhere);
    x->used = true;
    x->over = x->stale = false;
    x->stamp = ++r->stamp;
    x->appeared = r->appeared;
    x->era = 0;
    for (size_t i = 0; i < r->nmet; i++)
        reach_lists_watch(r, x, r->met[i]);
    r->cached += x->words_cap - before;
}

/* Remember that it was too much. */
static void keep_over(struct reach *r, struct result *x, int64_t cost)
{
    r->nlist = r->nnowhere = r->nmet = 0;
    reach_lists_keep(r, x);
    x->over = true;
    x->until = r->events + (uint64_t)cost * OVER_PAUSE;
}

struct result *reach_answer(struct reach *r)
{
    struct result *x = result_of(r);
    int64_t before = r->credit;

    if (is_for_key(r, x) && holds(r, x))
        return x->over ? NULL : x;
    x->used = false;
    if (r->credit < 0)
        return NULL;
    if (!reach_search(r)) {
        keep_over(r, x, before - r->credit);
        return NULL;
    }
    reach_lists_keep(r, x);
    return x;
}
