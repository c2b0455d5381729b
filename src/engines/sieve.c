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
 * values may not. A loose read hands nothing on (docs/design/marks.md), and taints.h says which
 * of these accesses are needed to know who is tainted. Where two threads make
 * conflicting accesses to a word, both under locks, it matters, in order or not: they may make two
 * sections conflict (rule (a) of cp and wcp), and it may be how something is handed on.
 *
 * A word that matters but where all such accesses have a lock in common is no
 * suspect: no engine reports a race on it. That holds as long as locks exclude.
 */
#include "engines/sieve.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/map.h"
#include "engines/taints.h"
#include "engines/words.h"
#include "order/call_pairs.h"
#include "order/hb.h"
#include "order/memory.h"
#include "trace/ahead.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE_BITS = WORDS_PAGE_BITS,
    CACHE_PAGES = 16384, /* direct-mapped, in front of the map: 64 MiB of the program */
    AHEAD = 16,          /* events whose memory is fetched beforehand */
    ATOMIC_BITS = 14,
    NEAR_BITS = 17, /* 16 KiB: in the first cache, and rarely wrong for ten thousand blocks */
    BLOCK_BYTES_MAX = 1 << 20,
    HUGE_BYTES = 2 << 20,
    STORE_BYTES = 64 << 20 /* of addresses; memory comes as it is touched */
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

/* By block: BLOCK_WORDS, or NULL. */
struct guards {
    struct guard *blocks[PAGE_BLOCKS];
};

struct page {
    uint64_t number;
    uint32_t accessor; /* the one thread that accessed it, + 1; 0: none, ACCESSOR_MANY: several */
    struct guards *guards;      /* or NULL: nothing was written under a lock */
    struct taint_words *taints; /* or NULL: nothing was accessed loosely */
    struct locker *lockers;     /* PAGE_WORDS, or NULL: no word was accessed under a lock */
    page_bits needed;           /* some accesses are, whatever becomes of the word */
    page_bits locked;           /* two threads made conflicting accesses, each under a lock */
    page_bits alive;            /* one did, since the word was allocated */
    page_bits mixed;            /* and then a plain write */
    page_bits listed;           /* others' calls can reach it */
    page_bits guarded;          /* last written under a lock: there is a guard */
    struct word_page words;     /* last: what it has beside its bits goes after the first pass */
};

/* What most accesses need of a page beside its blocks. */
struct cached_page {
    uint64_t number;
    struct page *page; /* NULL: none */
    uint32_t accessor; /* the page's */
    bool has_guards;   /* the page has */
    bool has_taints;
};

/* A bit for pages, by a hash. */
typedef uint64_t page_filter[(1 << ATOMIC_BITS) / 64];

/* What can be done without knowing the words, by a thread that reads ahead. */
struct prepare {
    struct memory *memory; /* of synchronisation and of words with atomics */
    struct map atomics;    /* words that an atomic accesses */
    page_filter atomic_pages;
    uint64_t others;
    struct prepared {
        struct span span;
        struct step *steps; /* owned */
        size_t steps_cap;
    } slots[AHEAD_SLOTS];
};

/* Where pages stand in the first pass, one after the other, in huge pages of the system: accesses
 * go all over them, and to find small pages would take longer than to read them. */
struct store {
    char **blocks; /* of STORE_BYTES */
    size_t count, cap;
    char *next, *end; /* of the last one */
};

struct sieve {
    struct map page_index; /* page number -> index + 1 */
    struct page **pages;
    size_t npages, pages_cap;
    struct store store; /* first pass only */
    struct cached_page cache[CACHE_PAGES];
    uint64_t nmeets, nsuspects, nothers; /* after the first pass */
    uint64_t *needed;                    /* positions, ascending */
    size_t nneeded;
    /* Blocks that have words which matter, and those with words that are looked at for suspects,
     * by a hash: most accesses are near none. */
    uint64_t near_meets[(1 << NEAR_BITS) / 64], near_suspects[(1 << NEAR_BITS) / 64];

