/* cells.c - memory cut into pieces that no access of the trace divides */
#include "witness/cells.h"

#include <stdlib.h>

#include "base/alloc.h"

bool event_range(const struct event *e, uint64_t *from, uint64_t *to)
{
    uint64_t bytes;

    if (e->flags & EV_IGNORED)
        return false;
    if (op_is_access(e->op))
        bytes = e->size;
    else if (e->op == OP_ALLOC || e->op == OP_FREE)
        bytes = e->value;
    else
        return false;
    *from = e->target;
    *to = bytes > UINT64_MAX - e->target ? UINT64_MAX : e->target + bytes;
    return *from < *to;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

void cells_init(struct cells *c, const struct trace_mem *t)
{
    size_t n = 0, cap = 0, kept = 0;
    uint64_t *ends = NULL, from, to;

    for (size_t i = 0; i < t->count; i++) {
        if (!event_range(&t->events[i], &from, &to))
            continue;
        GROW(ends, cap, n + 2);
        ends[n++] = from;
        ends[n++] = to;
    }
    if (n)
        qsort(ends, n, sizeof(*ends), compare);
    for (size_t i = 0; i < n; i++)
        if (!i || ends[i] != ends[kept - 1])
            ends[kept++] = ends[i];
    *c = (struct cells){ ends, kept ? kept - 1 : 0 };
}

void cells_release(struct cells *c)
{
    free(c->start);
    *c = (struct cells){ 0 };
}

uint32_t cells_find(const struct cells *c, uint64_t address)
{
    size_t low = 0, high = c->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (c->start[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

uint64_t cells_value(const struct cells *c, uint32_t cell, uint64_t address, uint64_t value)
{
    uint64_t width = c->start[cell + 1] - c->start[cell];

    value >>= 8 * (c->start[cell] - address);
    return width < 8 ? value & ((1ull << (8 * width)) - 1) : value;
}
