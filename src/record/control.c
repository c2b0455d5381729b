/* control.c - asking the writer of a recording that is running */
#include "record/control.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* A writer has seconds of work at most before it looks again. */
enum { PATIENCE_MS = 30000, BEGIN_MS = 5000, POLL_MS = 5 };

static char *control_path_of(const char *trace)
{
    size_t n = strlen(trace);

    return n > 4 ? xasprintf("%.*s.ctl", (int)(n - 4), trace) : NULL;
}

void control_open(struct control *c, const char *trace)
{
    *c = (struct control){ .path = control_path_of(trace), .fd = -1 };
    if (c->path)
        c->fd = open(c->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

void control_close(struct control *c)
{
    if (c->fd >= 0) {
        unlink(c->path);
        close(c->fd);
    }
    free(c->path);
}

bool control_poll(const struct control *c, struct control_request *out)
{
    return c->fd >= 0 && pread(c->fd, out, sizeof(*out), 0) == sizeof(*out) && out->serial &&
           out->serial != c->done;
}

void control_answer(struct control *c, struct control_reply *r, uint32_t serial)
{
    r->serial = c->done = serial;
    (void)!pwrite(c->fd, r, sizeof(*r), CONTROL_REPLY_AT);
}

void control_tell(struct control *c, uint64_t complete)
{
    if (c->fd < 0 || complete == c->complete)
        return;
    c->complete = complete;
    (void)!pwrite(c->fd, &complete, sizeof(complete), CONTROL_COMPLETE_AT);
}

uint64_t control_complete(const char *trace)
{
    char *path = control_path_of(trace);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    uint64_t complete = CONTROL_NOT_YET;

    free(path);
    if (fd < 0)
        return CONTROL_NEVER;
    if (pread(fd, &complete, sizeof(complete), CONTROL_COMPLETE_AT) != sizeof(complete))
        complete = CONTROL_NOT_YET;
    close(fd);
    return complete;
}

static int control_wait_for(int fd, uint32_t serial, struct control_reply *out, struct error *err)
{
    for (int waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
        if (pread(fd, out, sizeof(*out), CONTROL_REPLY_AT) == sizeof(*out) && out->serial == serial)
            return 0;
        nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
    }
    return error_set(err, "the writer does not answer");
}

/* The writer makes the file right after the trace. */
static int open_when_there(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    for (int waited = 0; fd < 0 && errno == ENOENT && waited < BEGIN_MS; waited += POLL_MS) {
        nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    return fd;
}

int control_ask(const char *trace, enum control_command command, struct control_reply *out,
                struct error *err)
{
    char *path = control_path_of(trace);
    int fd = path ? open_when_there(path) : -1, r = -1;
    struct control_request q = { 1, command };

    if (fd < 0) {
        error_set(err, "cannot open '%s': %s", path ? path : trace, strerror(errno));
    } else if (flock(fd, LOCK_EX) == 0) {
        if (pread(fd, out, sizeof(*out), CONTROL_REPLY_AT) == sizeof(*out))
            q.serial = out->serial + 1 ? out->serial + 1 : 1;
        if (pwrite(fd, &q, sizeof(q), 0) == sizeof(q))
            r = control_wait_for(fd, q.serial, out, err);
        else
            error_set(err, "cannot write '%s': %s", path, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return r;
}
