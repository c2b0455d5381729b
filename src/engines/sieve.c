/* sieve.c - leave out the accesses that no engine can find a race on
 *
 * The last accesses of each word (words.h), as stamps of an order that every engine's order
 * contains. An access that is not ordered after a conflicting one makes the word
 * matter, for good. An alloc is a write and starts the word anew, a free is a
 * write. Being wrong on this side costs time, not races.
 *
 * The order is program order, hard edges and, with `handovers`, an edge from a
 * write to a read that saw it when a common lock is held at both: how buffers
 * are passed on through queues. hb, cp and wcp order the two because of the
 * lock, syncp and osr because reads keep their writers; an engine that goes by
 * values may not. Where two threads make conflicting accesses to a word, both
 * under locks, it matters, in order or not: they may make two sections
 * conflict (rule (a) of cp and wcp), and it may be how something is handed on.
 *
 * A word that matters but where all such accesses have a lock in common is no
 * suspect: no engine reports a race on it. That holds as long as locks exclude.
 */
#include "engines/sieve.h"
#include "base/alloc.h"
#include "base/map.h"
#include "engines/words.h"
#include "order/barriers.h"
#include "order/hb.h"
#include "order/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE_BITS = WORDS_PAGE_BITS,
    CACHE_PAGES = 2048, /* direct-mapped, in front of the map */
    AHEAD = 16,         /* events whose memory is fetched beforehand */
    ATOMIC_BITS = 14,
    BLOCK_BYTES_MAX = 1 << 20
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

/* The last write to a word, if it was made under locks. */
struct guard {
    uint64_t target;
    uint32_t size, set;
    struct clock clock;
};

struct page {
    uint64_t number;
    uint32_t accessor; /* the one thread that accessed it, + 1; 0: none, ACCESSOR_MANY: several */
    bool has_guards;
    struct guard *guards;   /* PAGE_WORDS, or NULL: nothing was written under a lock */
    struct locker *lockers; /* PAGE_WORDS, or NULL: no word was accessed under a lock */
    page_bits atomic;       /* an atomic accesses it */
    page_bits alive;        /* one did, since the word was allocated */
    page_bits mixed;        /* and then a plain write */
    page_bits listed;       /* others' calls can reach it */
    page_bits guarded;      /* last written under a lock: there is a guard */
    struct word_page words; /* last: what it has beside its bits goes after the first pass */
};

struct cached_page {
    uint64_t number;
    struct page *page;
};

struct sieve {
    struct map page_index; /* page number -> index + 1 */
    struct page **pages;
    size_t npages, pages_cap;
    struct cached_page cache[CACHE_PAGES];
    uint64_t nmeets, nsuspects; /* after the first pass */

    /* first pass only */
    struct memory *memory; /* of synchronisation and of words with atomics */
    struct hb hb;
    bool handovers;
    struct words words;
    struct held_sets sets;
    uint64_t atomic_pages[(1 << ATOMIC_BITS) / 64]; /* pages that atomics use, by a hash */
    uint8_t *threads;                               /* enum, by thread */
    size_t threads_cap;
    bool several;            /* more than one thread has begun */
    bool orphan;             /* a thread began that nobody was seen to fork */
    bool odd_locks;          /* a lock was released by another thread than the one that took it */
    struct map listed_index; /* hash of a listed -> known */
    struct listed *listed;   /* each once */
    size_t nlisted, listed_cap;
    bool lists_all;                                    /* some call can reach anything */
    void (*watch)(void *arg, const struct span *span); /* or NULL */
    void *watch_arg;
};

/* Of a thread. */
enum { THREAD_FORKED = 1, THREAD_SEEN = 2 };

struct sieve *sieve_new(bool handovers)
{
    struct sieve *s = xcalloc(1, sizeof(*s));

    s->handovers = handovers;
    s->memory = memory_new();
    hb_init(&s->hb);
    s->hb.no_lock_edges = true;
    held_sets_init(&s->sets);
    s->words.sets = &s->sets;
    return s;
}

