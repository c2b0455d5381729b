/* filter.c - when the filter's tables are doubled (filter.h) */
#include "runtime/core/filter.h"

/* A block that comes back costs some 150 cycles, as much again where its events are written and
 * read, and not all that do are found among those noted. The clock goes on while the thread waits
 * for a processor, as most threads do half of the time.
 */
enum { FILTER_BACK_CYCLES = 48000 };

/* The block of tag `old` makes room for that of `now`: is the table too small? */
static bool filter_too_small(struct heddle_filter_growth *g, uint64_t old, uint64_t now,
                             unsigned entries)
{
    uint64_t epoch = __heddle_tls.epoch, h, since;

    h = (old ^ epoch) * UINT64_C(0x9e3779b97f4a7c15);
    if (unlikely(!(h >> 58)))
        g->gone[h >> 40 & ((1 << FILTER_GONE_BITS) - 1)] = old;
    h = (now ^ epoch) * UINT64_C(0x9e3779b97f4a7c15);
    if (likely(h >> 58) || g->gone[h >> 40 & ((1 << FILTER_GONE_BITS) - 1)] != now ||
        ++g->back <= entries >> 8)
        return false;
    since = g->since;
    g->since = __builtin_ia32_rdtsc();
    g->back = 0;
    return g->since - since < UINT64_C(64) * FILTER_BACK_CYCLES * (entries >> 8);
}

/* The same, and if it is, the next mask. Entries stay where they are: with a wider mask half of
 * them are not found again, and none is found that does not hold. */
static void filter_push_out(struct heddle_filter_growth *g, uint64_t old, uint64_t now, void *table,
                            uint32_t *mask, uint32_t most, unsigned shift)
{
    if (likely(*mask == most || !filter_too_small(g, old, now, *mask >> shift)))
        return;
    *mask = (*mask << 1 | *mask) & most;
    filter_has_grown(table, (size_t)*mask + (UINT64_C(1) << shift));
}

PUSHES_OUT void filter_push_out_units(uint64_t old, uint64_t now)
{
    struct heddle_filter *f = __heddle_tls.filter;

    filter_push_out(&f->of_units, old, now, f->units, &__heddle_tls.unit_mask,
                    FILTER_UNITS_MASK(FILTER_UNITS_BITS), FILTER_UNITS_SHIFT);
}

PUSHES_OUT void filter_push_out_lines(uint64_t old, uint64_t now)
{
    struct heddle_filter *f = __heddle_tls.filter;

    filter_push_out(&f->of_lines, old, now, f->lines, &__heddle_tls.line_mask,
                    FILTER_LINES_MASK(FILTER_LINES_BITS), FILTER_LINES_SHIFT);
}
