/* reach_map.c - objects and slots by page */
#include "trace/calls/reach_map.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 1 << REACH_PAGE_BITS };

void reach_map_release(struct reach_map *m)
{
    for (size_t i = 0; i < m->npages; i++) {
        free(m->pages[i].objects);
        free(m->pages[i].slots);
    }
    free(m->pages);
    free(m->objects);
    free(m->spare);
    free(m->large);
    free(m->hints);
    map_release(&m->page_index);
    *m = (struct reach_map){ 0 };
}

/* ---- pages ---- */

static uint64_t page_of(uint64_t address)
{
    return address >> REACH_PAGE_BITS;
}

static size_t hint_of(uint64_t address)
{
    return map_hash(page_of(address)) & ((1u << REACH_HINT_BITS) - 1);
}

bool reach_map_hint(const struct reach_map *m, uint64_t address)
{
    size_t bit = hint_of(address);

    return m->hints && m->hints[bit / 8] >> bit % 8 & 1;
}

const struct reach_page *reach_map_page(const struct reach_map *m, uint64_t number)
{
    const uint32_t *n = map_get(&m->page_index, number);

    return n ? &m->pages[*n - 1] : NULL;
}

static struct reach_page *page_at(const struct reach_map *m, uint64_t number)
{
    const uint32_t *n = map_get(&m->page_index, number);

    return n ? &m->pages[*n - 1] : NULL;
}

static struct reach_page *make_page(struct reach_map *m, uint64_t number)
{
    uint32_t *n = map_put(&m->page_index, number, 0);
    size_t bit = hint_of(number << REACH_PAGE_BITS);

    if (!*n) {
        GROW(m->pages, m->pages_cap, m->npages + 1);
        *n = (uint32_t)++m->npages;
        m->pages[*n - 1] = (struct reach_page){ .number = number };
        if (!m->hints)
            m->hints = xcalloc((size_t)1 << (REACH_HINT_BITS - 3), 1);
        m->hints[bit / 8] |= (uint8_t)(1 << bit % 8);
    }
    return &m->pages[*n - 1];
}

/* ---- finding ---- */