static uint64_t bits_in(const uint64_t *bits)
{
    uint64_t n = 0;

    for (size_t k = 0; k < PAGE_WORDS / 64; k++)
        n += (uint64_t)__builtin_popcountll(bits[k]);
    return n;
}

/* Its bits stay. */
static struct page *shrink_page(struct sieve *s, struct page *p)
{
    words_release_page(&p->words);
    free(p->guards);
    free(p->lockers);
    p->guards = NULL;
    p->lockers = NULL;
    s->nmeets += bits_in(p->words.meets);
    s->nsuspects += bits_in(p->words.suspects);
    return xrealloc(p, 1, offsetof(struct page, words.blocks));
}

static void end_first_pass(struct sieve *s)
{
    if (!s->memory)
        return;
    memory_free(s->memory);
    hb_release(&s->hb);
    held_sets_release(&s->sets);
    free(s->threads);
    free(s->listed);
    map_release(&s->listed_index);
    s->memory = NULL;
    for (size_t i = 0; i < s->npages; i++)
        s->pages[i] = shrink_page(s, s->pages[i]);
    memset(s->cache, 0, sizeof(s->cache));
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

/* NULL where nothing of the page has been accessed, unless it is to be created. */
static struct page *page_lookup(struct sieve *s, uint64_t number, bool create)
{
    uint32_t *index = create ? map_put(&s->page_index, number, 0) : map_get(&s->page_index, number);
    struct page *p;

    if (!index)
        return NULL;
    if (!*index) {
        GROW(s->pages, s->pages_cap, s->npages + 1);
        s->pages[s->npages] = xcalloc(1, sizeof(struct page));
        s->pages[s->npages]->number = number;
        *index = (uint32_t)++s->npages;
    }
    p = s->pages[*index - 1];
    s->cache[number % CACHE_PAGES] = (struct cached_page){ number, p };
    return p;
}

static inline struct page *page_at(struct sieve *s, uint64_t address, bool create)
{
    uint64_t number = address >> PAGE_BITS;
    const struct cached_page *c = &s->cache[number % CACHE_PAGES];

    if (__builtin_expect(c->page && c->number == number, 1))
        return c->page;
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

static inline bool page_may_have_atomics(const struct sieve *s, uint64_t number)
{
    uint64_t h = number & ((1 << ATOMIC_BITS) - 1);

    return s->atomic_pages[h / 64] >> h % 64 & 1;
}

/* ---- accesses ---- */

static void note_accessor(struct page *p, uint32_t thread)
{
    if (p->accessor != thread + 1)
        p->accessor = p->accessor ? ACCESSOR_MANY : thread + 1;
}

static inline uint32_t set_of(const struct sieve *s, uint32_t thread)
{
    return held_sets_of(&s->sets, thread).set;
}

static struct word_access access_of(struct sieve *s, uint32_t thread, unsigned kind)
{
    const struct clock *c = &hb_thread(&s->hb, thread)->clock;

    return (struct word_access){ c, word_stamp_make(&s->words, c, set_of(s, thread), kind) };
}

/* A plain write ends the release sequence of an atomic, which engines must hear of. */
static void note_mixed(struct page *p, unsigned first, unsigned last, unsigned kind)
{
    for (unsigned i = first; i <= last; i++) {
        if (kind & STAMP_ATOMIC) {
            bit_set(p->alive, i);
        } else if (kind & STAMP_WRITE && bit_get(p->alive, i)) {
            bit_set(p->mixed, i);
            bit_set(p->words.meets, i);
        }
    }
}

static void access_words(struct sieve *s, const struct event *e, unsigned kind)
{
    struct word_access a = access_of(s, e->thread, kind);
    uint64_t at = e->target, end = e->target + e->size;

    while (at < end) {
        struct page *p = page_at(s, at, true);
        uint64_t to = ((at >> PAGE_BITS) + 1) << PAGE_BITS;

        if (to > end)
            to = end;
        note_accessor(p, e->thread);
        if (__builtin_expect(page_may_have_atomics(s, p->number), 0))
            note_mixed(p, word_at(at), word_at(to - 1), kind);
        words_access(&s->words, &p->words, &a, word_at(at), word_at(to - 1));
        at = to;
    }
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
        bit_set(p->words.meets, i);
    l->thread = other ? LOCKER_MANY : name;
    l->wrote |= writes;
}

/* A read under locks learns from the write it saw. */
static void learn_guard(struct sieve *s, const struct event *e, const struct guard *g, uint32_t set)
{
    if (e->target >= g->target && e->target + e->size <= g->target + g->size &&
        held_sets_protect(&s->sets, g->set, set))
        hb_learn(&s->hb, hb_thread(&s->hb, e->thread), &g->clock);
}

static void keep_guard(struct sieve *s, struct page *p, unsigned i, const struct event *e,
                       uint32_t set)
{
    struct guard *g;

    if (!p->guards) {
        p->guards = xcalloc(PAGE_WORDS, sizeof(*p->guards));
        for (size_t k = 0; k < PAGE_WORDS; k++)
            p->guards[k].clock = CLOCK_EMPTY;
    }
    g = &p->guards[i];
    g->target = e->target;
    g->size = e->size;
    g->set = set;
    clock_copy(&s->hb.pool, &g->clock, &hb_thread(&s->hb, e->thread)->clock);
    bit_set(p->guarded, i);
    p->has_guards = true;
}

/* Before the access is compared: a read keeps its writer. */
static void before_locked(struct sieve *s, const struct event *e, uint32_t set)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a)) {
        struct page *p = page_at(s, a, true);
        unsigned i = word_at(a);

        access_under_lock(p, i, e->thread, e->op == OP_WRITE);
        if (e->op == OP_READ && bit_get(p->guarded, i))
            learn_guard(s, e, &p->guards[i], set);
    }
}

