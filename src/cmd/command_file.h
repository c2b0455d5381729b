/* command_file.h - what a run was: its directory, command line and environment
 *
 * `heddle record` and `heddle run` leave it beside the list of the run's traces (runs.h), so that
 * `heddle confirm` can run the same again. It is the user's alone (0600), since environments hold
 * secrets. It is removed with the list.
 */
#ifndef HEDDLE_CMD_COMMAND_FILE_H
#define HEDDLE_CMD_COMMAND_FILE_H

#include <stddef.h>

#include "base/error.h"

struct command_file {
    char *text; /* owned: what the rest points into */
    const char *directory;
    char **argv, **environment; /* owned arrays, ending with NULL */
};

/* Of a run that is about to begin, in this directory and environment. A file that cannot be written
 * is no reason not to record. */
void command_file_write(const char *list, char *const argv[]);
/* Of the run that a trace is of; -1 and an error. */
int command_file_read(struct command_file *c, const char *trace, struct error *err);
void command_file_release(struct command_file *c);

#endif
