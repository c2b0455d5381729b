/* whole_show.h - schedules that engines have found: checked by the independent checker, given to
 * races
 */
#ifndef HEDDLE_ENGINES_WHOLE_SHOW_H
#define HEDDLE_ENGINES_WHOLE_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engines/race.h"

struct whole;

/* All schedules of an engine together, in events: 16 MB in memory, about as much in JSON. A log in
 * which every event has its own location has as many races as events. */
enum { WITNESS_EVENTS_MAX = 2000000 };
/* Those beyond, and those that are longer than options.max_witness, are checked and not kept. What
 * is kept never decides what is checked: that is bounded by itself, some 15 s. Where lists are
 * needed once more before they go: 160 MB. */
enum { WITNESS_CHECKED_MAX = 500000000, WITNESS_HELD_MAX = 20000000 };

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
/* The same for a schedule that begins as the trace does, with all before `beginning` (`nbefore`
 * events, without impossible ones). Many of them cost little more than the longest if their
 * beginnings grow. -1: not here (other rules apply), or the trace itself does not go on; then
 * nothing is counted. */
int whole_show_after(struct whole *w, struct race *r, uint64_t beginning, size_t nbefore,
                     uint64_t *list, size_t n, struct error *err);
bool whole_can_follow(struct whole *w);
/* The same in two steps, where the race is not known yet and the list cannot be held until it is:
 * check it and free it; and, if it was accepted (1), tell the race, which then also has
 * *with_calls (race.h). */
int whole_try(struct whole *w, uint64_t *list, size_t n, bool *with_calls, struct error *err);
void whole_note(struct whole *w, struct race *r, size_t n);

/* Is there room to check another schedule? For engines that can tell before they make it. And count
 * one for which there is none. */
bool whole_has_room(const struct whole *w);
void whole_skip(struct whole *w);
/* The verdict of whole_check() with the order that calls of untraced code may bring; nothing is
 * counted. */
bool whole_holds_with_calls(struct whole *w, const uint64_t *order, size_t n);

#endif
