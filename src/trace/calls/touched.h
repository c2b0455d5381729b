/* touched.h - what a stretch of code touches, as entries of a call's D (event.h)
 *
 * Entries are added as they come and merged now and then: sorted, doubles dropped, ranges of
 * memory that meet made one. More than TOUCHED_MAX entries after merging become one entry "all":
 * the order with everything else is then kept, which is sound and never silent (touched_is_all).
 * Memory: 16 bytes an entry. Cost: amortised O(log n) an entry; O(1) for one like the last.
 * Ownership: the struct owns its array. A zeroed struct is empty.
 */
#ifndef HEDDLE_TRACE_CALLS_TOUCHED_H
#define HEDDLE_TRACE_CALLS_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Engines compare every access with D. A call that touches more separate places than this is the
 * program's main loop rather than a function that somebody leaves out. */
enum { TOUCHED_MAX = 1 << 16 };

struct d_entry {
    uint64_t what, bytes; /* the two words */
};

struct touched {
    struct d_entry *list;
    size_t count, cap;
    bool all;
};

void touched_release(struct touched *t);

static inline bool touched_is_all(const struct touched *t)
{
    return t->all;
}

void touched_add(struct touched *t, uint64_t what, uint64_t bytes);
/* An access of memory. */
void touched_add_memory(struct touched *t, uint64_t address, uint64_t bytes);
/* The end of adding: merge what is there. */
void touched_merge(struct touched *t);
/* Of memory that is listed elsewhere what `other`, which is merged, has, too; "all" stays all. */
void touched_add_common(struct touched *t, struct d_entry memory, const struct touched *other);

#endif