    /* first pass only */
    struct prepare *prepare;
    struct hb hb;
    bool handovers;
    struct words words;
    struct held_sets sets;
    struct taints taints;
    bool has_taints;          /* something was accessed loosely */
    uint64_t position;        /* of the event at hand */
    bool knows_taints;        /* else all words that were written loosely matter */
    page_filter atomic_pages; /* pages that atomics use */
    uint8_t *threads;         /* enum, by thread */
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
    s->prepare = xcalloc(1, sizeof(*s->prepare));
    s->prepare->memory = memory_new();
    hb_init(&s->hb);
    s->hb.no_lock_edges = true;
    held_sets_init(&s->sets);
    s->words.sets = &s->sets;
    s->knows_taints = handovers;
    return s;
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

static uint64_t bits_in(const uint64_t *bits)
{
    uint64_t n = 0;

    for (size_t k = 0; k < PAGE_WORDS / 64; k++)
        n += (uint64_t)__builtin_popcountll(bits[k]);
    return n;
}

static inline unsigned near_bit(uint64_t block)
{
    return (unsigned)(map_hash(block) & ((1 << NEAR_BITS) - 1));
}

static void note_near(struct sieve *s, const struct page *p)
{
    const uint8_t *meets = (const uint8_t *)p->words.meets, *mixed = (const uint8_t *)p->mixed;
    const uint8_t *suspects = (const uint8_t *)p->words.suspects;
    const uint8_t *needed = (const uint8_t *)p->needed;

    for (unsigned i = 0; i < PAGE_BLOCKS; i++) {
        unsigned bit = near_bit((p->number << (PAGE_BITS - BLOCK_BITS)) + i);

        invariant(!(suspects[i] & ~meets[i])); /* every suspect matters */

        if (meets[i] | needed[i])
            bit_set(s->near_meets, bit);
        if (suspects[i] | mixed[i])
            bit_set(s->near_suspects, bit);
    }
}

/* ---- where pages stand ---- */

static void store_more(struct store *s)
{
    char *block = mmap(NULL, STORE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uintptr_t first = ((uintptr_t)block + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1);

    if (block == MAP_FAILED) {
        s->next = s->end = NULL;
        return;
    }
    GROW(s->blocks, s->cap, s->count + 1);
    s->blocks[s->count++] = block;
    s->next = (char *)first;
    s->end = block + STORE_BYTES;
    first += s->count == 1 ? HUGE_BYTES : 0; /* a short trace needs little */
    (void)madvise((void *)first, (size_t)(s->end - (char *)first), MADV_HUGEPAGE);
}

/* Zeroed; where addresses are short it is an allocation like any other, and is never freed. */
static struct page *store_page(struct store *s)
{
    struct page *p;

    if ((size_t)(s->end - s->next) < sizeof(*p))
        store_more(s);
    if (!s->next)
        return xcalloc(1, sizeof(*p));
    p = (struct page *)s->next;
    s->next += (sizeof(*p) + 63) & ~(size_t)63;
    return p;
}

static void store_release(struct store *s)
{
    for (size_t i = 0; i < s->count; i++)
        munmap(s->blocks[i], STORE_BYTES);
    free(s->blocks);
    *s = (struct store){ 0 };
}

/* Its bits stay, elsewhere. */
static struct page *shrink_page(struct sieve *s, struct page *p)
{
    struct page *small = xmalloc(offsetof(struct page, words.blocks));

    words_release_page(&p->words);
    for (unsigned i = 0; p->guards && i < PAGE_BLOCKS; i++)
        free(p->guards->blocks[i]);
    free(p->guards);
    free(p->lockers);
    free(p->taints);
    p->taints = NULL;
    p->guards = NULL;
    p->lockers = NULL;
    note_near(s, p);
    s->nmeets += bits_in(p->words.meets);
    s->nsuspects += bits_in(p->words.suspects);
    memcpy(small, p, offsetof(struct page, words.blocks));
    return small;
}

static void free_prepare(struct prepare *p)
{
    memory_free(p->memory);
    map_release(&p->atomics);
    for (unsigned i = 0; i < AHEAD_SLOTS; i++)
        free(p->slots[i].steps);
    free(p);
}

static void end_first_pass(struct sieve *s)
{
    if (!s->prepare)
        return;
    s->nothers = s->prepare->others;
    free_prepare(s->prepare);
    hb_release(&s->hb);
    held_sets_release(&s->sets);
    taints_finish(&s->taints);
    s->needed = s->taints.needed;
    s->nneeded = s->taints.nneeded;
    s->taints.needed = NULL;
    taints_release(&s->taints);
    free(s->threads);
    free(s->listed);
    map_release(&s->listed_index);
    s->prepare = NULL;
    for (size_t i = 0; i < s->npages; i++)
        s->pages[i] = shrink_page(s, s->pages[i]);
    store_release(&s->store);
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
    free(s->needed);
    map_release(&s->page_index);
    free(s);
}

/* ---- pages ---- */

static inline struct cached_page *slot_of(struct sieve *s, uint64_t number)
{
    return &s->cache[number % CACHE_PAGES];
}

/* NULL where nothing of the page has been accessed, unless it is to be created. */
static struct cached_page *page_lookup(struct sieve *s, uint64_t number, bool create)
{
    uint32_t *index = create ? map_put(&s->page_index, number, 0) : map_get(&s->page_index, number);
    struct cached_page *c = slot_of(s, number);
    struct page *p;

    if (!index)
        return NULL;
    if (!*index) {
        GROW(s->pages, s->pages_cap, s->npages + 1);
        s->pages[s->npages] = store_page(&s->store);
        s->pages[s->npages]->number = number;
        *index = (uint32_t)++s->npages;
    }
    p = s->pages[*index - 1];
    *c = (struct cached_page){ number, p, p->accessor, p->guards != NULL, p->taints != NULL };
    return c;
}

/* The page with what is at hand of it; it is created. */
static inline struct cached_page *cached_at(struct sieve *s, uint64_t address)
{
    uint64_t number = address >> PAGE_BITS;
    struct cached_page *c = slot_of(s, number);

    if (__builtin_expect(c->page && c->number == number, 1))
        return c;
    return page_lookup(s, number, true);
}

static inline struct page *page_at(struct sieve *s, uint64_t address, bool create)
{
    uint64_t number = address >> PAGE_BITS;
    const struct cached_page *c = slot_of(s, number);

    if (__builtin_expect(c->page && c->number == number, 1))
        return c->page;
    c = page_lookup(s, number, create);
    return c ? c->page : NULL;
}

static inline unsigned word_at(uint64_t address)
{
    return address / WORD_BYTES % PAGE_WORDS;
}

/* The word after the one at the address. */
static inline uint64_t next_word(uint64_t address)
{
    return address / WORD_BYTES * WORD_BYTES + WORD_BYTES;
}

static inline unsigned filter_bit(uint64_t number)
{
    return (unsigned)(number & ((1 << ATOMIC_BITS) - 1));
}

static inline bool page_may_have_atomics(const struct sieve *s, uint64_t number)
{
    return bit_get(s->atomic_pages, filter_bit(number));
}

static void note_atomic_pages(uint64_t *filter, const struct event *e)
{
    for (uint64_t n = e->target >> PAGE_BITS; n <= (e->target + e->size - 1) >> PAGE_BITS; n++)
        bit_set(filter, filter_bit(n));
}

/* ---- accesses ---- */

static inline void note_accessor(struct cached_page *c, uint32_t thread)
{
    if (__builtin_expect(c->accessor == thread + 1 || c->accessor == ACCESSOR_MANY, 1))
        return;
    c->accessor = c->accessor ? ACCESSOR_MANY : thread + 1;
    c->page->accessor = c->accessor;
}

static inline uint32_t set_of(const struct sieve *s, uint32_t thread)
{
    return held_sets_of(&s->sets, thread).set;
}

static struct word_access access_of(struct sieve *s, uint32_t thread, unsigned kind)
{
    const struct clock *c = &hb_thread(&s->hb, thread)->clock;

    return (struct word_access){ c, word_stamp_make(c, set_of(s, thread), kind) };
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
        struct cached_page *c = cached_at(s, at);
        uint64_t to = ((at >> PAGE_BITS) + 1) << PAGE_BITS;

        if (to > end)
            to = end;
        note_accessor(c, e->thread);
        if (__builtin_expect(page_may_have_atomics(s, c->number), 0))
            note_mixed(c->page, word_at(at), word_at(to - 1), kind);
        words_access(&s->words, &c->page->words, &a, word_at(at), word_at(to - 1));
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

    if (bit_get(p->words.meets, i) || bit_get(p->locked, i))
        return;
    if (!p->lockers)
        p->lockers = xcalloc(PAGE_WORDS, sizeof(*p->lockers));
    l = &p->lockers[i];
    other = l->thread && (l->thread != name || name == LOCKER_MANY);
    if (other && (writes || l->wrote))
        bit_set(p->locked, i);
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

/* The guard of a word that is written under a lock. */
static struct guard *guard_at(struct cached_page *c, unsigned i)
{
    struct page *p = c->page;
    struct guard **block;

    if (!p->guards)
        p->guards = xcalloc(1, sizeof(*p->guards));
    c->has_guards = true;
    block = &p->guards->blocks[i / BLOCK_WORDS];
    if (!*block) {
        *block = xcalloc(BLOCK_WORDS, sizeof(**block));
        for (unsigned k = 0; k < BLOCK_WORDS; k++)
            (*block)[k].clock = CLOCK_EMPTY;
    }
    return &(*block)[i % BLOCK_WORDS];
}

static void keep_guard(struct sieve *s, struct cached_page *c, unsigned i, const struct event *e,
                       uint32_t set)
{
    struct guard *g = guard_at(c, i);

    g->target = e->target;
    g->size = e->size;
    g->set = set;
    clock_copy(&s->hb.pool, &g->clock, &hb_thread(&s->hb, e->thread)->clock);
    bit_set(c->page->guarded, i);
}

/* Before the access is compared: a read keeps its writer. */
static void before_locked(struct sieve *s, const struct event *e, uint32_t set)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a)) {
        struct page *p = page_at(s, a, true);
        unsigned i = word_at(a);

        access_under_lock(p, i, e->thread, e->op == OP_WRITE);
        if (e->op == OP_READ && !(e->flags & EV_LOOSE) && bit_get(p->guarded, i))
            learn_guard(s, e, &p->guards->blocks[i / BLOCK_WORDS][i % BLOCK_WORDS], set);
    }
}

