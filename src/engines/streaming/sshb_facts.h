/* sshb_facts.h - what phase 1 of sshb collects for phase 2
 *
 * A point is an event of a slot (hb.h): the events of one slot form a chain.
 * Kept are only edges between different slots, and racing pairs; program
 * order is implied by the chains.
 *
 * Order edges: release -> acquire, fork, join and all other hard edges; apart
 * from them alloc -> use, which is not part of happens-before. The
 * happens-before core has clocks, not edges; an edge is what a thread's clock
 * has learned since its last step. Of several such entries those are left out
 * that a snapshot known to be among them implies.
 *
 * Positions are 32 bits here, 4 bytes instead of 8 for millions of them; a
 * longer trace (over 4,294,967,293 events) gets no verdicts: `full`. Nor does
 * one with more than SSHB_EDGES_MAX edges.
 */
#ifndef HEDDLE_ENGINES_STREAMING_SSHB_FACTS_H
#define HEDDLE_ENGINES_STREAMING_SSHB_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/race.h"
#include "order/hb.h"

#define SSHB_NONE UINT32_MAX

/* Of all kinds together, 16 to 24 bytes each and as much again in phase 2; and of candidates, with
 * their records 100 bytes each: 1.6 GB. (5 million generated events have 40,000 of both; a barrier
 * of 1,000 threads makes a million edges each time, 4,000 threads that race on one variable 16
 * million candidates.) */
enum { SSHB_EDGES_MAX = 64000000, SSHB_CANDIDATES_MAX = 16000000 };

struct sshb_point {
    uint32_t slot, position;
};

struct sshb_edge {
    struct sshb_point from, to;
};

/* A write that a read may have seen (Definition 6, W1). Of the reads of one
 * slot that may have seen this write the first is kept, which stands for the
 * others, and the second, for the case that the first is one side of a race
 * (docs/design/sshb.md). */
struct sshb_candidate {
    struct sshb_point from, to;
    uint32_t second;   /* position, of the same slot as `to`; SSHB_NONE */
    uint32_t variable; /* that both touch */
};

/* The write that a read saw in the recorded order, where nothing else orders
 * the two. */
struct sshb_observed {
    struct sshb_point from, to;
    bool removable; /* the read has other candidates */
};

enum sshb_kind { SSHB_WRITE_WRITE, SSHB_READ_WRITE, SSHB_WRITE_READ, SSHB_KINDS };

/* One occurrence of a race. */
struct sshb_pair {
    uint32_t position[2], slot[2], site[2]; /* the earlier first */
    uint8_t kind, verdict;
};

/* What phase 2 says of an occurrence. */
enum sshb_verdict {
    SSHB_ORDERED = 1, /* a path of the graph joins the two */
    SSHB_COVERED = 2, /* both hold one lock; asked where lock events are not in order */
    SSHB_UNSEEN = 4,  /* the recorded write-read order orders them */
    SSHB_CERTAIN = 8, /* also that part of it that no other candidate can remove */
    SSHB_OPEN = 16    /* the budget ran out before it was known whether a path joins them */
};

/* When the steps of a slot published: tick t (from 1) at position [t - 1] - 1;
 * 0 nowhere. */
struct sshb_slot {
    uint32_t *ticks;
    size_t count, cap;
    uint32_t last;            /* position + 1 of its last step */
    struct clock publication; /* the last of its own steps that published */
};

/* What a thread knew when its edges were last taken down. */
struct sshb_thread {
    uint32_t version;
    struct clock seen, fork;
};

struct sshb_facts {
    struct hb *hb; /* borrowed */
    bool full;     /* positions or room for edges ran out: the facts are not complete */
    uint64_t events;

    struct sshb_edge *edges;
    size_t nedges, edges_cap;
    struct sshb_edge *births; /* from an alloc to a use of its memory */
    size_t nbirths, births_cap;
    struct sshb_candidate *candidates;
    size_t ncandidates, candidates_cap;
    struct sshb_candidate *loose; /* between atomics; only where their order is not exact */
    size_t nloose, loose_cap;
    bool unordered; /* the trace's order of synchronisation is not exact; set
                       before phase 2 */
    struct sshb_observed *observed;
    size_t nobserved, observed_cap;
    struct sshb_pair *pairs;
    size_t npairs, pairs_cap;
    uint64_t pairs_left_out;

    struct sshb_slot *slots;
    size_t slots_cap;
    struct sshb_thread *threads;
    size_t threads_cap;
    struct clock *releases; /* lock -> its last release */
    size_t releases_cap;
    struct clock joined;       /* the last thread joined, at its end */
    bool several;              /* the present event has several steps */
    struct map met;            /* first -> second access of its pairs, + 1 */
    struct sshb_edge *learned; /* scratch: from.position is a time */
    size_t nlearned, learned_cap;
};

void sshb_facts_init(struct sshb_facts *f, struct hb *hb);
void sshb_facts_release(struct sshb_facts *f); /* before hb_release() */

/* Before the steps of a span. */
void sshb_facts_begin_span(struct sshb_facts *f, const struct span *span);

/* Around the steps of an event, `before` ahead of hb_before(). */
void sshb_facts_before(struct sshb_facts *f, const struct step *s);
void sshb_facts_learn(struct sshb_facts *f, const struct step *s, struct hb_thread *t);
/* The thread has ticked in this step. */
void sshb_facts_ticked(struct sshb_facts *f, const struct step *s, const struct hb_thread *t);

/* The thread of a step came as far as this; after hb_before(). */
static inline void sshb_facts_step(struct sshb_facts *f, const struct step *s, struct hb_thread *t)
{
    if (__builtin_expect(t->version != f->threads[s->thread].version, 0))
        sshb_facts_learn(f, s, t);
    f->slots[t->clock.slot].last = (uint32_t)s->position + 1;
    if (s->op > OP_WRITE && t->clock.time != f->slots[t->clock.slot].count + 1)
        sshb_facts_ticked(f, s, t);
}

/* Position + 1 of the last event of a slot that the thread knows; 0: none. */
static inline uint32_t sshb_known(const struct sshb_facts *f, const struct hb_thread *t,
                                  uint32_t slot)
{
    uint32_t time = clock_tree_get(t->clock.tree, slot);

    if (!time)
        return 0;
    return time <= f->slots[slot].count ? f->slots[slot].ticks[time - 1] : f->slots[slot].last;
}

/* Is there room for another edge? Else the facts are full from here on. */
bool sshb_has_room(struct sshb_facts *f);
void sshb_add_birth(struct sshb_facts *f, struct sshb_point from, struct sshb_point to);
/* Do the pairs to come belong to an event of several steps? Then two accesses may meet often. */
void sshb_facts_several(struct sshb_facts *f, bool several);
/* The race is in the table already. */
void sshb_add_pair(struct sshb_facts *f, const struct sshb_pair *p, const struct race_table *races);

#endif
