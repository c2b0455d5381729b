/* sieve.c - leave out the accesses that no engine can find a race on
 *
 * FastTrack's idea on words instead of variables: the last write and the last
 * read of a word as epochs of an order that every engine's order contains. An
 * access that is not ordered after the last conflicting one makes the word
 * matter, for good. An alloc is a write and starts the word anew, a free is a
 * write. Where reads are concurrent only that is kept, and a later write is in
 * order if its thread knows of all accesses of all threads so far: the usual
 * end of tables that many threads read. Being wrong on this side costs time,
 * not races.
 *
 * The order is program order, hard edges and, with `handovers`, an edge from a
 * write to a read that saw it when a common lock is held at both: how buffers
 * are passed on through queues. hb, cp and wcp order the two because of the
 * lock, syncp and osr because reads keep their writers; an engine that goes by
 * values may not. Where two threads make conflicting accesses to a word, both
 * under locks, it matters, in order or not: they may make two sections
 * conflict (rule (a) of cp and wcp), and it may be how something is handed on.
 */
#include "engines/sieve.h"
#include "base/alloc.h"
#include "base/map.h"
#include "order/barriers.h"
#include "order/hb.h"
#include "order/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD_BYTES = 8,
    PAGE_WORDS = 512,
    PAGE_BITS = 12,
    CACHE_PAGES = 256, /* direct-mapped, in front of the map */
    BLOCK_BYTES_MAX = 1 << 20
};

#define SLOT_MANY (SLOT_NONE - 1) /* as the slot of the last read: concurrent reads */

struct epoch {
    uint32_t slot, time; /* slot SLOT_NONE: none */
};

struct word {
    struct epoch write, read;
};

/* Who accessed a word under a lock, whichever it was. */
struct locker {
    uint16_t thread; /* + 1; 0: nobody yet; LOCKER_MANY: several, or one with a greater number */
    bool wrote;
};
#define LOCKER_MANY UINT16_MAX

#define ACCESSOR_MANY UINT32_MAX

/* What a thread's calls of untraced code can reach. */
struct listed {
    uint64_t from, to;
    uint32_t thread;
};

typedef uint64_t page_bits[PAGE_WORDS / 64];

struct page {
    uint64_t number;
    uint32_t accessor; /* the one thread that accessed it, + 1; 0: none, ACCESSOR_MANY: several */
    page_bits matters, atomic;
    page_bits listed;       /* others' calls can reach it */
    page_bits guarded;      /* last written under a lock: there is a guard */
    struct word *words;     /* PAGE_WORDS; NULL after the first pass */
    struct locker *lockers; /* PAGE_WORDS, or NULL: no word was accessed under a lock */
};

/* Locks that a thread holds, or held: object * 2 + shared. Beyond LOCKS_KEPT they are forgotten,
 * which only loses edges. */
enum { LOCKS_KEPT = 6 };
struct locks {
    uint32_t count;
    uint32_t held[LOCKS_KEPT];
};

/* The last write to a word, if it was made under locks. */
struct guard {
    uint64_t target;
    uint32_t size;
    struct locks locks;
    struct clock clock;
};

struct sieve {
    struct map page_index; /* page number -> index + 1 */
    struct page **pages;
    size_t npages, pages_cap;
    struct page *cache[CACHE_PAGES];

    /* first pass only */
    struct memory *memory; /* of synchronisation and of words with atomics */
    struct hb hb;
    uint32_t *last_access; /* slot -> time of its last access */
    size_t slots_cap;
    bool handovers;
    struct locks *locks; /* by thread */
    size_t locks_cap;
    struct map guard_index; /* word address -> guard */
    struct guard *guards;
    size_t nguards, guards_cap;
    struct map listed_index; /* hash of a listed -> known */
    struct listed *listed;   /* each once */
    size_t nlisted, listed_cap;
    bool lists_all; /* some call can reach anything */
};

struct sieve *sieve_new(bool handovers)
{
    struct sieve *s = xcalloc(1, sizeof(*s));

    s->handovers = handovers;
    s->memory = memory_new();
    hb_init(&s->hb);
    s->hb.no_lock_edges = true;
    return s;
}