/* A write under locks publishes a clock. */
static void after_locked(struct sieve *s, const struct event *e, uint32_t set)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a))
        keep_guard(s, cached_at(s, a), word_at(a), e, set);
    hb_thread(&s->hb, e->thread)->clock.time++;
}

/* A write under no lock hands nothing over. */
static void after_unlocked(struct sieve *s, const struct event *e)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_word(a)) {
        const struct cached_page *c = cached_at(s, a);

        if (c->has_guards)
            bit_clear(c->page->guarded, word_at(a));
    }
}

/* ---- loose accesses ---- */

static struct taint_words *taints_at(struct cached_page *c)
{
    if (!c->page->taints)
        c->page->taints = xcalloc(1, sizeof(*c->page->taints));
    c->has_taints = true;
    return c->page->taints;
}

/* NULL: no loose access has been near. */
static inline struct taint_unit *unit_at(const struct cached_page *c, uint64_t address)
{
    return c->has_taints ? &c->page->taints->units[address / TAINT_BYTES % TAINT_UNITS] : NULL;
}

static inline uint64_t next_unit(uint64_t address)
{
    return address / TAINT_BYTES * TAINT_BYTES + TAINT_BYTES;
}

/* The bytes of the address's unit from there to the end of the range. */
static inline unsigned unit_bytes(uint64_t at, uint64_t end)
{
    unsigned first = at % TAINT_BYTES;

    end = next_unit(at) < end ? next_unit(at) : end;
    return (1u << (first + (unsigned)(end - at))) - (1u << first);
}