/* A write under locks publishes a clock. */
static void after_locked(struct sieve *s, const struct event *e, uint32_t set)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a))
        keep_guard(s, page_at(s, a, true), word_at(a), e, set);
    hb_thread(&s->hb, e->thread)->clock.time++;
}

/* A write under no lock hands nothing over. */
static void after_unlocked(struct sieve *s, const struct event *e)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a)) {
        struct page *p = page_at(s, a, true);

        if (p->has_guards)
            bit_clear(p->guarded, word_at(a));
    }
}

static void plain_access(struct sieve *s, const struct event *e)
{
    uint32_t set = set_of(s, e->thread);
    bool writes = e->op == OP_WRITE;

    if (set)
        before_locked(s, e, set);
    access_words(s, e, writes ? STAMP_WRITE : 0);
    if (writes && set)
        after_locked(s, e, set);
    else if (writes && s->several)
        after_unlocked(s, e);
}

/* ---- memory that comes and goes ---- */

/* A word that is allocated whole starts anew. */
static void write_in_page(struct sieve *s, const struct event *e, struct page *p)
{
    struct word_access now = access_of(s, e->thread, STAMP_WRITE);
    uint64_t begin = p->number << PAGE_BITS, end = begin + (1 << PAGE_BITS);
    uint64_t from = e->target > begin ? e->target : begin;
    uint64_t to = e->target + e->value < end ? e->target + e->value : end;
    uint64_t whole_from = (from + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
    uint64_t whole_to = to / WORD_BYTES * WORD_BYTES;

    note_accessor(p, e->thread);
    for (uint64_t a = from; a < to; a = next_word(a)) {
        if (p->has_guards)
            bit_clear(p->guarded, word_at(a));
        if (set_of(s, e->thread))
            access_under_lock(p, word_at(a), e->thread, true);
    }
    if (e->op != OP_ALLOC || whole_from >= whole_to) {
        words_access(&s->words, &p->words, &now, word_at(from), word_at(to - 1));
        return;
    }
    if (from < whole_from)
        words_access(&s->words, &p->words, &now, word_at(from), word_at(from));
    words_begin(&s->words, &p->words, &now, word_at(whole_from), word_at(whole_to - 1));
    if (page_may_have_atomics(s, p->number))
        for (unsigned i = word_at(whole_from); i <= word_at(whole_to - 1); i++)
            bit_clear(p->alive, i);
    if (whole_to < to)
        words_access(&s->words, &p->words, &now, word_at(whole_to), word_at(whole_to));
}

/* Also words count that nobody has accessed yet: later accesses come after the alloc, and race with
 * the free. But programs reserve terabytes of which they touch little: of large blocks only the
 * pages count that there are, and where they are fewer than those of the range they are gone
 * through. */
static void write_range(struct sieve *s, const struct event *e)
{
    uint64_t first = e->target >> PAGE_BITS, last = (e->target + e->value - 1) >> PAGE_BITS;

    if (!e->value)
        return;
    if (e->value > BLOCK_BYTES_MAX && e->value >> PAGE_BITS > s->npages) {
        for (size_t i = 0; i < s->npages; i++)
            if (s->pages[i]->number >= first && s->pages[i]->number <= last)
                write_in_page(s, e, s->pages[i]);
        return;
    }
    for (uint64_t n = first; n <= last; n++) {
        struct page *p = page_at(s, n << PAGE_BITS, e->value <= BLOCK_BYTES_MAX);

        if (p)
            write_in_page(s, e, p);
    }
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
    uint64_t end = e->target + e->size;
    bool atomic = op_is_atomic(e->op), near = atomic;

    for (uint64_t n = e->target >> PAGE_BITS; n <= (end - 1) >> PAGE_BITS; n++) {
        if (atomic)
            s->atomic_pages[(n & ((1 << ATOMIC_BITS) - 1)) / 64] |= (uint64_t)1 << n % 64;
        near |= page_may_have_atomics(s, n);
    }
    for (uint64_t a = e->target; near && a < end; a = next_word(a)) {
        struct page *p = page_at(s, a, true);

        if (op_is_atomic(e->op))
            bit_set(p->atomic, word_at(a));
        atomic |= bit_get(p->atomic, word_at(a));
    }
    if (!atomic)
        e->flags |= EV_SIEVED;
}

/* A step of a lock: what the thread holds from here on. */
static void hold(struct sieve *s, const struct step *step)
{
    if (step->flags & STEP_FOREIGN)
        s->odd_locks = true;
    if (step->flags & STEP_NESTED || !s->handovers)
        return;
    if (step->op == OP_ACQUIRE || step->op == OP_ACQUIRE_SHARED)
        held_sets_acquire(&s->sets, step);
    else if (step->op == OP_RELEASE || step->op == OP_RELEASE_SHARED)
        held_sets_release_lock(&s->sets, step);
}

/* Up to here there was one thread. */
static void end_solitude(struct sieve *s, const struct step *fork)
{
    s->words.alone = word_stamp_make(&s->words, &hb_thread(&s->hb, fork->thread)->clock, 0, 0);
}

static void before_step(struct sieve *s, const struct step *step)
{
    if (step->op == OP_FORK) {
        GROW(s->threads, s->threads_cap, (size_t)step->id + 1);
        s->threads[step->id] |= THREAD_FORKED;
        if (!s->several)
            end_solitude(s, step);
        s->several = true;
    }
    hb_before(&s->hb, step);
    if (step->op < OP_COUNT && op_class_of(step->op) == CLASS_LOCK)
        hold(s, step);
}

/* A thread's first event. */
static void begin_thread(struct sieve *s, uint32_t thread)
{
    bool first = !s->threads_cap;

    GROW(s->threads, s->threads_cap, (size_t)thread + 1);
    if (!first && !(s->threads[thread] & THREAD_FORKED))
        s->orphan = s->several = true;
    s->threads[thread] |= THREAD_SEEN;
}

static void look_at(struct sieve *s, const struct event *e, const uint64_t *extra)
{
    if (e->op == OP_READ || e->op == OP_WRITE)
        plain_access(s, e);
    else if (op_is_atomic(e->op))
        access_words(s, e, STAMP_ATOMIC | (op_table[e->op].writes ? STAMP_WRITE : 0));
    else if (e->op == OP_ALLOC || e->op == OP_FREE)
        write_range(s, e);
    else if (e->op == OP_CALL)
        learn_call(s, e, extra);
}

/* What it learns, its access, what it publishes. */
static void learn_event(struct sieve *s, const struct event *e, const uint64_t *extra,
                        const struct step *steps, size_t n)
{
    bool tick = false;

    if (e->thread >= s->threads_cap || !(s->threads[e->thread] & THREAD_SEEN))
        begin_thread(s, e->thread);
    for (size_t i = 0; i < n; i++)
        before_step(s, &steps[i]);
    if (!(e->flags & EV_IGNORED))
        look_at(s, e, extra);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(steps[i].op))
            tick |= hb_after(&s->hb, &steps[i]);
    if (tick)
        hb_thread(&s->hb, e->thread)->clock.time++;
}

