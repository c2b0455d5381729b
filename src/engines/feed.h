/* feed.h - steps of the trace to several engines, on several cores
 *
 *     f = feed_new(runs, count, jobs)
 *     while (...) feed_put(f, &span)     in the thread that decodes
 *     feed_free(f)                       all engines have seen all steps
 *
 * An engine sees the pieces in their order and one at a time, but different
 * engines are at different pieces. With one job nothing is copied and no
 * thread is started.
 */
#ifndef HEDDLE_ENGINES_FEED_H
#define HEDDLE_ENGINES_FEED_H

#include "engines/analysis.h"

struct feed;

/* The runs are borrowed (not the list of them); their seconds are added up. */
struct feed *feed_new(struct engine_run *const *runs, size_t count, unsigned jobs);
void feed_put(struct feed *f, const struct span *span);
void feed_free(struct feed *f);

#endif
