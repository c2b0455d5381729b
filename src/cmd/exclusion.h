/* exclusion.h - the options --exclude and --exclude-from: code that is left out of a trace */
#ifndef HEDDLE_CMD_EXCLUSION_H
#define HEDDLE_CMD_EXCLUSION_H

#include "cmd/common.h"

/* Are the options all right? 0, or the exit code after a message. */
int exclusion_check(const struct options *o);
/* Take the code out of a trace that was not read yet, and say what that did (unless quiet): 0, or
 * the exit code. Does nothing where no such option was given. */
int exclusion_apply(const struct options *o, const struct operand *in, struct trace *t);

#endif
