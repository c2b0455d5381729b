/* subject.h - one small trace with everything the properties are about
 *
 * The trace is written as STD text and read back the normal way, so reader,
 * checker and engines see what a user's file would give them. The slow
 * references are computed from the events as read.
 */
#ifndef HEDDLE_PROPERTY_SUBJECT_H
#define HEDDLE_PROPERTY_SUBJECT_H

#include "base/buf.h"
#include "engines/analysis.h"
#include "naive.h"
#include "oracle.h"
#include "trace/trace.h"

enum { SUBJECT_ENGINES = 32 };

struct subject {
    struct buf text;     /* as generated */
    struct trace *trace; /* open, at its end */
    struct trace_mem mem;
    const struct trace_info *info;
    struct analysis analysis; /* of all engines of the registry, in that order */
    size_t nengines;
    struct pair_set found[SUBJECT_ENGINES]; /* pairs of positions: each event is its own site */
    struct relation must, hb, shb;          /* closed */
    struct pair_set hb_unordered;           /* conflicting pairs */
    struct pair_set hbp, shbp, locks;       /* what the engines should find */
    struct oracle oracle;
    struct oracle unseen; /* the same by mc's rule, where that differs: subject_mc() */
    bool exact;           /* reads saw what the trace implies */
};

/* Takes the text of a trace. Ends the process when it cannot be read: the generator and the
 * shrinker only make traces that can. */
void subject_init(struct subject *s, const struct buf *text);
void subject_release(struct subject *s);

/* What an engine of the registry left, and its races as pairs of positions. */
const struct engine_result *subject_result(const struct subject *s, const struct engine *e);
const struct pair_set *subject_found(const struct subject *s, const struct engine *e);
/* What mc should find: where calls of untraced code wrote what reads saw, their order counts. */
const struct oracle *subject_mc(const struct subject *s);

#endif
