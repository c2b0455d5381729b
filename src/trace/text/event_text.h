/* event_text.h - the text trace (.std): one event a line, thread|operation|location
 *
 * docs/format/std.md is the normative description. Reading is a source
 * (std_open in source.h); this is the other direction and the printing of
 * single events.
 */
#ifndef HEDDLE_TRACE_TEXT_EVENT_TEXT_H
#define HEDDLE_TRACE_TEXT_EVENT_TEXT_H

#include "base/buf.h"
#include "trace/trace.h"

/* Append the event as one line with its newline. `extra` is the batch's. */
void text_event(struct buf *b, const struct event *ev, const uint64_t *extra,
                const struct tables *t);

/* Append only the operation, "acq(L1)"; what reports and dumps show. */
void text_operation(struct buf *b, const struct event *ev, const uint64_t *extra,
                    const struct tables *t);

#endif