/* What it leaves may be another value, and then even a read of its own thread must not see it. */
static void write_loosely(struct sieve *s, const struct event *e)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_unit(a)) {
        struct cached_page *c = cached_at(s, a);
        struct taint_words *t = taints_at(c);

        bit_set(t->written, word_at(a));
        if (taints_write(&s->taints, unit_at(c, a), unit_bytes(a, end), e->thread, s->position))
            bit_set(t->demanded, word_at(a));
    }
}

static bool sees_other(struct sieve *s, const struct event *e)
{
    uint64_t end = e->target + e->size;
    bool sees = false;

    for (uint64_t a = e->target; a < end; a = next_unit(a)) {
        const struct cached_page *c = cached_at(s, a);
        const struct taint_unit *u = unit_at(c, a);

        if (u && taints_is_foreign(&s->taints, u, unit_bytes(a, end), e->thread)) {
            bit_set(c->page->taints->demanded, word_at(a));
            sees = true;
        }
    }
    return sees;
}

/* Where no other thread has been, and no lock says that one may come, it is none: should the word
 * come to be unordered all the same, find_missed_chances() sees that. */
static bool is_chance(struct sieve *s, const struct event *e)
{
    bool chance = sees_other(s, e) || set_of(s, e->thread);

    for (uint64_t a = e->target; !chance && a < e->target + e->size; a = next_word(a)) {
        const struct cached_page *c = cached_at(s, a);

        chance = c->accessor == ACCESSOR_MANY || bit_get(c->page->words.meets, word_at(a));
    }
    return chance;
}

