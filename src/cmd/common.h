/* common.h - what commands share: messages, output files, operands, the analysis itself
 *
 * Commands print messages on stderr as "heddle: ..." in lower case without a
 * full stop, results on stdout or into -o FILE, and return an exit code of
 * options.h.
 */
#ifndef HEDDLE_CMD_COMMON_H
#define HEDDLE_CMD_COMMON_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "cmd/options.h"
#include "report/findings.h"
#include "trace/trace.h"

/* Messages; each returns its exit code, so that `return complain(...)` reads well. */
int bad_input(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int own_failure(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int usage_error(const struct command *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int unknown_command(const char *name);
void warn(const char *level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Where a result goes: a standard stream, or a file that appears only when it is complete. Devices
 * and pipes are written directly. */
struct outfile {
    FILE *file;
    const char *path; /* borrowed; NULL: a standard stream */
    char *temporary;  /* owned; NULL where the file is written directly */
};

/* 0, or the exit code. `otherwise` (stdout, stderr) where there is no path; "-" is stdout. */
int outfile_open(struct outfile *out, const char *path, FILE *otherwise);
/* Finish (keep) or give up; 0, or the exit code. A result on stdout is checked in main(). */
int outfile_close(struct outfile *out, bool keep);
/* Bold text: only on a terminal, and not where NO_COLOR is set. */
bool outfile_colour(const struct outfile *out);

/* A file named on the command line: a trace or a result. What cannot be read twice (standard
 * input "-", pipes) is copied to a temporary file first. */
struct operand {
    const char *shown; /* as messages and results say it; borrowed */
    char *path;        /* owned: what to open */
    int spool;         /* descriptor of the copy, or -1 */
};

int operand_open(struct operand *in, const char *path); /* 0, or the exit code */
void operand_close(struct operand *in);
/* True for a JSON result: the first character that is no blank is a brace. */
bool operand_is_result(const struct operand *in);
/* NULL after a message. */
struct trace *operand_trace(const struct operand *in);
/* Open a trace, do something with it, close it: the exit code of the action, or of opening. */
typedef int trace_action(const struct operand *in, struct trace *t, void *arg);
int with_trace(const char *path, trace_action *action, void *arg);
/* A message about reading the operand; the exit code. */
int operand_error(const struct operand *in, const struct error *err);
int operand_read_result(const struct operand *in, struct findings *f);

/* Warnings about a result's trace on stderr: the first few of each kind, then numbers. */
void warn_about_trace(const struct findings_trace *t);

#endif
