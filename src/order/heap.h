/* heap.h - which block of memory an address belongs to
 *
 * A block is memory with one history of being allocated and freed: made by an
 * alloc, or by a free of memory nobody saw allocated. It lives until its
 * memory is allocated again. Memory that is freed in part becomes a block of
 * its own. Block numbers are dense and used again.
 * Cost: small ranges (up to SMALL_PAGES pages) are listed at each page they
 * touch; the few large ones are looked at one by one.
 * A zeroed struct is empty.
 */
#ifndef HEDDLE_ORDER_HEAP_H
#define HEDDLE_ORDER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define BLOCK_NONE UINT32_MAX

struct heap_range {
    uint64_t start, end; /* end 0: not in use */
    uint32_t block;
};

/* Numbers of ranges or blocks. */
struct heap_list {
    uint32_t *ids;
    size_t count, cap;
};

struct heap {
    struct heap_range *ranges;
    size_t nranges, ranges_cap;
    struct heap_list free_ranges, large;
    struct map page_index; /* page -> list + 1 */
    struct heap_list *pages;
    size_t npages, pages_cap;

    uint32_t *block_ranges; /* how many ranges a block has */
    bool *block_freed;
    size_t nblocks, block_ranges_cap, block_freed_cap;
    struct heap_list free_blocks;

    struct heap_list found; /* by the last heap_overlapping() */
};

void heap_release(struct heap *h);

/* The block an address is in, or BLOCK_NONE. */
uint32_t heap_find(const struct heap *h, uint64_t address);
static inline bool heap_is_freed(const struct heap *h, uint32_t block)
{
    return h->block_freed[block];
}

/* Nothing was cut out of the middle of it. */
static inline bool heap_in_one_piece(const struct heap *h, uint32_t block)
{
    return h->block_ranges[block] == 1;
}

/* Ranges that overlap [start, end), in address order; valid until the next call. */
const struct heap_list *heap_overlapping(struct heap *h, uint64_t start, uint64_t end);

/* [start, end) becomes a block of its own; what it covers of others is gone from them. */
uint32_t heap_carve(struct heap *h, uint64_t start, uint64_t end);
void heap_set_freed(struct heap *h, uint32_t block);

#endif
