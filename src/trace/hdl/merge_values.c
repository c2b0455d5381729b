/* merge_values.c - a table of memory words, and a look at the events ahead */
#include "trace/hdl/merge_values.h"
#include "base/alloc.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

void values_release(struct values *v)
{
    free(v->words);
    *v = (struct values){ 0 };
}

void values_clear(struct values *v)
{
    if (v->count)
        memset(v->words, 0, v->nwords * sizeof(*v->words));
    v->count = 0;
}

/* ---- words ---- */

static struct value_word *merge_values_slot_of(const struct values *v, uint64_t word)
{
    size_t mask = v->nwords - 1, i = map_hash(word) & mask;

    while (v->words[i].word && v->words[i].word != word + 1)
        i = (i + 1) & mask;
    return &v->words[i];
}

static struct value_word *merge_values_find(const struct values *v, uint64_t word)
{
    struct value_word *w = v->nwords ? merge_values_slot_of(v, word) : NULL;

    return w && w->word ? w : NULL;
}

static void grow(struct values *v)
{
    struct value_word *old = v->words;
    size_t n = v->nwords;

    v->nwords = n ? 2 * n : 1024;
    v->words = xcalloc(v->nwords, sizeof(*v->words));
    for (size_t i = 0; i < n; i++)
        if (old[i].word)
            *merge_values_slot_of(v, old[i].word - 1) = old[i];
    free(old);
}

static struct value_word *find_or_add(struct values *v, uint64_t word)
{
    struct value_word *w = merge_values_find(v, word);

    if (w)
        return w;
    if (v->count == VALUES_WORDS)
        values_clear(v);
    if (2 * v->count >= v->nwords)
        grow(v);
    w = merge_values_slot_of(v, word);
    w->word = word + 1;
    w->thread = THREAD_NONE;
    v->count++;
    return w;
}

static void merge_values_forget(struct values *v, uint64_t address, uint64_t bytes)
{
    uint64_t first = address / 8, last = (address + bytes - 1) / 8;

    if (!bytes || !v->count)
        return;
    if (last - first > v->nwords) {
        for (size_t i = 0; i < v->nwords; i++)
            if (v->words[i].word > first && v->words[i].word <= last + 1)
                v->words[i].known = v->words[i].unseen = 0;
        return;
    }
    for (uint64_t word = first; word <= last; word++) {
        struct value_word *w = merge_values_find(v, word);

        if (w)
            w->known = w->unseen = 0;
    }
}

/* ---- accesses ---- */

/* A plain access with a value, inside of one word. */
static bool is_valued(const struct event *ev)
{
    return ev->op <= OP_WRITE && ev->flags & EV_VALUE && (ev->target & 7) + ev->size <= 8;
}

/* The bits of its word that it touches, and their value. */
static uint64_t bits_of(const struct event *ev)
{
    uint64_t all = ev->size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * ev->size) - 1;

    return all << 8 * (ev->target & 7);
}

static uint64_t value_of(const struct event *ev)
{
    return ev->value << 8 * (ev->target & 7) & bits_of(ev);
}

void values_decoded(struct values *v, const struct event *events, size_t n)
{
    for (size_t i = 0; i < n && !v->on; i++)
        v->on = events[i].op == OP_READ && events[i].flags & EV_VALUE;
    if (!v->on)
        return;
    for (size_t i = 0; i < n; i++) {
        struct value_word *w;

        if (!is_valued(&events[i]))
            continue;
        w = find_or_add(v, events[i].target / 8);
        w->shared |= w->thread != THREAD_NONE && w->thread != events[i].thread;
        w->thread = events[i].thread;
    }
}

static bool contradicts(const struct value_word *w, const struct event *ev)
{
    return ((w->value ^ value_of(ev)) & w->known & bits_of(ev)) != 0;
}

static void mark_unseen(struct value_word *w, struct event *ev, bool wrong)
{
    if (wrong && !w->shared) {
        w->unseen |= bits_of(ev);
        w->owner = ev->thread;
    }
    if (w->unseen & bits_of(ev) && w->owner == ev->thread)
        ev->flags |= EV_UNSEEN;
}

bool values_deliver(struct values *v, struct event *ev)
{
    struct value_word *w;
    bool wrong;

    if (!is_valued(ev)) {
        if (ev->op == OP_ALLOC || ev->op == OP_FREE)
            merge_values_forget(v, ev->target, ev->value);
        else if (op_is_access(ev->op) && op_table[ev->op].writes)
            merge_values_forget(v, ev->target, ev->size);
        return false;
    }
    w = find_or_add(v, ev->target / 8);
    wrong = ev->op == OP_READ && contradicts(w, ev);
    if (ev->op == OP_WRITE)
        w->unseen &= ~bits_of(ev);
    else
        mark_unseen(w, ev, wrong);
    w->value = (w->value & ~bits_of(ev)) | value_of(ev);
    w->known |= bits_of(ev);
    return wrong;
}

/* The word of an access, if others touch it too. */
static const struct value_word *shared_word(const struct values *v, const struct event *ev)
{
    const struct value_word *w = is_valued(ev) ? merge_values_find(v, ev->target / 8) : NULL;

    return w && w->shared ? w : NULL;
}

bool values_contradict(const struct values *v, const struct event *ev)
{
    const struct value_word *w = ev->op == OP_READ ? shared_word(v, ev) : NULL;

    return w && contradicts(w, ev);
}

bool values_matter(const struct values *v, const struct event *ev)
{
    const struct value_word *w = shared_word(v, ev);

    return w && ((w->known & bits_of(ev)) != bits_of(ev) || contradicts(w, ev));
}

/* ---- what comes ahead ---- */

/* Memory that is not known yet was most likely 0. */
static bool was_before(const struct value_word *w, const struct event *read)
{
    return (((w->value & w->known) ^ value_of(read)) & bits_of(read)) == 0;
}

/* Both are accesses to the same bits, perhaps among others. */
static bool merge_values_meet(const struct event *a, const struct event *b)
{
    return is_valued(a) && a->target / 8 == b->target / 8 && bits_of(a) & bits_of(b);
}

static bool differ(const struct event *a, const struct event *b)
{
    return ((value_of(a) ^ value_of(b)) & bits_of(a) & bits_of(b)) != 0;
}

/* Reads of what the write destroys. If the thread reads what it wrote, so much the better: then
 * all it does to that memory before comes first, its own writes too. */
static size_t reads_before(const struct value_word *w, const struct event *write,
                           const struct values_ahead *a)
{
    size_t take = 0, last = 0;
    bool old = true; /* the thread has not seen another value yet */

    for (size_t i = 0; i < a->count; i++) {
        const struct event *ev = &a->events[i];

        if (!merge_values_meet(ev, write))
            continue;
        if (!differ(ev, write))
            return ev->op == OP_READ ? last : take;
        old = old && ev->op == OP_READ && was_before(w, ev);
        last = i + 1;
        if (old)
            take = last;
    }
    return take;
}

static size_t write_before(const struct event *read, const struct values_ahead *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->events[i].op == OP_WRITE && merge_values_meet(&a->events[i], read) &&
            !differ(&a->events[i], read))
            return i + 1;
    return 0;
}

size_t values_before(const struct values *v, const struct event *ev, struct values_ahead a,
                     uint64_t limit)
{
    const struct value_word *w = merge_values_find(v, ev->target / 8);
    size_t n = 0;

    while (n < a.count && n < VALUES_AHEAD && a.stamps[n] < limit)
        n++;
    a.count = n;
    if (!w)
        return 0;
    return ev->op == OP_WRITE ? reads_before(w, ev, &a) : write_before(ev, &a);
}
