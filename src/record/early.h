/* early.h - what a thread has put into the chunk that it is filling
 *
 * A chunk is handed over when it is full. A thread that sleeps may keep one for
 * as long as it sleeps, with the forks and releases that all others depend on:
 * without them a file that is cut has nothing that can be ordered. So the writer
 * looks into chunks that are being filled, and takes the records from there.
 *
 * Two sorts of records may still change behind the cursor, and so wait:
 * - Default builds: an access may lengthen the last record of its site, as long
 *   as the thread has not synchronised since (runtime/core/access.c). Records before
 *   one that seals them (R_SYNC, R_ATOMIC, R_FENCE) are final. What follows it,
 *   the tail, is taken only when the thread was quiet for a while; if a record
 *   of it is longer afterwards, it is taken again.
 * - Full builds: the last record, if it is that of a stretch (pass/full/paths.c).
 *
 * A zeroed struct is empty. Concurrency: none; it belongs to the stream's worker.
 */
#ifndef HEDDLE_RECORD_EARLY_H
#define HEDDLE_RECORD_EARLY_H

#include "record/ring.h"

struct early {
    bool some;            /* of the chunk with this number within its thread */
    uint32_t serial;      /* ... something was taken */
    size_t sealed, taken; /* words: that cannot change any more; that were taken */
    uint64_t *tail;       /* the words between, as they were then */
    size_t tail_cap;
};

void early_release(struct early *e);

/* The word of chunk `serial` at which what was not taken begins. */
size_t early_start(const struct early *e, uint32_t serial);

/* The word up to which the copy of a chunk that is being filled can be taken. `again` is NULL, or
 * another copy that was made later: then the tail too, as far as both are equal. */
size_t early_limit(const struct early *e, const struct chunk_copy *c,
                   const struct chunk_copy *again, bool full);
/* Remember that the records up to there are taken. Before they are decoded, which changes them. */
void early_take(struct early *e, const struct chunk_copy *c, size_t to, bool full);

/* The next record, from word *at on, that was taken and is another one now; *at moves behind it.
 * `moved`: frames were entered or left behind it. False: there is none. */
bool early_changed(const struct early *e, const struct chunk_copy *c, size_t *at, size_t *record,
                   bool *moved);

#endif
