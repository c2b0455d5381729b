/* place.c - files that belong to us */
#include "base/place.h"
#include "base/alloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the folder of the executable: a build directory, Debian's library folder, others'. */
static const char *const folders[] = { "", "../lib/x86_64-linux-gnu/heddle/", "../lib/heddle/",
                                       "../lib64/heddle/" };

char *place_self(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path));

    return n > 0 && (size_t)n < sizeof(path) ? xstrndup(path, (size_t)n) : NULL;
}

static char *try_folder(const char *self, const char *folder, const char *name)
{
    int length = (int)(strrchr(self, '/') - self);
    char *path = xasprintf("%.*s/%s%s", length, self, folder, name);
    char *real = access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;

    free(path);
    return real;
}

char *place_find(const char *name)
{
    char *self = place_self(), *found = NULL;

    for (size_t i = 0; self && !found && i < sizeof(folders) / sizeof(folders[0]); i++)
        found = try_folder(self, folders[i], name);
    free(self);
    return found;
}