static void end_first_pass(struct sieve *s)
{
    if (!s->memory)
        return;
    memory_free(s->memory);
    hb_release(&s->hb);
    free(s->last_access);
    free(s->locks);
    free(s->guards);
    free(s->listed);
    map_release(&s->listed_index);
    map_release(&s->guard_index);
    s->memory = NULL;
    s->last_access = NULL;
    for (size_t i = 0; i < s->npages; i++) {
        free(s->pages[i]->words);
        free(s->pages[i]->lockers);
        s->pages[i]->words = NULL;
        s->pages[i]->lockers = NULL;
    }
}

void sieve_free(struct sieve *s)
{
    if (!s)
        return;
    end_first_pass(s);
    for (size_t i = 0; i < s->npages; i++)
        free(s->pages[i]);
    free(s->pages);
    map_release(&s->page_index);
    free(s);
}

/* ---- pages ---- */

static struct page *page_new(uint64_t number)
{
    struct page *p = xcalloc(1, sizeof(*p));

    p->number = number;
    p->words = xcalloc(PAGE_WORDS, sizeof(*p->words));
    for (size_t i = 0; i < PAGE_WORDS; i++)
        p->words[i].write.slot = p->words[i].read.slot = SLOT_NONE;
    return p;
}

/* NULL where nothing of the page has been accessed, unless it is to be created. */
static struct page *page_lookup(struct sieve *s, uint64_t number, bool create)
{
    uint32_t *index = create ? map_put(&s->page_index, number, 0) : map_get(&s->page_index, number);

    if (!index)
        return NULL;
    if (!*index) {
        GROW(s->pages, s->pages_cap, s->npages + 1);
        s->pages[s->npages] = page_new(number);
        *index = (uint32_t)++s->npages;
    }
    return s->cache[number % CACHE_PAGES] = s->pages[*index - 1];
}

static inline struct page *page_at(struct sieve *s, uint64_t address, bool create)
{
    uint64_t number = address >> PAGE_BITS;
    struct page *p = s->cache[number % CACHE_PAGES];

    if (__builtin_expect(p && p->number == number, 1))
        return p;
    return page_lookup(s, number, create);
}

static inline unsigned word_at(uint64_t address)
{
    return address / WORD_BYTES % PAGE_WORDS;
}

static inline bool bit_get(const uint64_t *bits, unsigned i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *bits, unsigned i)
{
    bits[i / 64] |= (uint64_t)1 << (i % 64);
}

static inline void bit_clear(uint64_t *bits, unsigned i)
{
    bits[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* The word after the one at the address. */
static inline uint64_t next_word(uint64_t address)
{
    return address / WORD_BYTES * WORD_BYTES + WORD_BYTES;
}

/* ---- what the order says of an access ---- */

static inline bool is_known(const struct hb_thread *t, struct epoch e)
{
    return e.slot == SLOT_NONE || hb_knows(t, e.slot, e.time);
}

static bool knows_everyone(const struct sieve *s, const struct hb_thread *t)
{
    for (uint32_t slot = 0; slot < s->hb.nslots && slot < s->slots_cap; slot++)
        if (!hb_knows(t, slot, s->last_access[slot]))
            return false;
    return true;
}

static inline struct epoch epoch_of(const struct hb_thread *t)
{
    return (struct epoch){ t->clock.slot, t->clock.time };
}

/* False: it matters. */
static inline bool write_word(const struct sieve *s, struct word *w, const struct hb_thread *t)
{
    bool ordered = is_known(t, w->write) &&
                   (w->read.slot == SLOT_MANY ? knows_everyone(s, t) : is_known(t, w->read));

    w->write = epoch_of(t);
    w->read.slot = SLOT_NONE;
    return ordered;
}

static inline bool read_word(struct word *w, const struct hb_thread *t)
{
    if (w->read.slot != SLOT_MANY && is_known(t, w->read))
        w->read = epoch_of(t);
    else
        w->read.slot = SLOT_MANY;
    return is_known(t, w->write);
}

static void note_accessor(struct page *p, uint32_t thread)
{
    if (p->accessor != thread + 1)
        p->accessor = p->accessor ? ACCESSOR_MANY : thread + 1;
}

static void access_word(struct sieve *s, const struct event *e, uint64_t address,
                        const struct hb_thread *t)
{
    struct page *p = page_at(s, address, true);
    unsigned i = word_at(address);
    struct word *w = &p->words[i];
    bool writes = e->op == OP_WRITE;

    note_accessor(p, e->thread);
    if (bit_get(p->matters, i))
        return;
    if (!(writes ? write_word(s, w, t) : read_word(w, t)))
        bit_set(p->matters, i);
}

static void access_words(struct sieve *s, const struct event *e, const struct hb_thread *t)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a))
        access_word(s, e, a, t);
    s->last_access[t->clock.slot] = t->clock.time;
}

