/* cp_screen.h - inside of the cp engine: which variables race at all
 *
 * A pass in the manner of FastTrack, with P in the place of the threads'
 * clocks: CP is transitive, so the last write and the reads since then stand
 * for all accesses before, as long as none is unordered. Variables for which
 * that holds to the end need no lists of their accesses (cp_races.c); in most
 * traces these are nearly all. Atomics count as accesses that may race with
 * each other, which only makes the screen coarser; variables with nothing but
 * atomics are fine.
 * What is kept apart are families of lives (order/lives.h).
 */
#ifndef HEDDLE_ENGINES_STREAMING_CP_SCREEN_H
#define HEDDLE_ENGINES_STREAMING_CP_SCREEN_H

#include "engines/streaming/cp_replay.h"
#include "order/lives.h"

struct cp_screen {
    struct lives lives;
    uint8_t *suspect; /* by family */
    size_t suspect_cap;
    uint64_t suspects; /* variables found */
};

void cp_screen_release(struct cp_screen *s);
int cp_screen_run(struct cp_screen *s, struct cp *c, struct whole *whole, struct error *err);

#endif
