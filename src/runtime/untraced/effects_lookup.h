/* effects_lookup.h - what a called function of untraced code may do, besides what its arguments
 * lead to
 *
 * The writer knows, from the machine code (docs/design/effects.md); it is asked at the first call
 * of untraced code, and again when images have come since. What it does not know may do anything.
 *
 * Data of untraced images is cut into pieces, a variable each. Of those that calls may touch the
 * runtime keeps copies, so that it sees at each call which pointers in them changed.
 *
 * Concurrency: tables are only added; copies are written under reach_lock.
 */
#ifndef HEDDLE_RUNTIME_UNTRACED_EFFECTS_LOOKUP_H
#define HEDDLE_RUNTIME_UNTRACED_EFFECTS_LOOKUP_H

#include "abi/rt_effects.h"
#include "runtime/core/state.h"

struct effects; /* a table of the writer's */

HIDDEN struct callee effects_named(const char *name);
HIDDEN struct callee effects_at(uintptr_t function);

static inline bool callee_does_nothing(const struct callee *c)
{
    return !(c->does & ~(uint32_t)EFFECTS_STORES) && !c->count;
}

/* An image was logged: what is known may not hold for it. */
HIDDEN void effects_new_image(void);
HIDDEN void effects_forget(void); /* in a forked child: its writer is asked anew */

/* ---- pieces ---- */

enum { EFFECTS_EXTRA = 16 }; /* pieces that pointers in a set's lead to */

/* The piece around an address; false: in none that is known. */
HIDDEN bool effects_find(uintptr_t a, uintptr_t *low, uintptr_t *high);

/* A piece as the runtime has it. `copy` is NULL until it was told. */
struct piece_state {
    uint64_t *copy;
    bool stays; /* in an image that is never unmapped, and small: may be read directly */
};
HIDDEN struct piece_state *effects_piece(const struct effects *t, uint32_t piece, uintptr_t *low,
                                         uintptr_t *high);
/* Its words: those that may hold pointers. */
static inline const uint64_t *piece_words(uintptr_t low)
{
    return (const uint64_t *)((low + 7) & ~(uintptr_t)7);
}
static inline size_t piece_count(uintptr_t low, uintptr_t high)
{
    low = (low + 7) & ~(uintptr_t)7;
    return low < high ? (high - low) / 8 : 0;
}
HIDDEN uint32_t effects_number(const struct effects *t, uintptr_t a); /* UINT32_MAX: none */
HIDDEN uint64_t *effects_new_copy(uint64_t bytes);                    /* zeroed; NULL: no memory */

/* Pieces of a set, those that were added behind the others. */
HIDDEN uint32_t effects_member(const struct callee *c, uint32_t i);
HIDDEN uint32_t effects_members(const struct callee *c);
HIDDEN bool effects_add_member(const struct callee *c, uint32_t piece);
/* The addresses of its pieces, as one object in our own memory; *told is its own. */
HIDDEN const uint64_t *effects_slots(const struct callee *c, bool **told);
/* All of its pieces were told and are as they were. */
HIDDEN bool effects_are_known(const struct callee *c);

#endif
