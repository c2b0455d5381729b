/* memory.c - pages of words, words of variables
 *
 * A word of memory is a cell. Most words are accessed in equal pieces, of 8,
 * 4, 2 or 1 bytes: such a cell has a row of variable numbers, one for each
 * piece, and a mask of the bytes touched so far. Words that a wide access was
 * the first to touch share one variable until an access divides them: such a
 * cell names a wide record, which counts its words. Any other word has a
 * split record that names the variable of each byte. Variable 0 is never
 * used, so that 0 means "none".
 */
#include "order/memory.h"
#include "base/alloc.h"
#include "base/map.h"
#include "order/heap.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD_BYTES = 8,
    PAGE_WORDS = 512,
    PAGE_BITS = 12,
    CACHE_PAGES = 256, /* direct-mapped; 1 MiB of traced memory in reach without a hash */
    WIDE_BYTES = 64    /* accesses from here on may share variables: objects that are cleared and
                          then used word by word are mostly smaller */
};

/* Empty where var is 0. */
struct cell {
    uint32_t var;    /* of the first piece; CELL_SPLIT, CELL_WIDE: index into splits, wides */
    uint8_t unit;    /* log2 of the bytes in a piece, or CELL_SPLIT, CELL_WIDE */
    uint8_t present; /* bytes that have been touched; whole pieces */
};

enum { UNITS = 4, CELL_SPLIT = UNITS, CELL_WIDE, ALL_BYTES = 0xff };

struct page {
    uint64_t number;
    struct cell cells[PAGE_WORDS];
};

/* Pages used last, by the low bits of their number. */
struct cached_page {
    uint64_t number;
    struct page *page; /* NULL: none */
};

struct split {
    uint32_t byte[WORD_BYTES]; /* variable of each byte, 0 none */
    uint8_t mask[WORD_BYTES];  /* all bytes of that variable (of none, where it is 0) */
};

/* A variable of whole words, all on one page: what is learned of one word counts for few. */
struct wide {
    uint32_t var;
    uint32_t words;
    uint32_t covered; /* of them, by the access that is looked at */
    uint32_t moved;   /* the record that the covered ones go to; 0: they stay */
    uint32_t block;   /* where fresh: the heap block, and the page, that they lie in */
    uint64_t page;
    bool fresh; /* made by the access that is looked at */
};

struct memory {
    struct map page_index; /* page number -> index + 1 into pages */
    struct page **pages;
    size_t npages, pages_cap;
    struct cached_page cache[CACHE_PAGES];

    struct split *splits; /* [0] unused */
    size_t nsplits, splits_cap;

    struct wide *wides; /* [0] unused */
    size_t nwides, wides_cap;
    uint32_t *free_wides;
    size_t nfree_wides, free_wides_cap;
    uint32_t *covered; /* wide records that the access looked at has covered words of */
    size_t ncovered, covered_cap;

    uint32_t nvars; /* numbers handed out, including recycled ones */
    struct free_rows {
        uint32_t *first;
        size_t count, cap;
    } free_rows[UNITS]; /* rows of 8 >> unit numbers */

    struct heap heap;
    struct map objects; /* target and kind -> object */
    uint32_t nobjects;
    uint32_t threads; /* largest number seen + 1 */

    struct step *steps;
    size_t nsteps, steps_cap;
};

struct memory *memory_new(void)
{
    struct memory *m = xcalloc(1, sizeof(*m));

    m->nvars = 1;
    m->nsplits = 1;
    m->nwides = 1;
    return m;
}

void memory_free(struct memory *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->npages; i++)
        free(m->pages[i]);
    free(m->pages);
    free(m->splits);
    free(m->wides);
    free(m->free_wides);
    free(m->covered);
    for (int i = 0; i < UNITS; i++)
        free(m->free_rows[i].first);
    free(m->steps);
    map_release(&m->page_index);
    map_release(&m->objects);
    heap_release(&m->heap);
    free(m);
}

/* ---- pages ---- */

static struct page *page_lookup(struct memory *m, uint64_t number, bool create)
{
    uint32_t *index = create ? map_put(&m->page_index, number, 0) : map_get(&m->page_index, number);

