/* live_words.c - who accessed which bytes last */
#include "engines/live/live_words.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 1 << LIVE_PAGE_BITS, LIST_FIRST = 4 };

/* ---- pages ---- */

static size_t pieces_of(const struct live_fine *f)
{
    return (size_t)LIVE_BLOCK >> f->shift;
}

static size_t fine_bytes(uint32_t shift)
{
    return sizeof(struct live_fine) + ((size_t)LIVE_BLOCK >> shift) * sizeof(struct live_piece);
}

static size_t list_bytes(uint32_t cap)
{
    return sizeof(struct live_list) + cap * sizeof(struct live_entry);
}

static struct live_fine *fine_new(struct live_words *w, uint32_t shift)
{
    struct live_fine *f = xcalloc(1, fine_bytes(shift));

    f->shift = shift;
    w->bytes += fine_bytes(shift);
    return f;
}

static void forget_piece(struct live_words *w, struct live_fine *f, size_t i)
{
    if (f->masks[i] == LIVE_LISTED) {
        w->bytes -= list_bytes(f->pieces[i].list->cap);
        free(f->pieces[i].list);
    }
    f->pieces[i] = (struct live_piece){ { 0 }, 0 };
    f->masks[i] = 0;
}

static void fine_free(struct live_words *w, struct live_fine *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < pieces_of(f); i++)
        forget_piece(w, f, i);
    w->bytes -= fine_bytes(f->shift);
    free(f);
}

static struct live_page *page_lookup(struct live_words *w, uint64_t number, bool create)
{
    uint32_t *index = create ? map_put(&w->page_index, number, 0) : map_get(&w->page_index, number);

    if (!index)
        return NULL;
    if (!*index) {
        GROW(w->pages, w->pages_cap, w->npages + 1);
        w->pages[w->npages] = xcalloc(1, sizeof(struct live_page));
        w->pages[w->npages]->number = number;
        w->bytes += sizeof(struct live_page);
        *index = (uint32_t)++w->npages;
    }
    return w->cache[number % LIVE_CACHE] = w->pages[*index - 1];
}

static inline struct live_page *page_at(struct live_words *w, uint64_t address, bool create)
{
    uint64_t number = address >> LIVE_PAGE_BITS;
    struct live_page *p = w->cache[number % LIVE_CACHE];

    return p && p->number == number ? p : page_lookup(w, number, create);
}

void live_words_clear(struct live_words *w)
{
    for (size_t i = 0; i < w->npages; i++) {
        for (size_t b = 0; b < LIVE_BLOCKS; b++)
            fine_free(w, w->pages[i]->blocks[b].fine);
        w->bytes -= sizeof(struct live_page);
        free(w->pages[i]);
    }
    w->npages = 0;
    map_clear(&w->page_index);
    memset(w->cache, 0, sizeof(w->cache));
}

void live_words_release(struct live_words *w)
{
    live_words_clear(w);
    free(w->pages);
    map_release(&w->page_index);
    *w = (struct live_words){ .race = w->race, .suspect = w->suspect, .arg = w->arg };
}

/* ---- what an access knows ---- */

static inline bool live_words_is_known(const struct live_access *a, live_stamp s)
{
    uint32_t slot = live_stamp_slot(s);

    return slot == a->clock->slot || clock_knows(a->clock, slot, live_stamp_time(s));
}

static inline bool is_known_or_none(const struct live_access *a, live_stamp s)
{
    return !s || live_words_is_known(a, s);
}

/* ---- lists ---- */

static inline live_stamp entry_stamp(const struct live_entry *e)
{
    return (uint64_t)e->stamp[1] << 32 | e->stamp[0];
}

static struct live_list *list_grow(struct live_words *w, struct live_list *l)
{
    uint32_t cap = l ? 2 * l->cap : LIST_FIRST, count = l ? l->count : 0;

    w->bytes += list_bytes(cap) - (l ? list_bytes(l->cap) : 0);
    l = xrealloc(l, 1, list_bytes(cap));
    l->count = count;
    l->cap = cap;
    return l;
}

static void list_add(struct live_words *w, struct live_list **list, live_stamp s, unsigned mask,
                     unsigned kind)
{
    struct live_list *l = *list;

    for (uint32_t i = 0; l && i < l->count; i++)
        if (entry_stamp(&l->entries[i]) == s && l->entries[i].kind == kind) {
            l->entries[i].mask |= (uint8_t)mask;
            return;
        }
    if (l && l->count == LIVE_LIST_MAX) { /* the oldest */
        memmove(l->entries, l->entries + 1, (LIVE_LIST_MAX - 1) * sizeof(*l->entries));
        l->count--;
        w->evicted++;
    }
    if (!l || l->count == l->cap)
        l = *list = list_grow(w, l);
    l->entries[l->count++] = (struct live_entry){
        { (uint32_t)s, (uint32_t)(s >> 32) }, (uint8_t)mask, (uint8_t)kind, 0
    };
}

