/* tempfile.c - new files under names of their own */
#include "base/tempfile.h"
#include "base/alloc.h"

#include <errno.h>
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

static int create(const char *path, char **name)
{
    int fd;

    *name = xasprintf("%s.XXXXXX", path);
    fd = mkostemp(*name, O_CLOEXEC);
    if (fd < 0) {
        free(*name);
        *name = NULL;
    }
    return fd;
}

int tempfile_create(const char *path, char **name)
{
    int fd = create(path, name);

    if (fd >= 0)
        use_umask(fd);
    return fd;
}

int tempfile_create_private(const char *path, char **name)
{
    int fd = create(path, name);
    struct stat st;

    if (fd >= 0 && fchmod(fd, stat(path, &st) == 0 ? st.st_mode & 0777 : 0600) < 0)
        return fd; /* a file system without modes */
    return fd;
}

int private_mkdir(const char *path)
{
    mode_t mask = umask(077);
    int r = mkdir(path, 0700), saved = errno;

    umask(mask);
    errno = saved;
    return r;
}

FILE *private_fopen(const char *path)
{
    mode_t mask = umask(077);
    FILE *f = fopen(path, "we");
    int saved = errno;

    umask(mask);
    errno = saved;
    return f;
}