static inline void fetch(const struct sieve *s, const struct event *e)
{
    uint64_t number = e->target >> PAGE_BITS;
    const struct cached_page *c = &s->cache[number % CACHE_PAGES];

    if (c->page && c->number == number)
        __builtin_prefetch(&c->page->words.blocks[e->target >> BLOCK_BITS & (PAGE_BLOCKS - 1)]);
}

void sieve_watch(struct sieve *s, void (*steps)(void *arg, const struct span *span), void *arg)
{
    s->watch = steps;
    s->watch_arg = arg;
}

void sieve_learn(struct sieve *s, struct batch *b)
{
    struct span span;
    size_t at = 0;

    for (size_t i = 0; i < b->count; i++)
        if (op_is_access(b->events[i].op) && !(b->events[i].flags & EV_IGNORED))
            mark_plain(s, &b->events[i]);
    memory_steps(s->memory, b, &span);
    if (s->watch)
        s->watch(s->watch_arg, &span);
    hb_begin_span(&s->hb, &span);
    for (size_t i = 0; i < b->count; i++) {
        size_t n = steps_of(&span, at, b->first + i);

        if (i + AHEAD < b->count)
            fetch(s, &b->events[i + AHEAD]);
        learn_event(s, &b->events[i], b->extra, span.steps + at, n);
        at += n;
    }
}