    if (!index)
        return NULL;
    if (!*index) {
        GROW(m->pages, m->pages_cap, m->npages + 1);
        m->pages[m->npages] = xcalloc(1, sizeof(struct page));
        m->pages[m->npages]->number = number;
        *index = (uint32_t)++m->npages;
    }
    m->cache[number % CACHE_PAGES] = (struct cached_page){ number, m->pages[*index - 1] };
    return m->pages[*index - 1];
}

static inline struct cell *cell_at(struct memory *m, uint64_t address)
{
    uint64_t number = address >> PAGE_BITS;
    const struct cached_page *cached = &m->cache[number % CACHE_PAGES];
    struct page *page = cached->page;

    if (__builtin_expect(!page || cached->number != number, 0))
        page = page_lookup(m, number, true);
    return &page->cells[address / WORD_BYTES % PAGE_WORDS];
}

/* ---- steps ---- */

static inline struct step *add_step(struct memory *m)
{
    if (__builtin_expect(m->nsteps == m->steps_cap, 0))
        GROW(m->steps, m->steps_cap, m->nsteps + 1);
    return &m->steps[m->nsteps++];
}

static inline struct step *emit(struct memory *m, const struct step *like, uint32_t id,
                                unsigned flags)
{
    struct step *s = add_step(m);

    *s = *like;
    s->id = id;
    s->flags |= (uint16_t)flags;
    return s;
}

/* A step by which `var` parts from another variable. */
static void emit_split(struct memory *m, const struct step *like, uint32_t var, uint32_t from)
{
    struct step *step = emit(m, like, var, 0);

    step->op = OP_SPLIT;
    step->from = from;
}

/* ---- variables ---- */

/* Numbers in a row for the pieces of a word. */
static uint32_t row_new(struct memory *m, unsigned unit)
{
    struct free_rows *f = &m->free_rows[unit];
    uint32_t first = m->nvars;

    if (f->count)
        return f->first[--f->count];
    m->nvars += WORD_BYTES >> unit;
    return first;
}

static void row_retire(struct memory *m, unsigned unit, uint32_t first)
{
    struct free_rows *f = &m->free_rows[unit];

    GROW(f->first, f->cap, f->count + 1);
    f->first[f->count++] = first;
}

/* Variables of split words are rows of one. */
static uint32_t var_new(struct memory *m)
{
    return row_new(m, UNITS - 1);
}

static void var_retire(struct memory *m, uint32_t var)
{
    row_retire(m, UNITS - 1, var);
}

/* Bring the masks up to date after variables changed hands. */
static void split_update(struct split *s)
{
    for (int i = 0; i < WORD_BYTES; i++) {
        unsigned mask = 0;

        for (int k = 0; k < WORD_BYTES; k++)
            mask |= (unsigned)(s->byte[k] == s->byte[i]) << k;
        s->mask[i] = (uint8_t)mask;
    }
}

static void split_assign(struct split *s, unsigned mask, uint32_t var)
{
    for (int i = 0; i < WORD_BYTES; i++)
        if (mask >> i & 1)
            s->byte[i] = var;
    split_update(s);
}

/* Make a split record of a cell; its variables keep their bytes. */
static struct split *cell_split(struct memory *m, struct cell *c)
{
    struct cell old = *c;
    struct split *s;

    if (old.var && old.unit == CELL_SPLIT)
        return &m->splits[old.var];
    GROW(m->splits, m->splits_cap, m->nsplits + 1);
    s = &m->splits[m->nsplits];
    *s = (struct split){ 0 };
    for (unsigned i = 0; old.var && i < WORD_BYTES; i++) {
        uint32_t var = old.var + (i >> old.unit);

        if (old.present >> i & 1)
            s->byte[i] = var;
        else if (!(i & ((1u << old.unit) - 1)))
            var_retire(m, var); /* a piece that was never touched */
    }
    split_update(s);
    *c = (struct cell){ (uint32_t)m->nsplits++, CELL_SPLIT, 0 };
    return s;
}

/* The access covers only a part of variable `old`: give that part a number of its own. */
static uint32_t split_off(struct memory *m, struct split *s, unsigned part, uint32_t old,
                          const struct step *like)
{
    uint32_t var = var_new(m);

    emit_split(m, like, var, old);
    split_assign(s, part, var);
    return var;
}

