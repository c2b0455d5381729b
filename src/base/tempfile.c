/* tempfile.c - new files under names of their own */
#include "base/tempfile.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as the kernel has it */

/* mkostemp() makes the file private; a result should have the mode any new file gets. */
static void use_umask(int fd)
{
    mode_t mask = umask(0);

    umask(mask);
    if (fchmod(fd, 0666 & ~mask) < 0)
        return; /* a file system without modes */
}

/* What symbolic links lead to, whether it exists or not; owned by the caller. */
static char *follow_links(const char *path)
{
    char link[PATH_MAX], *at = xasprintf("%s", path);
    ssize_t n;

    for (int i = 0; i < LINKS_MAX && (n = readlink(at, link, sizeof(link) - 1)) > 0; i++) {
        char *slash = strrchr(at, '/'), *next;

        link[n] = 0;
        next = xasprintf("%.*s%s", link[0] == '/' || !slash ? 0 : (int)(slash + 1 - at), at, link);
        free(at);
        at = next;
    }
    return at;
}

static int create(const char *path, char **name)
{
    struct stat st;
    char *target;
    int fd;

    *name = NULL;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return open(path, O_WRONLY | O_CLOEXEC);
    target = follow_links(path);
    *name = xasprintf("%s.XXXXXX", target);
    free(target);
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

    if (*name)
        use_umask(fd);
    return fd;
}

int tempfile_create_private(const char *path, char **name)
{
    int fd = create(path, name);
    struct stat st;

    if (*name && fchmod(fd, stat(path, &st) == 0 ? st.st_mode & 0777 : 0600) < 0)
        return fd; /* a file system without modes */
    return fd;
}

int tempfile_rename(const char *name, const char *path)
{
    char *target = name ? follow_links(path) : NULL;
    int r = name ? rename(name, target) : 0, saved = errno;

    free(target);
    errno = saved;
    return r;
}

void tempfile_remove(const char *name)
{
    int saved = errno;

    if (name)
        unlink(name);
    errno = saved;
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
