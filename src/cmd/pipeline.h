/* pipeline.h - from a trace to findings: engines, witnesses, names, ids
 *
 * What `analyze` does, and `report` and `explain` do when they are given a
 * trace. Prints messages and progress, returns exit codes.
 */
#ifndef HEDDLE_CMD_PIPELINE_H
#define HEDDLE_CMD_PIPELINE_H

#include "cmd/common.h"

struct result {
    struct operand from;
    struct trace *trace; /* NULL where the operand was a result file */
    struct findings findings;
    bool interrupted;
};

/* Analyse a trace with the engines the options name; 0, or the exit code. */
int result_analyse(struct result *r, const struct options *o, const char *path);
/* The same for a trace; a result file is read back. */
int result_load(struct result *r, const struct options *o, const char *path);
void result_release(struct result *r);

/* The exit code of a result that was shown: races, nothing, or a search that was cut short. */
int result_code(const struct result *r);

/* Render as the options say, to where they say; the exit code of the whole command. */
int result_show(const struct result *r, const struct options *o);

#endif
