/* whole.h - the whole trace at hand, for what engines do after the pass over it
 *
 * Everything here is made when the first engine asks for it and shared by the
 * others: the events in memory, the view (order/view.h), the independent
 * checker. Long traces are held up to a bound; what lies beyond comes in parts
 * afterwards.
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

struct analysis;
struct analysis_hooks;
struct execution;
struct view;

/* 40 bytes an event and as much again for the checker's tables: 1.3 GB. */
enum { WHOLE_EVENTS_MAX = 16000000 };

/* With a limit on memory so many bytes are counted for an event that is held: with the view, the
 * model and the checker. At least so many are held: below, what an engine needs besides counts. */
enum { WHOLE_EVENT_BYTES = 256, WHOLE_EVENTS_MIN = 100000 };

/* What lies behind is looked at in parts that overlap by half (trace/parts.h): with the view, the
 * model and the checker 2 GB. Two accesses at most 4 million events apart are in one part. */
enum { WHOLE_PART_EVENTS = 8000000 };

/* All schedules of an engine together, in events: 16 MB in memory, about as much in JSON. A log in
 * which every event has its own location has as many races as events. */
enum { WITNESS_EVENTS_MAX = 2000000 };
/* Those beyond, and those that are longer than options.max_witness, are checked and not kept. What
 * is kept never decides what is checked: that is bounded by itself, some 15 s. Where lists are
 * needed once more before they go: 160 MB. */
enum { WITNESS_CHECKED_MAX = 500000000, WITNESS_HELD_MAX = 20000000 };

struct sieve;

/* All borrowed; a sieve only where one was used. */
struct whole *whole_new(struct trace *t, const struct analysis *a, struct sieve *sieve,
                        const struct engine_options *options, const struct analysis_hooks *hooks);
void whole_free(struct whole *w);
/* What is certain of the trace (certain.h), where somebody knows already; taken over. */
struct certain;
void whole_set_certain(struct whole *w, struct certain *c);
/* Effort is counted, not timed, so that a busy machine finds what an idle one does: a unit is about
 * 10 ns of work, as in solve/solver.h. UNITS_A_SECOND is what a processor of 2020 does in one. */
enum { UNITS_A_SECOND = 100000000 };
enum { UNITS_AN_EVENT = 10 /* of a pass over the trace */, UNITS_A_STEP = 3 /* of the checker */ };

/* Of each event that matters: the passes of all engines that predict. */
enum { UNITS_A_PREDICTED_EVENT = 100 };

/* Of each event: of the view and the model over it; and where calls of untraced code bring orders
 * (leveldb: 2 us). */
enum { UNITS_A_VIEWED_EVENT = 50, UNITS_A_CALL_EVENT = 150 };

/* For analysis.c: the engine that decides from here on, and its share of the budget; and what
 * became of its schedules as counters of its result: "witnessed", "witness_uncertain",
 * "witness_not_kept" (accepted but long), "witness_over_budget" (no room: not complete),
 * "witness_refused" (a bug of the engine), "witness_contradicted" (or rather of the trace). */
void whole_begin(struct whole *w, const struct engine *engine, uint64_t units);
void whole_end(struct whole *w, struct engine_result *result);
/* Count work; what there is left, UINT64_MAX: no limit; what was done, schedules checked included.
 */
void whole_spend(struct whole *w, uint64_t units);
uint64_t whole_left(const struct whole *w);
uint64_t whole_spent(const struct whole *w);

const struct engine_options *whole_options(const struct whole *w);
const struct trace_info *whole_info(const struct whole *w);
/* As the deciding engine wants them. */
enum barriers whole_barriers(const struct whole *w);

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
/* Of the trace only so many events tell all that matters: no more are held, and there are no parts
 * behind. */
void whole_set_beginning(struct whole *w, uint64_t events);
/* The first events of the trace of which closures keep lists. */
uint64_t whole_listed(const struct whole *w);
/* Reads among these that see what nobody wrote and nobody knows who did (trace/calls/unseen.h). */
uint64_t whole_unseen(const struct whole *w);
/* The same with their orders spelled out, as the deciding engine wants barriers; NULL and an error.
 */
const struct view *whole_view(struct whole *w, struct error *err);
/* What the view of so many events costs an engine; does the one that decides have units for it, or
 * is it there? */
uint64_t whole_view_units(const struct whole *w, const struct engine *engine, uint64_t events);
bool whole_affords_view(const struct whole *w);

/* Parts of a trace that is longer than whole_limit(). After whole_next_part() (1; 0: there are no
 * more; -1 and an error) all here is about that part, and events are its events: first those that
 * stand for all before it, then, from whole_base() on, its own, of which those from whole_fresh()
 * on were in no part before. whole_end_parts() goes back to the beginning of the trace. */
