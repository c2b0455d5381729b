/* call_pairs_inside.h - what call_pairs.c and call_pairs_runs.c share */
#ifndef HEDDLE_ORDER_CALL_PAIRS_INSIDE_H
#define HEDDLE_ORDER_CALL_PAIRS_INSIDE_H

#include "base/alloc.h"
#include "order/call_pairs.h"
#include "order/number_set.h"

#define NONE VIEW_NONE

struct list {
    uint32_t *items;
    size_t count, cap;
};

struct pair {
    uint32_t call, ret; /* ret NONE: open */
    uint32_t thread;
    bool endless;      /* never returns in this trace */
    bool lasting;      /* has returned, but lasts to the end of the quiet period (EV_LASTS) */
    struct list links; /* pairs of other threads that were open at the call and overlap */
};

struct run {
    uint32_t ret;        /* last return of a pair, NONE */
    struct list open;    /* pairs; some may have returned since */
    struct list touches; /* events, one per thread, since the last touch by a pair */
};

struct thread {
    struct list stack; /* pairs */
    uint32_t group;
};

struct span {
    uint32_t lo, hi; /* on the axis */
};

struct call_order {
    const struct event *events;
    const uint64_t *extra;
    struct call_pairs_input in;
    uint32_t axis, ends, starts, objects; /* its length; where thread ends, beginnings, objects
                                             begin */
    uint32_t *variable_of;                /* object -> axis of the variable of that name, NONE */
    struct marks covered;                 /* things that some D lists */
    struct marks heads;                   /* first things of runs */
    uint32_t *run_at;                     /* first thing of a run -> the run */
    struct run *runs;
    size_t nruns, runs_cap;
    struct list spare; /* runs that are not in use */
    struct pair *pairs;
    size_t npairs, opened;
    struct thread *threads;
    struct list open_threads;
    uint32_t *group_last;
    size_t ngroups, groups_cap;
    uint32_t position;
    const struct event *event;
    struct map known;   /* (thread, other) -> latest event of the other that it needs, + 1 */
    uint32_t *latest;   /* thread -> event + 1 that is needed now */
    struct list wanted; /* threads with one */
    struct list out;
    struct list root; /* scratch of split_group() */
};

static inline void push(struct list *l, uint32_t item)
{
    if (l->count == l->cap)
        GROW(l->items, l->cap, l->count + 1);
    l->items[l->count++] = item;
}

/* ---- groups: open pairs that belong together ---- */

uint32_t call_pairs_new_group(struct call_order *b, uint32_t last);
/* The present event touches what the group may touch. */
void call_pairs_step_group(struct call_order *b, uint32_t group);
/* A pair of the group is over: what holds the rest together? */
void call_pairs_split_group(struct call_order *b, uint32_t group);

/* ---- things [lo, hi) ---- */

uint32_t call_pairs_new_run(struct call_order *b);
/* The present event touches them. */
void call_pairs_touch(struct call_order *b, uint32_t lo, uint32_t hi);
/* It comes after all that touched them, with a pair that is open from here on (or NULL). */
void call_pairs_take(struct call_order *b, uint32_t lo, uint32_t hi, struct pair *p);

/* What the present event needs into b->out, and forget it. */
void call_pairs_list_needs(struct call_order *b);

#endif
