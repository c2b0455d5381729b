/* heap.c - live allocations by page */
#include "order/heap.h"
#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>

enum { PAGE_BITS = 12, SMALL_PAGES = 16 };

void heap_release(struct heap *a)
{
    for (size_t i = 0; i < a->npages; i++)
        free(a->pages[i].ids);
    free(a->pages);
    free(a->all);
    free(a->unused.ids);
    free(a->large.ids);
    map_release(&a->page_index);
    *a = (struct heap){ 0 };
}

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

static bool is_small(const struct heap_block *x)
{
    return ((x->end - 1) >> PAGE_BITS) - (x->start >> PAGE_BITS) < SMALL_PAGES;
}

static struct heap_list *page_list(const struct heap *a, uint64_t page)
{
    uint32_t *n = map_get(&a->page_index, page);

    return n ? &a->pages[*n - 1] : NULL;
}

static struct heap_list *make_page_list(struct heap *a, uint64_t page)
{
    uint32_t *n = map_put(&a->page_index, page, 0);

    if (!*n) {
        GROW(a->pages, a->pages_cap, a->npages + 1);
        *n = (uint32_t)++a->npages;
    }
    return &a->pages[*n - 1];
}

/* The first of a list that overlaps [start, end). */
static uint32_t list_find(const struct heap *a, const struct heap_list *l,
                          uint64_t start, uint64_t end)
{
    for (size_t i = l ? l->count : 0; i > 0; i--) {
        const struct heap_block *x = &a->all[l->ids[i - 1]];

        if (x->start < end && start < x->end)
            return l->ids[i - 1];
    }
    return HEAP_NONE;
}

uint32_t heap_find(const struct heap *a, uint64_t address)
{
    uint32_t id;

    if (!a->count)
        return HEAP_NONE;
    id = list_find(a, page_list(a, address >> PAGE_BITS), address, address + 1);
    return id == HEAP_NONE ? list_find(a, &a->large, address, address + 1) : id;
}

static void forget(struct heap *a, uint32_t id)
{
    struct heap_block *x = &a->all[id];

    if (is_small(x))
        for (uint64_t p = x->start >> PAGE_BITS; p <= (x->end - 1) >> PAGE_BITS; p++)
            list_remove(page_list(a, p), id);
    else
        list_remove(&a->large, id);
    *x = (struct heap_block){ 0 };
    list_add(&a->unused, id);
}

/* Where a range has more pages than there are lists, all allocations are looked at instead. */
static void drop_everywhere(struct heap *a, uint64_t start, uint64_t end)
{
    for (uint32_t id = 0; id < a->count; id++)
        if (a->all[id].end && a->all[id].start < end && start < a->all[id].end)
            forget(a, id);
}

void heap_drop(struct heap *a, uint64_t start, uint64_t bytes)
{
    uint64_t end = bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes;
    uint64_t first = start >> PAGE_BITS, last = (end - 1) >> PAGE_BITS;
    uint32_t id;

    if (!bytes || a->count == a->unused.count)
        return;
    if (last - first > a->npages) {
        drop_everywhere(a, start, end);
        return;
    }
    for (uint64_t p = first; p <= last; p++)
        while ((id = list_find(a, page_list(a, p), start, end)) != HEAP_NONE)
            forget(a, id);
    while ((id = list_find(a, &a->large, start, end)) != HEAP_NONE)
        forget(a, id);
}

uint32_t heap_add(struct heap *a, uint64_t start, uint64_t bytes)
{
    struct heap_block x = { start, start + bytes };
    uint32_t id;

    heap_drop(a, start, bytes);
    if (!bytes)
        return HEAP_NONE;
    if (a->unused.count) {
        id = a->unused.ids[--a->unused.count];
    } else {
        GROW(a->all, a->cap, a->count + 1);
        id = (uint32_t)a->count++;
    }
    a->all[id] = x;
    if (is_small(&x))
        for (uint64_t p = start >> PAGE_BITS; p <= (x.end - 1) >> PAGE_BITS; p++)
            list_add(make_page_list(a, p), id);
    else
        list_add(&a->large, id);
    return id;
}