/* The first entry of the page that starts behind the offset. */
static size_t entry_behind(const struct reach_page *p, uint64_t offset)
{
    size_t low = 0, high = p->nobjects;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (p->objects[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first large object that ends behind the address. */
static size_t large_behind(const struct reach_map *m, uint64_t address)
{
    size_t low = 0, high = m->nlarge;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (m->objects[m->large[middle]].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t reach_map_find_large(const struct reach_map *m, uint64_t address)
{
    size_t i = large_behind(m, address);

    return i < m->nlarge && m->objects[m->large[i]].start <= address ? m->large[i] : REACH_NONE;
}

uint32_t reach_map_find(const struct reach_map *m, uint64_t address)
{
    const struct reach_page *p = reach_map_page(m, page_of(address));
    size_t i = p ? entry_behind(p, address % PAGE_BYTES) : 0;

    if (i && m->objects[p->objects[i - 1].object].end > address)
        return p->objects[i - 1].object;
    return m->nlarge ? reach_map_find_large(m, address) : REACH_NONE;
}

size_t reach_page_slot(const struct reach_page *p, uint64_t offset)
{
    size_t low = 0, high = p->nslots;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (p->slots[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- objects ---- */

static bool reach_map_is_small(uint64_t start, uint64_t end)
{
    return page_of(end - 1) - page_of(start) < REACH_SMALL_PAGES;
}

/* The entry of a small object in one of its pages. */
static struct reach_entry entry_in(const struct reach_object *o, uint32_t object, uint64_t page)
{
    uint64_t offset = page_of(o->start) == page ? o->start % PAGE_BYTES : 0;

    return (struct reach_entry){ (uint32_t)offset, object };
}

static void list_in_page(struct reach_page *p, struct reach_entry e)
{
    size_t at = entry_behind(p, e.offset);

    GROW(p->objects, p->objects_cap, p->nobjects + 1);
    memmove(&p->objects[at + 1], &p->objects[at], (p->nobjects++ - at) * sizeof(e));
    p->objects[at] = e;
}

static void unlist_in_page(struct reach_page *p, struct reach_entry e)
{
    size_t at = entry_behind(p, e.offset);

    while (at && p->objects[at - 1].object != e.object)
        at--;
    if (at)
        memmove(&p->objects[at - 1], &p->objects[at], (p->nobjects-- - at) * sizeof(e));
}

static void list_large(struct reach_map *m, uint32_t object)
{
    size_t at = large_behind(m, m->objects[object].start);

    GROW(m->large, m->large_cap, m->nlarge + 1);
    memmove(&m->large[at + 1], &m->large[at], (m->nlarge++ - at) * sizeof(object));
    m->large[at] = object;
}

static void unlist_large(struct reach_map *m, uint32_t object)
{
    size_t at = large_behind(m, m->objects[object].start);

    memmove(&m->large[at], &m->large[at + 1], (--m->nlarge - at) * sizeof(object));
}

void reach_map_remove(struct reach_map *m, uint32_t object)
{
    struct reach_object *o = &m->objects[object];

    if (reach_map_is_small(o->start, o->end))
        for (uint64_t p = page_of(o->start); p <= page_of(o->end - 1); p++)
            unlist_in_page(page_at(m, p), entry_in(o, object, p));
    else
        unlist_large(m, object);
    o->end = 0;
    m->live--;
    GROW(m->spare, m->spare_cap, m->nspare + 1);
    m->spare[m->nspare++] = object;
}

/* The last object of a page that starts before `end` and ends behind `start`. */
static uint32_t last_in_page(const struct reach_map *m, const struct reach_page *p, uint64_t start,
                             uint64_t end)
{
    uint64_t base = p->number << REACH_PAGE_BITS;
    size_t i = entry_behind(p, end - base < PAGE_BYTES ? end - base - 1 : PAGE_BYTES - 1);

    return i && m->objects[p->objects[i - 1].object].end > start ? p->objects[i - 1].object
                                                                 : REACH_NONE;
}

/* An object that overlaps [start, end), of the small ones or of the large ones. */
static uint32_t overlapping(const struct reach_map *m, uint64_t start, uint64_t end)
{
    size_t i;

    if (!reach_map_is_small(start, end)) {
        i = large_behind(m, start);
        return i < m->nlarge && m->objects[m->large[i]].start < end ? m->large[i] : REACH_NONE;
    }
    for (uint64_t n = page_of(start); n <= page_of(end - 1); n++) {
        const struct reach_page *p = reach_map_page(m, n);
        uint32_t object = p ? last_in_page(m, p, start, end) : REACH_NONE;

        if (object != REACH_NONE)
            return object;
    }
    return REACH_NONE;
}

void reach_map_clear(struct reach_map *m, uint64_t start, uint64_t end, reach_gone *gone, void *arg)
{
    uint64_t first = page_of(start), last = page_of(end - 1);
    bool all = last - first >= m->npages;

    for (uint64_t n = 0; n < (all ? m->npages : last - first + 1); n++) {
        const struct reach_page *p = all ? &m->pages[n] : reach_map_page(m, first + n);
        uint32_t object;

        if (!p || p->number < first || p->number > last)
            continue;
        while ((object = last_in_page(m, p, start, end)) != REACH_NONE) {
            gone(arg, object);
            reach_map_remove(m, object);
        }
    }
}

static uint32_t new_object(struct reach_map *m)
{
    m->live++;
    if (m->nspare)
        return m->spare[--m->nspare];
    GROW(m->objects, m->objects_cap, m->nobjects + 1);
    return (uint32_t)m->nobjects++;
}

/* Is it there already: the same range, or a variable within a block? */
static bool is_part_of(const struct reach_object *o, uint64_t start, uint64_t end, bool block)
{
    if (block)
        return false; /* memory that is allocated is always new */
    return o->block ? o->start <= start && end <= o->end : o->start == start && o->end == end;
}

uint32_t reach_map_add(struct reach_map *m, uint64_t start, uint64_t end, bool block, bool *fresh,
                       reach_gone *gone, void *arg)
{
    uint32_t object;
    struct reach_object *o;

    *fresh = false;
    while ((object = overlapping(m, start, end)) != REACH_NONE) {
        if (is_part_of(&m->objects[object], start, end, block))
            return object;
        gone(arg, object);
        reach_map_remove(m, object);
    }
    *fresh = true;
    object = new_object(m);
    o = &m->objects[object];
    o->start = start;
    o->end = end;
    o->block = block;
    o->watchers = 0;
    if (!reach_map_is_small(start, end))
        list_large(m, object);
    else
        for (uint64_t p = page_of(start); p <= page_of(end - 1); p++)
            list_in_page(make_page(m, p), entry_in(o, object, p));
    return object;
}

/* ---- slots ---- */

bool reach_map_link(struct reach_map *m, uint64_t address, uint64_t pointer)
{
    struct reach_page *p = pointer ? make_page(m, page_of(address)) : page_at(m, page_of(address));
    uint32_t offset = address % PAGE_BYTES;
    size_t at = p ? reach_page_slot(p, offset) : 0;
    bool known = p && at < p->nslots && p->slots[at].offset == offset;
    bool same = known ? p->slots[at].pointer == pointer : !pointer;

    if (same)
        return false;
    if (!pointer) {
        memmove(&p->slots[at], &p->slots[at + 1], (--p->nslots - at) * sizeof(*p->slots));
        return true;
    }
    if (!known) {
        GROW(p->slots, p->slots_cap, p->nslots + 1);
        memmove(&p->slots[at + 1], &p->slots[at], (p->nslots++ - at) * sizeof(*p->slots));
    }
    p->slots[at] = (struct reach_slot){ pointer, offset };
    return true;
}

/* The part of [start, end) that is in this page. */
static bool unlink_in_page(struct reach_page *p, uint64_t start, uint64_t end)
{
    uint64_t base = p->number << REACH_PAGE_BITS;
    size_t from = start > base ? reach_page_slot(p, start - base) : 0;
    size_t to = end - base < PAGE_BYTES ? reach_page_slot(p, end - base) : p->nslots;

    if (from == to)
        return false;
    memmove(&p->slots[from], &p->slots[to], (p->nslots - to) * sizeof(*p->slots));
    p->nslots -= to - from;
    return true;
}

bool reach_map_unlink(struct reach_map *m, uint64_t start, uint64_t end)
{
    uint64_t first = page_of(start), last = page_of(end - 1);
    bool any = false;

    if (last - first >= m->npages) {
        for (size_t i = 0; i < m->npages; i++)
            if (m->pages[i].nslots && m->pages[i].number >= first && m->pages[i].number <= last)
                any |= unlink_in_page(&m->pages[i], start, end);
        return any;
    }
    for (uint64_t n = first; n <= last; n++) {
        struct reach_page *p = page_at(m, n);

        if (p && p->nslots)
            any |= unlink_in_page(p, start, end);
    }
    return any;
}
