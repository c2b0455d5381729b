/* sighting.h - a race that was seen while the program runs, as a finding
 *
 * What is known of it is known at once: threads, sites, calls, the address. There is no second
 * look at the trace, so no values and no locks; and no id that will stay: which access of a line
 * (`x++` reads and writes) stands for a race, the report knows.
 */
#ifndef HEDDLE_REPORT_SIGHTING_H
#define HEDDLE_REPORT_SIGHTING_H

#include <stdio.h>

#include "report/findings.h"
#include "report/history.h"
#include "report/naming.h"

struct sighted_side {
    uint32_t thread, site;
    const char *op; /* what it did, in words */
    const struct history_call *calls;
    size_t ncalls;
    uint64_t missing; /* outer calls that are not there */
};

/* Add it to the findings; `n` names what is in the trace. */
struct finding *sighting_add(struct findings *f, struct naming *n, const struct tables *t,
                             const struct sighted_side sides[2], uint64_t address);

/* A few lines for people. */
void sighting_write(const struct finding *r, FILE *out);

#endif
