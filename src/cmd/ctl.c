/* ctl.c - heddle ctl: a recording that is running
 *
 * The program was started by `heddle record` or `heddle run`: its environment says where its
 * recordings go, and beside the one of the process is a file to ask its writer (record/control.h).
 */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/follow.h"
#include "cmd/tracedir.h"
#include "base/alloc.h"
#include "record/control.h"
#include "trace/hdl/hdl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum control_command command;
} words[] = { { "status", CONTROL_STATUS },
              { "stop", CONTROL_STOP },
              { "start", CONTROL_START },
              { "snapshot", CONTROL_FLUSH } };

/* ---- which recording ---- */

/* The directory that the process was told of, or NULL. */
static char *directory_of(long pid)
{
    char path[64], *text = NULL, *found = NULL, *at, *end;
    size_t room = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
    f = fopen(path, "r");
    while (f && !found && getdelim(&text, &room, 0, f) > 0) {
        if (strncmp(text, "HEDDLE_RT=", 10) != 0 || !(at = strstr(text, "dir=")))
            continue;
        end = strchr(at, '\n');
        found = xstrndup(at + 4, end ? (size_t)(end - at) - 4 : strlen(at + 4));
    }
    if (f)
        fclose(f);
    free(text);
    return found;
}

/* The trace of the process that is being written, or NULL. */
static char *trace_of(const char *directory, long pid)
{
    struct tracedir d = { 0 };
    char *found = NULL;

    if (tracedir_read(&d, directory) < 0)
        return NULL;
    for (size_t i = 0; i < d.count && !found; i++)
        if (d.files[i].pid == pid && trace_file_is_busy(&d.files[i]))
            found = xstrndup(d.files[i].path, strlen(d.files[i].path));
    tracedir_release(&d);
    return found;
}

static int find_trace(const char *text, char **trace)
{
    char *end, *directory;
    long pid = strtol(text, &end, 10);

    if (pid <= 0 || *end)
        return bad_input("'%s' is not the number of a process", text);
    directory = directory_of(pid);
    if (!directory)
        return bad_input(
            "process %ld does not run, is another user's, or was not started by 'heddle "
            "record' or 'heddle run'",
            pid);
    *trace = trace_of(directory, pid);
    free(directory);
    return *trace ? 0 : bad_input("process %ld is not being recorded", pid);
}

/* ---- what is said ---- */

static double seconds_between(uint64_t from, uint64_t to)
{
    return to > from && from ? (double)(to - from) / 1e9 : 0.0;
}

static int show_status(const char *trace, const struct control_reply *r)
{
    printf("recording  %s\n", r->stopped ? "stopped" : "on");
    printf("trace      %s\n", trace);
    printf("for        %.1f s\n", seconds_between(r->began_ns, r->now_ns));
    printf("kept       the last %.1f s, %" PRIu64 " bytes of %" PRIu64 "\n",
           seconds_between(r->first_ns, r->now_ns), r->kept, r->written);
    printf("lost       %" PRIu64 " accesses\n", r->lost);
    printf("races      %zu in what is kept\n", follow_show(trace));
    return 0;
}

static int make_snapshot(const char *trace, const struct options *o)
{
    const char *slash = strrchr(trace, '/'), *name = slash ? slash + 1 : trace;
    char *copy = o->texts[OPT_OUTPUT] ? xstrndup(o->texts[OPT_OUTPUT], strlen(o->texts[OPT_OUTPUT]))
                                      : xasprintf("%.*s-snapshot.hdl", (int)strlen(name) - 4, name);
    struct error err;
    int code = 0;

    if (hdl_copy(trace, copy, &err) < 0)
        code = own_failure("%s", err.text);
    else
        printf("%s\n", copy);
    free(copy);
    return code;
}

static int obey(const char *trace, enum control_command command, const struct options *o)
{
    struct control_reply r;
    struct error err;

    if (command == CONTROL_STATUS &&
        control_ask(trace, CONTROL_FLUSH, &r, &err) < 0) /* races of just now, too */
        return own_failure("%s", err.text);
    if (control_ask(trace, command, &r, &err) < 0)
        return own_failure("%s", err.text);
    if (r.refused)
        return own_failure("recording of a full build cannot be stopped");
    if (command == CONTROL_FLUSH)
        return make_snapshot(trace, o);
    return command == CONTROL_STATUS ? show_status(trace, &r) : 0;
}

int cmd_ctl(const struct options *o)
{
    char *trace = NULL;
    int code;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(o->arguments[1], words[i].name) != 0)
            continue;
        code = find_trace(o->arguments[0], &trace);
        if (code == 0)
            code = obey(trace, words[i].command, o);
        free(trace);
        return code;
    }
    return usage_error(o->command, "'%s' is none of status, start, stop, snapshot",
                       o->arguments[1]);
}