/* ---- handing over under a lock ---- */

/* Conflicting accesses of two threads, each under a lock, matter: if it is the same one, rule (a)
 * of cp and wcp may order the two sections, and what is handed over makes the order that this goes
 * by.
 */
static void access_under_lock(struct page *p, unsigned i, uint32_t thread, bool writes)
{
    uint16_t name = thread < LOCKER_MANY - 1 ? (uint16_t)(thread + 1) : LOCKER_MANY;
    struct locker *l;
    bool other;

    if (!p->lockers)
        p->lockers = xcalloc(PAGE_WORDS, sizeof(*p->lockers));
    l = &p->lockers[i];
    other = l->thread && (l->thread != name || name == LOCKER_MANY);
    if (other && (writes || l->wrote))
        bit_set(p->matters, i);
    l->thread = other ? LOCKER_MANY : name;
    l->wrote |= writes;
}

static bool exclude(const struct locks *a, const struct locks *b)
{
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t k = 0; k < b->count; k++)
            if (a->held[i] / 2 == b->held[k] / 2 && !(a->held[i] & b->held[k] & 1))
                return true;
    return false;
}

/* A read under locks learns from the write it saw. */
static void learn_guard(struct sieve *s, const struct event *e, uint64_t word,
                        const struct locks *locks)
{
    const struct guard *g = &s->guards[*map_get(&s->guard_index, word)];

    if (e->target >= g->target && e->target + e->size <= g->target + g->size &&
        exclude(&g->locks, locks))
        hb_learn(&s->hb, hb_thread(&s->hb, e->thread), &g->clock);
}

static void keep_guard(struct sieve *s, const struct event *e, uint64_t word,
                       const struct locks *locks)
{
    uint32_t *index = map_put(&s->guard_index, word, (uint32_t)s->nguards);
    struct guard *g;

    if (*index == s->nguards) {
        GROW(s->guards, s->guards_cap, ++s->nguards);
        s->guards[*index].clock = CLOCK_EMPTY;
    }
    g = &s->guards[*index];
    g->target = e->target;
    g->size = e->size;
    g->locks = *locks;
    clock_copy(&s->hb.pool, &g->clock, &hb_thread(&s->hb, e->thread)->clock);
}

/* Before a read is compared (it keeps its writer), after a write. True: a clock was published. */
static bool hand_over(struct sieve *s, const struct event *e, bool after)
{
    const struct locks *locks = &s->locks[e->thread];
    uint64_t end = e->target + e->size;
    bool published = false;

    for (uint64_t a = e->target; a < end; a = next_word(a)) {
        struct page *p = page_at(s, a, true);
        unsigned i = word_at(a);
        uint64_t word = a / WORD_BYTES;

        if (locks->count && !after)
            access_under_lock(p, i, e->thread, e->op == OP_WRITE);
        if (e->op == OP_READ) {
            if (!after && locks->count && bit_get(p->guarded, i))
                learn_guard(s, e, word, locks);
        } else if (after && locks->count) {
            keep_guard(s, e, word, locks);
            bit_set(p->guarded, i);
            published = true;
        } else if (after) {
            bit_clear(p->guarded, i);
        }
    }
    return published;
}

static void plain_access(struct sieve *s, const struct event *e)
{
    struct hb_thread *t = hb_thread(&s->hb, e->thread);

    if (s->handovers)
        hand_over(s, e, false);
    access_words(s, e, t);
    if (s->handovers && hand_over(s, e, true))
        t->clock.time++;
}

