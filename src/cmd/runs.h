/* runs.h - which traces of a directory belong to which run
 *
 * Several runs may record into one directory at the same time. Each has a list in it, a hidden
 * file, to which its writers add the names of the traces that they make, a line each. heddle holds
 * a lock (flock, exclusive) on the list while it runs: a list that nobody holds is of a run that is
 * over, and its traces may be removed when there is a newer one.
 *
 * A trace in no list is of a program that ran without heddle, or of an older version.
 */
#ifndef HEDDLE_CMD_RUNS_H
#define HEDDLE_CMD_RUNS_H

#include "cmd/tracedir.h"

struct run_list {
    char *path; /* owned; NULL: none */
    const char *name;
    int fd; /* locked */
};

/* A list for a run that begins; 0, or the exit code after a message. `shared`: processes of other
 * users are recorded, too, or may look at it. */
int run_list_make(struct run_list *l, const char *directory, bool shared);
/* The run is over: what others have left that are over, too, is removed, so that of several the
 * last one stays; its own may be removed by a later one. */
void run_list_finish(struct run_list *l, const char *directory);
/* The same for a run that has left nothing: it removes nothing. */
void run_list_drop(struct run_list *l);

/* Beside the list: what was run (command_file.h). */
#define RUN_COMMAND ".command"
/* The path of the list that has a trace of this name; owned by the caller, NULL: none. */
char *run_list_of(const char *directory, const char *trace);

/* Keep those of the run. */
void run_list_select(const struct run_list *l, struct tracedir *d);
/* Leave out traces of runs that are not the last one (to begin). */
void runs_select_last(struct tracedir *d, const char *directory);
/* Remove what runs that are over have left: all but `own`. Nothing else is ever removed, nor what
 * somebody still writes. */
void runs_remove(const char *directory, const struct run_list *own);

#endif
