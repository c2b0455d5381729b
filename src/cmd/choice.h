/* choice.h - which engines run, and how: from the command line to engine options */
#ifndef HEDDLE_CMD_CHOICE_H
#define HEDDLE_CMD_CHOICE_H

#include "cmd/common.h"
#include "engines/engine.h"

struct choice {
    const struct engine *engines[FINDINGS_ENGINES]; /* in the order of their cost */
    size_t count;
    struct engine_options options;
};

/* 0, or the exit code after a message. */
int choice_make(struct choice *c, const struct options *o);

/* heddle run: the effort by the time that the program takes (run.c). */
#define EFFORT_AUTO "auto"

#endif
