/* commands.h - the functions behind the commands, one file each; all return the exit code */
#ifndef HEDDLE_CMD_COMMANDS_H
#define HEDDLE_CMD_COMMANDS_H

#include "cmd/options.h"

int cmd_run(const struct options *o);
int cmd_record(const struct options *o);
int cmd_ctl(const struct options *o);
int cmd_chase(const struct options *o);
int cmd_litehb(const struct options *o);
int cmd_fullhb(const struct options *o);
int cmd_caper(const struct options *o);
int cmd_alias(const struct options *o);
int cmd_static(const struct options *o);
int cmd_cc(const struct options *o);
int cmd_doctor(const struct options *o);
int cmd_analyze(const struct options *o);
int cmd_report(const struct options *o);
int cmd_explain(const struct options *o);
int cmd_gdb(const struct options *o);
int cmd_confirm(const struct options *o);
int cmd_replay(const struct options *o);
int cmd_explore(const struct options *o);
int cmd_diff(const struct options *o);
int cmd_suppress(const struct options *o);
int cmd_verify(const struct options *o);
int cmd_info(const struct options *o);
int cmd_dump(const struct options *o);
int cmd_check(const struct options *o);
int cmd_convert(const struct options *o);
int cmd_completion(const struct options *o);
int cmd_help(const struct options *o);
int cmd_fleet(const struct options *o);
int cmd_version(const struct options *o);

int cmd_writer(int argc, char **argv); /* what follows the command's name */

/* After a run (run --confirm, confirm/confirm.c): the first n races, which become `confirmed` where
 * they are; all of them say what came of it. The program is o->arguments. 0, or the exit code after
 * a message. */
struct findings;
enum { CONFIRM_TRIES = 10, CONFIRM_RACES = 3 };
int confirm_findings(struct findings *f, const struct options *o, size_t n);

#endif
