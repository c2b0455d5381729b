/* pipeline.h - from a trace to findings: engines, witnesses, names, ids
 *
 * What `run` and `analyze` do, and `report` and `explain` when they are given a
 * trace. Prints messages and progress, returns exit codes.
 *
 * The traces of several processes, a directory of them, are analysed one after
 * the other and make one result: races that agree in everything but the
 * process are one (combine.c).
 */
#ifndef HEDDLE_CMD_PIPELINE_H
#define HEDDLE_CMD_PIPELINE_H

#include "cmd/common.h"
#include "cmd/tracedir.h"

struct result {
    struct operand from;
    struct trace *trace; /* NULL where the operand was a result file, or several traces */
    struct findings findings;
    bool interrupted;
    bool empty;           /* the trace has no access: nothing was analysed */
    bool blind;           /* it has no plain access, and some may be missing: no race can be seen */
    struct result *parts; /* owned: the processes' results, whose strings `findings` borrows */
    size_t nparts;
};

/* A thread is still at work on something that nobody waits for: the process must end without its
 * help (_exit). */
extern bool abandoned_work;

/* Analyse a trace with the engines the options name; 0, or the exit code. */
int result_analyse(struct result *r, const struct options *o, const char *path);
/* The same for a trace; a result file is read back. */
int result_load(struct result *r, const struct options *o, const char *path);
/* Several of them, put together. */
int result_load_all(struct result *r, const struct options *o, char *const *paths, size_t n);
/* All the traces of a directory, `shown` to the user as that. */
int result_analyse_all(struct result *r, const struct options *o, const char *shown,
                       const struct tracedir *d);
void result_release(struct result *r);

/* Render as the options say, to where they say, else to `otherwise`, without what suppressions and
 * the baseline take away; the exit code of the whole command. */
int result_show(struct result *r, const struct options *o, FILE *otherwise);

/* The parts of result_analyse_all(). A trace without any access makes an empty part. */
int result_analyse_one(struct result *r, const struct options *o,
                       const char *path);                 /* pipeline.c */
void result_combine(struct result *r, const char *shown); /* combine.c */

#endif