/* The piece gets a list, with what is known of it. */
static void make_list(struct live_words *w, struct live_fine *f, size_t i)
{
    struct live_piece *piece = &f->pieces[i];
    struct live_list *l = list_grow(w, NULL);

    if (piece->write)
        list_add(w, &l, piece->write, f->masks[i], LIVE_WRITE);
    if (piece->read)
        list_add(w, &l, piece->read, f->masks[i], 0);
    piece->list = l;
    piece->read = 0;
    f->masks[i] = LIVE_LISTED;
}

static inline bool live_words_conflict(unsigned a, unsigned b)
{
    return (a | b) & LIVE_WRITE && !(a & b & LIVE_ATOMIC);
}

/* Does `later` conflict with whatever `earlier` does? */
static inline bool covers(unsigned later, unsigned earlier)
{
    return (later & LIVE_WRITE || !(earlier & LIVE_WRITE)) &&
           (!(later & LIVE_ATOMIC) || earlier & LIVE_ATOMIC);
}

/* Compare with all that are there, and take out what the access covers. The piece is at
 * `address`. */
static void list_access(struct live_words *w, struct live_list **list, struct live_access *a,
                        uint64_t address, unsigned mask)
{
    struct live_list *l = *list;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < l->count; i++) {
        struct live_entry e = l->entries[i];

        if (e.mask & mask) {
            bool known = live_words_is_known(a, entry_stamp(&e));

            if (!known && live_words_conflict(e.kind, a->kind)) {
                a->address = address + (uint64_t)__builtin_ctz(e.mask & mask);
                w->race(w->arg, entry_stamp(&e), e.kind, a);
            }
            if (known && covers(a->kind, e.kind))
                e.mask &= (uint8_t)~mask;
        }
        if (e.mask)
            l->entries[kept++] = e;
    }
    l->count = kept;
    list_add(w, list, a->stamp, mask, a->kind);
}

/* ---- pieces of fine blocks ---- */

/* Of a piece without a list, all bytes of which are accessed as they always were. False: there is
 * more to it. */
static inline bool access_whole(struct live_piece *piece, const struct live_access *a)
{
    if (!is_known_or_none(a, piece->write) || !is_known_or_none(a, piece->read) ||
        a->kind & LIVE_ATOMIC)
        return false;
    if (a->kind) {
        piece->write = a->stamp;
        piece->read = 0;
    } else {
        piece->read = a->stamp;
    }
    return true;
}

static void access_piece(struct live_words *w, struct live_fine *f, size_t i, struct live_access *a,
                         unsigned mask)
{
    unsigned before = f->masks[i];

    if (before == mask || !before) {
        f->masks[i] = (uint16_t)mask;
        if (access_whole(&f->pieces[i], a))
            return;
    }
    if (f->masks[i] != LIVE_LISTED)
        make_list(w, f, i);
    list_access(w, &f->pieces[i].list, a, a->block + (i << f->shift), mask);
}

/* Both halves of a piece, from its list or its stamps. */
static void halve(struct live_words *w, const struct live_fine *f, size_t i, struct live_fine *to)
{
    const struct live_list *l = f->pieces[i].list;

    for (unsigned half = 0; half < 2; half++) {
        size_t k = 2 * i + half;
        unsigned mask = f->masks[i] >> 4 * half & 15;

        if (f->masks[i] != LIVE_LISTED) {
            to->masks[k] = (uint16_t)mask;
            to->pieces[k] = mask ? f->pieces[i] : (struct live_piece){ { 0 }, 0 };
            continue;
        }
        to->masks[k] = LIVE_LISTED;
        to->pieces[k].list = list_grow(w, NULL);
        for (uint32_t e = 0; e < l->count; e++)
            if (l->entries[e].mask >> 4 * half & 15)
                list_add(w, &to->pieces[k].list, entry_stamp(&l->entries[e]),
                         l->entries[e].mask >> 4 * half & 15, l->entries[e].kind);
    }
}

/* The block is accessed in words of 4 bytes. */
static struct live_fine *make_finer(struct live_words *w, struct live_fine *old)
{
    struct live_fine *f = fine_new(w, 2);

    for (size_t i = 0; i < pieces_of(old); i++)
        halve(w, old, i, f);
    fine_free(w, old);
    return f;
}

static bool wants_finer(const struct live_fine *f, uint64_t from, uint64_t to)
{
    unsigned mask = f->masks[from >> 3];

    return f->shift == 3 && to - from == 4 && from % 4 == 0 && mask && mask != LIVE_LISTED &&
           mask != 0xfu << from % 8;
}

