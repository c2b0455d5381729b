/* caper_watch.h - which sites a run of caper watches, by what is known of the program
 *
 * `heddle caper` and `heddle fleet run` do the same: sites of static pairs that no earlier run has
 * noted, within the bound.
 */
#ifndef HEDDLE_CMD_PRODUCTION_CAPER_WATCH_H
#define HEDDLE_CMD_PRODUCTION_CAPER_WATCH_H

#include "cmd/production/caper_table.h"

struct caper_watch {
    const char *path; /* of the state */
    const struct caper_state *state;
    const struct linked *linked;
    uint32_t max_ppm; /* of the CPU time, in a first run; 0: no bound */
    bool all_sites;   /* also those that are in no pair */
    bool count;       /* CAPER_COUNT */
};

/* Makes the control file and its table; an exit code. */
int caper_watch_open(struct production *p, const struct caper_watch *w);

#endif
