/* reach.h - lists of calls made complete: what untraced code can reach from the pointers it gets
 *
 * Recordings list the pointers that a call passes (D_ROOT), and of each object on the way from
 * there what it holds, once (D_EXTENT, D_SLOT). Everything that changes afterwards is in the trace:
 * alloc and free, links, stored values. This stage follows all that in the order of the trace, and
 * replaces each such list by the memory that can be reached at that moment: sorted, disjoint ranges
 * of whole objects (docs/design/rdit.md; Huang and Rajagopalan 2016, 3.2.1). A pointer that
 * leads into no known object stands for its 8 bytes. Lists without such entries pass unchanged.
 * docs/design/reach.md.
 *
 * Work is bounded by the number of events and calls: a list that would cost more becomes D_ALL, and
 * is counted in trace_info.lists_given_up.
 * Concurrency: none.
 */
#ifndef HEDDLE_TRACE_CALLS_REACH_H
#define HEDDLE_TRACE_CALLS_REACH_H

#include "trace/trace.h"

struct reach;

/* Borrowed: the tables (of the images' addresses), and the info, which is kept up to date. */
struct reach *reach_new(const struct tables *tables, struct trace_info *info);
void reach_free(struct reach *r);
/* Start again before the first event. */
void reach_rewind(struct reach *r);

/* Follow everything from here on, also where no call needs it yet: what is noted until then grows
 * with the trace, what is followed by what is alive. */
void reach_follow(struct reach *r);

/* The next batch of the trace. Events are changed in place; batch.extra becomes the stage's own
 * and is valid until the next call. */
void reach_batch(struct reach *r, struct batch *b);

/* Objects that are no blocks, and slots, as they are now. */
void reach_seam(const struct reach *r, struct seam *c);

/* Does a list have entries that this stage would replace? */
bool reach_is_raw(const struct event *call, const uint64_t *extra);

#endif
