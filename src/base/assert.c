/* assert.c - the message where an invariant does not hold */
#include "base/assert.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FAILURE = 128 }; /* an internal failure, as everywhere */

static char subject[PATH_MAX]; /* cut where longer; a torn copy only spoils the message */

void invariant_subject(const char *path)
{
    static bool writing; /* two threads that open traces: one of them is named */

    if (__atomic_test_and_set(&writing, __ATOMIC_ACQUIRE))
        return;
    snprintf(subject, sizeof(subject), "%s", path ? path : "");
    __atomic_clear(&writing, __ATOMIC_RELEASE);
}

_Noreturn void invariant_failed(const char *file, int line, const char *function,
                                const char *condition)
{
    static bool spoken;
    const char *in_src = strstr(file, "src/");

    if (!__atomic_test_and_set(&spoken, __ATOMIC_RELAXED)) {
        fprintf(stderr,
                "heddle: internal error in %s:%d (%s): '%s' does not hold\n"
                "heddle: there is no result, since it might be wrong; %s%s%sheddle %s\n",
                in_src ? in_src : file, line, function, condition,
                subject[0] ? "please report this, with the trace '" : "please report this, with ",
                subject, subject[0] ? "' and " : "", HEDDLE_VERSION);
        fflush(stderr);
    }
    _exit(FAILURE); /* no handlers: they would use what is broken */
}
