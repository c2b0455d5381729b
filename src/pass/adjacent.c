/* adjacent.c - bytes that are accessed one after the other are one access
 *
 * Portable code puts numbers together from bytes, `b[0] | b[1] << 8 | ...`, and takes them apart
 * again. Each byte would be a record at a site of its own. Where a block accesses bytes that
 * follow each other in the same way, with nothing between that may synchronise and no access of
 * the other kind, the first one stands for 2, 4 or 8 of them: its site, their length. All are
 * executed if the first is. Members of structures stay apart: they are variables of their own.
 */
#include "pass/pass.h"

enum { BYTES_MAX = 8, AHEAD_MAX = 24 };

static bool is_byte(struct pass *p, const struct item *item)
{
    return item->kind == ITEM_ACCESS && item->bytes == 1 && !item->update && !item->loose &&
           !is_member(p, item->inst);
}

/* The access of the byte at base + offset of the same kind, among those that may join `first`. */
static struct item *find_byte(struct pass *p, struct item *first, const struct item *end,
                              LLVMValueRef base, int64_t offset)
{
    for (struct item *i = first + 1; i < end; i++) {
        int64_t at;
        if (is_byte(p, i) && !i->dropped && strip_offset(p, ITEM_ADDRESS(i), &at) == base &&
            at == offset)
            return i;
    }
    return NULL;
}

/* Behind the last item that may join `first`. */
static struct item *reach_of(struct item *first, struct item *end)
{
    struct item *i = first + 1;
    while (i < end && i - first < AHEAD_MAX && i->block == first->block && !i->kills &&
           (i->kind == ITEM_ACCESS ? i->write == first->write && !i->update : i->kind == ITEM_LINK))
        i++;
    return i;
}

static void join_behind(struct pass *p, struct item *first, struct item *end)
{
    struct item *joined[BYTES_MAX];
    int64_t offset;
    LLVMValueRef base = strip_offset(p, ITEM_ADDRESS(first), &offset);
    unsigned n = 1, take = 1;
    for (end = reach_of(first, end); n < BYTES_MAX; n++)
        if (!(joined[n] = find_byte(p, first, end, base, offset + n)))
            break;
    while (take * 2 <= n)
        take *= 2;
    for (unsigned i = 1; i < take; i++)
        joined[i]->dropped = true;
    first->bytes = take;
}

void join_adjacent(struct pass *p, struct items *items)
{
    struct item *end = items->at + items->count;
    for (struct item *i = items->at; i < end; i++)
        if (!i->dropped && is_byte(p, i))
            join_behind(p, i, end);
}