/* Of untouched bytes of a word, those that lie in the same block as the first of them. */
static unsigned same_block(const struct memory *m, uint64_t word, unsigned mask, uint32_t *block)
{
    unsigned same = 0;

    *block = heap_find(&m->heap, word + (unsigned)__builtin_ctz(mask));
    if (!m->heap.nranges)
        return mask;
    for (unsigned i = 0; i < WORD_BYTES; i++)
        if (mask >> i & 1 && heap_find(&m->heap, word + i) == *block)
            same |= 1u << i;
    return same;
}

/* The first step of a variable names the block it lies in. */
static void emit_fresh(struct memory *m, const struct step *like, uint32_t var, uint32_t block)
{
    emit(m, like, var, STEP_FRESH)->from = block + 1; /* BLOCK_NONE becomes 0 */
}

/* An access that does not keep to the pieces of the cell: the slow way. */
static void access_parts(struct memory *m, struct cell *c, uint64_t word, unsigned mask,
                         const struct step *like)
{
    struct split *s = cell_split(m, c);

    while (mask) {
        unsigned byte = (unsigned)__builtin_ctz(mask);
        uint32_t var = s->byte[byte], block;
        unsigned all = s->mask[byte], part = all & mask;

        if (!var) {
            part = same_block(m, word, part, &block);
            var = var_new(m);
            split_assign(s, part, var);
            emit_fresh(m, like, var, block);
        } else {
            if (part != all)
                var = split_off(m, s, part, var, like);
            emit(m, like, var, 0);
        }
        mask &= ~part;
    }
}

/* The bytes of the pieces that a mask touches. */
static unsigned whole_pieces(unsigned unit, unsigned mask)
{
    unsigned piece = (1u << (1u << unit)) - 1, whole = 0;

    for (unsigned at = 0; at < WORD_BYTES; at += 1u << unit)
        if (mask >> at & piece)
            whole |= piece << at;
    return whole;
}

/* The unit of a mask that is one aligned piece, or UNITS. */
static unsigned piece_unit(unsigned mask)
{
    unsigned unit = 0;

    while (unit < UNITS && whole_pieces(unit, mask & -mask) != mask)
        unit++;
    return unit;
}

/* One piece of a cell, touched before or not. False: it lies in two blocks. */
static bool access_piece(struct memory *m, struct cell *c, uint64_t word, unsigned piece,
                         const struct step *like)
{
    uint32_t var = c->var + ((unsigned)__builtin_ctz(piece) >> c->unit), block;

    if (c->present & piece) {
        emit(m, like, var, 0);
        return true;
    }
    if (same_block(m, word, piece, &block) != piece)
        return false;
    c->present |= (uint8_t)piece;
    emit_fresh(m, like, var, block);
    return true;
}

/* ---- words with one variable ---- */

static uint32_t wide_new(struct memory *m)
{
    uint32_t w;

    if (m->nfree_wides) {
        w = m->free_wides[--m->nfree_wides];
    } else {
        GROW(m->wides, m->wides_cap, m->nwides + 1);
        w = (uint32_t)m->nwides++;
    }
    m->wides[w] = (struct wide){ .var = var_new(m) };
    return w;
}

static void wide_retire(struct memory *m, uint32_t w)
{
    GROW(m->free_wides, m->free_wides_cap, m->nfree_wides + 1);
    m->free_wides[m->nfree_wides++] = w;
}

/* A wide cell becomes an ordinary one, with a variable of its own. */
static void take_word(struct memory *m, struct cell *c, const struct step *like)
{
    uint32_t w = c->var, var = m->wides[w].var;

    if (--m->wides[w].words) {
        var = var_new(m);
        emit_split(m, like, var, m->wides[w].var);
    } else {
        wide_retire(m, w);
    }
    *c = (struct cell){ var, UNITS - 1, ALL_BYTES };
}

/* The access covers a word of this record. */
static void cover(struct memory *m, uint32_t w)
{
    if (m->wides[w].covered++)
        return;
    GROW(m->covered, m->covered_cap, m->ncovered + 1);
    m->covered[m->ncovered++] = w;
}

