/* unseen.c - reads of values that nobody in the trace wrote
 *
 * The first pass keeps, for each word of memory, what the last writes and reads say it holds, and
 * lists the words of which some read says something else: the odd ones. Mostly there are none. The
 * second pass follows odd words byte by byte, with the calls that list them.
 */
#include "trace/calls/unseen.h"
#include "base/alloc.h"
#include "base/map.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* What is known of 8 bytes. Masks have a bit for each byte. */
struct word {
    uint64_t value;   /* as the last access says */
    uint8_t known;    /* bytes of it */
    bool odd, shared; /* some read differs; two threads touched it in this lifetime */
    uint32_t thread;  /* the first of them, NONE */
};

/* An odd word, in the second pass. */
struct odd {
    uint64_t value, written;      /* as the last access says; as the last write says */
    uint8_t known, visible;       /* bytes of these */
    uint8_t hidden;               /* bytes whose `value` a call has written */
    uint32_t since[8];            /* event + 1 that last saw or wrote `value` */
    uint32_t returned[8];         /* event + 1: last return of a call that lists it */
    uint32_t open[8];             /* such calls under way */
    uint64_t values[8][256 / 64]; /* that some write in the trace gives it */
};

/* Bytes of an odd word that a call lists. */
struct listed {
    uint32_t odd;
    uint8_t bytes;
};

struct list {
    struct listed *items;
    size_t count, cap;
    bool all;
};

struct stack {
    uint32_t *calls; /* lists */
    size_t count, cap;
};

struct finder {
    struct trace_mem *t;
    const struct unseen_input *in;
    bool exact;
    struct map index; /* address / 8 -> words */
    struct word *words;
    size_t nwords, words_cap;

    uint64_t *address; /* of odd words, ascending */
    uint32_t *odd_of;  /* word -> odd, NONE */
    struct odd *odds;
    size_t nodds;
    struct map lists_at; /* a call's place in extra, + its length -> lists */
    struct list *lists;
    size_t nlists, lists_cap;
    struct stack *stacks; /* by thread: calls under way */
    size_t nthreads;
    uint32_t all_open, all_returned;
    struct unseen_counts counts;
};

/* ---- events, word by word ---- */

static bool takes_part(const struct event *e)
{
    return !(e->flags & EV_IGNORED);
}

static uint64_t bytes_of(const struct event *e)
{
    return op_is_access(e->op) ? e->size : e->op == OP_ALLOC || e->op == OP_FREE ? e->value : 0;
}

static bool writes(const struct event *e)
{
    return op_table[e->op].writes || e->op == OP_ALLOC;
}

/* The value that a read saw, whether it is marked or not. */
static bool saw(const struct event *e, uint64_t *value)
{
    struct event plain = *e;

    plain.flags &= (uint16_t)~EV_UNSEEN;
    return op_table[e->op].reads && e->size <= 8 && event_saw(&plain, value);
}

static bool gives(const struct event *e, uint64_t *value)
{
    *value = e->value;
    return op_is_access(e->op) && op_table[e->op].writes && e->size <= 8 && e->flags & EV_VALUE;
}

/* The bytes of a word that an event touches. */
static uint8_t mask_of(const struct event *e, uint64_t word)
{
    uint64_t from = e->target > 8 * word ? e->target - 8 * word : 0;
    uint64_t end = e->target + bytes_of(e), to = end < 8 * word + 8 ? end - 8 * word : 8;

    return (uint8_t)((1u << to) - (1u << from));
}

/* A value of an access as that of the word. */
static uint64_t value_in(const struct event *e, uint64_t word, uint64_t value)
{
    return e->target >= 8 * word ? value << 8 * (e->target - 8 * word)
                                 : value >> 8 * (8 * word - e->target);
}

static uint64_t spread(uint8_t mask)
{
    uint64_t bits = 0;

    for (unsigned b = 0; b < 8; b++)
        if (mask >> b & 1)
            bits |= (uint64_t)0xff << 8 * b;
    return bits;
}

