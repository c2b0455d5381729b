/* status.h - the funnel: static -> possible -> chased -> confirmed, per program
 *
 * Text for people, JSON for scripts (docs/format/fleet.md), and the runs as JSON.
 */
#ifndef HEDDLE_FLEET_STATUS_H
#define HEDDLE_FLEET_STATUS_H

#include "fleet/store.h"
#include "report/json_emit.h"

struct status_about {
    const char *store;   /* as the user named it, without a password */
    const char *program; /* show this one only: its name, or the start of its id; NULL: all */
    uint64_t spooled;    /* results that wait beside the store */
};

/* Is this the program that is meant? */
bool status_matches(const char *wanted, const char *id, const char *name);

/* The number of programs shown, or -1. Write errors show in ferror(out). */
int status_text(struct store *s, const struct status_about *about, FILE *out, struct error *err);
int status_json(struct store *s, const struct status_about *about, FILE *out, struct error *err);
int status_runs_json(struct store *s, int limit, FILE *out, struct error *err);

/* "2026-11-15 23:00:00" (UTC), or "-" for 0. */
const char *status_time(int64_t ms, char text[32]);

#endif
