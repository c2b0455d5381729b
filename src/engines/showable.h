/* showable.h - the events of a recording that a schedule can hold
 *
 * Where plain accesses are not in exact order and there are no values, a
 * schedule counts only if each of its reads, but for the racing two, has a
 * certain writer (certain.h). What it holds it holds with all that this needs:
 * the events before it in its thread, the writes that its reads saw, whoever
 * allocated its memory, started its thread, posted, entered the barrier. So
 * an event that needs an uncertain read is in no schedule, and engines that
 * only add schedules need not see it: they work on the others as if these were
 * the trace (trace_select()). In a program that races, that is mostly what its
 * threads do up to their first racing read.
 *
 * Kept of each thread: its events up to the first that no schedule can hold,
 * and that one too where it is a read, since it may be one of the racing two.
 *
 *     flow = showable_begin(events, limit, step)
 *     showable_batch(flow, batch, span, certain)     all batches, in order
 *     showable_end(flow, &showable)
 *
 * Behind the first `limit` events all before a part stays as recorded
 * (docs/design/parts.md), so only what lies in the part can be in the way:
 * `useful` says which parts hold new accesses that could be shown.
 */
#ifndef HEDDLE_ENGINES_SHOWABLE_H
#define HEDDLE_ENGINES_SHOWABLE_H

#include "engines/certain.h"
#include "order/step.h"
#include "trace/trace.h"

struct showable {
    struct trace_selection events;
    uint64_t *last; /* reads that can only be one of the racing two, by their numbers there */
    size_t nlast, last_cap;
    uint8_t *useful; /* by part, 0: the first one behind the beginning */
    size_t nuseful;
};

struct showable_flow;

struct showable_flow *showable_begin(uint64_t events, uint64_t limit, uint64_t step);
void showable_batch(struct showable_flow *f, const struct batch *b, const struct span *span,
                    const struct certain *c);
void showable_end(struct showable_flow *f, struct showable *out);
void showable_release(struct showable *s);

/* Is there a part that is worth a look? */
bool showable_has_parts(const struct showable *s);
/* What is certain of the events, by their numbers there. */
struct certain *showable_certain(const struct showable *s);
/* Positions in the trace of all of them, in order. */
uint64_t *showable_positions(const struct showable *s);

#endif
