/* globs.h - patterns for code that is left out: functions, source files, libraries
 *
 * The patterns of heddle-cc's --exclude (src/pass/excluded.c), for finished traces:
 *   fun:GLOB            a function's linkage name, or its readable one: "ns::Q::push(int)", also
 *                       without parameters ("ns::Q::push") and alone ("push")
 *   src:GLOB, file:GLOB the source file; without '/' also the last part of its path
 *   lib:GLOB            the library or executable, where a place is known only as "libz.so.1+0x5e0"
 *   GLOB                a function or a file
 * Ownership: the list owns its texts. A zeroed struct is an empty list.
 */
#ifndef HEDDLE_TRACE_CALLS_GLOBS_H
#define HEDDLE_TRACE_CALLS_GLOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

enum glob_kind { GLOB_ANY, GLOB_FUNCTION, GLOB_FILE, GLOB_LIBRARY };

struct glob {
    char *text;          /* owned: as it was given */
    const char *pattern; /* in text, behind the prefix */
    enum glob_kind kind;
    bool used; /* has matched something */
};

struct globs {
    struct glob *list;
    size_t count, cap;
    /* Called to make a linkage name readable (symbol.h); NULL: names are taken as they are. */
    bool (*readable)(const char *linkage_name, struct buf *out);
};

void globs_release(struct globs *g);

/* Does a pattern match? All that do are marked as used. */
bool globs_match_function(struct globs *g, const char *name);
/* The same for a location: "dir/file.c:12:3", "libz.so.1+0x5e0". */
bool globs_match_location(struct globs *g, const char *location);

/* Patterns separated by semicolons or newlines; blanks around them do not count, '#' starts a
 * comment. */
void globs_add(struct globs *g, const char *text);
/* The same from a file; -1 and an error where it cannot be read. */
int globs_add_file(struct globs *g, const char *path, struct error *err);

#endif
