/* options.h - commands, their options, and the parser that one table drives
 *
 * commands.c holds the table: every command with its arguments, options, help
 * and function. The parser, `--help`, the man page check and completion are
 * made from it, so an option exists exactly when the table has it.
 *
 * Grammar: --name=VALUE or --name VALUE, -n VALUE or -nVALUE, flags alone;
 * options and arguments in any order, except where a command runs a program;
 * "--" ends options; "-" is an argument. Given twice, the last one counts (lists: all).
 */
#ifndef HEDDLE_CMD_OPTIONS_H
#define HEDDLE_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Exit codes (heddle(1)); scripts rely on them. */
enum {
    EXIT_NOTHING = 0,       /* nothing found, all well */
    EXIT_BAD_INPUT = 2,     /* bad input, or nothing to analyse */
    EXIT_RACES = 66,        /* races found */
    EXIT_OWN_FAILURE = 128, /* our own failure: output cannot be written ... */
    EXIT_USAGE = 129        /* wrong command line */
};

enum option_id {
    OPT_HELP,
    OPT_ENGINE,
    OPT_FORMAT,
    OPT_OUTPUT,
    OPT_MAX_WITNESS,
    OPT_NO_WITNESS,
    OPT_EFFORT,
    OPT_MEMORY,
    OPT_JOBS,
    OPT_WINDOW,
    OPT_PART,
    OPT_SOUND,
    OPT_ALL,
    OPT_QUIET,
    OPT_FULL,
    OPT_FROM,
    OPT_COUNT,
    OPT_THREAD,
    OPT_EXPRESSIONS,
    OPT_COMPRESSION,
    OPT_LEVEL,
    OPT_TRACE,
    OPT_NO_FILTER,
    OPT_LOSE,
    OPT_MAX_SIZE,
    OPT_LAST,
    OPT_STOPPED,
    OPT_EXIT_WAIT,
    OPT_LIVE,
    OPT_MAX_MEMORY,
    OPT_NO_CHILDREN,
    OPT_SHARED,
    OPT_CALLS,
    OPT_GLOBALS,
    OPT_VERBOSE,
    OPT_ERROR_EXITCODE,
    OPT_FAIL_ON,
    OPT_KEEP,
    OPT_SUPPRESSIONS,
    OPT_BASELINE,
    OPT_EXCLUDE,
    OPT_EXCLUDE_FROM,
    OPT_SOLVER,
    OPT_MPI,
    OPT_TEST,
    OPT_SAVE,
    OPT_PAIR,
    OPT_OBJECT,
    OPT_PID,
    OPT_STOP,
    OPT_MAX_OVERHEAD,
    OPT_DELAY,
    OPT_MIN_TIME,
    OPT_SEED,
    OPT_BOTH_ORDERS,
    OPT_STATE,
    OPT_STATIC,
    OPT_SHOW,
    OPT_COUNT_ALL,
    OPT_ALL_SITES,
    OPT_ONLY_SITES,
    OPT_STORE,
    OPT_SPOOL,
    OPT_LEASE,
    OPT_WAIT,
    OPT_LISTEN,
    OPT_LOCKSET,
    OPT_SUMMARY,
    OPT_NO_LIBRARIES,
    OPT_LIBRARY,
    OPT_LIST,
    OPT_TRIES,
    OPT_TIMEOUT,
    OPT_MODE,
    OPT_RUNS,
    OPT_TIME,
    OPT_DEPTH,
    OPT_VERIFY,
    OPT_FAIL_ON_EXIT,
    OPT_REPLAY,
    OPT_SCHEDULE,
    OPT_OUTCOMES,
    OPT_CONFIRM,
    OPTIONS
};

enum option_kind {
    KIND_FLAG,
    KIND_TEXT,
    KIND_NUMBER, /* unsigned decimal, k/m/g suffixes for thousands, millions ... */
    KIND_CHOICE, /* one of the words in `argument`, separated by '|' */
    KIND_LIST    /* a text each time: options.lists has them all */
};

struct option_def {
    enum option_id id;
    const char *name;
    char letter; /* 0: none */
    enum option_kind kind;
    const char *argument; /* as help shows it: "FILE", "text|json"; "[N]": may be absent, else
                             "--name=N"; NULL for flags */
    const char *help;
    const char *initial; /* default, or NULL */
};

/* Where options may stand. */
enum grammar {
    OPTIONS_ANYWHERE,
    OPTIONS_FIRST,      /* before the first argument: a program, whose options are its own */
    OPTIONS_AFTER_WORD, /* the first argument is a word of the command's; then the same */
    OPTIONS_NONE        /* every word is an argument, "--help" too */
};

struct options;

struct command {
    const char *name;
    const char *arguments;            /* "TRACE RACE" */
    const char *summary;              /* one line */
    const char *detail;               /* paragraphs for --help, each line with its newline */
    const struct option_def *options; /* ends with a NULL name */
    int min_arguments, max_arguments;
    enum grammar grammar;
    int (*run)(const struct options *o); /* the exit code */
};

/* A parsed command line. */
struct options {
    const struct command *command;
    const char *texts[OPTIONS]; /* value as given, or the default; "" for a flag that is set */
    uint64_t numbers[OPTIONS];
    struct option_list {
        const char **texts; /* owned array, borrowed strings, in the order they were given */
        size_t count, cap;
    } lists[OPTIONS];
    char **arguments; /* owned array, borrowed strings */
    int narguments;
    int before_dashes; /* arguments before "--"; -1: there is none */
};

extern const struct command commands[]; /* ends with a NULL name */
const struct command *command_find(const char *name);

/* Parse what follows the command's name. -1 and an error on a wrong one. */
int options_parse(struct options *o, const struct command *c, int argc, char **argv,
                  struct error *err);
void options_release(struct options *o);

static inline bool option_is(const struct options *o, enum option_id id)
{
    return o->texts[id] != NULL;
}

/* The nearest of the names given one after the other, for "did you mean". */
struct suggestion {
    const char *wanted, *best;
    size_t distance;
};
void suggest(struct suggestion *s, const char *name);

/* What `heddle help` and `heddle COMMAND --help` print. */
void help_overview(FILE *out);
void help_command(const struct command *c, FILE *out);

#endif