/* An untouched word, wholly covered: it joins the one before it, if that was untouched, too, and
 * lies in the same block and page. */
static void cover_fresh(struct memory *m, struct cell *c, uint32_t block, uint64_t page)
{
    uint32_t w = m->ncovered ? m->covered[m->ncovered - 1] : 0;

    if (!w || !m->wides[w].fresh || m->wides[w].block != block || m->wides[w].page != page) {
        w = wide_new(m);
        m->wides[w].fresh = true;
        m->wides[w].block = block;
        m->wides[w].page = page;
    }
    m->wides[w].words++;
    cover(m, w);
    *c = (struct cell){ w, CELL_WIDE, ALL_BYTES };
}

/* The steps of a record whose words are covered, in full or in part. */
static void settle(struct memory *m, uint32_t at, const struct step *like)
{
    struct wide *w = &m->wides[at];
    uint32_t moved;

    if (w->fresh) {
        w->fresh = false;
        emit_fresh(m, like, w->var, w->block);
    } else if (w->covered == w->words) {
        emit(m, like, w->var, 0);
    } else {
        moved = wide_new(m);
        w = &m->wides[at];
        w->moved = moved;
        w->words -= w->covered;
        m->wides[moved].words = w->covered;
        emit_split(m, like, m->wides[moved].var, w->var);
        emit(m, like, m->wides[moved].var, 0);
    }
    w->covered = 0;
}

/* One word of an access, or of a free. */
static void access_word(struct memory *m, uint64_t address, unsigned mask, const struct step *like)
{
    uint64_t word = address - address % WORD_BYTES;
    struct cell *c = cell_at(m, word);
    unsigned unit;

    if (c->unit == CELL_WIDE)
        take_word(m, c, like);
    if (!c->var && (unit = piece_unit(mask)) < UNITS)
        *c = (struct cell){ row_new(m, unit), (uint8_t)unit, 0 };
    if (c->var && c->unit < UNITS && whole_pieces(c->unit, mask) == mask) {
        while (mask) {
            unsigned piece = whole_pieces(c->unit, mask & -mask);

            if (!access_piece(m, c, word, piece, like))
                break;
            mask &= ~piece;
        }
    }
    if (mask)
        access_parts(m, c, word, mask, like);
}

static inline unsigned word_mask(unsigned from, unsigned bytes)
{
    return ((1u << bytes) - 1) << from;
}

/* ---- the touched words of a range ---- */

/* Called for each word of a range on a touched page, with the bytes in question. */
typedef void word_action(struct memory *m, struct cell *c, uint64_t address, unsigned mask,
                         const struct step *like);

/* The words of [from, to), all on one page. */
static void page_words(struct memory *m, struct page *page, uint64_t from, uint64_t to,
                       word_action *action, const struct step *like)
{
    while (from < to) {
        struct cell *c = &page->cells[from / WORD_BYTES % PAGE_WORDS];
        unsigned first = from % WORD_BYTES;
        unsigned n = to - from < WORD_BYTES - first ? (unsigned)(to - from) : WORD_BYTES - first;

        action(m, c, from, word_mask(first, n), like);
        from += n;
    }
}

static int compare_pages(const void *a, const void *b)
{
    const struct page *x = *(struct page *const *)a, *y = *(struct page *const *)b;

    return x->number < y->number ? -1 : x->number > y->number;
}

/* The part of [from, to) that lies on a page. */
static void clip_to_page(struct memory *m, struct page *page, uint64_t from, uint64_t to,
                         word_action *action, const struct step *like)
{
    uint64_t start = page->number << PAGE_BITS, end = start + (1u << PAGE_BITS);

    if (start < to && end > from)
        page_words(m, page, start > from ? start : from, end < to ? end : to, action, like);
}

/* Touched words of a range, in address order. A range with more pages than were touched is
 * walked by touched pages. */