static void read_loosely(struct sieve *s, const struct event *e)
{
    if (is_chance(s, e)) {
        taints_chance(&s->taints, e->thread);
        return;
    }
    for (uint64_t a = e->target; s->several && a < e->target + e->size; a = next_word(a)) {
        struct taint_words *t = taints_at(cached_at(s, a));

        bit_set(t->early, word_at(a));
        t->reader = e->thread;
    }
}

static void write_firmly(struct sieve *s, uint64_t from, uint64_t to)
{
    for (uint64_t a = from; a < to; a = next_unit(a)) {
        struct taint_unit *u = unit_at(cached_at(s, a), a);

        if (u)
            taints_overwrite(u, unit_bytes(a, to));
    }
}

static void read_firmly(struct sieve *s, const struct event *e)
{
    uint64_t end = e->target + e->size;

    for (uint64_t a = e->target; a < end; a = next_unit(a)) {
        const struct cached_page *c = cached_at(s, a);
        const struct taint_unit *u = unit_at(c, a);
        size_t before = s->taints.nneeded;

        if (u && taints_read(&s->taints, u, unit_bytes(a, end), e->thread, s->position))
            bit_set(c->page->taints->demanded, word_at(a));
        if (s->taints.nneeded > before)
            bit_set(c->page->needed, word_at(a));
    }
}

/* An atomic is always there; what reads what it leaves is, too. */
static void atomic_loosely(struct sieve *s, const struct event *e)
{
    s->has_taints = true;
    for (uint64_t a = e->target; a < e->target + e->size; a = next_word(a))
        bit_set(taints_at(cached_at(s, a))->demanded, word_at(a));
    taints_chance(&s->taints, e->thread);
}

/* A word came to be unordered after a loose read of it that was not counted: the reader may be
 * tainted where it was taken not to be. */
static void find_missed_chances(struct sieve *s)
{
    for (size_t i = 0; i < s->npages; i++) {
        const struct page *p = s->pages[i];

        for (size_t k = 0; p->taints && k < PAGE_WORDS / 64; k++)
            if (p->taints->early[k] & p->words.meets[k])
                taints_give_up(&s->taints, p->taints->reader);
    }
}

/* Where it is not known whether the writer was tainted, all that was written loosely is needed. */
static void mark_loose(struct sieve *s)
{
    bool all = !s->knows_taints || s->orphan;

    find_missed_chances(s);
    for (size_t i = 0; i < s->npages; i++) {
        struct page *p = s->pages[i];
        bool these =
            all || (p->accessor == ACCESSOR_MANY ? s->taints.gave_up
                                                 : taints_gave_up(&s->taints, p->accessor - 1));

        for (size_t k = 0; p->taints && k < PAGE_WORDS / 64; k++)
            p->words.meets[k] |= p->taints->demanded[k] | (these ? p->taints->written[k] : 0);
    }
}

static void mark_locked(struct sieve *s)
{
    for (size_t i = 0; i < s->npages; i++)
        for (size_t k = 0; k < PAGE_WORDS / 64; k++)
            s->pages[i]->words.meets[k] |= s->pages[i]->locked[k];
}

