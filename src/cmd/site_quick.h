/* site_quick.h - the sites of a pair by their numbers, without reading the tables
 *
 * Opening all tables of a program and its libraries takes milliseconds and is needed for names of
 * places (FILE:LINE) and for reports. "MMMMMMMM:N" only needs the module's header and one entry.
 */
#ifndef HEDDLE_CMD_SITE_QUICK_H
#define HEDDLE_CMD_SITE_QUICK_H

#include "cmd/site_name.h"

/* Both sites of "S1,S2", if both are numbers of modules that the program itself has. False: not so,
 * or anything is unusual; nothing is in `out` then, and site_pair_parse() says what is wrong. */
bool site_pair_quick(const char *program, const char *pair, struct site_list out[2]);

#endif
