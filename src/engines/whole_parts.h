/* whole_parts.h - a trace that is longer than what memory holds, part by part
 */
#ifndef HEDDLE_ENGINES_WHOLE_PARTS_H
#define HEDDLE_ENGINES_WHOLE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct whole;

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

#endif