static void range_words(struct memory *m, uint64_t address, uint64_t bytes, word_action *action,
                        const struct step *like)
{
    uint64_t to = bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
    uint64_t first = address >> PAGE_BITS, last = (to - 1) >> PAGE_BITS;
    struct page **sorted;
    size_t n = m->npages;

    if (!bytes)
        return;
    if (last - first <= n) {
        for (uint64_t number = first; number <= last; number++) {
            struct page *page = page_lookup(m, number, false);

            if (page)
                clip_to_page(m, page, address, to, action, like);
        }
        return;
    }
    sorted = xmalloc(n * sizeof(*sorted));
    if (n)
        memcpy(sorted, m->pages, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_pages);
    for (size_t i = 0; i < n; i++)
        clip_to_page(m, sorted[i], address, to, action, like);
    free(sorted);
}

/* ---- wide accesses ---- */

/* One word of a wide access; of a cell that only wide accesses have touched nothing happens before
 * settle_covered(). */
static void cover_word(struct memory *m, struct cell *c, uint64_t address, unsigned mask,
                       const struct step *like)
{
    uint32_t block;

    if (mask == ALL_BYTES && c->unit == CELL_WIDE && m->wides[c->var].words > 1)
        cover(m, c->var);
    else if (mask == ALL_BYTES && !c->var && same_block(m, address, mask, &block) == mask)
        cover_fresh(m, c, block, address >> PAGE_BITS);
    else
        access_word(m, address, mask, like);
}

static void move_word(struct memory *m, struct cell *c, uint64_t address, unsigned mask,
                      const struct step *like)
{
    (void)address;
    (void)like;
    if (mask == ALL_BYTES && c->unit == CELL_WIDE && m->wides[c->var].moved)
        c->var = m->wides[c->var].moved;
}

/* At the end of a wide access. */
static void settle_covered(struct memory *m, uint64_t address, uint64_t bytes,
                           const struct step *like)
{
    bool moved = false;

    for (size_t i = 0; i < m->ncovered; i++) {
        settle(m, m->covered[i], like);
        moved |= m->wides[m->covered[i]].moved != 0;
    }
    if (moved)
        range_words(m, address, bytes, move_word, like);
    for (size_t i = 0; i < m->ncovered; i++)
        m->wides[m->covered[i]].moved = 0;
    m->ncovered = 0;
}

static void access_range(struct memory *m, uint64_t address, uint64_t bytes,
                         const struct step *like)
{
    uint64_t at = address, left = bytes;
    bool wide = bytes >= WIDE_BYTES;

    while (left) {
        unsigned from = at % WORD_BYTES;
        unsigned n = left < WORD_BYTES - from ? (unsigned)left : WORD_BYTES - from;

        if (wide)
            cover_word(m, cell_at(m, at), at, word_mask(from, n), like);
        else
            access_word(m, at, word_mask(from, n), like);
        at += n;
        left -= n;
    }
    if (wide)
        settle_covered(m, address, bytes, like);
}

/* ---- lifetimes: what happens to a range of words ---- */

/* Alloc: the bytes hold nothing any more. */
static void drop_word(struct memory *m, struct cell *c, uint64_t address, unsigned mask,
                      const struct step *like)
{
    struct split *s;

    (void)address;
    if (!c->var)
        return;
    if (c->unit == CELL_WIDE && mask == ALL_BYTES && m->wides[c->var].words > 1) {
        m->wides[c->var].words--;
        *c = (struct cell){ 0 };
        return;
    }
    if (c->unit == CELL_WIDE)
        take_word(m, c, like);
    if (c->unit < UNITS && whole_pieces(c->unit, c->present & mask) == (c->present & mask)) {
        c->present &= (uint8_t)~mask;
        if (!c->present) {
            row_retire(m, c->unit, c->var);
            *c = (struct cell){ 0 };
        }
        return;
    }
    s = cell_split(m, c);
    while (mask) {
        unsigned byte = (unsigned)__builtin_ctz(mask);
        unsigned all = s->mask[byte], part = all & mask;

        mask &= ~part;
        if (s->byte[byte] && part == all)
            var_retire(m, s->byte[byte]);
        split_assign(s, part, 0);
    }
}

/* Free: a write to the variables there are. */
static void write_word(struct memory *m, struct cell *c, uint64_t address, unsigned mask,
                       const struct step *like)
{
    unsigned known = c->present;

    if (!c->var)
        return;
    if (c->unit == CELL_SPLIT)
        for (int i = 0; i < WORD_BYTES; i++)
            known |= (unsigned)(m->splits[c->var].byte[i] != 0) << i;
    if (known & mask)
        cover_word(m, c, address, known & mask, like);
}

