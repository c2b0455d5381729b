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

enum { ENGINE_FASTTRACK, ENGINE_HB, ENGINE_SHB, ENGINE_LOCKSET, ENGINES };

struct subject {
    struct buf text;     /* as generated */
    struct trace *trace; /* open, at its end */
    struct trace_mem mem;
    const struct trace_info *info;
    struct analysis analysis;
    struct pair_set found[ENGINES];   /* pairs of positions: each event is its own site */
    struct relation must, hb, shb;    /* closed */
    struct pair_set hb_unordered;     /* conflicting pairs */
    struct pair_set hbp, shbp, locks; /* what the engines should find */
    struct oracle oracle;
    bool exact; /* reads saw what the trace implies */
};

/* Takes the text of a trace. Ends the process when it cannot be read: the generator and the
 * shrinker only make traces that can. */
void subject_init(struct subject *s, const struct buf *text);
void subject_release(struct subject *s);

#endif
