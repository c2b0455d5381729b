/* whole.h - the whole trace at hand, for what engines do after the pass over it
 *
 * Everything here is made when the first engine asks for it and shared by the
 * others: the events in memory, the view (order/view.h). Long traces are held up
 * to a bound; what lies beyond comes in parts afterwards (whole_parts.h). The rest
 * by who needs it: effort.h what work costs and when to stop, whole_show.h
 * schedules and the independent checker, whole_code.h the execution rebuilt from
 * the program's code, whole_run.h for what runs engines.
 *
 * Concurrency: engines decide one after the other. Within decide() threads of
 * the engine may call whole_check() and whole_is_shown(); all else is for the
 * thread that called decide().
 */
#ifndef HEDDLE_ENGINES_WHOLE_H
#define HEDDLE_ENGINES_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "engines/engine.h"
#include "trace/trace.h"

struct view;
struct whole;

/* 40 bytes an event and as much again for the checker's tables: 1.3 GB. */
enum { WHOLE_EVENTS_MAX = 16000000 };

const struct engine_options *whole_options(const struct whole *w);
const struct trace_info *whole_info(const struct whole *w);
/* As the deciding engine wants them. */
enum call_rule whole_call_rule(const struct whole *w);

/* The trace, from its first event, to be read with trace_next(); NULL and an error. */
struct trace *whole_stream(struct whole *w, struct error *err);
/* The trace once more as steps() saw it, the same variables with the same numbers: from its first
 * event, then 1 and the next piece, 0 at the end; both -1 and an error. */
int whole_restart(struct whole *w, struct error *err);
int whole_next(struct whole *w, struct batch *events, struct span *steps, struct error *err);
/* The events in memory: the first whole_limit() of the trace, or those of the part; NULL and an
 * error. */
const struct trace_mem *whole_events(struct whole *w, struct error *err);
/* The same where nobody needs events from `end` on: in an exact trace, and where no other engine
 * will, no more are loaded. */
const struct trace_mem *whole_events_before(struct whole *w, uint64_t end, struct error *err);
uint64_t whole_limit(const struct whole *w);
/* The first events of the trace of which closures keep lists. */
uint64_t whole_listed(const struct whole *w);
/* Reads among these that see what nobody wrote and nobody knows who did (trace/calls/unseen.h). */
uint64_t whole_unseen(const struct whole *w);
/* The same with their orders spelled out, as the deciding engine wants calls; NULL and an error.
 */
const struct view *whole_view(struct whole *w, struct error *err);
/* Has the deciding engine units for the view, or is it there? */
bool whole_affords_view(const struct whole *w);

/* Can a schedule prove anything in this trace? Not where even the order of lock events is unknown
 * and there are no values. (And not with options.find_only.) */
bool whole_can_show(const struct whole *w);

/* With options.cascade: has an engine that ran before, with the same rule for calls or a stricter
 * one, shown a race of these two sites? */
bool whole_is_shown(const struct whole *w, uint32_t site, uint32_t other);

#endif
