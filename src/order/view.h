/* view.h - a trace in memory with its orders spelled out, for engines that jump about
 *
 * Positions, threads, cells and locks are dense numbers; lists are packed:
 * the entries of item i are list[first[i]] .. list[first[i + 1] - 1].
 * Events that check_trace.c marked EV_IGNORED belong to no thread's list, touch
 * nothing and need nothing.
 *
 * Needs. What must come before an event in EVERY correct reordering, besides
 * its thread's earlier events: hard edges (fork, join, barriers,
 * semaphores, once, annotations, C11 release/acquire with fences) and the
 * allocation of the memory it touches. Direct edges only, transitively
 * redundant ones may be left out.
 *
 * Cells. Bytes with the same history: every access covers a cell wholly or
 * not at all, and a byte that is allocated again is in another cell. A free
 * writes all its cells; an alloc is the first writer of its cells (of unknown
 * value).
 *
 * Calls. With a call rule, what calls of untraced code may have done is in the
 * view, too: in the needs, and as touches of calls and returns. A call reads
 * what its D lists (what is in there must be what it was) and writes it with
 * an unknown value, a return writes it. Touches that follow from others are
 * left out, and calls and returns are in no cell's list of accesses. A read
 * whose value contradicts the last write before a call keeps that writer, unless
 * it is marked EV_UNSEEN.
 *
 * Sections. One per outermost acquire that check_trace.c did not mark, in trace
 * order; those a thread never ends have release VIEW_NONE and end with their
 * thread (docs/design/proof.md, "Locks").
 *
 * Memory: about 60 bytes an event besides the events. Time: near-linear.
 * Concurrency: read only after view_new().
 */
#ifndef HEDDLE_ORDER_VIEW_H
#define HEDDLE_ORDER_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

#define VIEW_NONE UINT32_MAX

struct view_section {
    uint32_t acquire, release; /* positions */
    uint32_t end;              /* the event with which the lock is free again: the release, or
                                  the end of the thread, or its last event before a join (which
                                  may be the acquire itself); VIEW_NONE: never */
    uint32_t thread, lock;
    bool shared;
};

struct view_cell {
    uint64_t address, bytes;
    bool allocated; /* its first event is the alloc; else it was there from the beginning */
};

struct view {
    const struct event *events; /* borrowed */
    uint32_t count;             /* events */
    uint32_t nthreads, ncells, nlocks, nsections;
    uint64_t rows_max; /* entries of a table by event and thread that whoever made the view allows;
                          0: as many as its user does */

    uint32_t *rank;         /* event -> its place in its thread, from 0; VIEW_NONE: ignored */
    uint32_t *thread_first; /* nthreads + 1 */
    uint32_t *thread_event; /* positions, by thread */

    uint32_t *need_first; /* count + 1 */
    uint32_t *need;       /* positions, always of other threads and always earlier */

    uint32_t *cell_first; /* count + 1: the cells that an access, alloc or free touches */
    uint32_t *cell;
    uint32_t *writer; /* beside cell: the event that wrote it last before; VIEW_NONE: nobody */

    struct view_cell *cells;
    uint32_t *access_first; /* ncells + 1: the events that touch a cell, in trace order */
    uint32_t *access;

    struct view_section *sections; /* in the order of their acquires */
    uint32_t *section_of;          /* event -> its section, for acquires and releases of one; else
                                      VIEW_NONE */
    uint32_t *lock_first;          /* nlocks + 1: sections on a lock, in trace order */
    uint32_t *lock_section;

    bool *decides; /* the reads of its thread up to the event must be right when it is executed: in
                      traces with branches those are branches, calls, and reads inside calls */
};

/* What calls of untraced code (call pairs) add to the needs. */
enum call_rule {
    CALL_RULE_NONE,   /* nothing */
    CALL_RULE_UNSEEN, /* mc: as CALL_RULE_PAIRS, for the bytes alone of which calls are known to
                        have written some: those of reads marked EV_BY_CALL (docs/design/unseen.md)
                      */
    CALL_RULE_PAIRS, /* rdit: two pairs whose D overlap, and a pair and an event that touches its D,
                       keep the order of the trace, with all events in between call and return
                       (call_pairs.h) */
    CALL_RULE_SIMPLE /* sb: the same, and any two pairs */
};

/* At most UINT32_MAX - 1 events; the trace is borrowed. The second one knows names: where a D lists
 * a variable, an object of that name is meant too. */
struct view *view_new(const struct trace_mem *t, enum call_rule rule);
struct view *view_new_named(const struct trace_mem *t, enum call_rule rule,
                            const struct tables *names);
void view_free(struct view *v);
/* Its arrays alone, where the struct is part of something else. */
void view_release(struct view *v);

#endif
