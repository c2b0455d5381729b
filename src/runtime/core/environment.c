/* environment.c - what the runtime is told: HEDDLE_RT by `heddle record`, HEDDLE_OPTIONS by the
 * user
 *
 * HEDDLE_RT holds lines "key=value" (paths may contain anything but a line
 * end); HEDDLE_OPTIONS "key=value:key=value" and wins. Without either nothing
 * is recorded.
 */
#include "runtime/core/rt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/core/environment.h"
#include "runtime/core/only.h"
#include "runtime/core/state.h"
#include "runtime/steer/explore_steps.h"
#include "runtime/steer/steer.h"

struct rt_options rt_options = {
    .filter = true,
    .malloc_events = true,
    .children = true,
    .exit_wait = 1000,
    .directory = "heddle.data",
    .calls_text = "once",
    .patch = "auto",
    .calls_objects = 1 << 12,
    .calls_kib = 1 << 12,
};

/* Each option is a flag, a number or a text. */
static const struct {
    const char *name;
    bool *flag;
    uint32_t *number;
    char *text;
    const char *help;
} known[] = {
    { "record", &rt_options.record, NULL, NULL, "record this program (1 under heddle record)" },
    { "filter", &rt_options.filter, NULL, NULL, "drop accesses that cannot add a race (1)" },
    { "lose", &rt_options.lose, NULL, NULL,
      "when the writer lags, lose accesses (counted) rather than wait for it (0)" },
    { "malloc", &rt_options.malloc_events, NULL, NULL, "record malloc and free (1)" },
    { "children", &rt_options.children, NULL, NULL, "record child processes too (1)" },
    { "pid", NULL, &rt_options.pid, NULL, "with children=0: the process to record" },
    { "verbose", &rt_options.verbose, NULL, NULL, "say on stderr what goes wrong (0)" },
    { "memory", NULL, &rt_options.max_memory_mib, NULL,
      "MiB of records that may wait for the writer (4)" },
    { "calls", NULL, NULL, rt_options.calls_text,
      "calls of untraced code: once, exact, none (once)" },
    { "calls_objects", NULL, &rt_options.calls_objects, NULL,
      "objects that one call may look at (4096)" },
    { "calls_kib", NULL, &rt_options.calls_kib, NULL, "KiB that one call may look at (4096)" },
    { "globals", NULL, NULL, rt_options.globals,
      "file with lines FUNCTION-GLOB: VARIABLE, what such calls may touch" },
    { "only", NULL, NULL, rt_options.only, "file of the sites to record (heddle record)" },
    { "dir", NULL, NULL, rt_options.directory, "directory for the trace (heddle.data)" },
    { "run", NULL, NULL, rt_options.run, "file in it that lists the traces of this run" },
    { "exit_wait", NULL, &rt_options.exit_wait, NULL,
      "ms for threads that still run when main() returns (1000)" },
    { "writer", NULL, NULL, rt_options.writer, "path of the heddle command" },
    { "control", NULL, NULL, rt_options.control,
      "control file of a production run (heddle chase, caper ...)" },
    { "steer", NULL, NULL, rt_options.steer,
      "control file of a controlled run (heddle confirm, explore)" },
    { "patch", NULL, NULL, rt_options.patch,
      "how production runs change text: auto, write, replace, none (auto)" },
    { "writer_options", NULL, NULL, rt_options.writer_options, "handed to heddle writer" },
};

static void say(const char *text)
{
    syscall(SYS_write, 2, text, strlen(text));
}

static void print_help(void)
{
    char line[256];
    size_t i;

    say("HEDDLE_OPTIONS=key=value:key=value...\n");
    for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        snprintf(line, sizeof(line), "  %-15s %s\n", known[i].name, known[i].help);
        say(line);
    }
}

static size_t room_of(const char *text)
{
    return text == rt_options.calls_text ? sizeof(rt_options.calls_text)
           : text == rt_options.patch    ? sizeof(rt_options.patch)
                                         : sizeof(rt_options.writer);
}