static inline void plain_write(struct sieve *s, const struct event *e, uint32_t set)
{
    if (set)
        before_locked(s, e, set);
    access_words(s, e, STAMP_WRITE);
    if (set)
        after_locked(s, e, set);
    else if (s->several)
        after_unlocked(s, e);
    if (e->flags & EV_LOOSE)
        write_loosely(s, e);
    else if (s->has_taints)
        write_firmly(s, e->target, e->target + e->size);
}

static inline void plain_read(struct sieve *s, const struct event *e, uint32_t set)
{
    if (set)
        before_locked(s, e, set);
    access_words(s, e, 0);
    if (e->flags & EV_LOOSE)
        read_loosely(s, e);
    else if (s->has_taints)
        read_firmly(s, e);
}

static inline void plain_access(struct sieve *s, const struct event *e)
{
    uint32_t set = set_of(s, e->thread);

    s->has_taints |= (e->flags & EV_LOOSE) != 0;
    if (e->op == OP_WRITE)
        plain_write(s, e, set);
    else
        plain_read(s, e, set);
}

/* ---- memory that comes and goes ---- */

/* A word that is allocated whole starts anew. */
static void write_in_page(struct sieve *s, const struct event *e, struct cached_page *c)
{
    struct page *p = c->page;
    struct word_access now = access_of(s, e->thread, STAMP_WRITE);
    uint64_t begin = p->number << PAGE_BITS, end = begin + (1 << PAGE_BITS);
    uint64_t from = e->target > begin ? e->target : begin;
    uint64_t to = e->target + e->value < end ? e->target + e->value : end;
    uint64_t whole_from = (from + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
    uint64_t whole_to = to / WORD_BYTES * WORD_BYTES;

    note_accessor(c, e->thread);
    if (c->has_taints)
        write_firmly(s, from, to);
    for (uint64_t a = from; a < to; a = next_word(a)) {
        if (c->has_guards)
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
                write_in_page(s, e, cached_at(s, s->pages[i]->number << PAGE_BITS));
        return;
    }
    for (uint64_t n = first; n <= last; n++) {
        if (page_at(s, n << PAGE_BITS, e->value <= BLOCK_BYTES_MAX))
            write_in_page(s, e, cached_at(s, n << PAGE_BITS));
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
    s->knows_taints = false;
    for (uint64_t k = 0; k < e->old; k++) {
        const uint64_t *entry = extra + e->value + 2 * k;
        uint64_t from, to;

        if (D_KIND(entry[0]) == D_ALL_KIND)
            s->lists_all = true;
        else if (call_pairs_range(entry, &from, &to))
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
    mark_loose(s);
    mark_locked(s);
    mark_listed(s);
    end_first_pass(s);
}

/* ---- the first pass ---- */

static void note_atomic(struct prepare *p, const struct event *e)
{
    note_atomic_pages(p->atomic_pages, e);
    for (uint64_t a = e->target; a < e->target + e->size; a = next_word(a))
        map_put(&p->atomics, a / WORD_BYTES, 1);
}

static bool is_near_atomics(const struct prepare *p, const struct event *e)
{
    uint64_t end = e->target + e->size;
    bool near = false;

    for (uint64_t n = e->target >> PAGE_BITS; n <= (end - 1) >> PAGE_BITS; n++)
        near |= bit_get(p->atomic_pages, filter_bit(n));
    for (uint64_t a = e->target; near && a < end; a = next_word(a))
        if (map_get(&p->atomics, a / WORD_BYTES))
            return true;
    return false;
}

/* Plain accesses make no steps, except to words with atomics: a plain write ends a release
 * sequence. */
static void prepare_access(struct prepare *p, struct event *e)
{
    if (op_is_atomic(e->op))
        note_atomic(p, e);
    else if (!is_near_atomics(p, e))
        e->flags |= EV_SIEVED;
}

void sieve_prepare(struct sieve *s, struct batch *b, unsigned slot)
{
    struct prepare *p = s->prepare;
    struct prepared *to = &p->slots[slot];

    for (size_t i = 0; i < b->count; i++) {
        unsigned op = b->events[i].op;

        p->others += op > OP_WRITE && op != OP_ENTER && op != OP_EXIT;
        if (op_is_access(op) && !(b->events[i].flags & EV_IGNORED))
            prepare_access(p, &b->events[i]);
    }
    memory_steps(p->memory, b, &to->span);
    GROW(to->steps, to->steps_cap, to->span.count);
    if (to->span.count)
        memcpy(to->steps, to->span.steps, to->span.count * sizeof(*to->steps));
    to->span.steps = to->steps;
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
    s->words.alone = word_stamp_make(&hb_thread(&s->hb, fork->thread)->clock, 0, 0);
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

static void atomic_access(struct sieve *s, const struct event *e)
{
    note_atomic_pages(s->atomic_pages, e);
    access_words(s, e, STAMP_ATOMIC | (op_table[e->op].writes ? STAMP_WRITE : 0));
    if (e->flags & EV_LOOSE)
        atomic_loosely(s, e);
}

static void look_at(struct sieve *s, const struct event *e, const uint64_t *extra)
{
    if (e->op == OP_READ || e->op == OP_WRITE)
        plain_access(s, e);
    else if (op_is_atomic(e->op))
        atomic_access(s, e);
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
    if (s->has_taints && event_ends_quiet(e) && !(e->flags & EV_IGNORED))
        taints_quiet(&s->taints, e->thread);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(steps[i].op))
            tick |= hb_after(&s->hb, &steps[i]);
    if (tick)
        hb_thread(&s->hb, e->thread)->clock.time++;
}

static inline void fetch(struct sieve *s, const struct event *e)
{
    uint64_t number = e->target >> PAGE_BITS;
    const struct cached_page *c = slot_of(s, number);

    if (c->page && c->number == number)
        __builtin_prefetch(&c->page->words.blocks[e->target >> BLOCK_BITS & (PAGE_BLOCKS - 1)]);
}

void sieve_watch(struct sieve *s, void (*steps)(void *arg, const struct span *span), void *arg)
{
    s->watch = steps;
    s->watch_arg = arg;
}

void sieve_learn(struct sieve *s, const struct batch *b, unsigned slot)
{
    const struct span *span = &s->prepare->slots[slot].span;
    size_t at = 0;

    if (s->watch)
        s->watch(s->watch_arg, span);
    hb_begin_span(&s->hb, span);
    for (size_t i = 0; i < b->count; i++) {
        size_t n = steps_of(span, at, b->first + i);

        if (i + AHEAD < b->count)
            fetch(s, &b->events[i + AHEAD]);
        s->position = b->first + i;
        learn_event(s, &b->events[i], b->extra, n ? span->steps + at : NULL, n);
        at += n;
    }
}

/* ---- later passes ---- */

/* What was done in solitude was forgotten, and then came a thread that nobody forked: of it, and of
 * all that depends on it, nothing is known. */
static bool lacks_words(const struct sieve *s)
{
    return s->orphan && s->words.dropped;
}

uint64_t sieve_words(const struct sieve *s)
{
    return s->nmeets;
}

bool sieve_knows_suspects(const struct sieve *s)
{
    return s->handovers && !s->odd_locks && !lacks_words(s);
}

uint64_t sieve_others(const struct sieve *s)
{
    return s->nothers;
}

uint64_t sieve_suspects(const struct sieve *s)
{
    return s->nsuspects;
}

size_t sieve_needed(const struct sieve *s, const uint64_t **positions)
{
    *positions = s->needed;
    return s->nneeded;
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

static inline bool is_near(const uint64_t *near, const struct event *e)
{
    uint64_t last = (e->target + e->size - 1) >> BLOCK_BITS;

    for (uint64_t block = e->target >> BLOCK_BITS; block <= last; block++)
        if (bit_get(near, near_bit(block)))
            return true;
    return false;
}

static inline bool drops(const uint64_t *near, const struct event *e)
{
    return e->op == OP_ENTER || e->op == OP_EXIT || !is_near(near, e);
}

bool sieve_drops(void *sieve, const struct event *e)
{
    return drops(((const struct sieve *)sieve)->near_meets, e);
}

bool sieve_drops_all_but_suspects(void *sieve, const struct event *e)
{
    return drops(((const struct sieve *)sieve)->near_suspects, e);
}

static inline bool any_bit(struct sieve *s, const struct event *e, bool suspects)
{
    uint64_t end = e->target + e->size;

    if (!is_near(suspects ? s->near_suspects : s->near_meets, e))
        return false;
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
    if (lacks_words(s))
        return;
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