/* The bytes [from, to) of a block. */
static void access_fine(struct live_words *w, struct live_block *b, struct live_access *a,
                        uint64_t from, uint64_t to)
{
    if (wants_finer(b->fine, from, to))
        b->fine = make_finer(w, b->fine);
    while (from < to) {
        uint64_t piece = 1u << b->fine->shift, begin = from & -piece;
        uint64_t end = begin + piece < to ? begin + piece : to;
        unsigned mask = ((1u << (end - begin)) - 1) & ~((1u << (from - begin)) - 1);

        access_piece(w, b->fine, from >> b->fine->shift, a, mask);
        from = end;
    }
}

/* ---- blocks ---- */

static inline uint64_t bytes_between(uint64_t from, uint64_t to)
{
    return to - from == LIVE_BLOCK ? UINT64_MAX : (((uint64_t)1 << (to - from)) - 1) << from;
}

/* The access is the owner's, or ordered after it. */
static inline void own(struct live_block *b, const struct live_access *a, uint64_t bytes)
{
    b->owner = a->stamp;
    b->touched |= bytes;
    if (a->kind) {
        b->written |= bytes;
        b->writer = a->stamp;
        b->last_written = bytes;
    }
}

/* What the block was before it became fine. */
static void compare_past(struct live_words *w, struct live_block *b, struct live_access *a,
                         uint64_t bytes)
{
    uint64_t conflicts = bytes & (a->kind & LIVE_WRITE ? b->touched : b->written);

    if (live_words_is_known(a, b->owner)) { /* what is covered need not be kept twice */
        if (a->kind & LIVE_ATOMIC)
            return;
        b->touched &= ~(a->kind & LIVE_WRITE ? bytes : bytes & ~b->written);
        b->written &= b->touched;
        b->last_written &= b->touched;
        if (!b->touched)
            b->owner = b->writer = 0;
        return;
    }
    if (!conflicts)
        return;
    if (b->writer && b->last_written & bytes && !live_words_is_known(a, b->writer)) {
        a->address = a->block + (uint64_t)__builtin_ctzll(b->last_written & bytes);
        w->race(w->arg, b->writer, LIVE_WRITE, a);
        conflicts &= ~b->last_written;
    }
    if (conflicts)
        w->suspect(w->arg, a->block);
}

static void access_shared(struct live_words *w, struct live_block *b, struct live_access *a,
                          uint64_t from, uint64_t to)
{
    if (!b->fine)
        b->fine = fine_new(w, 3);
    if (b->owner)
        compare_past(w, b, a, bytes_between(from, to));
    access_fine(w, b, a, from, to);
}

/* The bytes [from, to) of a page. */
static inline void access_page(struct live_words *w, struct live_page *p, struct live_access *a,
                               uint64_t from, uint64_t to)
{
    while (from < to) {
        struct live_block *b = &p->blocks[from >> LIVE_BLOCK_BITS];
        uint64_t begin = from & ~(uint64_t)(LIVE_BLOCK - 1);
        uint64_t end = begin + LIVE_BLOCK < to ? begin + LIVE_BLOCK : to;

        if (!b->fine && !(a->kind & LIVE_ATOMIC) && is_known_or_none(a, b->owner)) {
            own(b, a, bytes_between(from - begin, end - begin));
        } else {
            a->block = p->number << LIVE_PAGE_BITS | begin;
            access_shared(w, b, a, from - begin, end - begin);
        }
        from = end;
    }
}

void live_words_access(struct live_words *w, struct live_access *a, uint64_t address, uint64_t size)
{
    while (size) {
        uint64_t from = address % PAGE_BYTES;
        uint64_t bytes = size < PAGE_BYTES - from ? size : PAGE_BYTES - from;

        access_page(w, page_at(w, address, true), a, from, from + bytes);
        address += bytes;
        size -= bytes;
    }
}

/* ---- memory that comes and goes ---- */

/* Programs reserve terabytes of which they touch little: then the pages that there are, not those
 * of the range, are gone through. */
static void for_blocks(struct live_words *w, uint64_t address, uint64_t size,
                       void (*f)(struct live_words *w, struct live_block *b, uint64_t base,
                                 uint64_t bytes, void *arg),
                       void *arg)
{
    uint64_t first = address >> LIVE_PAGE_BITS, last = (address + size - 1) >> LIVE_PAGE_BITS;
    bool all = last - first >= w->npages;

    for (uint64_t n = all ? 0 : first; n < (all ? w->npages : last + 1); n++) {
        struct live_page *p = all ? w->pages[n] : page_at(w, n << LIVE_PAGE_BITS, false);

        if (!p || p->number < first || p->number > last)
            continue;
        for (uint64_t i = 0; i < LIVE_BLOCKS; i++) {
            uint64_t base = (p->number << LIVE_PAGE_BITS) + i * LIVE_BLOCK;
            uint64_t from = address > base ? address - base : 0;
            uint64_t to = address + size - base;

            if (base + LIVE_BLOCK <= address || base >= address + size)
                continue;
            f(w, &p->blocks[i], base, bytes_between(from, to < LIVE_BLOCK ? to : LIVE_BLOCK), arg);
        }
    }
}

