/* tempfile.h - a file that appears under its name only when it is complete
 *
 * Writers fill a new file beside the wanted one, under a name nobody else
 * has, and rename it at the end.
 */
#ifndef HEDDLE_BASE_TEMPFILE_H
#define HEDDLE_BASE_TEMPFILE_H

/* Create PATH.XXXXXX with the usual mode. Returns its descriptor and the name (owned by the
 * caller), or -1 with errno set and no name. */
int tempfile_create(const char *path, char **name);

#endif
