/* only_sites.h - `heddle record --only-sites FILE`: which sites those are */
#ifndef HEDDLE_CMD_ONLY_SITES_H
#define HEDDLE_CMD_ONLY_SITES_H

/* Looks the sites up in the program and its libraries, and writes them for the runtime to the
 * file `out`. 0, or the exit code after a message. FILE has a
 * site a line (FILE:LINE[:COLUMN] or MODULE:N; '#' starts a comment), or is a state of caper: then
 * its marked sites, by the lines they are at. */
int only_sites_write(const char *file, const char *program, const char *out);

#endif