/* A step of a lock: what the thread holds from here on. */
static void hold(struct sieve *s, const struct step *step)
{
    struct locks *l = &s->locks[step->thread];
    uint32_t i = 0;

    if (step->flags & STEP_NESTED)
        return;
    if (step->op == OP_ACQUIRE || step->op == OP_ACQUIRE_SHARED) {
        if (l->count < LOCKS_KEPT)
            l->held[l->count++] = step->id * 2 + (step->op == OP_ACQUIRE_SHARED);
        return;
    }
    while (i < l->count)
        if (l->held[i] / 2 == step->id) /* held both ways: let go of both, which loses edges */
            l->held[i] = l->held[--l->count];
        else
            i++;
}

/* A word that is allocated whole starts anew. */
static void write_in_page(struct sieve *s, const struct event *e, const struct hb_thread *t,
                          struct page *p)
{
    uint64_t begin = p->number << PAGE_BITS, end = begin + (1 << PAGE_BITS), a;

    note_accessor(p, e->thread);
    a = e->target > begin ? e->target : begin;
    end = e->target + e->value < end ? e->target + e->value : end;
    for (; a < end; a = next_word(a)) {
        unsigned i = word_at(a);

        bit_clear(p->guarded, i);
        if (e->op == OP_ALLOC && a % WORD_BYTES == 0 && a + WORD_BYTES <= e->target + e->value)
            p->words[i] = (struct word){ epoch_of(t), { SLOT_NONE, 0 } };
        else if (!bit_get(p->matters, i) && !write_word(s, &p->words[i], t))
            bit_set(p->matters, i);
        if (s->locks[e->thread].count)
            access_under_lock(p, i, e->thread, true);
    }
}

/* Also words count that nobody has accessed yet: later accesses come after the alloc, and race with
 * the free. But programs reserve terabytes of which they touch little: of large blocks only the
 * pages count that there are, and where they are fewer than those of the range they are gone
 * through. */
static void write_range(struct sieve *s, const struct event *e, const struct hb_thread *t)
{
    uint64_t end = e->target + e->value;

    if (e->value > BLOCK_BYTES_MAX && e->value >> PAGE_BITS > s->npages) {
        for (size_t i = 0; i < s->npages; i++)
            write_in_page(s, e, t, s->pages[i]);
    } else {
        for (uint64_t a = e->target; a < end; a = ((a >> PAGE_BITS) + 1) << PAGE_BITS) {
            struct page *p = page_at(s, a, e->value <= BLOCK_BYTES_MAX);

            if (p)
                write_in_page(s, e, t, p);
        }
    }
    s->last_access[t->clock.slot] = t->clock.time;
}

/* ---- what calls can reach ---- */

static void list_range(struct sieve *s, uint64_t from, uint64_t to, uint32_t thread)
{
    uint64_t key = map_hash(map_hash(from) ^ map_hash(to + 1)) ^ map_hash(thread + 2);
    uint32_t *known = map_put(&s->listed_index, key, UINT32_MAX);

    if (*known != UINT32_MAX && s->listed[*known].from == from && s->listed[*known].to == to &&
        s->listed[*known].thread == thread)
        return;
    *known = (uint32_t)s->nlisted;
    GROW(s->listed, s->listed_cap, s->nlisted + 1);
    s->listed[s->nlisted++] = (struct listed){ from, to, thread };
}

static void learn_call(struct sieve *s, const struct event *e, const uint64_t *extra)
{
    for (uint64_t k = 0; k < e->old; k++) {
        const uint64_t *entry = extra + e->value + 2 * k;
        uint64_t from, to;

        if (D_KIND(entry[0]) == D_ALL_KIND)
            s->lists_all = true;
        else if (barriers_range(entry, &from, &to))
            list_range(s, from, to, e->thread);
    }
}

static void list_in_page(struct page *p, const struct listed *l)
{
    uint64_t begin = p->number << PAGE_BITS, end = begin + (1 << PAGE_BITS);

    if (!p->accessor || p->accessor == l->thread + 1)
        return;
    if (l->from > begin)
        begin = l->from;
    if (l->to < end)
        end = l->to;
    for (uint64_t a = begin; a < end; a = next_word(a))
        bit_set(p->listed, word_at(a));
}

