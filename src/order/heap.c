/* heap.c - blocks by page */
#include "order/heap.h"
#include "base/alloc.h"

#include <stdlib.h>

enum { PAGE_BITS = 12, SMALL_PAGES = 16 };

void heap_release(struct heap *h)
{
    for (size_t i = 0; i < h->npages; i++)
        free(h->pages[i].ids);
    free(h->pages);
    free(h->ranges);
    free(h->free_ranges.ids);
    free(h->large.ids);
    free(h->block_ranges);
    free(h->block_freed);
    free(h->free_blocks.ids);
    free(h->found.ids);
    map_release(&h->page_index);
    *h = (struct heap){ 0 };
}

/* ---- lists ---- */

static void list_add(struct heap_list *l, uint32_t id)
{
    GROW(l->ids, l->cap, l->count + 1);
    l->ids[l->count++] = id;
}

static void list_remove(struct heap_list *l, uint32_t id)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->ids[i] == id) {
            l->ids[i] = l->ids[--l->count];
            return;
        }
    }
}

static uint64_t first_page(const struct heap_range *r)
{
    return r->start >> PAGE_BITS;
}

static uint64_t last_page(const struct heap_range *r)
{
    return (r->end - 1) >> PAGE_BITS;
}

static bool heap_is_small(const struct heap_range *r)
{
    return last_page(r) - first_page(r) < SMALL_PAGES;
}

static struct heap_list *page_list(const struct heap *h, uint64_t page)
{
    uint32_t *n = map_get(&h->page_index, page);

    return n ? &h->pages[*n - 1] : NULL;
}

static struct heap_list *make_page_list(struct heap *h, uint64_t page)
{
    uint32_t *n = map_put(&h->page_index, page, 0);

    if (!*n) {
        GROW(h->pages, h->pages_cap, h->npages + 1);
        *n = (uint32_t)++h->npages;
    }
    return &h->pages[*n - 1];
}

/* ---- finding ---- */

static bool overlaps(const struct heap_range *r, uint64_t start, uint64_t end)
{
    return r->end && r->start < end && start < r->end;
}

static uint32_t block_in_list(const struct heap *h, const struct heap_list *l, uint64_t address)
{
    for (size_t i = l ? l->count : 0; i > 0; i--)
        if (overlaps(&h->ranges[l->ids[i - 1]], address, address + 1))
            return h->ranges[l->ids[i - 1]].block;
    return BLOCK_NONE;
}

uint32_t heap_find(const struct heap *h, uint64_t address)
{
    uint32_t block;

    if (!h->nranges)
        return BLOCK_NONE;
    block = block_in_list(h, page_list(h, address >> PAGE_BITS), address);
    return block == BLOCK_NONE ? block_in_list(h, &h->large, address) : block;
}

/* Add the overlapping ranges of a list to found; each range only at the first page of its own
 * or of the question, whichever is later. */
static void heap_collect(struct heap *h, const struct heap_list *l, uint64_t start, uint64_t end,
                         uint64_t page)
{
    for (size_t i = 0; l && i < l->count; i++) {
        const struct heap_range *r = &h->ranges[l->ids[i]];

        if (overlaps(r, start, end) &&
            (page == first_page(r) || (page == start >> PAGE_BITS && page > first_page(r))))
            list_add(&h->found, l->ids[i]);
    }
}

static void collect_everywhere(struct heap *h, uint64_t start, uint64_t end)
{
    for (uint32_t id = 0; id < h->nranges; id++)
        if (overlaps(&h->ranges[id], start, end))
            list_add(&h->found, id);
}

static int compare_ranges(const void *a, const void *b, void *heap)
{
    const struct heap *h = heap;
    uint64_t x = h->ranges[*(const uint32_t *)a].start, y = h->ranges[*(const uint32_t *)b].start;

    return x < y ? -1 : x > y;
}

const struct heap_list *heap_overlapping(struct heap *h, uint64_t start, uint64_t end)
{
    h->found.count = 0;
    if (((end - 1) >> PAGE_BITS) - (start >> PAGE_BITS) > h->npages) {
        collect_everywhere(h, start, end);
    } else {
        for (uint64_t p = start >> PAGE_BITS; p <= (end - 1) >> PAGE_BITS; p++)
            heap_collect(h, page_list(h, p), start, end, p);
        for (size_t i = 0; i < h->large.count; i++)
            if (overlaps(&h->ranges[h->large.ids[i]], start, end))
                list_add(&h->found, h->large.ids[i]);
    }
    if (h->found.count > 1)
        qsort_r(h->found.ids, h->found.count, sizeof(*h->found.ids), compare_ranges, h);
    return &h->found;
}

/* ---- changing ---- */

static void range_add(struct heap *h, uint64_t start, uint64_t end, uint32_t block)
{
    uint32_t id;

    if (h->free_ranges.count) {
        id = h->free_ranges.ids[--h->free_ranges.count];
    } else {
        GROW(h->ranges, h->ranges_cap, h->nranges + 1);
        id = (uint32_t)h->nranges++;
    }
    h->ranges[id] = (struct heap_range){ start, end, block };
    h->block_ranges[block]++;
    if (heap_is_small(&h->ranges[id]))
        for (uint64_t p = start >> PAGE_BITS; p <= (end - 1) >> PAGE_BITS; p++)
            list_add(make_page_list(h, p), id);
    else
        list_add(&h->large, id);
}

/* The block may come back under a new range, so its number is not given up here. */
static struct heap_range range_remove(struct heap *h, uint32_t id)
{
    struct heap_range r = h->ranges[id];

    if (heap_is_small(&r))
        for (uint64_t p = first_page(&r); p <= last_page(&r); p++)
            list_remove(page_list(h, p), id);
    else
        list_remove(&h->large, id);
    h->ranges[id].end = 0;
    list_add(&h->free_ranges, id);
    h->block_ranges[r.block]--;
    return r;
}

static uint32_t block_new(struct heap *h)
{
    uint32_t block;

    if (h->free_blocks.count)
        block = h->free_blocks.ids[--h->free_blocks.count];
    else
        block = (uint32_t)h->nblocks++;
    GROW(h->block_ranges, h->block_ranges_cap, h->nblocks);
    GROW(h->block_freed, h->block_freed_cap, h->nblocks);
    h->block_ranges[block] = 0;
    h->block_freed[block] = false;
    return block;
}

uint32_t heap_carve(struct heap *h, uint64_t start, uint64_t end)
{
    const struct heap_list *found = heap_overlapping(h, start, end);
    uint32_t block = block_new(h);

    for (size_t i = 0; i < found->count; i++) {
        struct heap_range r = range_remove(h, found->ids[i]);

        if (r.start < start)
            range_add(h, r.start, start, r.block);
        if (r.end > end)
            range_add(h, end, r.end, r.block);
        if (!h->block_ranges[r.block])
            list_add(&h->free_blocks, r.block);
    }
    range_add(h, start, end, block);
    return block;
}

void heap_set_freed(struct heap *h, uint32_t block)
{
    h->block_freed[block] = true;
}
