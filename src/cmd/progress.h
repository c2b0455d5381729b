/* progress.h - a line on the terminal for what takes long, and signals that end it early
 *
 * Shows events, events per second and the time left once two seconds have
 * passed, only where stderr is a terminal. For passes over a trace that was
 * read before, it shows what is being done and how much of it.
 */
#ifndef HEDDLE_CMD_PROGRESS_H
#define HEDDLE_CMD_PROGRESS_H

#include <stdbool.h>

#include "trace/trace.h"

struct progress {
    bool visible;     /* may be shown at all */
    bool shown;       /* a line stands on the terminal */
    const char *what; /* NULL: the first pass */
    double start, last;
};

/* `what` is borrowed; NULL for the first pass over a trace. */
void progress_start(struct progress *p, bool wanted, const char *what);
/* Called after each batch. */
void progress_show(void *progress, const struct trace_info *info);
/* The same as an analysis hook: true once the user asked to stop. */
bool progress_tick(void *progress, const struct trace_info *info);
/* While an engine decides, a share `done` of 1: true once the user asked to stop. */
bool progress_deciding(void *progress, const char *engine, double done);
void progress_stop(struct progress *p);
/* trace_next() with progress; the line is gone after the last batch. */
int progress_next(struct progress *p, struct trace *t, struct batch *b, struct error *err);

/* From here on the first SIGINT (Ctrl-C), SIGTERM or SIGHUP asks for an early end, the second one
 * kills. Until the command ends: what is just being written is completed. */
void interrupts_on(void);
bool interrupts_came(void);

#endif