/* What a thread's calls can reach and others access may be how untraced code orders the two. */
static void mark_listed(struct sieve *s)
{
    for (size_t i = 0; i < s->nlisted; i++) {
        const struct listed *l = &s->listed[i];
        uint64_t first = l->from >> PAGE_BITS, last = (l->to - 1) >> PAGE_BITS;

        if (last - first > s->npages) {
            for (size_t k = 0; k < s->npages; k++)
                if (s->pages[k]->number >= first && s->pages[k]->number <= last)
                    list_in_page(s->pages[k], l);
            continue;
        }
        for (uint64_t n = first; n <= last; n++) {
            struct page *p = page_at(s, n << PAGE_BITS, false);

            if (p)
                list_in_page(p, l);
        }
    }
}

bool sieve_lists_all(const struct sieve *s)
{
    return s->lists_all;
}

void sieve_ready(struct sieve *s)
{
    mark_listed(s);
    end_first_pass(s);
}

/* ---- the first pass ---- */

/* Plain accesses make no steps, except to words with atomics: a plain write ends a release
 * sequence. */
static void mark_plain(struct sieve *s, struct event *e)
{
    bool atomic = op_is_atomic(e->op);
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a)) {
        struct page *p = page_at(s, a, true);

        if (op_is_atomic(e->op)) {
            bit_set(p->atomic, word_at(a));
            bit_set(p->matters, word_at(a));
        }
        atomic |= bit_get(p->atomic, word_at(a));
    }
    if (!atomic)
        e->flags |= EV_SIEVED;
}

/* The steps of one event. */
static void follow_order(struct sieve *s, const struct step *steps, size_t n)
{
    bool tick = false;

    for (size_t i = 0; i < n; i++) {
        hb_before(&s->hb, &steps[i]);
        if (steps[i].op < OP_COUNT && op_class_of(steps[i].op) == CLASS_LOCK)
            hold(s, &steps[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (op_is_access(steps[i].op))
            tick |= hb_after(&s->hb, &steps[i]);
    hb_thread(&s->hb, steps->thread)->clock.time += tick;
}

static void learn_event(struct sieve *s, const struct event *e, const uint64_t *extra)
{
    const struct hb_thread *t = hb_thread(&s->hb, e->thread);

    GROW(s->last_access, s->slots_cap, s->hb.nslots);
    if (e->op == OP_READ || e->op == OP_WRITE)
        plain_access(s, e);
    else if (e->op == OP_ALLOC || e->op == OP_FREE)
        write_range(s, e, t);
    else if (e->op == OP_CALL)
        learn_call(s, e, extra);
}

void sieve_learn(struct sieve *s, struct batch *b)
{
    struct span span;
    size_t at = 0;

    for (size_t i = 0; i < b->count; i++)
        if (op_is_access(b->events[i].op) && !(b->events[i].flags & EV_IGNORED))
            mark_plain(s, &b->events[i]);
    memory_steps(s->memory, b, &span);
    hb_begin_span(&s->hb, &span);
    GROW(s->locks, s->locks_cap, span.threads);
    for (size_t i = 0; i < b->count; i++) {
        size_t n = steps_of(&span, at, b->first + i);

        if (n)
            follow_order(s, &span.steps[at], n);
        at += n;
        if (!(b->events[i].flags & EV_IGNORED))
            learn_event(s, &b->events[i], b->extra);
    }
}

/* ---- later passes ---- */

uint64_t sieve_words(const struct sieve *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->npages; i++)
        for (size_t k = 0; k < PAGE_WORDS / 64; k++)
            n += (uint64_t)__builtin_popcountll(s->pages[i]->matters[k]);
    return n;
}

bool sieve_listed(struct sieve *s, const struct event *e)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a)) {
        const struct page *p = page_at(s, a, false);

        if (p && bit_get(p->listed, word_at(a)))
            return true;
    }
    return false;
}

static inline bool any_matters(struct sieve *s, const struct event *e)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a)) {
        const struct page *p = page_at(s, a, false);

        if (p && bit_get(p->matters, word_at(a)))
            return true;
    }
    return false;
}

void sieve_mark(struct sieve *s, struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        struct event *e = &b->events[i];

        if ((e->op == OP_READ || e->op == OP_WRITE) && !any_matters(s, e))
            e->flags |= EV_SIEVED;
    }
}
