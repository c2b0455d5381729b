/* main.c - find the command, run it, and make sure that what it printed arrived */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/launch.h"
#include "cmd/pipeline.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A reader that went away (head) needs no message, but is no success either. */
static int finish_stdout(int code)
{
    bool failed = ferror(stdout) != 0;

    errno = 0;
    failed |= fflush(stdout) != 0;
    if (!failed)
        return code;
    if (errno == EPIPE)
        return EXIT_OWN_FAILURE;
    return own_failure("cannot write to standard output: %s",
                       errno ? strerror(errno) : "write error");
}

/* Where we can do nothing for a program, it shall run all the same. */
static bool runs_program(const struct command *c, const struct options *o)
{
    static const char *const names[] = { "record", "run",   "chase", "litehb",
                                         "fullhb", "caper", "alias" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(c->name, names[i]) == 0)
            return o->arguments && o->arguments[0];
    return false;
}

static int run_command(const struct command *c, int argc, char **argv)
{
    struct options o;
    struct error err;
    int code;

    if (options_parse(&o, c, argc, argv, &err) < 0) {
        code = usage_error(c, "%s", err.text);
    } else if (option_is(&o, OPT_HELP)) {
        help_command(c, stdout);
        code = EXIT_NOTHING;
    } else if (runs_program(c, &o) && !launch_has_room()) {
        code = launch_without_us(o.arguments);
    } else {
        code = c->run(&o);
    }
    options_release(&o);
    return code;
}

static int dispatch(int argc, char **argv)
{
    const struct command *c;

    if (argc < 2) {
        help_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        argv[1] = "help";
    else if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        argv[1] = "version";
    else if (argv[1][0] == '-')
        return usage_error(NULL, "unknown option '%s'", argv[1]);
    if (strcmp(argv[1], "writer") == 0) /* not for people, so not in the table */
        return cmd_writer(argc - 2, argv + 2);
    c = command_find(argv[1]);
    return c ? run_command(c, argc - 2, argv + 2) : unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    int code;

    launch_keep_inherited();
    code = finish_stdout(dispatch(argc, argv));
    if (abandoned_work)
        _exit(code);
    return code;
}
