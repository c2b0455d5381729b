/* temporary.h - the file that base/tempfile.h made beside another one */
#ifndef HEDDLE_TESTS_TEMPORARY_H
#define HEDDLE_TESTS_TEMPORARY_H

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>

/* Its name, valid until the next call; "" where there is none. */
static inline const char *temporary_of(const char *path)
{
    static char name[4096];
    char pattern[4096];
    glob_t found;

    snprintf(pattern, sizeof(pattern), "%s.??????", path);
    name[0] = 0;
    if (glob(pattern, 0, NULL, &found) == 0)
        snprintf(name, sizeof(name), "%s", found.gl_pathv[0]);
    globfree(&found);
    return name;
}

static inline bool has_temporary(const char *path)
{
    return temporary_of(path)[0] != 0;
}

#endif