static void alloc_event(struct memory *m, const struct event *ev, const struct step *like)
{
    if (!ev->value)
        return;
    range_words(m, ev->target, ev->value, drop_word, like);
    emit(m, like, heap_carve(&m->heap, ev->target, ev->target + ev->value), 0);
}

/* A piece of freed memory with one history: in `block`, or in none. A block that is freed only
 * in part leaves the rest behind; one that was freed before is written here again, so its
 * variables have to come to light. */
static void free_piece(struct memory *m, uint64_t from, uint64_t to, uint32_t block, bool whole,
                       const struct step *like)
{
    struct step write = *like, *step;
    uint32_t freed = block;

    write.op = OP_WRITE;
    if (block != BLOCK_NONE && heap_is_freed(&m->heap, block)) {
        access_range(m, from, to - from, &write);
    } else {
        range_words(m, from, to - from, write_word, &write);
        settle_covered(m, from, to - from, &write);
    }
    if (!whole)
        freed = heap_carve(&m->heap, from, to);
    heap_set_freed(&m->heap, freed);
    step = emit(m, like, freed, 0);
    if (freed != block) {
        step->flags |= STEP_FRESH;
        step->from = block + 1; /* BLOCK_NONE becomes 0 */
    }
}

static void free_event(struct memory *m, const struct event *ev, const struct step *like)
{
    uint64_t at = ev->target, end = ev->target + ev->value;
    const struct heap_list *found = ev->value ? heap_overlapping(&m->heap, at, end) : NULL;
    size_t n = found ? found->count : 0;
    struct heap_range *pieces = xmalloc(n * sizeof(*pieces));

    for (size_t i = 0; i < n; i++)
        pieces[i] = m->heap.ranges[found->ids[i]];
    for (size_t i = 0; i < n; i++) {
        const struct heap_range *r = &pieces[i];
        uint64_t to = r->end < end ? r->end : end;

        if (r->start > at) {
            free_piece(m, at, r->start, BLOCK_NONE, false, like);
            at = r->start;
        }
        free_piece(m, at, to, r->block,
                   r->start == at && r->end == to && heap_in_one_piece(&m->heap, r->block), like);
        at = to;
    }
    if (at < end)
        free_piece(m, at, end, BLOCK_NONE, false, like);
    free(pieces);
}

/* ---- events ---- */

static uint32_t object_number(struct memory *m, const struct event *ev)
{
    uint64_t key = sync_object_key(ev->op, ev->target);
    uint32_t *known = map_put(&m->objects, key, m->nobjects);

    if (event_begins_semaphore(ev))
        *known = m->nobjects;
    m->nobjects += *known == m->nobjects;
    return *known;
}

static void other_event(struct memory *m, const struct event *ev, const struct step *like)
{
    uint32_t number;

    switch (op_class_of(ev->op)) {
    case CLASS_LOCK:
    case CLASS_REQUEST:
    case CLASS_COND:
    case CLASS_BARRIER:
    case CLASS_ONCE:
    case CLASS_ANNOTATION:
        emit(m, like, object_number(m, ev), 0);
        break;
    case CLASS_SEM:
        number = object_number(m, ev);
        if (!event_begins_semaphore(ev))
            emit(m, like, number, 0);
        break;
    case CLASS_THREAD:
        if (ev->op == OP_FORK || ev->op == OP_JOIN) {
            if (ev->target >= m->threads)
                m->threads = (uint32_t)ev->target + 1;
            emit(m, like, (uint32_t)ev->target, 0);
        } else {
            emit(m, like, 0, 0);
        }
        break;
    case CLASS_MEMORY:
        if (ev->op == OP_ALLOC)
            alloc_event(m, ev, like);
        else
            free_event(m, ev, like);
        break;
    case CLASS_FENCE:
    case CLASS_CALL:
    case CLASS_BRANCH:
        emit(m, like, 0, 0);
        break;
    default: /* enter, exit: stacks are recovered by the report */
        break;
    }
}

