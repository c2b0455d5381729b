/* source_lines.h - lines of the program's source around a location
 *
 * Read when findings are made, so that a result shows the code as it was
 * then. Files are looked for under the name in the debug information, as it
 * is; a relative one from the current directory. What is not a regular file,
 * is larger than 64 MiB or has no such line gives nothing.
 */
#ifndef HEDDLE_REPORT_SOURCE_LINES_H
#define HEDDLE_REPORT_SOURCE_LINES_H

#include "base/intern.h"
#include "report/findings.h"

struct source_cache {
    struct source_file {
        char *text; /* NULL: cannot be read */
        size_t bytes;
        size_t *lines; /* offset of each line */
        size_t count, cap;
    } *files;
    size_t count, cap;
    struct intern names;
};

void source_cache_release(struct source_cache *c); /* a zeroed struct is empty */

/* The line of a location ("a.c:12:3") and those around it, or NULL. */
const struct excerpt *source_excerpt(struct source_cache *c, struct findings *home,
                                     const char *location);

#endif
