/* schedule_place.h - places of race.schedule and sites of a build, both ways
 *
 * A place is "the 2nd write to `counter` in `worker`": an edit elsewhere moves lines, but neither
 * renames the function nor adds a write to the variable there. The accesses are told apart by their
 * kind (read, write, atomic, call of libc) and the variable's name as the compiler has it, and
 * counted by line and column; copies of one access (inlined, in several objects) count once.
 */
#ifndef HEDDLE_CMD_CONFIRM_SCHEDULE_PLACE_H
#define HEDDLE_CMD_CONFIRM_SCHEDULE_PLACE_H

#include "abi/rt_prod.h"
#include "report/race_schedule.h"
#include "symbol/linked.h"

/* Name a site; strings go to the arena. False: no file has the module. */
bool place_of_site(struct schedule_place *p, const struct linked *l, const uint64_t module[2],
                   uint32_t index, struct arena *strings);

enum place_match {
    PLACE_FOUND,
    PLACE_NO_FUNCTION, /* no access in a function of this name */
    PLACE_NO_ACCESS    /* the function is there, without such an access */
};
enum { PLACE_SITES_MOST = 4 };
struct place_sites {
    struct prod_site at[PLACE_SITES_MOST]; /* the likeliest first */
    size_t count;
    bool moved; /* the function has another number of such accesses now: the nearest ones */
};

/* The sites that a place stands for in this build; `op`: what is done there. */
enum place_match place_sites_find(struct place_sites *out, const struct linked *l,
                                  const struct schedule_place *p, unsigned op);

#endif
