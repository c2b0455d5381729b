/* gist.h - the events of a trace that matter, in the place of all
 *
 * Of a recording of 60 million events the sieve (sieve.h) often leaves ten
 * thousand accesses to words that matter. Whoever decides afterwards wants the
 * trace at hand, which costs 80 bytes an event and a pass each. So what
 * matters is read into memory once, and is the trace for all engines from then
 * on (trace_hold()): synchronisation, memory that is allocated and freed, and
 * the accesses that the sieve keeps. Accesses that it leaves out, and calls and
 * returns of functions, are the others.
 *
 *     gist_take(&gist, trace, sieve, ...)   the trace is the gist
 *     ...engines...
 *     gist_return(gist, analysis, ...)      the trace is itself, results speak of its positions
 *
 * Why a schedule of the gist is one of the trace: the others go along with
 * their threads, each right behind the last event of its thread that is in the
 * gist, also where the thread stops (of one without an end in the trace those at its end come
 * before it is joined). All conflicting accesses to the words they touch are ordered by hard edges
 * and by hand-overs under locks; the events that make these orders are in the gist, so that every
 * schedule of it keeps them, and each read sees the write it saw.
 */
#ifndef HEDDLE_ENGINES_GIST_H
#define HEDDLE_ENGINES_GIST_H

#include "engines/analysis.h"
#include "engines/sieve.h"

/* Shorter traces are looked at as they are: there is nothing to be gained. */
enum { GIST_FROM = 500000 };
/* With all that engines make of an event of it (lbzip2, 1.3 million events: 300 MB). */
enum { GIST_EVENT_BYTES = 256 };
/* Of one behind the beginning: itself, where it was, and what engines know of suspects. */
enum { GIST_SUSPECT_BYTES = 96 };

struct gist;

/* What is taken where that is more than `max` events: */
enum gist_of {
    GIST_OF_ALL,       /* nothing */
    GIST_OF_BEGINNING, /* what matters of the beginning of the trace */
    GIST_BEGINNING     /* all events of the beginning: where any of them may matter; positions are
                          those of the trace */
};

/* How much is taken. `suspects`: behind a beginning so many events at most go on being taken,
 * synchronisation and accesses to suspects: enough for engines that go by races of hb. Where that
 * is too few, nothing is taken; 0: the gist ends with the beginning. */
struct gist_limits {
    enum gist_of of;
    size_t max, suspects;
};

/* Read the trace from its beginning. 0: the trace is rewound, and is the gist if *out is not NULL.
 * 1: stopped. -1 and an error. With two threads one reads ahead. */
int gist_take(struct gist **out, struct trace *t, struct sieve *s, const struct gist_limits *limits,
              unsigned threads, const struct analysis_hooks *hooks, struct error *err);
/* The number of the first event behind the beginning; 0: there is none. */
size_t gist_cut(const struct gist *g);
/* Events of the trace that lie behind its beginning; 0: the gist is that of all. */
uint64_t gist_missing(const struct gist *g);
/* The trace is itself again. Unless `a` is NULL, its results get the trace's positions, schedules
 * their other events. Frees the gist. -1: the trace cannot be read again. */
int gist_return(struct gist *g, struct analysis *a, const struct engine_options *o,
                struct error *err);

/* Positions in the trace, by number in the gist. */
const uint64_t *gist_positions(const struct gist *g);

#endif