/* The bytes at which two words differ. */
static uint8_t differing(uint64_t a, uint64_t b)
{
    uint64_t x = a ^ b;
    uint8_t mask = 0;

    for (unsigned i = 0; x && i < 8; i++)
        mask |= (uint8_t)((x >> 8 * i & 0xff ? 1u : 0) << i);
    return mask;
}

/* ---- the first pass ---- */

static struct word *word_at(struct finder *f, uint64_t word)
{
    uint32_t *n = map_put(&f->index, word, (uint32_t)f->nwords);

    if (*n == f->nwords) {
        GROW(f->words, f->words_cap, f->nwords + 1);
        f->words[f->nwords] = (struct word){ .thread = NONE };
        if (is_named(8 * word)) /* text: variables begin with 0 */
            f->words[f->nwords].known = 0xff;
        f->nwords++;
    }
    return &f->words[*n];
}

static void unseen_forget(struct word *w, const struct event *e, uint64_t word)
{
    w->known &= (uint8_t)~mask_of(e, word);
    if (e->op == OP_ALLOC) {
        w->thread = NONE;
        w->shared = false;
    }
}

/* Something without a value: only words that are known change. */
static void pass_range(struct finder *f, const struct event *e)
{
    uint64_t bytes = bytes_of(e), first = e->target / 8;
    uint64_t last = bytes ? (e->target + bytes - 1) / 8 : 0;

    if (!bytes || !writes(e))
        return;
    if (last - first <= 2 * f->index.nslots) {
        for (uint64_t k = first; k <= last; k++) {
            const uint32_t *n = map_get(&f->index, k);

            if (n)
                unseen_forget(&f->words[*n], e, k);
        }
        return;
    }
    for (size_t i = 0; i < f->index.nslots; i++)
        if (f->index.slots[i].used && f->index.slots[i].key >= first &&
            f->index.slots[i].key <= last)
            unseen_forget(&f->words[f->index.slots[i].value], e, f->index.slots[i].key);
}

static void pass_word(struct finder *f, const struct event *e, uint64_t word, bool read,
                      uint64_t old, bool write, uint64_t new)
{
    struct word *w = word_at(f, word);
    uint8_t mask = mask_of(e, word);
    uint64_t bits = spread(mask);

    w->shared |= w->thread != NONE && w->thread != e->thread;
    w->thread = w->thread == NONE ? e->thread : w->thread;
    if (read) {
        old = value_in(e, word, old);
        w->odd |= (differing(w->value, old) & mask & w->known) != 0;
        w->value = (w->value & ~bits) | (old & bits);
        w->known |= mask;
    }
    if (write) {
        w->value = (w->value & ~bits) | (value_in(e, word, new) & bits);
        w->known |= mask;
    } else if (op_table[e->op].writes) {
        w->known &= (uint8_t)~mask;
    }
}

static void pass_event(struct finder *f, const struct event *e)
{
    uint64_t old = 0, new = 0;
    bool read, write;

    if (!op_is_access(e->op) || e->size > 8 || !e->size) {
        pass_range(f, e);
        return;
    }
    read = saw(e, &old);
    write = gives(e, &new);
    if (!read && !write && !op_table[e->op].writes)
        return;
    for (uint64_t k = e->target / 8; k <= (e->target + e->size - 1) / 8; k++)
        pass_word(f, e, k, read, old, write, new);
}

/* Number the odd words by address. */
static void list_odd(struct finder *f)
{
    size_t n = 0;

    f->odd_of = xmalloc((f->nwords + 1) * sizeof(*f->odd_of));
    memset(f->odd_of, 0xff, (f->nwords + 1) * sizeof(*f->odd_of));
    for (size_t i = 0; i < f->nwords; i++)
        f->nodds += f->words[i].odd;
    if (!f->nodds)
        return;
    f->address = xmalloc((f->nodds + 1) * sizeof(*f->address));
    f->odds = xcalloc(f->nodds, sizeof(*f->odds));
    for (size_t i = 0; i < f->index.nslots; i++)
        if (f->index.slots[i].used && f->words[f->index.slots[i].value].odd)
            f->address[n++] = f->index.slots[i].key;
    qsort(f->address, n, sizeof(*f->address), sorted_compare);
    for (size_t i = 0; i < n; i++) {
        f->odd_of[*map_get(&f->index, f->address[i])] = (uint32_t)i;
        if (is_named(8 * f->address[i]))
            f->odds[i].known = f->odds[i].visible = 0xff;
    }
}

