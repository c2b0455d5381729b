/* globals.h - `heddle record --globals FILE`: is the file what it should be? */
#ifndef HEDDLE_CMD_GLOBALS_H
#define HEDDLE_CMD_GLOBALS_H

/* 0, or the exit code after a message: a line that is no rule, or a variable that neither the
 * program nor a library it is linked with has. What a program that was not built for recording
 * starts cannot be looked at: there the runtime tells. */
int globals_check(const char *file, const char *program);

#endif