/* Bytes of a piece among those of its block. */
static inline unsigned bytes_of_piece(const struct live_fine *f, size_t i, uint64_t bytes)
{
    return (unsigned)(bytes >> (i << f->shift)) & ((1u << (1u << f->shift)) - 1);
}

static void free_block(struct live_words *w, struct live_block *b, uint64_t base, uint64_t bytes,
                       void *arg)
{
    struct live_access *a = arg;
    uint64_t past = b->owner ? b->touched & bytes : 0;

    if (!b->fine) {
        if (!(b->touched & bytes))
            return;
        if (live_words_is_known(a, b->owner)) {
            own(b, a, b->touched & bytes);
            return;
        }
        b->fine = fine_new(w, 3);
    }
    a->block = base;
    if (b->owner)
        compare_past(w, b, a, past);
    for (size_t i = 0; i < pieces_of(b->fine); i++) {
        unsigned mask = bytes_of_piece(b->fine, i, bytes);

        if (b->fine->masks[i] != LIVE_LISTED)
            mask &= b->fine->masks[i] | bytes_of_piece(b->fine, i, past);
        if (mask)
            access_piece(w, b->fine, i, a, mask);
    }
}

void live_words_free(struct live_words *w, struct live_access *a, uint64_t address, uint64_t size)
{
    if (size)
        for_blocks(w, address, size, free_block, a);
}

/* The bytes of a piece. */
static void forget_bytes(struct live_words *w, struct live_fine *f, size_t i, unsigned mask)
{
    struct live_list *l = f->pieces[i].list;
    uint32_t kept = 0;

    if (f->masks[i] != LIVE_LISTED) {
        if (!(f->masks[i] & ~mask))
            forget_piece(w, f, i);
        else
            f->masks[i] &= (uint16_t)~mask;
        return;
    }
    for (uint32_t k = 0; k < l->count; k++) {
        l->entries[k].mask &= (uint8_t)~mask;
        if (l->entries[k].mask)
            l->entries[kept++] = l->entries[k];
    }
    l->count = kept;
    if (!kept)
        forget_piece(w, f, i);
}

static void forget_block(struct live_words *w, struct live_block *b, uint64_t base, uint64_t bytes,
                         void *arg)
{
    (void)base;
    (void)arg;
    if (bytes == UINT64_MAX) {
        fine_free(w, b->fine);
        *b = (struct live_block){ 0 };
        return;
    }
    b->touched &= ~bytes;
    b->written &= ~bytes;
    b->last_written &= ~bytes;
    if (!b->touched)
        b->owner = b->writer = 0;
    for (size_t i = 0; b->fine && i < pieces_of(b->fine); i++)
        if (b->fine->masks[i])
            forget_bytes(w, b->fine, i, bytes_of_piece(b->fine, i, bytes));
}

void live_words_forget(struct live_words *w, uint64_t address, uint64_t size)
{
    if (size)
        for_blocks(w, address, size, forget_block, NULL);
}

struct touchers {
    void (*f)(void *arg, live_stamp stamp);
    void *arg;
};

static void tell_piece(const struct live_piece *piece, unsigned before, unsigned mask,
                       const struct touchers *to)
{
    if (before != LIVE_LISTED) {
        if (before & mask && piece->write)
            to->f(to->arg, piece->write);
        if (before & mask && piece->read)
            to->f(to->arg, piece->read);
        return;
    }
    for (uint32_t i = 0; i < piece->list->count; i++)
        if (piece->list->entries[i].mask & mask)
            to->f(to->arg, entry_stamp(&piece->list->entries[i]));
}

static void tell_block(struct live_words *w, struct live_block *b, uint64_t base, uint64_t bytes,
                       void *arg)
{
    const struct touchers *to = arg;

    (void)w;
    (void)base;
    if (b->owner && b->touched & bytes)
        to->f(to->arg, b->owner);
    for (size_t i = 0; b->fine && i < pieces_of(b->fine); i++)
        tell_piece(&b->fine->pieces[i], b->fine->masks[i], bytes_of_piece(b->fine, i, bytes), to);
}

void live_words_touchers(struct live_words *w, uint64_t address, uint64_t size,
                         void (*f)(void *arg, live_stamp stamp), void *arg)
{
    struct touchers to = { f, arg };

    if (size)
        for_blocks(w, address, size, tell_block, &to);
}