/* ---- the second pass: calls ---- */

/* The first odd word at or after an address. */
static size_t find_odd(const struct finder *f, uint64_t word)
{
    return sorted_first_from(f->address, f->nodds, word);
}

static void add_listed(struct finder *f, struct list *l, uint64_t from, uint64_t bytes)
{
    uint64_t end = bytes > UINT64_MAX - from ? UINT64_MAX : from + bytes;

    for (size_t i = find_odd(f, from / 8); i < f->nodds && 8 * f->address[i] < end; i++) {
        uint64_t at = 8 * f->address[i], lo = from > at ? from - at : 0;
        uint64_t hi = end - at < 8 ? end - at : 8;

        GROW(l->items, l->cap, l->count + 1);
        l->items[l->count++] = (struct listed){ (uint32_t)i, (uint8_t)((1u << hi) - (1u << lo)) };
    }
}

/* What a call lists of the odd words. Calls with the same list share it. */
static uint32_t list_of(struct finder *f, const struct event *call)
{
    uint32_t *n = map_put(&f->lists_at, call->value << 21 ^ call->old, (uint32_t)f->nlists);
    struct list *l;

    if (*n < f->nlists)
        return *n;
    GROW(f->lists, f->lists_cap, f->nlists + 1);
    l = &f->lists[f->nlists++];
    *l = (struct list){ 0 };
    for (uint64_t k = 0; k < call->old; k++) {
        const uint64_t *entry = f->t->extra + call->value + 2 * k;

        l->all |= D_KIND(entry[0]) == D_ALL_KIND;
        if (D_KIND(entry[0]) == D_MEMORY_KIND && entry[1])
            add_listed(f, l, entry[0], entry[1]);
    }
    return *n;
}

static void each_listed(struct finder *f, const struct list *l, uint32_t event, bool begins)
{
    for (size_t i = 0; i < l->count; i++) {
        struct odd *o = &f->odds[l->items[i].odd];

        for (unsigned b = 0; b < 8; b++) {
            if (!(l->items[i].bytes >> b & 1))
                continue;
            o->open[b] += begins ? 1 : UINT32_MAX;
            if (!begins)
                o->returned[b] = event + 1;
        }
    }
    if (!l->all)
        return;
    f->all_open += begins ? 1 : UINT32_MAX;
    if (!begins)
        f->all_returned = event + 1;
}

static void at_return(struct finder *f, struct stack *s, uint32_t i)
{
    if (s->count)
        each_listed(f, &f->lists[s->calls[--s->count]], i, false);
}

static void at_call(struct finder *f, struct stack *s, uint32_t i)
{
    uint32_t list = list_of(f, &f->t->events[i]);

    GROW(s->calls, s->cap, s->count + 1);
    s->calls[s->count++] = list;
    each_listed(f, &f->lists[list], i, true);
    if (f->t->events[i].flags & EV_ALONE)
        at_return(f, s, i);
}

/* Was a call that lists the byte under way since it was last seen as it was? */
static bool may_be_hidden(const struct finder *f, const struct odd *o, unsigned b)
{
    return o->open[b] || f->all_open || o->returned[b] > o->since[b] ||
           f->all_returned > o->since[b];
}

/* ---- the second pass: accesses ---- */

/* Can a write of the trace have given these bytes? */
static bool is_given(const struct odd *o, uint8_t bytes, uint64_t value)
{
    for (unsigned b = 0; b < 8; b++) {
        unsigned v = (unsigned)(value >> 8 * b & 0xff);

        if (bytes >> b & 1 && !(o->values[b][v / 64] >> v % 64 & 1))
            return false;
    }
    return true;
}

