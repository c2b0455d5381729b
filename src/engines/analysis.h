/* analysis.h - run engines over a trace: decode once, feed all of them
 *
 * Concurrency: none yet; one trace, one thread.
 */
#ifndef HEDDLE_ENGINES_ANALYSIS_H
#define HEDDLE_ENGINES_ANALYSIS_H

#include "engines/engine.h"
#include "trace/trace.h"

struct engine_run {
    const struct engine *engine;
    struct engine_result result;
    double seconds; /* in the engine itself, without decoding */
};

struct analysis {
    struct engine_run *runs;
    size_t count;
    double decode_seconds; /* reading, checking, numbering */
    bool interrupted;
};

struct analysis_hooks {
    /* Called after each batch, and each witness; true stops the analysis, what was found so far is
     * kept. */
    bool (*progress)(void *arg, const struct trace_info *info);
    void *arg;
};

/* -1 only when the trace cannot be read; then there is no result to release. */
int analysis_run(struct trace *t, const struct engine *const *engines, size_t n,
                 const struct analysis_hooks *hooks, struct analysis *out, struct error *err);
void analysis_release(struct analysis *a);

/* Give the races of shb, which are schedulable in the observed order, their reordering:
 * reads the trace again, builds the needed prefix of each race, has witness/ check it, and
 * raises the strength of those accepted. Only for traces whose order is exact or that have
 * values; elsewhere the observed order proves nothing. Races whose prefix is longer than
 * max_events, or that lie too far into the trace, are left as they are. Counters tell. */
int analysis_witness(struct analysis *a, struct trace *t, uint64_t max_events,
                     const struct analysis_hooks *hooks, struct error *err);

#endif
