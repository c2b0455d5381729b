/* cp_graph.h - inside of the cp engine: the trace reduced to what CP depends on
 *
 * CP is closed under composition with HB on both sides. So what is CP-before
 * an event is, in each slot (a chain of threads that follow each other, as in
 * order/hb.h), a prefix: the past of an event is two rows of numbers, H (what
 * is HB-before it) and P (what is CP-before it), an entry per slot. A time is
 * the position of an event + 1; 0 is nothing. Rows only change where a thread
 * learns: at an acquire and at the target of a hard edge. These are the nodes;
 * all other events of a thread share the rows of its last node.
 *
 *     H = H before + what the lock's last sections and hard edges bring
 *     P = P before + P of the lock's last sections
 *                  + H of the sources of hard edges
 *                  + H of the releases that rules (a) and (b) order before
 *
 * cp_record.c builds the graph in one pass, cp_guards.c finds the edges of
 * rule (a), cp_solve.c computes the rows and rule (b), cp_races.c compares
 * the accesses in a second pass over the trace.
 * Node 0 is the beginning of every thread: empty rows. Section 0 and source 0
 * do not exist.
 */
#ifndef HEDDLE_ENGINES_STREAMING_CP_GRAPH_H
#define HEDDLE_ENGINES_STREAMING_CP_GRAPH_H

#include "base/arena.h"
#include "base/map.h"
#include "engines/streaming/cp_guards.h"
#include "engines/streaming/cp_reduce.h"
#include "engines/engine.h"
#include "order/hb.h"

struct cp_node {
    uint32_t time;
    uint32_t thread, slot;
    uint32_t prev, next; /* of its thread */
    uint32_t section;    /* that begins here, 0: target of hard edges only */
    uint32_t hard_first, hard_count;
    uint32_t ends;   /* first of the sections that end while this is their thread's last node */
    uint32_t syncs;  /* synchronisation events of the thread from here to its next node */
    uint32_t queued; /* in the solver's heap */
    uint32_t *rows;  /* H, then P */
};

struct cp_section {
    uint32_t lock, thread, slot;
    uint32_t acquire, release; /* times; release 0: open */
    uint32_t closed;           /* time at which it counts as ended: its release, or the end or
                                  join of its thread, or the acquire that pushed it aside */
    uint32_t begin, end;       /* node of the acquire, last node at the release */
    uint32_t next_end;         /* of the node's list */
    uint32_t next;             /* on its lock, in the order of the acquires */
    uint32_t exclusive_before; /* the last exclusive one on its lock before it */
    union {
        uint32_t read;            /* exclusive: the shared ones that ended since that one began */
        uint32_t exclusive_after; /* shared: the exclusive one that has it in its list */
    };
    uint32_t next_read; /* in that list */
    uint32_t source;    /* the latest exclusive section with an edge of rule (a) or (b) into
                           this one: it brings along all that are earlier on the lock */
    uint32_t links;     /* shared sections with an edge: first of cp.links */
    uint32_t acquire_rank, release_rank; /* in the reduced trace; for windows */
    bool shared;
};

struct cp_link {
    uint32_t section, next;
};

/* Where hard edges come from: an event of a thread. */
struct cp_source {
    uint32_t thread, slot, time;
    uint32_t node;  /* its thread's last one */
    uint32_t noted; /* time of the event that noted it: itself, or the join */
    bool reader;    /* a shared release: for exclusive acquires only */
};

/* The sections of one slot on one lock, in order. */
struct cp_use {
    struct cp_took {
        uint32_t acquire, section;
    } *took;
    size_t count, cap;
};

struct cp_user {
    uint32_t slot;
    struct cp_use exclusive, shared;
};

struct cp_lock {
    uint32_t last, last_exclusive; /* sections */
    uint32_t read;                 /* shared ones that ended since the last exclusive one began */
    uint32_t owner;                /* open exclusive section */
    uint32_t *readers;             /* open shared sections */
    size_t nreaders, readers_cap;
    uint32_t *foreign; /* sources: releases by threads that did not hold it */
    size_t nforeign, foreign_cap;
    struct cp_user *users; /* filled by the solver as it goes */
    size_t nusers, users_cap;
};

