/* sarif.h - findings as SARIF 2.1.0, for code hosts and editors
 *
 * A result per race and deadlock: the second access of a race is a related
 * location, stacks are `stacks`, the schedule is a code flow with a thread flow
 * per thread (`executionOrder` is the order of all steps), the id a partial
 * fingerprint. Strengths become levels: what is shown or observed is an error,
 * `potential` a note. Places that are in no file (text traces) are logical
 * locations.
 */
#ifndef HEDDLE_REPORT_SARIF_H
#define HEDDLE_REPORT_SARIF_H

#include <stdio.h>

#include "report/findings.h"

void sarif_write(const struct findings *f, FILE *out);

#endif
