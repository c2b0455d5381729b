/* rt_system.h - libraries that are part of the system
 *
 * Their functions are known (rt_libc.h), and nobody synchronises by their data. OpenMP's libraries
 * tell the runtime what they order; those of sanitizers, and ours, do nothing for the program.
 */
#ifndef HEDDLE_ABI_RT_SYSTEM_H
#define HEDDLE_ABI_RT_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool is_named_as(const char *path, const char *const *names, size_t n)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

    for (size_t i = 0; i < n; i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return false;
}

static inline bool is_system_library(const char *path)
{
    static const char *const names[] = { "libc.so",      "libm.so",     "libpthread.so",
                                         "libdl.so",     "librt.so",    "ld-linux",
                                         "libstdc++.so", "libgcc_s.so", "libheddle-rt" };

    return is_named_as(path, names, sizeof(names) / sizeof(names[0]));
}

/* Nor does the writer read the code of these. */
static inline bool is_silent_library(const char *path)
{
    static const char *const names[] = { "libomp.so",  "libgomp.so",  "libiomp5.so", "libasan.so",
                                         "libtsan.so", "libubsan.so", "linux-vdso" };

    return is_system_library(path) || is_named_as(path, names, sizeof(names) / sizeof(names[0]));
}

#endif
