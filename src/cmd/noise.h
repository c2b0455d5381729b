/* noise.h - findings that the user does not want to see: --suppressions, --baseline
 *
 * And how weak the evidence of a finding may be that counts (--fail-on). Loaded before anything
 * else is done, so that a mistake in a file is said before a program runs for an hour; applied to
 * the result that is shown.
 */
#ifndef HEDDLE_CMD_NOISE_H
#define HEDDLE_CMD_NOISE_H

#include "cmd/common.h"
#include "report/suppress.h"

struct noise {
    struct suppressions rules;
    struct findings baseline;
    const char *baseline_path; /* NULL: none */
};

/* What the options name; 0, or the exit code after a message. Release it in any case. */
int noise_load(struct noise *n, const struct options *o);
void noise_apply(struct noise *n, struct findings *f);
void noise_release(struct noise *n);

/* Load and forget: for the messages. 0, or the exit code. */
int noise_check(const struct options *o);

/* Does a finding of this strength count for the exit code (--fail-on)? Any does where the command
 * has no such option. */
bool strength_fails(const struct options *o, enum strength s);

/* A result file; a trace is an error. 0, or the exit code. */
int read_result_file(const char *path, struct findings *f);

#endif
