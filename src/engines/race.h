/* race.h - what an engine found: pairs of sites, with their first instance
 *
 * An engine emits each racing pair of accesses it meets; the table keeps one
 * race per unordered pair of sites, the first of its strongest instances
 * (positions) and their number. Everything else a report shows (thread, locks
 * held, stack, value, names) is recovered from the trace by position, so
 * engines carry two numbers per access and no more.
 */
#ifndef HEDDLE_ENGINES_RACE_H
#define HEDDLE_ENGINES_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "trace/event.h"

/* From strongest to weakest (heddle(1)). */
enum strength {
    STRENGTH_CONFIRMED,
    STRENGTH_WITNESSED,
    STRENGTH_OBSERVED, /* a data race of the recorded execution itself (actual.h) */
    STRENGTH_GUARANTEED,
    STRENGTH_MAYBE,
    STRENGTH_POTENTIAL,
    STRENGTH_COUNT
};
extern const char *const strength_names[STRENGTH_COUNT]; /* "confirmed" ... */

struct access {
    uint64_t position;
    uint32_t site;
};

/* A read of a schedule that sees another value than it did. */
struct value_change {
    uint64_t read;   /* position */
    uint64_t writer; /* whose value it sees; CHANGE_FIRST: what was there first */
    uint64_t value, recorded;
    uint32_t bytes; /* of them; more than 8: the values are not given */
    bool has_value, has_recorded;
    uint64_t branch; /* position of the first branch that depends on it, or CHANGE_NONE */
};
#define CHANGE_FIRST UINT64_MAX
#define CHANGE_NONE  UINT64_MAX

/* A branch of a witness that goes another way than it did (execution/flip.h), and what its thread
 * does then. These new events have positions, too, from the number of the trace's events on: those
 * of the first flip, then those of the second. */
struct race_flip {
    uint64_t branch;  /* position */
    uint64_t outcome; /* now */
    bool by_value;    /* no branch decides, but a value that is `outcome` now: the pointer that the
                         next instruction follows or calls; `branch` is the event before */
    uint32_t site;    /* of the branch; by_value: of that instruction, if it has one */
    uint32_t path;    /* which of the flips it is, for those who make them again */
    uint32_t access;  /* the new event that races; the race's position is the branch's */
    bool is_second;   /* of the race's accesses; else the first */
    uint64_t first;   /* position of the first new event */
    struct event *events; /* owned */
    size_t nevents;
};

/* If the accesses of another race were atomic, would this be ordered? Surely, or if a read saw the
 * write that it may have seen. */
enum race_follows { FOLLOWS_NOTHING, FOLLOWS_SURELY, FOLLOWS_MAYBE };

struct race {
    struct access first, second; /* in trace order */
    uint64_t count;              /* instances met */
    enum strength strength;
    uint64_t *witness; /* owned; positions in the order of the reordering, or NULL */
    size_t nwitness;
    uint64_t after;        /* the witness comes after so many events of the trace as recorded, */
    uint64_t part;         /* and is about so many behind them (trace/parts.h) */
    uint64_t long_witness; /* events of a witness that was accepted but not kept; 0 */
    bool holds_with_calls; /* such a one: also with the order that calls may bring (judge.h) */
    bool apart_with_calls; /* nor does an order that calls may bring join the two (judge.h) */
    bool independent;      /* whatever reads saw: it does not follow from another race (sshb.h) */
    enum race_follows follows;
    uint32_t cause[2];                /* sites of the race that it follows from (sshb_causes.h) */
    uint64_t last_first, last_second; /* positions of the last instance counted */
    struct value_change *changes;     /* owned; reads of the witness that see other values */
    size_t nchanges;
    bool by_values;          /* the witness was judged by values (witness/values.h), also where none
                                changes: a first value is what was read, too */
    struct race_flip *flips; /* owned; branches of the witness that go another way */
    size_t nflips;           /* at most two */
};

/* The same for two sites in any order. */
static inline uint64_t site_pair(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* More different site pairs than this are only counted: nobody reads them, and a trace in which
 * every event has a location of its own could otherwise fill the memory. */
enum { RACES_MAX = 1000000 };

struct race_table {
    struct race *races; /* in order of discovery */
    size_t count, cap;
    struct map by_sites; /* pair of sites -> index */
    uint32_t *recent;    /* small direct-mapped cache in front of the map */
    uint64_t dropped;    /* instances of pairs beyond RACES_MAX */
};

void race_table_init(struct race_table *t);
void race_table_release(struct race_table *t);
/* Frees what a race owns: witness, changes, flips. */
void race_forget(struct race *r);

/* The earlier access comes first. Counts an instance; a new pair of sites becomes a race, and the
 * first of the strongest instances stands for all.
 * Cost: O(1), a few nanoseconds for a pair already known. */
void race_table_add(struct race_table *t, struct access earlier, struct access later,
                    enum strength strength);
/* Leave out the races that are not to be kept. */
void race_table_keep(struct race_table *t, bool (*keep)(void *arg, const struct race *r),
                     void *arg);
/* The race of two sites, in any order, or NULL. */
struct race *race_table_find(const struct race_table *t, uint32_t site, uint32_t other);

#endif
