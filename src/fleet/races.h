/* races.h - confirmed races of a store as findings (report/findings.h)
 *
 * Each was seen: two threads at overlapping memory at the same moment, one writing. What a run saw
 * is kept as JSON of the result schema, so this is putting the pieces together and reading them.
 */
#ifndef HEDDLE_FLEET_RACES_H
#define HEDDLE_FLEET_RACES_H

#include "fleet/status.h"
#include "report/findings.h"

/* Is this text (JSON) a confirmed race of this id, which renderers can show? 0, or -1. */
int races_check(const char *race, const char *id, struct error *err);

/* Fill an empty struct with the races of a program, or of all; what is no race is skipped
 * and named (store_skipped()). -1 and an error. */
int races_load(struct store *s, const struct status_about *about, struct findings *f,
               struct error *err);

#endif
