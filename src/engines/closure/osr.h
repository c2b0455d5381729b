/* osr.h - inside of the engine osr: the set that a pair needs, its order, the search
 *
 * osr works on what syncp does (collection.h): the accesses of variables that
 * can race, their pasts, and the history of locks (closure.h).
 */
#ifndef HEDDLE_ENGINES_CLOSURE_OSR_H
#define HEDDLE_ENGINES_CLOSURE_OSR_H

#include "engines/closure/collection.h"
#include "order/view.h"

/* ---- osr_set.c: what two accesses need, optimistically ---- */

/* A time per slot, as in closure_set.c. */
struct osr_set {
    const struct closure *closure;
    bool truncated; /* the closure knows only the first events by position (whole_listed()) */
    uint32_t nslots;
    uint32_t *time;   /* per slot; room for whole leaves */
    uint64_t *before; /* per slot: of the next segment, events before this position are in */

    uint64_t seen; /* slots that the last closing went through, counted each time */

    uint32_t *pinned; /* sections that the two accesses are inside of */
    size_t npinned, pinned_cap;
    bool reversed; /* a section of the set has to move before a pinned one */
    uint64_t from; /* then: the order of the trace holds for all events before this position */
    uint32_t tail; /* and: the slot whose events from there on can wait until all others have come,
                      as far as locks go; SLOT_NONE: not so easy */
};

void osr_set_init(struct osr_set *x, const struct closure *c, const struct whole *w);
void osr_set_release(struct osr_set *x);

/* Make it the set that a and b need. False: it contains one of them, or cannot be. */
bool osr_set_close(struct osr_set *x, const struct closure_past *a, const struct closure_past *b);
/* How many of a slot's events are in the set; of those that are listed. */
size_t osr_set_events(const struct osr_set *x, uint32_t slot);

/* ---- osr_order.c: is there a reordering of the set? ---- */

struct osr_order;

struct osr_order *osr_order_new(const struct view *v);
void osr_order_free(struct osr_order *o);

/* Put the events of a reversed set in order; false: no order found. The result is for
 * osr_order_list(); `cost` is raised by the number of events looked at. */
bool osr_order_find(struct osr_order *o, const struct osr_set *x, uint64_t *cost);
/* The schedule of the pair, which the caller frees: the set and then the two accesses. With a
 * reversed set after osr_order_find(), else `o` may be NULL. NULL: events beyond the view. */
uint64_t *osr_order_list(struct osr_order *o, const struct osr_set *x, const struct closure_past *a,
                         const struct closure_past *b, size_t *count);

/* ---- osr_search.c ---- */

/* Accesses that are kept of a cluster at one site. */
enum { OSR_KEPT = 64 };

/* Two racing accesses, in trace order; their clocks are borrowed. */
struct osr_find {
    struct record a, b;
    uint32_t row; /* cluster it was found from */
};

struct osr_result {
    struct osr_find *finds; /* one per pair of sites */
    size_t count, cap;
    uint64_t tries, orders, order_events, reversals;
    uint64_t unviewed;  /* tries that would have needed the view */
    uint64_t undecided; /* pairs of lists that were not tried to the end */
};

/* Without a view only races that need no reversal are found. */
void osr_search(const struct collection *c, const struct view *v, struct whole *w,
                struct osr_result *out);

#endif
