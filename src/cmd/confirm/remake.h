/* remake.h - from race.schedule to plans for the program as it is now
 *
 *     remake_find(&r, schedule, "./prog", &err)   which sites the two accesses are in this build
 *     remake_events(&r, trace, &err)              which of its thread's events the events are,
 *                                                 from a run of this build that was recorded
 *     remake_plan(&r, &plan, 0)                   of the first choice of sites
 *
 * An event that this run did not have is left out, with the orders it is part of.
 */
#ifndef HEDDLE_CMD_CONFIRM_REMAKE_H
#define HEDDLE_CMD_CONFIRM_REMAKE_H

#include "abi/rt_steer.h"
#include "cmd/confirm/schedule_place.h"
#include "trace/trace.h"

struct replayed_event {
    struct steer_key key;
    uint32_t number; /* 0: not found */
};

struct remake {
    const struct race_schedule *schedule; /* borrowed */
    struct linked files;
    struct place_sites sites[2]; /* none: code without a site table */
    struct replayed_event *events;
    size_t events_missing;
    uint64_t *paths; /* of the schedule's threads */
    bool memory_missing;
    uint64_t variable_address;
};

/* What no longer applies is said in the error: then 1. -1: the program cannot be read. */
int remake_find(struct remake *r, const struct race_schedule *s, const char *program,
                struct error *err);
int remake_events(struct remake *r, struct trace *t, struct error *err);
void remake_release(struct remake *r);

/* How many choices of sites there are; and the plan of one, from 0. */
size_t remake_choices(const struct remake *r);
void remake_plan(const struct remake *r, struct steer_plan *plan, size_t choice);

#endif
