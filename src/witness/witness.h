/* witness.h - the independent witness checker
 *
 * Decides whether a sequence of events is a correct reordering of a trace in
 * the sense of docs/design/proof.md that ends with a race, or with a deadlock. It uses no code
 * of the engines: it sees events as the reader delivers them and replays the
 * sequence the plain way. docs/design/proof.md states every rule it applies.
 *
 * Reads. Where a read's value is not known (or the trace has none) it must
 * see the writer it saw in the trace, byte by byte; where it is known, any
 * bytes of that value do. In a trace with branches a read may see anything as
 * long as no branch or call of its thread comes later in the reordering; what
 * such a thread writes afterwards satisfies no read that matters.
 *
 * Loose reads (docs/design/marks.md) may see anything: what the thread's loose
 * writes leave from then on, and left before in the same quiet period, satisfies no read
 * that matters.
 *
 * Quiet periods. A recording without values lacks accesses that repeat one of
 * their thread with no synchronisation in between: they cannot add a race, but
 * they count in a reordering. So there an access stands for all like it up to
 * the end of its quiet period, and other threads must not conflict with it before
 * that (proof.md).
 *
 * Cost: preparation O(N log N) time and O(N) memory for N events (plus the
 * cells that allocations cover); a check O(n) for n listed events (the same).
 * Concurrency: none; a check uses scratch memory of the witness_trace.
 */
#ifndef HEDDLE_WITNESS_WITNESS_H
#define HEDDLE_WITNESS_WITNESS_H

#include "base/error.h"
#include "trace/trace.h"

/* What calls of untraced code (call .. return) ask of a reordering (docs/design/rdit.md). */
enum witness_calls {
    CALLS_IGNORED,
    CALLS_UNSEEN, /* CALLS_PAIRS for the bytes alone that reads marked EV_BY_CALL saw */
    CALLS_PAIRS,  /* a call and what touches its D keep their order, and more */
    CALLS_SIMPLE  /* the same, and all calls keep theirs */
};

/* A trace prepared for checking: hard edges, observed writers. */
struct witness_trace;

/* Both are borrowed and must outlive the result; at most UINT32_MAX - 1 events. */
struct witness_trace *witness_trace_new(const struct trace_mem *t, const struct trace_info *info);
void witness_trace_free(struct witness_trace *w);

/* The rule on quiet periods: on for recordings (sync-exact order) without values. Returns what it
 * was.
 */
bool witness_trace_set_quiet(struct witness_trace *w, bool on);
/* The rule on calls for the checks to come; at first they are ignored. Names may be NULL; where a D
 * lists a variable, an object of that name is meant too. Costs a pass over the trace where the rule
 * is another one than before. */
void witness_trace_set_calls(struct witness_trace *w, enum witness_calls rule,
                             const struct tables *names);
/* Names for messages; borrowed. Without them things are called by their numbers. */
void witness_trace_set_names(struct witness_trace *w, const struct tables *tables);

/* What the events did, for witness_check_values(); borrowed, made of the same events. */
struct execution;
void witness_trace_set_execution(struct witness_trace *w, const struct execution *e);

/* A read of a schedule that sees another value than it did. */
struct witness_change {
    uint64_t read;   /* position */
    uint64_t writer; /* who wrote it; UINT64_MAX: it was there first */
    uint64_t value;
    bool known; /* else nothing tells what it sees */
};

/* 1: accepted; 0: refused, and err says why ("event 12: lock L1 is held by T2").
 * order lists positions; the last two are the racing accesses. */
int witness_check(const struct witness_trace *w, const uint64_t *order, size_t n,
                  struct error *err);

/* The same for a schedule that begins with all events before `beginning` as they were recorded (but
 * for impossible ones), and goes on with those listed. What happened in the beginning is kept for
 * the next check: many schedules cost O(N) together, and O(n) each, if their beginnings grow.
 * Only where witness_can_follow(): not with the rules on quiet periods, loose reads and calls. */
int witness_check_after(const struct witness_trace *w, uint64_t beginning, const uint64_t *order,
                        size_t n, struct error *err);
bool witness_can_follow(const struct witness_trace *w);

/* The same where reads may see anything under which branches, addresses and what else must stay do
 * stay (docs/design/recipe.md); witness_trace_set_execution() comes before. `changes` must be what
 * comes out, in the order of the schedule. */
int witness_check_values(struct witness_trace *w, const uint64_t *order, size_t n,
                         const struct witness_change *changes, size_t nchanges, struct error *err);

/* The same for a deadlock: the last `requests` events are acquires or requests of different
 * threads, each the next event of its thread, and each is kept from its lock by the thread of the
 * one listed behind it, the last by that of the first ("event 7: lock L1 is not held by T2"). */
int witness_check_deadlock(const struct witness_trace *w, const uint64_t *order, size_t n,
                           size_t requests, struct error *err);

#endif