struct cp_thread {
    uint32_t slot;      /* SLOT_NONE: has none yet, or no more */
    uint32_t last_slot; /* the same, kept after a join */
    uint32_t last_rank; /* of its last event */
    uint32_t node;
    uint32_t *held; /* open sections */
    size_t nheld, held_cap;
    uint32_t *free_slots; /* of threads it joined */
    size_t nfree, free_cap;
    struct map learned; /* thread -> its last source that this one learned of */
};

/* A thread gets a slot: its first, or another one where it goes on after it was joined. */
struct cp_move {
    uint32_t thread, slot, time;
};

struct cp_slot {
    uint32_t *syncs; /* times of its synchronisation events */
    size_t nsyncs, syncs_cap;
};

struct cp {
    struct engine_result *result;
    bool all;
    uint32_t window; /* 0: none */
    bool stopped;    /* by the user, or out of time */
    bool too_long;   /* more events than times: the rest is left out */

    struct hb hard; /* no lock edges; its clocks are emptied at every event: tells direct sources */
    struct cp_reduce reduce;
    struct cp_guards guards;
    struct cp_node *nodes;
    size_t nnodes, nodes_cap;
    struct cp_section *sections;
    size_t nsections, sections_cap;
    uint32_t *closed; /* sections in the order in which they end */
    size_t nclosed, closed_cap;
    struct cp_source *sources;
    size_t nsources, sources_cap;
    uint32_t *hard_in; /* sources, by node */
    size_t nhard_in, hard_in_cap;
    struct cp_link *links;
    size_t nlinks, links_cap;
    struct cp_lock *locks;
    size_t locks_cap;
    struct cp_thread *threads;
    size_t threads_cap;
    struct cp_slot *slots;
    size_t nslots, slots_cap;
    struct cp_move *moves; /* in the order of time */
    size_t nmoves, moves_cap;
    uint32_t *found; /* scratch: sources found for one event */
    size_t nfound, found_cap;

    uint32_t width; /* of a row */
    struct arena memory;
    uint32_t now; /* the present; nodes up to this time have rows */
    uint32_t *heap;
    size_t nheap, heap_cap;
    uint64_t rule_a, rule_b, rounds, syncs;
};

/* cp_record.c */
void cp_record_steps(struct cp *c, const struct span *span);
void cp_record_finish(struct cp *c); /* sections that stay open end with the trace */
void cp_add_edge(struct cp *c, uint32_t into, uint32_t from);

/* cp_solve.c */
void cp_solve(struct cp *c);
uint32_t *cp_new_rows(struct cp *c);
void cp_compute(struct cp *c, uint32_t node); /* rows from scratch */
/* Section b, open or not, holds events that are CP-after all of this row: rule (b). */
void cp_rule_b(struct cp *c, uint32_t b, const uint32_t *known);
void cp_push(struct cp *c, uint32_t node); /* its P has changed */
void cp_drain(struct cp *c);               /* let changes take effect, up to c->now */

/* cp_races.c */
int cp_find_races(struct cp *c, struct whole *whole, struct error *err);

static inline uint32_t *cp_h(const struct cp *c, uint32_t node)
{
    return c->nodes[node].rows;
}

static inline uint32_t *cp_p(const struct cp *c, uint32_t node)
{
    return c->nodes[node].rows + c->width;
}

/* The larger of each entry; true where that is more than there was. */
static inline bool row_join(uint32_t *to, const uint32_t *from, uint32_t width)
{
    uint32_t more = 0;

    for (uint32_t i = 0; i < width; i++) {
        uint32_t max = to[i] > from[i] ? to[i] : from[i];

        more |= max ^ to[i];
        to[i] = max;
    }
    return more;
}

/* Learn of an event at (slot, time) all that is HB-before it, given by the row h. Who knows an
 * event knows its past, so there is nothing to do where it is known. */
static inline bool row_learn(uint32_t *to, const uint32_t *h, uint32_t slot, uint32_t time,
                             uint32_t width)
{
    if (to[slot] >= time)
        return false;
    row_join(to, h, width);
    to[slot] = to[slot] < time ? time : to[slot];
    return true;
}

#endif