static uint16_t step_flags(uint16_t flags)
{
    return (uint16_t)((flags & EV_NESTED ? STEP_NESTED : 0) |
                      (flags & EV_FOREIGN ? STEP_FOREIGN : 0));
}

/* Anything but an access to exactly the bytes of one known variable. */
static void slow_event(struct memory *m, const struct event *ev, uint64_t position)
{
    const struct step like = { .position = position,
                               .thread = ev->thread,
                               .site = ev->site,
                               .op = ev->op,
                               .order = ev->order,
                               .flags = step_flags(ev->flags) };

    size_t first = m->nsteps;

    if (ev->flags & (EV_IGNORED | EV_SIEVED))
        return;
    if (op_is_access(ev->op))
        access_range(m, ev->target, ev->size, &like);
    else
        other_event(m, ev, &like);
    if (m->nsteps - first > 1)
        m->steps[first].flags |= STEP_GROUP;
}

/* The variable of a split word that consists of exactly these bytes, or 0. */
static uint32_t split_variable(const struct memory *m, const struct cell *c, unsigned from,
                               unsigned mask)
{
    const struct split *s;

    if (!c->var || c->unit != CELL_SPLIT)
        return 0;
    s = &m->splits[c->var];
    return s->mask[from] == mask ? s->byte[from] : 0;
}

/* Most events: an access to a variable that is just that. 0: take the slow way. */
static inline uint32_t known_variable(struct memory *m, const struct event *ev)
{
    unsigned from = ev->target % WORD_BYTES, size = ev->size;
    const struct cell *c;

    if (!op_is_access(ev->op) || from + size > WORD_BYTES || ev->flags & (EV_IGNORED | EV_SIEVED))
        return 0;
    c = cell_at(m, ev->target);
    if (__builtin_expect(size == 1u << c->unit && !(from & (size - 1)) && c->present >> from & 1,
                         1))
        return c->var + (from >> c->unit);
    return split_variable(m, c, from, word_mask(from, size));
}

/* Cells are fetched this many events ahead, as engines do with variables (step.h). */
enum { EVENTS_AHEAD = 12 };

static inline void prefetch_cell(const struct memory *m, uint64_t address)
{
    const struct page *page = m->cache[(address >> PAGE_BITS) % CACHE_PAGES].page;

    if (page) /* perhaps another page's: then it is of no use, and of no harm */
        __builtin_prefetch(&page->cells[address / WORD_BYTES % PAGE_WORDS]);
}

/* A step for an event that touches one variable and nothing else. */
static inline void plain_step(struct step *s, const struct event *ev, uint64_t position,
                              uint32_t var)
{
    s->position = position;
    s->thread = ev->thread;
    s->site = ev->site;
    s->id = var;
    s->from = 0;
    s->op = ev->op;
    s->order = ev->order;
    s->flags = 0;
}

void memory_steps(struct memory *m, const struct batch *b, struct span *out)
{
    const struct event *events = b->events;
    uint64_t first = b->first;
    size_t n = b->count, made = 0; /* m->nsteps, in a register */
    uint32_t threads = m->threads;
    struct step *steps;

    GROW(m->steps, m->steps_cap, n);
    steps = m->steps;
    for (size_t i = 0; i < n; i++) {
        const struct event *ev = &events[i];
        uint32_t var;

        threads = threads > ev->thread ? threads : ev->thread + 1;
        if (ev->flags & EV_SIEVED)
            continue; /* nearly all, in passes that go by a sieve */
        if (__builtin_expect(!ev->op, 0)) {
            first += ev->value - 1; /* many, in a thin pass */
            continue;
        }
        if (i + EVENTS_AHEAD < n && !(ev[EVENTS_AHEAD].flags & EV_SIEVED))
            prefetch_cell(m, ev[EVENTS_AHEAD].target);
        var = known_variable(m, ev);
        if (__builtin_expect(var != 0 && made < m->steps_cap, 1)) {
            plain_step(&steps[made++], ev, first + i, var);
            continue;
        }
        m->nsteps = made;
        slow_event(m, ev, first + i);
        made = m->nsteps;
        steps = m->steps;
    }
    m->threads = threads > m->threads ? threads : m->threads;
    *out = (struct span){ m->steps, made, m->threads, m->nvars, m->nobjects };
}