static void note_value(struct odd *o, uint8_t bytes, uint64_t value, bool known)
{
    for (unsigned b = 0; b < 8; b++) {
        unsigned v = (unsigned)(value >> 8 * b & 0xff);

        if (!(bytes >> b & 1))
            continue;
        if (known)
            o->values[b][v / 64] |= (uint64_t)1 << v % 64;
        else
            memset(o->values[b], 0xff, sizeof(o->values[b]));
    }
}

static void hold(struct odd *o, uint8_t bytes, uint64_t value, uint32_t event)
{
    uint64_t bits = spread(bytes);

    o->value = (o->value & ~bits) | (value & bits);
    o->known |= bytes;
    for (unsigned b = 0; b < 8; b++)
        if (bytes >> b & 1)
            o->since[b] = event + 1;
}

/* What a read says of an odd word: the bytes that contradict the last write, and in *hidden those
 * of them that a call may have written. */
static uint8_t unseen_look(const struct finder *f, struct odd *o, uint8_t bytes, uint64_t value,
                           uint8_t *hidden)
{
    uint8_t changed = differing(o->value, value) & bytes & o->known;
    uint8_t odd = differing(o->written, value) & bytes & o->visible;

    for (unsigned b = 0; b < 8; b++)
        if (changed >> b & 1)
            o->hidden = (uint8_t)((o->hidden & ~(1u << b)) | (unsigned)may_be_hidden(f, o, b) << b);
    *hidden = odd & o->hidden;
    return odd;
}

/* Is it known that the read saw none of the writes in the trace? */
static bool is_sure(const struct finder *f, uint32_t i, bool given)
{
    return f->exact || !given || (f->in->sure && f->in->sure(f->in->arg, i));
}

static void judge(struct finder *f, uint32_t i, uint64_t value)
{
    struct event *e = &f->t->events[i];
    bool explained = true, own = !f->exact && f->in->beginning, given = true;
    bool contradicts = false;

    for (uint64_t k = e->target / 8; k <= (e->target + e->size - 1) / 8; k++) {
        uint32_t word = *map_get(&f->index, k);
        uint8_t mask = mask_of(e, k), odd, hidden;
        uint64_t v = value_in(e, k, value);
        struct odd *o;

        if (f->odd_of[word] == NONE)
            continue;
        o = &f->odds[f->odd_of[word]];
        odd = unseen_look(f, o, mask, v, &hidden);
        contradicts |= odd != 0;
        explained &= odd == hidden;
        own &= !odd || (!f->words[word].shared && f->words[word].thread == e->thread);
        given &= !odd || is_given(o, odd, v);
        hold(o, mask, v, i);
    }
    if (!contradicts)
        return;
    if (explained && is_sure(f, i, given)) {
        f->counts.by_call++;
        e->flags |= EV_UNSEEN | EV_BY_CALL;
    } else if (own && is_sure(f, i, given)) {
        f->counts.own++;
        e->flags |= EV_UNSEEN;
    } else {
        f->counts.unknown++;
    }
}

/* Once more, with threads and lifetimes as they are at this event. */
static void follow_write(struct finder *f, uint32_t i)
{
    const struct event *e = &f->t->events[i];
    uint64_t bytes = bytes_of(e), end = e->target + bytes, new;
    bool known = gives(e, &new);

    for (size_t k = find_odd(f, e->target / 8); k < f->nodds && 8 * f->address[k] < end; k++) {
        struct odd *o = &f->odds[k];
        uint8_t mask = mask_of(e, f->address[k]);

        o->known &= (uint8_t)~mask;
        o->visible &= (uint8_t)~mask;
        o->hidden &= (uint8_t)~mask;
        if (!known) {
            for (unsigned b = 0; b < 8; b++)
                if (mask >> b & 1)
                    o->since[b] = i + 1;
            continue;
        }
        hold(o, mask, value_in(e, f->address[k], new), i);
        o->written = (o->written & ~spread(mask)) | (o->value & spread(mask));
        o->visible |= mask;
    }
}

