/* follow.h - races are told while the program runs
 *
 * A thread of its own reads the traces of the run as they are written, and tells each new race on
 * standard error as soon as it is seen (engines/live/live.h): once, short, both places and their
 * calls. It only tells what the report will have as well: the run's own processes, nothing that
 * rules or a baseline hide, nothing that calls of untraced code may have ordered.
 *
 * A run that is over within FOLLOW_AFTER_MS is not followed: its report is there anyway.
 *
 * Concurrency: the thread owns all it works with. follow_stop() ends it, whatever it has reached.
 */
#ifndef HEDDLE_CMD_FOLLOW_H
#define HEDDLE_CMD_FOLLOW_H

#include "cmd/options.h"
#include "cmd/runs.h"

enum { FOLLOW_AFTER_MS = 1000, FOLLOW_POLL_MS = 200 };

struct follow;

/* All borrowed, until follow_stop(). NULL: the user does not want it. */
struct follow *follow_start(const struct options *o, const char *directory,
                            const struct run_list *list);
/* How many races were told. */
size_t follow_stop(struct follow *f);

/* Print the races of a trace, as far as it is written, on standard output; how many. */
size_t follow_show(const char *path);

#endif
