/* recording.h - run a program with recording on; `record` and `run` share it
 *
 * The runtime inside the program is told by one variable, lines of KEY=VALUE:
 *
 *     HEDDLE_RT=dir=/abs/heddle.data \n writer=/usr/bin/heddle \n filter=1 ...
 *
 * and writes nothing itself: each process has a writer (`heddle writer`), which
 * may need a moment after the process has ended.
 */
#ifndef HEDDLE_CMD_RECORDING_H
#define HEDDLE_CMD_RECORDING_H

#include "cmd/launch.h"
#include "cmd/options.h"
#include "cmd/runs.h"

struct recording {
    char *directory;        /* owned: as the user named it, %p replaced */
    struct run_list list;   /* of the traces of this run */
    struct tracedir traces; /* what was recorded */
    bool late;              /* processes still run that may be recorded yet */
    enum program_kind kind;
    pid_t pid;
    double seconds; /* that the program ran */
    size_t told;    /* races, while it ran */
    int code;       /* the program's exit code, 128 + the signal that ended it */
};

/* Run o->arguments and wait until its traces are complete; `live`: tell races meanwhile. 0, or the
 * exit code after a message: then the program did not run. A zeroed struct may be released. */
int recording_run(struct recording *r, const struct options *o, const char *directory, bool live);
/* The same as a controlled run, with the plan in this control file (abi/rt_steer.h). */
int recording_run_steered(struct recording *r, const struct options *o, const char *directory,
                          const char *control);
void recording_release(struct recording *r);

/* Say on stderr which processes still run, and if nothing was recorded why; true if something
 * was. */
bool recording_says(struct recording *r, const char *program);

#endif