/* Who has touched odd words in this lifetime. */
static void follow_thread(struct finder *f, const struct event *e)
{
    uint64_t bytes = bytes_of(e), end = e->target + bytes;

    for (size_t k = find_odd(f, e->target / 8); k < f->nodds && 8 * f->address[k] < end; k++) {
        struct word *w = &f->words[*map_get(&f->index, f->address[k])];

        if (e->op == OP_ALLOC)
            *w = (struct word){ .thread = NONE };
        else if (w->thread == NONE)
            w->thread = e->thread;
        else
            w->shared |= w->thread != e->thread;
    }
}

static bool meets_odd(const struct finder *f, const struct event *e)
{
    uint64_t bytes = bytes_of(e);
    size_t k;

    if (!bytes)
        return false;
    if (bytes <= 8) {
        const uint32_t *a = map_get(&f->index, e->target / 8);
        const uint32_t *b = map_get(&f->index, (e->target + bytes - 1) / 8);

        return (a && f->odd_of[*a] != NONE) || (b && f->odd_of[*b] != NONE);
    }
    k = find_odd(f, e->target / 8);
    return k < f->nodds && 8 * f->address[k] < e->target + bytes;
}

static void unseen_follow(struct finder *f, uint32_t i)
{
    struct event *e = &f->t->events[i];
    uint64_t value;

    if (e->op == OP_CALL)
        at_call(f, &f->stacks[e->thread], i);
    else if (e->op == OP_RETURN)
        at_return(f, &f->stacks[e->thread], i);
    if (!meets_odd(f, e))
        return;
    follow_thread(f, e);
    if (saw(e, &value))
        judge(f, i, value);
    if (writes(e))
        follow_write(f, i);
}

/* All values that writes of the trace give odd words. */
static void collect_values(struct finder *f)
{
    for (size_t i = 0; i < f->t->count; i++) {
        const struct event *e = &f->t->events[i];
        uint64_t new, end = e->target + bytes_of(e);
        bool known = gives(e, &new);

        if (!takes_part(e) || e->op == OP_ALLOC || !writes(e) || !meets_odd(f, e))
            continue;
        for (size_t k = find_odd(f, e->target / 8); k < f->nodds && 8 * f->address[k] < end; k++)
            note_value(&f->odds[k], mask_of(e, f->address[k]),
                       known ? value_in(e, f->address[k], new) : 0, known);
    }
}

static void second_pass(struct finder *f)
{
    for (size_t i = 0; i < f->t->count; i++)
        if (f->t->events[i].thread >= f->nthreads)
            f->nthreads = (size_t)f->t->events[i].thread + 1;
    f->stacks = xcalloc(f->nthreads + 1, sizeof(*f->stacks));
    for (size_t i = 0; i < f->nwords; i++) {
        f->words[i].thread = NONE;
        f->words[i].shared = false;
    }
    if (!f->exact)
        collect_values(f);
    for (size_t i = 0; i < f->t->count; i++)
        if (takes_part(&f->t->events[i]))
            unseen_follow(f, (uint32_t)i);
}

static void unseen_release(struct finder *f)
{
    for (size_t i = 0; i < f->nlists; i++)
        free(f->lists[i].items);
    for (size_t i = 0; i < f->nthreads; i++)
        free(f->stacks[i].calls);
    free(f->lists);
    free(f->stacks);
    map_release(&f->lists_at);
    map_release(&f->index);
    free(f->words);
    free(f->address);
    free(f->odd_of);
    free(f->odds);
}

struct unseen_counts unseen_mark(struct trace_mem *t, const struct trace_info *info,
                                 const struct unseen_input *in)
{
    struct finder f = { .t = t, .in = in, .exact = info->order == TRACE_EXACT };

    if (!info->values)
        return f.counts;
    for (size_t i = 0; i < t->count; i++) {
        if (in->beginning)
            t->events[i].flags &= (uint16_t)~(EV_UNSEEN | EV_BY_CALL);
        if (takes_part(&t->events[i]))
            pass_event(&f, &t->events[i]);
    }
    list_odd(&f);
    if (f.nodds)
        second_pass(&f);
    unseen_release(&f);
    return f.counts;
}
