/* whole_run.h - for what runs engines: analysis.c, gist.c, long.c, and the processes of a crew
 */
#ifndef HEDDLE_ENGINES_WHOLE_RUN_H
#define HEDDLE_ENGINES_WHOLE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "engines/engine.h"

struct analysis;
struct analysis_hooks;
struct sieve;
struct trace;
struct whole;

/* With a limit on memory so many bytes are counted for an event that is held: with the view, the
 * model and the checker. At least so many are held: below, what an engine needs besides counts. */
enum { WHOLE_EVENT_BYTES = 256, WHOLE_EVENTS_MIN = 100000 };

/* What lies behind is looked at in parts that overlap by half (trace/parts.h): with the view, the
 * model and the checker 2 GB. Two accesses at most 4 million events apart are in one part. */
enum { WHOLE_PART_EVENTS = 8000000 };

/* All borrowed; a sieve only where one was used. */
struct whole *whole_new(struct trace *t, const struct analysis *a, struct sieve *sieve,
                        const struct engine_options *options, const struct analysis_hooks *hooks);
void whole_free(struct whole *w);
/* What is certain of the trace (certain.h), where somebody knows already; taken over. */
struct certain;
void whole_set_certain(struct whole *w, struct certain *c);
/* For analysis.c: the engine that decides from here on, and its share of the budget; and what
 * became of its schedules as counters of its result: "witnessed", "witness_uncertain",
 * "witness_not_kept" (accepted but long), "witness_over_budget" (no room: not complete),
 * "witness_refused" (a bug of the engine), "witness_contradicted" (or rather of the trace). */
void whole_begin(struct whole *w, const struct engine *engine, uint64_t units);
void whole_end(struct whole *w, struct engine_result *result);
/* What was done since whole_begin(), schedules checked included. */
uint64_t whole_spent(const struct whole *w);

/* Of the trace only so many events tell all that matters: no more are held, and there are no parts
 * behind. */
void whole_set_beginning(struct whole *w, uint64_t events);
/* What the view of so many events costs an engine. */
uint64_t whole_view_units(const struct whole *w, const struct engine *engine, uint64_t events);

/* Keep schedules of any length for now: somebody will look at them before whole_end(), which
 * forgets those that are too long. */
void whole_hold(struct whole *w);

#endif
