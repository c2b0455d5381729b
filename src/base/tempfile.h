/* tempfile.h - a file that appears under its name only when it is complete, or is private
 *
 * Writers fill a new file beside the wanted one, under a name nobody else has, and rename it at
 * the end. A wanted name that is a symbolic link stays one: the file it leads to is replaced. What
 * is no regular file (a device, a pipe) must not be replaced and is written directly, without a
 * name.
 */
#ifndef HEDDLE_BASE_TEMPFILE_H
#define HEDDLE_BASE_TEMPFILE_H

#include <stdio.h>

/* Create PATH.XXXXXX with the usual mode. Returns its descriptor and the name (owned by the
 * caller; NULL where PATH itself is written), or -1 with errno set and no name. */
int tempfile_create(const char *path, char **name);
/* The same for what only the user may read, whatever the umask; if PATH is there already, its mode
 * is kept. */
int tempfile_create_private(const char *path, char **name);
/* It is complete: give it the wanted name. As rename(); nothing to do where it has no name. */
int tempfile_rename(const char *name, const char *path);
/* It will not be; keeps errno. The name is still the caller's. */
void tempfile_remove(const char *name);

/* As mkdir() and fopen(path, "w"): a new one is the user's alone (0700, 0600), whatever the umask;
 * a file that is there keeps its mode. Not while other threads make files. */
int private_mkdir(const char *path);
FILE *private_fopen(const char *path);

#endif
