/* schedule_make.h - from the plan of a confirmed race to its race.schedule
 *
 * The plan's events are "the n-th of its kind in its thread"; the trace that it was made of says in
 * which function each of them is, and the n-th of its kind in that function it is.
 */
#ifndef HEDDLE_CMD_CONFIRM_SCHEDULE_MAKE_H
#define HEDDLE_CMD_CONFIRM_SCHEDULE_MAKE_H

#include "abi/rt_steer.h"
#include "report/findings.h"
#include "report/race_schedule.h"
#include "trace/trace.h"

/* Fill an empty schedule. -1 and an error: it cannot be read, or the race has no such name. */
int schedule_make(struct race_schedule *s, const struct steer_plan *plan, const struct finding *r,
                  struct trace *t, struct error *err);

/* A variable of an ELF file by its address there, and back; the name belongs to `strings`. NULL,
 * false: no such variable, or several. */
const char *variable_at(const char *file, uint64_t address, uint64_t *offset,
                        struct arena *strings);
bool variable_address(const char *file, const char *name, uint64_t *address);

#endif
