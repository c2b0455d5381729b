/* call_pairs.h - what calls of untraced code add to the needs of events
 *
 * A call and its return are a call pair; it may touch what its D lists, at
 * any time in between. docs/design/rdit.md has the rules and why they are
 * enough. In short, with "touch" meant of memory by bytes, of synchronisation
 * objects, and of the beginning and end of threads:
 *   - a pair and what touches its D keep the order of the trace;
 *   - while pairs are open, all that touches their Ds, and all events of their
 *     threads, keep the order of the trace among themselves. Open pairs that
 *     have something in common count as one.
 *
 * All things that can be touched are numbers on one axis: pieces of memory
 * (view.c), then ends and beginnings of threads, then named objects.
 *
 * Cost: for each event O(runs it meets), a run being neighbours on the axis
 * with the same history. A call makes one run of each range it lists, so runs
 * are made by touches and ranges, two at a time, and met once for each: in
 * all O((touches + entries of all D) * log), times the pairs that are open at
 * once where these overlap.
 * Concurrency: none.
 */
#ifndef HEDDLE_ORDER_CALL_PAIRS_H
#define HEDDLE_ORDER_CALL_PAIRS_H

#include "base/map.h"
#include "order/view.h"

struct call_pairs_input {
    const struct trace_mem *trace; /* all borrowed */
    enum call_rule kind;
    const struct tables *names; /* or NULL, see call_pairs_object_names() */
    uint32_t nthreads, npieces;
    const struct map *piece_at; /* first and last byte + 1 of all that is touched or listed */
    const uint32_t *narrow; /* CALL_RULE_UNSEEN: piece (and npieces) -> how many before it count;
                               nothing but these counts. Else NULL */
};

struct call_order;

struct call_order *call_pairs_new(const struct call_pairs_input *in);
void call_pairs_free(struct call_order *b);

/* What the next event touches and is, besides what is in the event itself. */
struct call_pairs_event {
    uint32_t position;
    uint32_t first, last; /* pieces [first, last) of an access, alloc or free */
    bool first_of_thread, last_of_thread;
    bool unmatched; /* a release of what its thread does not hold in that way */
};

/* The needs of the next event that takes part; valid until the next call. */
const uint32_t *call_pairs_step(struct call_order *b, const struct call_pairs_event *e,
                                uint32_t *count);

/* The call that a thread is in, the innermost; VIEW_NONE. Before the step of a return: its call. */
uint32_t call_pairs_open_call(const struct call_order *b, uint32_t thread);

/* Is this a synchronisation event on an object? */
static inline bool call_pairs_on_object(unsigned op)
{
    enum op_class c = op_class_of(op);

    return c == CLASS_LOCK || (c >= CLASS_COND && c <= CLASS_ANNOTATION);
}

/* An entry of memory as bytes [from, to); false for all other entries. */
static inline bool call_pairs_range(const uint64_t *entry, uint64_t *from, uint64_t *to)
{
    *from = entry[0];
    *to = entry[1] > UINT64_MAX - entry[0] ? UINT64_MAX : entry[0] + entry[1];
    return D_KIND(entry[0]) == D_MEMORY_KIND && *from < *to;
}

#endif