static void set(const char *key, size_t key_bytes, const char *value, size_t value_bytes)
{
    size_t i;

    if (key_bytes == 4 && !memcmp(key, "help", 4) && value_bytes && value[0] != '0') {
        print_help();
        return;
    }
    for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i].name) != key_bytes || memcmp(known[i].name, key, key_bytes))
            continue;
        if (known[i].flag)
            *known[i].flag = value_bytes && value[0] != '0';
        else if (known[i].number)
            *known[i].number = (uint32_t)strtoul(value, NULL, 10);
        else if (value_bytes < room_of(known[i].text)) {
            memcpy(known[i].text, value, value_bytes);
            known[i].text[value_bytes] = 0;
        }
        return;
    }
    rt_say("unknown option '%.*s' in HEDDLE_OPTIONS", (int)key_bytes, key);
}

static void parse(const char *text, char separator)
{
    while (text && *text) {
        const char *end = strchrnul(text, separator),
                   *equals = memchr(text, '=', (size_t)(end - text));

        if (equals)
            set(text, (size_t)(equals - text), equals + 1, (size_t)(end - equals - 1));
        else if (end > text)
            set(text, (size_t)(end - text), "1", 1);
        text = *end ? end + 1 : end;
    }
}

/* The program may have a getenv() of its own (bash does). */
static const char *variable(const char *name)
{
    char **e;

    for (e = environ; e && *e; e++)
        if (!strncmp(*e, name, strlen(name)))
            return *e + strlen(name);
    return NULL;
}

static void set_calls(void)
{
    static const char *const names[] = { "none", "once", "exact" };
    size_t i;

    rt_options.calls = CALLS_ONCE;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(rt_options.calls_text, names[i]))
            rt_options.calls = (enum calls_mode)i;
    if (rt_options.record && rt_options.calls != CALLS_NONE && rt_options.globals[0])
        calls_read_globals(rt_options.globals);
}

void options_drop(void)
{
    static const char *const ours[] = { "HEDDLE_RT=", "HEDDLE_OPTIONS=" };
    char **e, **to;

    for (e = to = environ; e && *e; e++)
        if (strncmp(*e, ours[0], strlen(ours[0])) && strncmp(*e, ours[1], strlen(ours[1])))
            *to++ = *e;
    if (to)
        *to = NULL;
}

void options_read(void)
{
    const char *rt_line = variable("HEDDLE_RT="), *user = variable("HEDDLE_OPTIONS=");

    if (rt_line) {
        rt_options.record = true;
        parse(rt_line, '\n');
    }
    parse(user, ':');
    if (rt_options.control[0]) /* a production run records nothing */
        rt_options.record = false;
    if (rt_options.record && rt_options.only[0])
        only_read(rt_options.only);
    if (rt_options.record && rt_options.steer[0] && !explore_start(rt_options.steer))
        steer_start(rt_options.steer);
    if (rt_options.max_memory_mib > 1024)
        rt_options.max_memory_mib = 1024;
    set_calls();
    if (!rt_options.children && rt_options.pid != (uint32_t)syscall(SYS_getpid))
        rt_options.record = false;
    if (rt_options.record && !rt_options.writer[0]) {
        rt_options.record = false;
        rt_say("cannot record: HEDDLE_OPTIONS lacks writer=PATH (use heddle record)");
    }
}

void rt_say(const char *fmt, ...)
{
    char line[512] = "heddle: ";
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(line + 8, sizeof(line) - 10, fmt, ap);
    va_end(ap);
    n = 8 + (n < (int)sizeof(line) - 10 ? n : (int)sizeof(line) - 11);
    ring_log(LOG_TEXT, "", 0, line + 8, (size_t)(n - 8) + 1);
    if (!rt_options.verbose)
        return;
    line[n] = '\n';
    line[n + 1] = 0;
    say(line);
}
