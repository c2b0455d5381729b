/* operand.c - the files named on the command line */
#include "cmd/common.h"
#include "base/alloc.h"
#include "cmd/runs.h"
#include "report/json.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, data, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        data += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Copy a stream to the spool; 0, or the exit code. */
static int fill_spool(const struct operand *in, int from)
{
    enum { PIECE = 1 << 16 };
    char *data = xmalloc(PIECE);
    bool first = true;
    int r = 0;

    for (;; first = false) {
        ssize_t n = read(from, data, PIECE);

        if (n < 0 && errno == EINTR)
            continue;
        if (first && n > 0 && !data[0]) /* no format starts so, and /dev/zero never ends */
            r = bad_input("cannot read '%s': not a trace", in->shown);
        else if (n < 0)
            r = bad_input("cannot read '%s': %s", in->shown, strerror(errno));
        else if (n > 0 && write_all(in->spool, data, (size_t)n) < 0)
            r = own_failure("cannot write a temporary copy of '%s': %s", in->shown,
                            strerror(errno));
        if (n <= 0 || r)
            break;
    }
    free(data);
    return r;
}

/* The copy has no name: it is gone when we are, and is opened through its descriptor. */
static int open_spool(struct operand *in)
{
    const char *dir = getenv("TMPDIR");
    char *name = xasprintf("%s/heddle.XXXXXX", dir && *dir ? dir : "/tmp");

    in->spool = mkstemp(name);
    if (in->spool >= 0)
        unlink(name);
    free(name);
    if (in->spool < 0)
        return own_failure("cannot make a temporary copy of '%s': %s", in->shown, strerror(errno));
    free(in->path);
    in->path = xasprintf("/proc/self/fd/%d", in->spool);
    return 0;
}

static int spool_stream(struct operand *in, bool is_stdin)
{
    int from = is_stdin ? STDIN_FILENO : open(in->path, O_RDONLY | O_CLOEXEC);
    int r;

    if (from < 0)
        return bad_input("cannot read '%s': %s", in->shown, strerror(errno));
    r = open_spool(in);
    if (r == 0)
        r = fill_spool(in, from);
    if (!is_stdin)
        close(from);
    return r;
}

/* A directory stands for the trace in it, the first that began where there are several. One
 * without a trace stays as it is: the reader says it. */
static void enter_directory(struct operand *in)
{
    struct tracedir d;

    if (tracedir_read(&d, in->path) == 0)
        runs_select_last(&d, in->path);
    if (d.count) {
        if (d.count > 1)
            warn("note", "'%s' holds %zu traces; this is the first one, '%s'", in->shown, d.count,
                 d.files[0].path);
        free(in->path);
        in->path = xstrndup(d.files[0].path, strlen(d.files[0].path));
    }
    tracedir_release(&d);
}

int operand_open(struct operand *in, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct stat st;
    int r = 0;

    *in = (struct operand){ .shown = path, .path = xstrndup(path, strlen(path)), .spool = -1 };
    if (is_stdin)
        in->shown = "standard input";
    if (!is_stdin && stat(path, &st) < 0)
        r = bad_input("cannot read '%s': %s", path, strerror(errno));
    else if (is_stdin || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
        r = spool_stream(in, is_stdin);
    else if (S_ISDIR(st.st_mode))
        enter_directory(in);
    if (r)
        operand_close(in);
    return r;
}

void operand_close(struct operand *in)
{
    if (in->spool >= 0)
        close(in->spool);
    free(in->path);
    *in = (struct operand){ .spool = -1 };
}

bool operand_is_result(const struct operand *in)
{
    struct stat st;
    FILE *file = NULL;
    int c = EOF;

    if (stat(in->path, &st) == 0 && S_ISREG(st.st_mode))
        file = fopen(in->path, "r");
    if (!file)
        return false;
    do
        c = fgetc(file);
    while (isspace(c));
    fclose(file);
    return c == '{';
}

/* The reader names the file it opened; where that is our copy, say what the user said. */
int operand_error(const struct operand *in, const struct error *err)
{
    const char *at = in->spool >= 0 ? strstr(err->text, in->path) : NULL;

    if (!at)
        return bad_input("%s", err->text);
    return bad_input("%.*s%s%s", (int)(at - err->text), err->text, in->shown,
                     at + strlen(in->path));
}

struct trace *operand_trace(const struct operand *in)
{
    struct error err;
    struct trace *t = trace_open(in->path, &err);

    if (!t)
        operand_error(in, &err);
    return t;
}

int operand_read_result(const struct operand *in, struct findings *f)
{
    struct error err;
    FILE *file = fopen(in->path, "r");
    int r;

    if (!file)
        return bad_input("cannot read '%s': %s", in->shown, strerror(errno));
    r = json_read(f, file, &err);
    fclose(file);
    if (r < 0)
        return bad_input("cannot read '%s': %s", in->shown, err.text);
    return 0;
}

int with_trace(const char *path, trace_action *action, void *arg)
{
    struct operand in;
    struct trace *t;
    int code = operand_open(&in, path);

    if (code)
        return code;
    t = operand_trace(&in);
    code = t ? action(&in, t, arg) : EXIT_BAD_INPUT;
    trace_close(t);
    operand_close(&in);
    return code;
}
