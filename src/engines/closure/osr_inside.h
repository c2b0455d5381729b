/* osr_inside.h - inside of osr_order.c: the graph and its scratch memory
 *
 * osr_order.c has the graph and its linear order, osr_greedy.c the order that
 * is made without fixing all edges beforehand, osr_tail.c the easy case.
 */
#ifndef HEDDLE_ENGINES_CLOSURE_OSR_INSIDE_H
#define HEDDLE_ENGINES_CLOSURE_OSR_INSIDE_H

#include "base/alloc.h"
#include "base/sorted.h"
#include "engines/closure/closure_inside.h"
#include "engines/closure/osr.h"

#define NO_NODE UINT32_MAX

struct edge {
    uint32_t to, next;
};

/* A thread that holds a lock, while greedy. */
struct holder {
    uint32_t lock, thread;
    bool shared;
};

/* A section and the node with which it is over. */
struct ending {
    uint32_t section, next;
};

struct osr_order {
    const struct view *v;
    const struct osr_set *set;
    bool greedy;
    bool easy; /* the order is that of the trace, then the tail */

    uint32_t *slot_of; /* thread -> slot */
    uint64_t *limit;   /* per slot: events before this position are in the set */
    size_t slots_cap;
    uint32_t *node_of;  /* position -> node */
    uint32_t *position; /* node -> position */
    uint32_t nnodes;
    size_t position_cap;

    uint32_t *first, *waits_for; /* node -> its first edge; edges into it */
    size_t first_cap, waits_cap;
    struct edge *edges; /* [0] unused */
    size_t nedges, edges_cap;

    uint32_t *last; /* per thread: its last node so far */
    uint32_t *cell_seen, *lock_seen;
    uint32_t round;
    uint32_t *reads; /* scratch of one cell, or of one lock */
    size_t nreads, reads_cap;

    /* greedy */
    uint32_t *pending; /* cell -> how many reads of what it holds are to come */
    struct holder *holders;
    size_t nholders, holders_cap;
    uint32_t *ends; /* node -> its first ending */
    size_t ends_cap;
    struct ending *endings; /* [0] unused */
    size_t nendings, endings_cap;
    uint32_t *parked;
    size_t nparked, parked_cap;

    uint32_t *heap;
    size_t nheap, heap_cap;
    uint32_t *order; /* positions */
    size_t norder, order_cap;
};

/* osr_greedy.c: the state of a cell or a lock before the first event that may move; may the event
 * come next; it comes. */
void osr_cell_state(struct osr_order *o, uint32_t cell);
void osr_lock_state(struct osr_order *o, uint32_t lock);
bool osr_may_come(const struct osr_order *o, uint32_t position);
void osr_come(struct osr_order *o, uint32_t position);

/* osr_tail.c: can the tail of o->set come last? Then o->order is the tail. */
bool osr_tail_can_wait(struct osr_order *o, uint64_t *cost);

/* osr_order.c */
void osr_open_last(struct osr_order *o, uint32_t lock);
void osr_push(struct osr_order *o, uint32_t node);

/* The first event of a slot at or after a position. */
static inline size_t osr_first_from(const struct slot_history *h, size_t n, uint64_t position)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (h->events[mid] < position)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static inline bool osr_in_set(const struct osr_order *o, uint32_t position)
{
    uint32_t slot = position == VIEW_NONE ? NO_NODE : o->slot_of[o->v->events[position].thread];

    return slot != NO_NODE && position < o->limit[slot];
}

static inline bool osr_gives_content(const struct event *e)
{
    return op_table[e->op].writes || e->op == OP_ALLOC;
}

/* The first entry of a sorted list that is not below a position. */
static inline uint32_t osr_lower_bound(const uint32_t *list, uint32_t lo, uint32_t hi,
                                       uint64_t position)
{
    return lo + (uint32_t)sorted_first_from_32(list + lo, hi - lo, position);
}

/* Place of a position in the list of a cell's accesses. */
static inline uint32_t osr_place(const struct osr_order *o, uint32_t cell, uint64_t position)
{
    const struct view *v = o->v;

    return osr_lower_bound(v->access, v->access_first[cell], v->access_first[cell + 1], position);
}

/* Is the section in the set, and not over before the first event that may move? */
static inline bool osr_takes_part(const struct osr_order *o, const struct view_section *s)
{
    return osr_in_set(o, s->acquire) && !(osr_in_set(o, s->end) && s->end < o->set->from);
}

#endif