/* ---- later passes ---- */

uint64_t sieve_words(const struct sieve *s)
{
    return s->nmeets;
}

bool sieve_knows_suspects(const struct sieve *s)
{
    return s->handovers && !s->odd_locks && !s->words.crowded && !(s->orphan && s->words.dropped);
}

uint64_t sieve_suspects(const struct sieve *s)
{
    return s->nsuspects;
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

static inline bool any_bit(struct sieve *s, const struct event *e, bool suspects)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a)) {
        const struct page *p = page_at(s, a, false);
        unsigned i = word_at(a);

        if (p && (suspects ? bit_get(p->words.suspects, i) || bit_get(p->mixed, i)
                           : bit_get(p->words.meets, i)))
            return true;
    }
    return false;
}

static void mark(struct sieve *s, struct batch *b, bool suspects)
{
    for (size_t i = 0; i < b->count; i++) {
        struct event *e = &b->events[i];

        if ((e->op == OP_READ || e->op == OP_WRITE) && !any_bit(s, e, suspects))
            e->flags |= EV_SIEVED;
    }
}

void sieve_mark(struct sieve *s, struct batch *b)
{
    mark(s, b, false);
}

void sieve_mark_suspects(struct sieve *s, struct batch *b)
{
    mark(s, b, true);
}
