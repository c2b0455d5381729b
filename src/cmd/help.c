/* help.c - the help texts, made from the table, and the commands that print them */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "engines/engine.h"

#include <string.h>

enum { HELP_COLUMN = 34 };

void help_overview(FILE *out)
{
    fputs("usage: heddle COMMAND [options] ARGUMENTS\n\n"
          "Records programs and finds their data races.\n\ncommands:\n",
          out);
    for (const struct command *c = commands; c->name; c++)
        fprintf(out, "  %-10s %s\n", c->name, c->summary);
    fputs("\n'heddle help COMMAND' or 'heddle COMMAND --help' describes one of them.\n"
          "exit codes: 0 nothing found, 66 races found, 2 bad input or nothing to analyse,\n"
          "3 a schedule that no longer applies, 128 internal failure, 129 wrong usage\n",
          out);
}

static void print_option(const struct option_def *d, FILE *out)
{
    char left[96] = "      ";
    int n;

    if (d->letter)
        snprintf(left, sizeof(left), "  -%c, ", d->letter);
    n = (int)strlen(left);
    snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s%s", d->name,
             !d->argument || d->argument[0] == '[' ? "" : " ", d->argument ? d->argument : "");
    fprintf(out, "%-*s %s", HELP_COLUMN, left, d->help);
    if (d->initial)
        fprintf(out, " (default: %s)", d->initial);
    fputc('\n', out);
}

static bool takes(const struct command *c, enum option_id id)
{
    for (const struct option_def *d = c->options; d->name; d++)
        if (d->id == id)
            return true;
    return false;
}

void help_command(const struct command *c, FILE *out)
{
    fprintf(out, "usage: heddle %s%s%s%s\n\n%s\n", c->name, c->options->name ? " [options]" : "",
            c->arguments[0] ? " " : "", c->arguments, c->detail);
    if (c->options->name)
        fputs("options:\n", out);
    for (const struct option_def *d = c->options; d->name; d++)
        print_option(d, out);
    if (!takes(c, OPT_ENGINE))
        return;
    fputs("\nengines, cheapest first; those with a star run by default:\n", out);
    for (size_t i = 0; engine_registry[i]; i++)
        fprintf(out, "%c %-10s %s\n", engine_registry[i]->on_request ? ' ' : '*',
                engine_registry[i]->name, engine_registry[i]->summary);
}

int cmd_help(const struct options *o)
{
    const struct command *c;

    if (o->narguments == 0) {
        help_overview(stdout);
        return EXIT_NOTHING;
    }
    c = command_find(o->arguments[0]);
    if (!c)
        return unknown_command(o->arguments[0]);
    help_command(c, stdout);
    return EXIT_NOTHING;
}

int cmd_version(const struct options *o)
{
    (void)o;
    puts("heddle " HEDDLE_VERSION);
    return EXIT_NOTHING;
}