bool whole_has_parts(const struct whole *w);
int whole_next_part(struct whole *w, struct error *err);
void whole_end_parts(struct whole *w);
bool whole_in_part(const struct whole *w);
uint64_t whole_part_step(const struct whole *w); /* from one part to the next, in events */
uint64_t whole_base(const struct whole *w);
uint64_t whole_fresh(const struct whole *w);
/* From events at hand to positions in the trace, and back: UINT64_MAX where it is not at hand. */
uint64_t whole_position(const struct whole *w, uint64_t event);
uint64_t whole_event(const struct whole *w, uint64_t position);

/* What the events did, rebuilt from the program's bitcode (execution/execution.h); NULL: the trace
 * is no full recording, code was left out of it, or the program is gone; `why` says it, if not
 * NULL.
 */
const struct execution *whole_execution(struct whole *w, struct error *why);

/* Can a schedule prove anything in this trace? Not where even the order of lock events is unknown
 * and there are no values. (And not with options.find_only.) */
bool whole_can_show(const struct whole *w);

/* Is this sequence of positions, all below whole_events()->count, a correct reordering that ends
 * with a race? Where plain accesses are not recorded in their exact order, every read of it that
 * has no recorded value must have a certain writer (certain.h). whole_events() must have been
 * called. 1: accepted, 0: not, err says why. */
int whole_check(struct whole *w, const uint64_t *order, size_t n, struct error *err);
/* The same for a sequence that ends with the requests of a deadlock, each waiting for the next one
 * (witness.h). -1: neither accepted nor wrong, some read has no certain writer. */
int whole_check_deadlock(struct whole *w, const uint64_t *order, size_t n, size_t requests,
                         struct error *err);
/* Give a race the schedule that shows it, if whole_check() accepts it: 1, or 0 with the list freed
 * and the reason. Takes over the list. One that is longer than options.max_witness, or for which
 * there is no room, is checked and not kept: its race is shown all the same. All is counted
 * (whole_end()). */
int whole_show(struct whole *w, struct race *r, uint64_t *list, size_t n, struct error *err);
/* The same in two steps, where the race is not known yet and the list cannot be held until it is:
 * check it and free it; and, if it was accepted (1), tell the race, which then also has
 * *with_calls (race.h). */
int whole_try(struct whole *w, uint64_t *list, size_t n, bool *with_calls, struct error *err);
void whole_note(struct whole *w, struct race *r, size_t n);

/* Is there room to check another schedule? For engines that can tell before they make it. And count
 * one for which there is none. */
bool whole_has_room(const struct whole *w);
void whole_skip(struct whole *w);
/* Keep schedules of any length for now: somebody will look at them before whole_end(), which
 * forgets those that are too long. */
void whole_hold(struct whole *w);
/* The verdict of whole_check() with the order that calls of untraced code may bring; nothing is
 * counted. */
bool whole_holds_with_calls(struct whole *w, const uint64_t *order, size_t n);

/* The same as whole_show() for a schedule in which reads see other values, over whole_execution().
 * Takes over both lists. */
int whole_show_values(struct whole *w, struct race *r, uint64_t *list, size_t n,
                      struct value_change *changes, size_t nchanges, struct error *err);

/* What branches would do that went the other way (execution/flip.h), with the execution they are
 * of; NULL where whole_execution() would be. Both are the caller's. Sites that were not executed
 * are added to the trace's tables. */
struct flips;
struct execution *whole_flips(struct whole *w, struct flips **flips);
/* The view of other events, as the deciding engine wants barriers; the caller's. For any thread. */
struct view *whole_view_of(const struct whole *w, const struct trace_mem *events);
/* Is a schedule of an execution with new events in it a correct one? `original` has the positions
 * in the trace itself, beyond its end for new events. For any thread. 1: accepted. */
int whole_check_flip(struct whole *w, const struct execution *e, const uint64_t *order,
                     const uint64_t *original, size_t n, const struct value_change *changes,
                     size_t nchanges, struct error *err);

/* The same for a race that was shown already: nothing is counted. */
int whole_show_again(struct whole *w, struct race *r, uint64_t *list, size_t n,
                     struct value_change *changes, size_t nchanges, struct error *err);

/* With options.cascade: has an engine that ran before, with the same barriers or more, shown a race
 * of these two sites? */
bool whole_is_shown(const struct whole *w, uint32_t site, uint32_t other);

/* Report how much of decide() is done, 0 to 1, and ask whether to stop: the user's patience is over
 * or the engine's units are used up. Cheap. */
bool whole_stop(struct whole *w, double done);
/* The same without news of progress. */
bool whole_poll(struct whole *w);
/* Has the user had enough? (Not the budget.) Has the engine that decides been told so? */
bool whole_interrupted(const struct whole *w);
bool whole_was_interrupted(const struct whole *w);

#endif
