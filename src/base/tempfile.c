/* tempfile.c - new files under names of their own */
#include "base/tempfile.h"
#include "base/alloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* mkostemp() makes the file private; a result should have the mode any new file gets. */
static void use_umask(int fd)
{
    mode_t mask = umask(0);

    umask(mask);
    if (fchmod(fd, 0666 & ~mask) < 0)
        return; /* a file system without modes */
}

int tempfile_create(const char *path, char **name)
{
    int fd;

    *name = xasprintf("%s.XXXXXX", path);
    fd = mkostemp(*name, O_CLOEXEC);
    if (fd < 0) {
        free(*name);
        *name = NULL;
        return -1;
    }
    use_umask(fd);
    return fd;
}
