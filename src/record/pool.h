/* pool.h - from full chunks to packed events, by a few threads
 *
 * A stream is a recorded thread: its chunks wait in the order of their serial
 * numbers, and one worker at a time decodes them into the stream's encoder. A
 * full encoder is compressed and appended to the output. So chunks of
 * different threads are worked on at the same time, and nothing but the end,
 * the append, is done in turn.
 *
 * Bounds: a worker holds one copied chunk (two with a signal handler's), and
 * at most ENCODERS_MAX encoders are open; beyond that the one that has been
 * idle longest is flushed. Chunks go back to the process as soon as they are
 * copied.
 *
 * Concurrency: pool_add(), pool_work(), pool_wait(), pool_finish() belong to
 * one thread, the collector, which is a worker itself.
 */
#ifndef HEDDLE_RECORD_POOL_H
#define HEDDLE_RECORD_POOL_H

#include "record/stamps.h"
#include "record/sink.h"
#include "record/places.h"

struct pool;

struct pool_counts {
    uint64_t damaged, dropped; /* chunks */
    uint64_t lost;             /* accesses, as the records say */
    uint64_t records_bytes;    /* decoded */
};

/* All borrowed. `workers` counts the collector. */
struct pool *pool_new(struct ring *r, struct sink *o, struct places *p, const struct clock *c,
                      unsigned workers, enum hdl_compression compression, int level);
void pool_free(struct pool *p);

/* Chunks that were collected, in the order of their hand-over. */
void pool_add(struct pool *p, const uint32_t *numbers, size_t n);
/* Work on one stream. False: there is nothing to do here (others may be at work). */
bool pool_work(struct pool *p);
/* Until the others have done what there is. */
void pool_wait(struct pool *p);
/* Bring the file up to date, in two steps, between which what was handed over is to be added.
 * First a look at the chunks that are being filled: what is final of them is taken (early.h). Then
 * all that was seen up to here is decoded and flushed. It is queued here, and done by workers; the
 * last one commits what is staged, up to the time of the look. So whatever is in the file depends
 * on nothing but what is there too, or came after the look. One at a time: not before the last is
 * settled. The next one is due when the file has `due_bytes`: from then on workers begin nothing
 * new until it comes. How many streams it is about. */
void pool_look(struct pool *p);
/* After the look, before the checkpoint: something was on its way, and may not have been seen. */
void pool_doubt(struct pool *p);
unsigned pool_checkpoint(struct pool *p, uint64_t due_bytes);
bool pool_is_settled(struct pool *p);
/* The file has all events up to this stamp: none that comes later has an earlier one, as far as
 * calls of untraced code depend on it (docs/design/live.md, "The order of calls"). UINT64_MAX:
 * there were no calls. 0: not known. */
uint64_t pool_complete(struct pool *p);
bool pool_is_due(const struct pool *p);
/* Flush streams that were idle for so long. */
void pool_flush_idle(struct pool *p, uint64_t milliseconds);
/* The process is gone, everything was added: chunks that waited for others in vain are taken as
 * they are, all is flushed. */
void pool_finish(struct pool *p, struct pool_counts *counts);

#endif
