/* encode_stretch.h - records of stretches into a chunk of kind 9
 *
 * A record is compared with the last one of the same stretch, word by word, and only the bytes
 * that changed are kept, with a mask. No event is made, nothing is looked up but the stretch: this
 * costs about as much as copying.
 */
#ifndef HEDDLE_TRACE_HDL_ENCODE_STRETCH_H
#define HEDDLE_TRACE_HDL_ENCODE_STRETCH_H

#include "abi/rt_ring.h"
#include "trace/hdl/encode_raw.h"

/* What raw_run.stretch_pages has for a stretch of the process: its number in the trace, the words
 * and events of a record, and whether it enters or leaves a function. 0: unknown. */
static inline uint64_t stretch_entry(uint32_t number, const struct stretch *s)
{
    return number | (uint64_t)s->words << 32 | (uint64_t)stretch_events(s) << 40 |
           (uint64_t)s->frame << 48;
}

static inline unsigned stretch_entry_frame(uint64_t entry)
{
    return (unsigned)(entry >> 48);
}

/* For tests: use no more than this of what the processor can do. */
extern enum stretch_speed { STRETCH_PLAIN, STRETCH_PEXT, STRETCH_WIDE } stretch_speed;

/* Is there a record of a stretch at the run's beginning? */
static inline bool raw_run_is_stretch(const struct raw_run *r)
{
    return r->at < r->end && ring_is_stretch(*r->at);
}

/* And is it one that cannot be encoded, because nothing, or something else, is known of it? */
bool raw_run_is_unknown(const struct raw_run *r);
/* Encode records up to the first of another kind, of an unknown or impossible stretch, or that
 * does not fit the chunk (`limit` events in all), or was refused. How many events. */
size_t encoder_add_stretches(struct encoder *e, struct raw_run *r, uint32_t limit);

#endif
