/* tail.h - of a recording that does not end only the last part is kept
 *
 * A flight recorder (docs/design/endless.md): the last so many nanoseconds, or bytes, of the file
 * stay; what is before goes, once it has been read again, in the order of the trace, for what it
 * leaves behind (trace/past.h, trace/hdl/seam.h). Whatever ends the program or the writer, the file
 * has an end of the recording that can be analysed.
 *
 * Cost: each event is decoded and merged once, by the collector; memory by what is alive in the
 * program. Concurrency: belongs to the collector.
 */
#ifndef HEDDLE_RECORD_TAIL_H
#define HEDDLE_RECORD_TAIL_H

#include "record/sink.h"

struct tail;

/* `stretches`: the recording leaves out accesses that repeat. NULL where all is to be kept. */
struct tail *tail_new(struct sink *o, bool stretches);
void tail_free(struct tail *w);

/* Drop what is older, as far as it is in the file, where it is enough to be worth it. Takes the
 * sink's lock. */
void tail_move(struct tail *w, uint64_t now_ns);

#endif
