/* reach_search.c - all that can be reached from the roots of a call
 *
 * Breadth first over objects and their slots, each object once. Ends early where the list would
 * be too long or the credit is used up.
 */
#include "trace/calls/reach_inside.h"
#include "base/alloc.h"

#include <stdlib.h>

static void add_range(struct reach *r, uint64_t start, uint64_t end)
{
    if (r->nranges == r->ranges_cap)
        GROW(r->ranges, r->ranges_cap, r->nranges + 1);
    r->ranges[r->nranges++] = (struct range){ start, end };
}

static void meet_pointer(struct reach *r, uint64_t pointer)
{
    uint32_t object = reach_map_find(&r->map, pointer);

    r->credit--;
    if (object == REACH_NONE) {
        GROW(r->nowhere, r->nowhere_cap, r->nnowhere + 1);
        r->nowhere[r->nnowhere++] = pointer;
        add_range(r, pointer, pointer <= ADDRESS_LIMIT - 8 ? pointer + 8 : ADDRESS_LIMIT);
        return;
    }
    if (r->map.objects[object].seen == r->search)
        return;
    r->map.objects[object].seen = r->search;
    if (r->nmet == r->met_cap)
        GROW(r->met, r->met_cap, r->nmet + 1);
    r->met[r->nmet++] = object;
    add_range(r, r->map.objects[object].start, r->map.objects[object].end);
}

static bool is_too_much(const struct reach *r)
{
    return r->nmet > OBJECTS_MAX || r->nnowhere > OBJECTS_MAX || r->credit < -OBJECTS_MAX;
}

/* The slots of an object within one page. */
static void follow_page(struct reach *r, const struct reach_page *p, uint64_t start, uint64_t end)
{
    uint64_t base = p->number << REACH_PAGE_BITS;

    for (size_t i = start > base ? reach_page_slot(p, start - base) : 0;
         i < p->nslots && base + p->slots[i].offset < end && !is_too_much(r); i++)
        meet_pointer(r, p->slots[i].pointer);
}

static void follow_object(struct reach *r, struct reach_object o)
{
    uint64_t first = o.start >> REACH_PAGE_BITS, last = (o.end - 1) >> REACH_PAGE_BITS;
    bool all = last - first >= r->map.npages;

    for (uint64_t n = 0; n < (all ? r->map.npages : last - first + 1) && !is_too_much(r); n++) {
        const struct reach_page *p = all ? &r->map.pages[n] : reach_map_page(&r->map, first + n);

        if (p && p->nslots && p->number >= first && p->number <= last)
            follow_page(r, p, o.start, o.end);
        r->credit -= n % 4 == 3;
    }
}

static void start_search(struct reach *r)
{
    r->nmet = r->nnowhere = r->nranges = r->nlist = 0;
    if (++r->search == 0) { /* after 2^32 searches old marks could look new */
        for (size_t i = 0; i < r->map.nobjects; i++)
            r->map.objects[i].seen = 0;
        r->search = 1;
    }
}

static void add_to_list(struct reach *r, uint64_t first, uint64_t second)
{
    GROW(r->list, r->list_cap, r->nlist + 2);
    r->list[r->nlist++] = first;
    r->list[r->nlist++] = second;
}

/* What the key says: roots are looked at, memory is as it is, the rest is passed on. */
static void start_from(struct reach *r, const uint64_t *entry)
{
    uint64_t low = D_LOW(entry[0]);

    if (D_KIND(entry[0]) == D_ROOT_KIND)
        meet_pointer(r, low);
    else if (D_KIND(entry[0]) == D_MEMORY_KIND && !is_named(low))
        add_range(r, low, low + entry[1]);
    else
        add_to_list(r, entry[0], entry[1]);
}

static int compare_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

/* Often objects are met in the order of their addresses. */
static bool is_sorted(const struct range *ranges, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (ranges[i].start < ranges[i - 1].start)
            return false;
    return true;
}

/* Sorted, those that touch as one. */
static void list_ranges(struct reach *r)
{
    size_t n = 0;

    if (!is_sorted(r->ranges, r->nranges))
        qsort(r->ranges, r->nranges, sizeof(*r->ranges), compare_ranges);
    for (size_t i = 0; i < r->nranges; i++) {
        struct range *last = n ? &r->ranges[n - 1] : NULL;

        if (!last || r->ranges[i].start > last->end)
            r->ranges[n++] = r->ranges[i];
        else if (r->ranges[i].end > last->end)
            last->end = r->ranges[i].end;
    }
    for (size_t i = 0; i < n; i++)
        add_to_list(r, r->ranges[i].start, r->ranges[i].end - r->ranges[i].start);
    r->nranges = n;
}

bool reach_search(struct reach *r)
{
    start_search(r);
    for (size_t i = 0; i < r->nkey; i += 2)
        start_from(r, r->key + i);
    for (size_t i = 0; i < r->nmet && !is_too_much(r); i++)
        follow_object(r, r->map.objects[r->met[i]]);
    if (is_too_much(r))
        return false;
    list_ranges(r);
    return r->nranges <= RANGES_MAX;
}
