/* tidy.h - one spelling for the name of a source file
 *
 * Compilers write "./sds.h", "/usr/lib/gcc/12/../../../include/x": joined to
 * the folder of the compilation, "." and ".." are taken out of the text (the
 * file system is not asked: the sources may be elsewhere).
 */
#ifndef HEDDLE_SYMBOL_TIDY_H
#define HEDDLE_SYMBOL_TIDY_H

#include <stdbool.h>

#include "base/buf.h"

/* True where tidy_path() would change nothing: absolute, without "//", "/./" and "/../". */
bool tidy_is(const char *path);
/* Append the path; `folder` (NULL unknown) goes before one that is not absolute. */
void tidy_path(struct buf *out, const char *folder, const char *path);

#endif
