/* production_findings.h - what a production run saw, as findings (report/findings.h)
 *
 * A sighting becomes a race like those of recorded programs: the same locations, names and ids, so
 * that suppressions, baselines and `heddle diff` work across both. There is no trace: a sighting
 * counts as two events, its accesses, in the order in which the sightings came.
 */
#ifndef HEDDLE_CMD_PRODUCTION_PRODUCTION_FINDINGS_H
#define HEDDLE_CMD_PRODUCTION_PRODUCTION_FINDINGS_H

#include "abi/rt_prod.h"
#include "report/findings.h"
#include "symbol/linked.h"

struct sighting_report {
    const char *program; /* as the user named it */
    const char *engine;
    enum strength strength;
    double seconds;
    bool complete;
    const struct linked *files; /* where the sites are explained */
};

/* Fill an empty struct with all complete sightings. The engine's number is 0; counters are the
 * caller's. */
void production_findings(struct findings *f, const struct prod_control *c,
                         const struct sighting_report *about);

#endif
