/* ahead.h - a trace is read by a thread of its own, ahead of whoever looks at its events
 *
 * Decoding costs as much as looking at each event once does. So a pass over a
 * long trace takes half the time where there is a second processor.
 *
 *     a = ahead_new(trace, threads, NULL)
 *     while ((r = ahead_next(a, &batch, &err)) > 0)
 *         ...the batch, and ahead_info(a)...
 *     ahead_free(a)           also before the end; then the trace is the caller's again
 *
 * In between nobody else may use the trace: neither its tables nor trace_info(). The batch and
 * ahead_info() are the caller's until the next call.
 *
 * With fewer than two threads, and where no thread can be started, it reads the trace itself.
 *
 * Work that can be done with each batch in turn, whatever the caller does with those before, can go
 * to the reader, too (struct ahead_work).
 */
#ifndef HEDDLE_TRACE_AHEAD_H
#define HEDDLE_TRACE_AHEAD_H

#include "trace/trace.h"

struct ahead;

/* Batches are in slots; one that the caller was given keeps its slot until the next call. */
enum { AHEAD_SLOTS = 8 };

/* Called with each batch, in order, before the caller gets it. */
struct ahead_work {
    void (*run)(void *arg, struct batch *b, unsigned slot);
    void *arg;
};

/* `work` (copied) may be NULL. */
struct ahead *ahead_new(struct trace *t, unsigned threads, const struct ahead_work *work);
void ahead_free(struct ahead *a);

/* As trace_next(). */
int ahead_next(struct ahead *a, struct batch *out, struct error *err);
/* The slot of the last batch. */
unsigned ahead_slot(const struct ahead *a);
/* The trace_info() that goes with the last batch, or with the end. */
const struct trace_info *ahead_info(const struct ahead *a);

#endif
