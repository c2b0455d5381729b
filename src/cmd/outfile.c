/* outfile.c - results appear complete or not at all */
#include "cmd/common.h"
#include "base/tempfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *open_temporary(struct outfile *out)
{
    int fd = tempfile_create(out->path, &out->temporary);

    return fd < 0 ? NULL : fdopen(fd, "w");
}

/* /dev/stdout, say, which leads to a file: what others wrote there must stay. */
static bool is_stream(const char *path, int stream)
{
    struct stat a, b;

    return stat(path, &a) == 0 && S_ISREG(a.st_mode) && fstat(stream, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int outfile_open(struct outfile *out, const char *path, FILE *otherwise)
{
    *out = (struct outfile){ .file = path ? stdout : otherwise };
    if (!path || strcmp(path, "-") == 0)
        return 0;
    if (is_stream(path, STDOUT_FILENO) || is_stream(path, STDERR_FILENO)) {
        out->file = is_stream(path, STDOUT_FILENO) ? stdout : stderr;
        return 0;
    }
    out->path = path;
    out->file = open_temporary(out);
    if (!out->file)
        return own_failure("cannot write '%s': %s", path, strerror(errno));
    return 0;
}

int outfile_close(struct outfile *out, bool keep)
{
    bool failed;
    int r = 0;

    if (out->file == stderr) /* where no message would arrive either */
        return keep && ferror(stderr) ? EXIT_OWN_FAILURE : 0;
    if (out->file == stdout)
        return 0;
    errno = 0;
    failed = ferror(out->file) != 0;
    failed |= fclose(out->file) != 0;
    if (keep && !failed)
        failed = tempfile_rename(out->temporary, out->path) != 0;
    if (keep && failed)
        r = own_failure("cannot write '%s': %s", out->path,
                        errno ? strerror(errno) : "write error");
    if (!keep || failed)
        tempfile_remove(out->temporary);
    free(out->temporary);
    return r;
}

bool outfile_colour(const struct outfile *out)
{
    const char *no = getenv("NO_COLOR");

    return !(no && *no) && isatty(fileno(out->file));
}
