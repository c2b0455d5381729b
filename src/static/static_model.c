/* static_model.c - functions and variables that are not part of the program
 *
 * What functions do the table of abi/rt_libc.h says. What is not there, or there as such that may
 * do anything, is assumed to do that with all it can reach: functions of the system without
 * starting threads, others with.
 */
#include "static/static_inside.h"

#include <string.h>

static bool is_described(const struct libc_function *f)
{
    switch ((enum libc_does)f->does) {
    case LIBC_USES:
    case LIBC_ANYTHING:
    case LIBC_THREADS:
    case LIBC_OPENMP:
    case LIBC_UNKNOWN:
        return false;
    default:
        return true;
    }
}

const struct libc_function *model_find(const char *name)
{
    const struct libc_function *f = libc_find(name);

    return f && is_described(f) ? f : NULL;
}

bool model_is_system(const char *name)
{
    const struct libc_function *f = libc_find(name);

    return f && (f->does == LIBC_USES || f->does == LIBC_ANYTHING);
}

/* Variables of the C library: what they hold is the library's, not the program's. */
bool model_is_variable(const char *name)
{
    static const char *const names[] = {
        "stdin",
        "stdout",
        "stderr",
        "environ",
        "__environ",
        "optarg",
        "optind",
        "opterr",
        "optopt",
        "tzname",
        "timezone",
        "daylight",
        "signgam",
        "__progname",
        "__progname_full",
        "program_invocation_name",
        "program_invocation_short_name",
    };

    /* types of exceptions and classes, and the tables of functions of such types */
    if (strncmp(name, "_ZTI", 4) == 0 || strncmp(name, "_ZTVN10__cxxabiv1", 17) == 0)
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}
