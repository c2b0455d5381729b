/* alias_mode.c - the mode `alias`: pairs of sites by which two threads touched the same bytes
 *
 * For comparison with caper only (the paper's 7.2): precise, slow. All accesses are patched from
 * the beginning; each word of 8 bytes that is accessed has a cell with the accesses it has seen:
 * thread, site, which bytes, how. A new access is compared with those of other threads; if bytes
 * overlap, one writes and not both are atomic, the two sites are a pair. Unlike the paper's
 * definition two reads, or two atomics, are no pair: they cannot race.
 *
 * Cells are found by hashing, PROBES places after another. Bounds, both counted and said: a cell
 * keeps ENTRIES accesses (the oldest makes room), and a word that finds no cell takes the place of
 * another. Memory that is allocated, and the stack of a new thread, is new: its cells are emptied.
 * Ranges of more than RANGE_WORDS words are looked at in their first RANGE_WORDS.
 * Concurrency: a lock bit per cell, held by a busy thread; the pairs' table grows by compare and
 * swap.
 */
#include "runtime/production/caper.h"
#include "runtime/production/chase_pair.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    ENTRIES = 13,
    CELL_BITS = 22, /* 512 MiB, as far as it is used: words of 32 MiB of the program */
    PROBES = 8,
    RANGE_WORDS = 4096,
    EMPTY_WORDS = 1 << 17 /* larger allocations come from the system, as zeroed pages: new ones */
};

/* site: 24 bits, thread: 16, bytes: 8, and how. */
#define ENTRY_WRITE  (UINT64_C(1) << 62)
#define ENTRY_ATOMIC (UINT64_C(1) << 63)
#define ENTRY(site, thread, bytes)                                                                 \
    ((uint64_t)(site) | (uint64_t)((thread) & 0xffff) << 24 | (uint64_t)(bytes) << 40)

struct cell {
    uintptr_t word; /* address >> 3; 0: none */
    uint32_t lock;
    uint16_t count, next; /* next: the oldest */
    uint64_t at[ENTRIES];
};

static struct cell *cells;
static struct caper_table *table;

/* ---- pairs ---- */

