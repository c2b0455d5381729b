/* spool.h - results on their way into the store
 *
 * A folder with a file per run, RUN.json (result.h). A result is written there before it is put
 * and removed when the store has it; what stays, because the store could not be reached or the
 * process was killed, the next run puts. Putting twice does no harm, so nobody locks anything.
 * A file appears complete or not at all, and is on the disk when spool_keep() returns.
 *
 * RUN.seen is what a run that goes on has seen so far, for the store to know early; it may be lost.
 * `away-HASH` is there where the store of this name did not answer a run in time.
 *
 * RUN.live is there while a run goes on: the same head, and `note` is the path of its control
 * file; who holds it open holds a lock on it (flock). Where nobody does, the run's heddle was
 * killed, and what its control file holds is to be put (cmd/production/fleet_run.c).
 * Concurrency: any number of processes.
 */
#ifndef HEDDLE_FLEET_SPOOL_H
#define HEDDLE_FLEET_SPOOL_H

#include "fleet/result.h"
#include "fleet/store.h"

/* Make the folder (and those above it) if need be. */
int spool_make(const char *folder, struct error *err);
int spool_keep(const char *folder, const struct fleet_result *r, struct error *err);
/* A result without an end; each replaces the one before. */
int spool_keep_seen(const char *folder, const struct fleet_result *r, struct error *err);
void spool_drop(const char *folder, const char *run);

struct spool_counts {
    uint64_t put, failed, bad; /* bad: unreadable; renamed to RUN.bad */
};
/* Put what is there; stops where the store is away, passes over what it does not take (failed). */
void spool_flush(const char *folder, struct store *s, struct spool_counts *counts,
                 struct error *err);
/* Results that wait. */
uint64_t spool_count(const char *folder);

/* A run begins: the descriptor that holds the lock, or -1. */
int spool_begin(const char *folder, const struct fleet_result *r, struct error *err);
/* It has ended, and its result is kept; `fd` may be -1. */
void spool_end(const char *folder, const char *run, int fd);
/* Call for each run whose heddle is gone, with its lock held; `forget` true: its file goes. */
typedef bool spool_orphan(void *arg, struct fleet_result *r);
void spool_orphans(const char *folder, spool_orphan *orphan, void *arg);

/* Put one result now, by way of the spool: 1 the store has it, 0 it waits, -1 neither (error). */
int spool_put(const char *folder, struct store *s, const struct fleet_result *r, struct error *err);

/* Did the store fail to answer a moment ago? Then nobody should wait for it. */
bool spool_is_away(const char *folder, const char *store);
void spool_set_away(const char *folder, const char *store, bool away);
/* A file WHAT-HASH there, of this store; owned by the caller. */
char *spool_path_for(const char *folder, const char *what, const char *store);

#endif
