/* fasttrack.h - the engine fasttrack, for those who want to know the racy variables */
#ifndef HEDDLE_ENGINES_STREAMING_FASTTRACK_H
#define HEDDLE_ENGINES_STREAMING_FASTTRACK_H

#include "engines/engine.h"

/* Called for a race at this step, one of the span that steps() got: its variable has a race, and
 * every variable that has one under HB is named at least once. */
typedef void fasttrack_watcher(void *arg, const struct step *s);

/* `state` is what engine_fasttrack.open() gave. */
void fasttrack_watch(void *state, fasttrack_watcher *watcher, void *arg);
#endif
