/* heap.h - which live allocation an address belongs to
 *
 * Numbers are dense and used again once an allocation is gone.
 * Cost: small allocations (up to SMALL_PAGES pages) are listed at each page
 * they touch; the few large ones are looked at one by one.
 * A zeroed struct is empty.
 */
#ifndef HEDDLE_ORDER_HEAP_H
#define HEDDLE_ORDER_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define HEAP_NONE UINT32_MAX

struct heap_block {
    uint64_t start, end;
};

/* Numbers of allocations. */
struct heap_list {
    uint32_t *ids;
    size_t count, cap;
};

struct heap {
    struct heap_block *all; /* by number; end 0: free number */
    size_t count, cap;
    struct heap_list unused, large;
    struct map page_index; /* page -> list + 1 */
    struct heap_list *pages;
    size_t npages, pages_cap;
};

void heap_release(struct heap *a);

uint32_t heap_find(const struct heap *a, uint64_t address);

/* A new allocation; whatever it overlaps is gone. */
uint32_t heap_add(struct heap *a, uint64_t start, uint64_t bytes);
/* Forget all allocations that overlap the range. */
void heap_drop(struct heap *a, uint64_t start, uint64_t bytes);

#endif