static void add_pair(uint32_t a, uint32_t b)
{
    uint64_t ka = table_key(a), kb = table_key(b), key, found;
    uint64_t *pairs = (uint64_t *)((char *)table + table->pairs), mask = table->pairs_room - 1;

    if (!ka || !kb)
        return;
    key = ka < kb ? CAPER_PAIR(ka, kb) : CAPER_PAIR(kb, ka);
    for (uint64_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 20, n = 0; n < 64; i++, n++) {
        found = __atomic_load_n(&pairs[i & mask], __ATOMIC_RELAXED);
        if (found == key)
            return;
        if (!found && (__atomic_compare_exchange_n(&pairs[i & mask], &found, key, false,
                                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
                       found == key))
            return;
    }
    __atomic_fetch_add(&rt_control->counter[CAPER_ALIAS_FULL], 1, __ATOMIC_RELAXED);
}

static bool is_pair(uint64_t a, uint64_t b)
{
    return (a >> 24 & 0xffff) != (b >> 24 & 0xffff) && (a >> 40 & b >> 40 & 0xff) &&
           ((a | b) & ENTRY_WRITE) && !(a & b & ENTRY_ATOMIC);
}

/* ---- cells ---- */

/* A locked cell has the number of forks so far + 1: what the threads of the parent process had
 * locked is free in the child. */
static uint32_t owner = 1;

static void lock_cell(struct cell *c)
{
    for (;;) {
        uint32_t was = __atomic_load_n(&c->lock, __ATOMIC_RELAXED);

        if (was != owner && __atomic_compare_exchange_n(&c->lock, &was, owner, false,
                                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        sched_yield();
    }
}

/* The word's cell, locked. */
static struct cell *cell_of(uintptr_t word)
{
    uint64_t at = word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CELL_BITS);
    struct cell *c;

    for (unsigned i = 0; i < PROBES; i++) {
        c = &cells[(at + i) & ((1u << CELL_BITS) - 1)];
        if (c->word && c->word != word)
            continue;
        lock_cell(c);
        if (!c->word)
            c->word = word;
        if (c->word == word)
            return c;
        spin_unlock(&c->lock);
    }
    __atomic_fetch_add(&rt_control->counter[CAPER_ALIAS_EVICT], 1, __ATOMIC_RELAXED);
    c = &cells[at];
    lock_cell(c);
    c->word = word;
    c->count = c->next = 0;
    return c;
}

static void alias_add_entry(struct cell *c, uint64_t entry)
{
    for (unsigned i = 0; i < c->count; i++)
        if (is_pair(c->at[i], entry))
            add_pair((uint32_t)c->at[i] & 0xffffff, (uint32_t)entry & 0xffffff);
    if (c->count < ENTRIES) {
        c->at[c->count++] = entry;
        return;
    }
    c->at[c->next] = entry;
    c->next = (uint16_t)((c->next + 1) % ENTRIES);
    __atomic_fetch_add(&rt_control->counter[CAPER_ALIAS_EVICT], 1, __ATOMIC_RELAXED);
}

/* What it says is known already? The bytes of one site may differ from time to time. */
static bool alias_is_known(struct cell *c, uint64_t entry)
{
    const uint64_t bytes = UINT64_C(0xff) << 40;

    for (unsigned i = 0; i < c->count; i++)
        if ((c->at[i] & ~bytes) == (entry & ~bytes) && !(entry & ~c->at[i]))
            return true;
    return false;
}

static void alias_touch(uintptr_t word, uint64_t entry)
{
    struct cell *c = cell_of(word);

    if (!alias_is_known(c, entry))
        alias_add_entry(c, entry);
    spin_unlock(&c->lock);
}

static void alias_hit(const struct prod_hit *h)
{
    uintptr_t low = h->address, end = low + h->bytes, word = low >> 3;
    uint64_t how = (h->write ? ENTRY_WRITE : 0) | (h->atomic ? ENTRY_ATOMIC : 0);
    int guard;

    if (!table || !h->bytes || h->site >> 24)
        return;
    if (h->site < table_sites && table_bytes[h->site])
        __atomic_fetch_or(table_bytes[h->site], CAPER_HIT, __ATOMIC_RELAXED);
    if (h->site < table_sites && table_counts[h->site])
        __atomic_fetch_add(table_counts[h->site], 1, __ATOMIC_RELAXED);
    guard = pair_guard_begin();
    for (unsigned n = 0; word << 3 < end && n < RANGE_WORDS; word++, n++) {
        unsigned from = word << 3 < low ? low & 7 : 0;
        unsigned to = end - (word << 3) < 8 ? (unsigned)(end - (word << 3)) : 8;

        alias_touch(word,
                    ENTRY(h->site, prod_thread(), (0xffu >> (8 - (to - from))) << from) | how);
    }
    pair_guard_end(guard);
}

/* ---- memory that is new ---- */

static void empty(uintptr_t low, uintptr_t high)
{
    int guard = pair_guard_begin();

    for (uintptr_t word = low >> 3, n = 0; word << 3 < high && n < EMPTY_WORDS; word++, n++) {
        uint64_t at = word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CELL_BITS);

        for (unsigned i = 0; i < PROBES; i++) {
            struct cell *c = &cells[(at + i) & ((1u << CELL_BITS) - 1)];

            if (c->word != word)
                continue;
            lock_cell(c);
            if (c->word == word)
                c->count = c->next = 0;
            spin_unlock(&c->lock);
        }
    }
    pair_guard_end(guard);
}

static void alloc(uint64_t address, uint64_t bytes)
{
    if (table)
        empty(address, address + bytes);
}

/* The part of the stack that is used at the beginning; deeper frames of the last thread stay. */
static void thread_begin(uint32_t thread, uint64_t stack, uint64_t bytes)
{
    uintptr_t high = stack + bytes,
              low = high - (EMPTY_WORDS * 8 < bytes ? EMPTY_WORDS * 8 : bytes);

    (void)thread;
    if (table && bytes)
        empty(low, high);
}

/* ---- the mode ---- */

static bool all(uint32_t site, void *arg)
{
    (void)arg;
    return site < table_sites && table_bytes[site];
}

static void update(void)
{
    struct prod_hit h;

    if (!table)
        return;
    table_update();
    for (uint32_t i = 0; i < table_sites; i++)
        if (patch_look(i, &h) && h.op == OP_FENCE && !h.order)
            table_bytes[i] = NULL; /* of production_links.c */
    patch_all(all, NULL, true);
}

static void alias_start(struct prod_control *c)
{
    void *m = (void *)syscall(SYS_mmap, NULL, sizeof(*cells) << CELL_BITS, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);

    table = m == MAP_FAILED ? NULL : table_open();
    if (!table || !table->pairs) {
        table = NULL;
        return;
    }
    cells = m;
    __atomic_fetch_add(&c->counter[CAPER_PROCESSES], 1, __ATOMIC_RELAXED);
    update();
}

static void alias_forked(void)
{
    owner++;
    table_forked();
}

const struct rt_mode mode_alias = {
    .name = "alias",
    .forked = alias_forked,
    .start = alias_start,
    .hit = alias_hit,
    .alloc = alloc,
    .thread_begin = thread_begin,
    .images = update,
};
