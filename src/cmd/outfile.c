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

int outfile_open(struct outfile *out, const char *path, FILE *otherwise)
{
    struct stat st;

    *out = (struct outfile){ .file = path ? stdout : otherwise };
    if (!path || strcmp(path, "-") == 0)
        return 0;
    out->path = path;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        out->file = fopen(path, "w");
    else
        out->file = open_temporary(out);
    if (!out->file)
        return own_failure("cannot write '%s': %s", path, strerror(errno));
    return 0;
}

int outfile_close(struct outfile *out, bool keep)
{
    bool failed;
    int r = 0;

    if (out->file == stdout || out->file == stderr)
        return 0;
    errno = 0;
    failed = ferror(out->file) != 0;
    failed |= fclose(out->file) != 0;
    if (keep && !failed && out->temporary)
        failed = rename(out->temporary, out->path) != 0;
    if (keep && failed)
        r = own_failure("cannot write '%s': %s", out->path,
                        errno ? strerror(errno) : "write error");
    if (out->temporary && (!keep || failed))
        unlink(out->temporary);
    free(out->temporary);
    return r;
}

bool outfile_colour(const struct outfile *out)
{
    const char *no = getenv("NO_COLOR");

    return !(no && *no) && isatty(fileno(out->file));
}
