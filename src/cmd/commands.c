/* commands.c - the table of all commands and their options */
#include "cmd/commands.h"

#include <string.h>

/* clang-format off: tables, one option a line */

/* Options that several commands share. */
#define HELP { OPT_HELP, "help", 'h', KIND_FLAG, NULL, "print this help", NULL }
#define FORMAT                                                                                     \
    { OPT_FORMAT,                                                                                  \
      "format",                                                                                    \
      'f',                                                                                         \
      KIND_CHOICE,                                                                                 \
      "text|json|sarif|junit|html|github",                                                         \
      "format of the report",                                                                      \
      "text" }
#define PLAIN_FORMAT                                                                               \
    { OPT_FORMAT, "format", 'f', KIND_CHOICE, "text|json", "format of the output", "text" }
#define OUTPUT                                                                                     \
    { OPT_OUTPUT, "output", 'o',                                                                   \
      KIND_TEXT,  "FILE",   "write the whole output there, or nothing (default: standard output)", \
      NULL }
#define QUIET                                                                                      \
    { OPT_QUIET, "quiet", 'q', KIND_FLAG, NULL, "print no warnings and no progress", NULL }
/* Without it the cascade runs (pipeline.c). */
#define ENGINE                                                                                     \
    { OPT_ENGINE, "engine",   'e',                                                                 \
      KIND_TEXT,  "LIST|all", "engines to run, separated by commas (default: the cascade)",        \
      NULL }
/* What engines leave open after the pass over the trace may take long. A minute is the
 * patience of somebody who waits; all that stays undecided is counted. */
#define EFFORT                                                                                     \
    { OPT_EFFORT,                                                                                  \
      "effort",                                                                                    \
      0,                                                                                           \
      KIND_TEXT,                                                                                   \
      "LEVEL",                                                                                     \
      "search for what cheap engines leave open: quick, normal, thorough, or seconds of work",     \
      "normal" }
/* Somebody who runs a program waits for as long as it runs, and a bit. */
#define EFFORT_AUTO                                                                                \
    { OPT_EFFORT, "effort", 0,                                                                     \
      KIND_TEXT,  "LEVEL",  "auto (a quarter of the run, at least a second), or as for analyze",   \
      "auto" }
/* Of the gist (engines/gist.h); the passes over the trace take what they need. */
#define MEMORY(most)                                                                               \
    { OPT_MEMORY,  "memory", 0,                                                                    \
      KIND_NUMBER, "BYTES",  "approximate limit on the memory for prediction; 0: none",            \
      most }
#define JOBS                                                                                       \
    { OPT_JOBS, "jobs", 'j', KIND_NUMBER, "N", "threads to use (default: one per processor)", NULL }
#define WINDOW                                                                                     \
    { OPT_WINDOW,  "window", 0,                                                                    \
      KIND_NUMBER, "N",      "mc, rdit, sb, cp: look at N events at a time; 0: all",               \
      "0" }
/* 100 to 250 bytes an event. */
#define PART                                                                                       \
    { OPT_PART,    "part", 0,                                                                      \
      KIND_NUMBER, "N",    "long traces: events held in memory at a time (default: 16 million)",   \
      NULL }
#define SOUND                                                                                      \
    { OPT_SOUND, "sound", 0,                                                                       \
      KIND_FLAG, NULL,    "cp, wcp: treat a reported pair as ordered from then on (default)",      \
      NULL }
#define ALL                                                                                        \
    {                                                                                              \
        OPT_ALL, "all", 0, KIND_FLAG, NULL, "cp, wcp: list every pair that they leave unordered",  \
        NULL                                                                                       \
    }
/* Z3 is the second opinion, for tests and doubts; it is some 1,000 times slower. */
#define SOLVER                                                                                     \
    { OPT_SOLVER, "solver", 0, KIND_CHOICE, "own|z3", "solver that decides what can be reordered", \
      "own" }
#define ANALYSIS ENGINE, SOLVER, JOBS, SOUND, ALL, WINDOW, PART, MAX_WITNESS, NO_WITNESS, EXCLUDE
/* What a program that is built with less looks like: its functions become untraced code. */
#define EXCLUDE                                                                                    \
    { OPT_EXCLUDE, "exclude",                                                                      \
      'x',         KIND_LIST,                                                                      \
      "GLOB",      "treat functions, src:FILES or lib:LIBRARIES as untraced (repeatable)",         \
      NULL },                                                                                      \
    {                                                                                              \
        OPT_EXCLUDE_FROM, "exclude-from", 0, KIND_LIST, "FILE",                                    \
            "the same with patterns from FILE, one per line (repeatable)", NULL                    \
    }
/* 100,000 positions are 800 KB in memory and 700 KB of JSON a race: hundreds of races stay
 * handy. The prefix a race needs is rarely longer, except in programs that run for long. */
#define MAX_WITNESS                                                                                \
    { OPT_MAX_WITNESS, "max-witness", 0, KIND_NUMBER, "N", "longest schedule to keep, in events",  \
      "100000" }
#define NO_WITNESS                                                                                 \
    { OPT_NO_WITNESS,                                                                              \
      "no-witness",                                                                                \
      0,                                                                                           \
      KIND_FLAG,                                                                                   \
      NULL,                                                                                        \
      "keep no schedules (they are checked nevertheless)",                                         \
      NULL }
/* Waiting for the writer keeps every access; a program that must not be held up loses some. */
#define RECORDING                                                                                   \
    {                                                                                               \
        OPT_NO_FILTER, "no-filter", 0,                                                              \
        KIND_FLAG,     NULL,        "also record accesses that cannot add a race",                  \
        NULL                                                                                        \
    },                                                                                              \
        { OPT_LOSE,  "lose", 0,                                                                     \
          KIND_FLAG, NULL,   "drop accesses (and count them) rather than wait for the writer",      \
          NULL },                                                                                   \
        { OPT_MAX_SIZE, "max-size", 0,                                                              \
          KIND_NUMBER,  "BYTES",    "stop at BYTES per trace (suffixes k, m, g)",                   \
          NULL },                                                                                   \
        { OPT_LAST,    "last",                                                                      \
          0,           KIND_TEXT,                                                                   \
          "TIME|SIZE", "keep only the last TIME or SIZE of the recording: 60s, 2h, 500m, 2g",       \
          NULL },                                                                                   \
        { OPT_STOPPED, "stopped", 0,                                                                \
          KIND_FLAG,   NULL,      "record no accesses until 'heddle ctl PID start'",                \
          NULL },                                                                                   \
        { OPT_EXIT_WAIT, "exit-wait", 0,                                                            \
          KIND_NUMBER,   "MS",        "time that threads still running at exit get to finish",      \
          "1000" },                                                                                 \
        { OPT_MAX_MEMORY,                                                                           \
          "max-memory",                                                                             \
          0,                                                                                        \
          KIND_NUMBER,                                                                              \
          "BYTES",                                                                                  \
          "memory for events on their way to the writer",                                           \
          NULL },                                                                                   \
        { OPT_CALLS,                                                                                \
          "calls",                                                                                  \
          0,                                                                                        \
          KIND_CHOICE,                                                                              \
          "once|exact|none",                                                                        \
          "record what calls of untraced code can reach: once, at each call, never",                \
          "once" },                                                                                 \
        { OPT_GLOBALS, "globals",                                                                   \
          0,           KIND_TEXT,                                                                   \
          "FILE",      "variables that untraced functions touch, lines FUNCTION-GLOB: VARIABLE",    \
          NULL },                                                                                   \
        { OPT_SHARED, "shared", 0, KIND_FLAG, NULL, "let the umask decide who may read the traces", \
          NULL },                                                                                   \
    {                                                                                               \
        OPT_NO_CHILDREN, "no-children", 0, KIND_FLAG, NULL,                                         \
            "do not record the processes that the program starts", NULL                             \
    }
#define VERBOSE                                                                                    \
    { OPT_VERBOSE, "verbose", 'v', KIND_FLAG, NULL, "say at the end what was recorded", NULL }
#define NOISE                                                                                      \
    { OPT_SUPPRESSIONS,                                                                            \
      "suppressions",                                                                              \
      0,                                                                                           \
      KIND_LIST,                                                                                   \
      "FILE",                                                                                      \
      "hide races that a rule in FILE matches (repeatable)",                                       \
      NULL },                                                                                      \
    {                                                                                              \
        OPT_BASELINE, "baseline", 0, KIND_TEXT, "RESULT.json",                                     \
            "hide races that RESULT.json contains", NULL                                           \
    }
/* What is not certain stops no build unless asked to. */
#define FAIL_ON                                                                                    \
    { OPT_FAIL_ON,                                                                                 \
      "fail-on",                                                                                   \
      0,                                                                                           \
      KIND_CHOICE,                                                                                 \
      "confirmed|witnessed|observed|guaranteed|maybe|potential",                                   \
      "weakest strength that makes the exit code 66",                                              \
      "guaranteed" }
#define MPI                                                                                        \
    { OPT_MPI, "mpi", 0, KIND_FLAG, NULL, "share the work among the processes that mpirun starts", \
      NULL }
#define END { 0 }

static const struct option_def record_options[] = {
    { OPT_OUTPUT, "output", 'o', KIND_TEXT, "DIR",
      "directory for the traces; %p is the program's pid", "heddle.data" },
    RECORDING,
    { OPT_ONLY_SITES, "only-sites", 0, KIND_TEXT, "FILE",
      "record plain accesses only at the sites in FILE: a list, or a state of caper", NULL },
    VERBOSE,
    HELP,
    END
};
static const struct option_def ctl_options[] = {
    { OPT_OUTPUT, "output", 'o', KIND_TEXT, "FILE",
      "snapshot: name of the copy (default: PID-snapshot.hdl)", NULL },
    HELP,
    END
};
static const struct option_def run_options[] = {
    { OPT_TRACE, "trace", 0, KIND_TEXT, "DIR", "directory for the traces; %p is the program's pid",
      "heddle.data" },
    RECORDING,
    { OPT_LIVE, "live", 0, KIND_CHOICE, "yes|no",
      "print races on standard error while the program runs", "yes" },
    EFFORT_AUTO,
    MEMORY("1g"),
    ANALYSIS,
    NOISE,
    FORMAT,
    { OPT_OUTPUT, "output", 'o', KIND_TEXT, "FILE",
      "write the whole report there, or nothing (default: standard error)", NULL },
    { OPT_SAVE, "save", 0, KIND_TEXT, "FILE|DIR/",
      "also write the result as JSON; in DIR/ under a unique name", NULL },
    { OPT_TEST, "test", 0, KIND_TEXT, "NAME",
      "name of this test for 'heddle report' (default with --save: the command)", NULL },
    { OPT_CONFIRM, "confirm", 0, KIND_NUMBER, "[=N]",
      "then make the first N races (3) happen, as 'heddle confirm' does", NULL },
    { OPT_ERROR_EXITCODE, "error-exitcode", 0, KIND_NUMBER, "N", "exit code if races are found",
      "66" },
    FAIL_ON,
    QUIET,
    HELP,
    END
};
/* What the commands that watch one pair in a production build share. */
#define PAIR                                                                                       \
    {                                                                                              \
        OPT_PAIR, "pair",                                                                          \
        'p',      KIND_TEXT,                                                                       \
        "S1,S2",  "the two sites, each FILE:LINE[:COLUMN] or MODULE:N; or RESULT.json#RACE",       \
        NULL                                                                                       \
    },                                                                                             \
    {                                                                                              \
        OPT_OBJECT, "object", 0, KIND_LIST, "FILE",                                                \
            "also look for the sites in FILE: a program run by a script, a plugin (repeatable)",   \
            NULL                                                                                   \
    }
#define WATCHING                                                                                   \
    NOISE, FORMAT,                                                                                 \
        { OPT_OUTPUT, "output",                                                                    \
          'o',        KIND_TEXT,                                                                   \
          "FILE",     "write the whole report there, or nothing (default: standard error)",        \
          NULL },                                                                                  \
        { OPT_ERROR_EXITCODE,                                                                      \
          "error-exitcode",                                                                        \
          0,                                                                                       \
          KIND_NUMBER,                                                                             \
          "N",                                                                                     \
          "exit code if the race is found",                                                        \
          "66" },                                                                                  \
        { OPT_VERBOSE, "verbose", 'v', KIND_FLAG, NULL, "report sightings as they happen", NULL }, \
        { OPT_QUIET, "quiet", 'q', KIND_FLAG, NULL, "no effect", NULL }, HELP, END
static const struct option_def chase_options[] = {
    PAIR,
    { OPT_MAX_OVERHEAD, "max-overhead", 0, KIND_TEXT, "PERCENT",
      "share of the running time that waits may take", "5%" },
    { OPT_DELAY, "delay", 0, KIND_TEXT, "TIME", "how long a thread waits before S1", "10ms" },
    { OPT_MIN_TIME, "min-time", 0, KIND_TEXT, "TIME",
      "expected running time, from which early waits are paid", "1s" },
    { OPT_BOTH_ORDERS, "both-orders", 0, KIND_FLAG, NULL,
      "also wait before S2 for threads that reach S1", NULL },
    { OPT_SEED, "seed", 0, KIND_NUMBER, "N", "seed of the sampling; 0: from the clock", "0" },
    { OPT_PID, "pid", 0, KIND_NUMBER, "PID", "change the pair of this running process", NULL },
    { OPT_STOP, "stop", 0, KIND_FLAG, NULL, "with --pid: watch no pair any more", NULL },
    WATCHING
};
static const struct option_def hb_options[] = { PAIR, WATCHING };
static const struct option_def static_options[] = {
    { OPT_FORMAT, "format", 'f', KIND_CHOICE, "text|json|sites",
      "format of the output; sites: what caper reads", "text" },
    OUTPUT,
    { OPT_LOCKSET, "lockset", 0, KIND_FLAG, NULL, "leave out pairs with a common lock (unsound)",
      NULL },
    { OPT_SUMMARY, "summary", 0, KIND_FLAG, NULL, "print counts only", NULL },
    { OPT_LIBRARY, "library", 'l', KIND_LIST, "FILE",
      "also analyse FILE, a library loaded at run time (repeatable)", NULL },
    { OPT_NO_LIBRARIES, "no-libraries", 0, KIND_FLAG, NULL,
      "analyse the program alone; its libraries count as untraced code", NULL },
    QUIET,
    HELP,
    END
};
static const struct option_def caper_options[] = {
    { OPT_STATE, "state", 's', KIND_TEXT, "FILE",
      "state that collects all runs; created if missing", NULL },
    { OPT_STATIC, "static", 0, KIND_TEXT, "FILE",
      "statically possible pairs ('heddle static --format sites'; default: computed)", NULL },
    { OPT_MAX_OVERHEAD, "max-overhead", 0, KIND_TEXT, "PERCENT",
      "share of CPU time for watching; hotter sites are assumed shared (0%: no bound)", "5%" },
    { OPT_ALL_SITES, "all-sites", 0, KIND_FLAG, NULL,
      "watch every access, not only those in static pairs", NULL },
    { OPT_COUNT_ALL, "count", 0, KIND_FLAG, NULL,
      "count all accesses, to print the share that the pairs cover (slow)", NULL },
    { OPT_SHOW, "show", 0, KIND_FLAG, NULL, "print the state, run nothing", NULL },
    { OPT_ALL, "all", 0, KIND_FLAG, NULL, "also print static pairs that were not seen", NULL },
    { OPT_LIST, "list", 0, KIND_NUMBER, "N", "print at most N pairs of each set", "1000" },
    PLAIN_FORMAT,
    { OPT_OUTPUT, "output", 'o', KIND_TEXT, "FILE",
      "write the state after the run there; with --show: instead of standard output", NULL },
    { OPT_QUIET, "quiet", 'q', KIND_FLAG, NULL, "print no summary", NULL },
    HELP,
    END
};
static const struct option_def fleet_options[] = {
    { OPT_STORE, "store", 0, KIND_TEXT, "FILE|URL",
      "the store: a file or postgres://... (default: $HEDDLE_FLEET_STORE, or heddle-fleet.db)",
      NULL },
    { OPT_SPOOL, "spool", 0, KIND_TEXT, "DIR",
      "where results wait while the store is away (default: beside it)", NULL },
    { OPT_MAX_OVERHEAD, "max-overhead", 0, KIND_TEXT, "PERCENT",
      "run: share of the running time for waits, of CPU time for watching", "5%" },
    { OPT_DELAY, "delay", 0, KIND_TEXT, "TIME,...",
      "run: how long a thread waits, in turn for the tries of a pair", "10ms,30ms" },
    { OPT_MIN_TIME, "min-time", 0, KIND_TEXT, "TIME",
      "run: expected running time, from which early waits are paid", "1s" },
    { OPT_WAIT, "wait", 0, KIND_TEXT, "TIME",
      "run: longest wait for the store before the program starts", "700ms" },
    { OPT_LEASE, "lease", 0, KIND_NUMBER, "SECONDS", "run: when a silent run counts as lost",
      "600" },
    { OPT_LISTEN, "listen", 0, KIND_TEXT, "ADDRESS:PORT", "serve: address of the page",
      "127.0.0.1:8417" },
    NOISE,
    FORMAT,
    OUTPUT,
    { OPT_VERBOSE, "verbose", 'v', KIND_FLAG, NULL, "run: say what this run does", NULL },
    { OPT_QUIET, "quiet", 'q', KIND_FLAG, NULL, "import: print no counts", NULL },
    HELP,
    END
};
static const struct option_def alias_options[] = {
    { OPT_COUNT_ALL, "count", 0, KIND_FLAG, NULL,
      "count all accesses, to print the share that the pairs cover", NULL },
    PLAIN_FORMAT,
    { OPT_OUTPUT, "output", 'o', KIND_TEXT, "FILE",
      "write all pairs there, or nothing (default: standard error)", NULL },
    HELP,
    END
};
static const struct option_def no_options[] = { END };
static const struct option_def doctor_options[] = {
    { OPT_KEEP, "keep", 0, KIND_FLAG, NULL, "keep the directory of the test program", NULL },
    HELP,
    END
};

static const struct option_def analyze_options[] = { EFFORT, MEMORY("0"), ANALYSIS, MPI,
                                                     NOISE,  FORMAT,      FAIL_ON,  OUTPUT,
                                                     QUIET,  HELP,        END };
static const struct option_def report_options[] = { EFFORT,  MEMORY("0"), ANALYSIS, NOISE, FORMAT,
                                                    FAIL_ON, OUTPUT,      QUIET,    HELP,  END };
static const struct option_def explain_options[] = { { OPT_FULL, "full", 0, KIND_FLAG, NULL,
                                                       "print every step of the schedule", NULL },
                                                     EFFORT,
                                                     MEMORY("0"),
                                                     ANALYSIS,
                                                     QUIET,
                                                     HELP,
                                                     END };
/* Runs under control (confirm). */
#define CONTROLLED                                                                                 \
    { OPT_TRIES, "tries", 'n', KIND_NUMBER, "N", "run the program at most N times for each race",  \
      "10" },                                                                                      \
        { OPT_WAIT,                                                                                \
          "wait",                                                                                  \
          0,                                                                                       \
          KIND_TEXT,                                                                               \
          "TIME",                                                                                  \
          "how long a thread waits for another one (default: as long as the recording, 1s at "     \
          "least)",                                                                                \
          NULL },                                                                                  \
    {                                                                                              \
        OPT_TIMEOUT, "timeout", 0, KIND_TEXT, "TIME",                                              \
            "end a run that takes longer (default: 20 times the recording, 60s at least)", NULL    \
    }
static const struct option_def confirm_options[] = {
    { OPT_TRACE, "trace", 't', KIND_TEXT, "TRACE|RESULT.json", "where the races are",
      "heddle.data" },
    CONTROLLED,
    { OPT_SCHEDULE, "schedule", 0, KIND_TEXT, "FILE",
      "write how the first confirmed race was made to happen, for heddle replay", NULL },
    { OPT_OUTCOMES, "outcomes", 0, KIND_FLAG, NULL,
      "run both orders of the two accesses, and compare what they do", NULL },
    { OPT_RUNS, "runs", 0, KIND_NUMBER, "N", "so often each order (--outcomes)", "5" },
    PLAIN_FORMAT,
    OUTPUT,
    EFFORT,
    MEMORY("0"),
    ANALYSIS,
    RECORDING,
    QUIET,
    HELP,
    END
};
static const struct option_def replay_options[] = { CONTROLLED,  PLAIN_FORMAT, OUTPUT,    EFFORT,
                                                    MEMORY("0"), ANALYSIS,     RECORDING, QUIET,
                                                    HELP,        END };
static const struct option_def explore_options[] = {
    { OPT_MODE, "mode", 0, KIND_CHOICE, "predict|random|pct", "how the next order is chosen",
      "predict" },
    { OPT_RUNS, "runs", 'n', KIND_NUMBER, "N", "run the program at most so often", "200" },
    { OPT_TIME, "time", 0, KIND_TEXT, "TIME", "begin no run after this time (default: no limit)",
      NULL },
    { OPT_SEED, "seed", 0, KIND_NUMBER, "N", "random, pct: another seed, other orders", "1" },
    { OPT_DEPTH, "depth", 0, KIND_NUMBER, "N", "pct: one more than changes of priority in a run",
      "3" },
    { OPT_TIMEOUT, "timeout", 0, KIND_TEXT, "TIME", "a run that takes longer has failed", "60s" },
    { OPT_FAIL_ON_EXIT, "fail-on-exit", 0, KIND_TEXT, "any|none|N,...",
      "which exit codes are failures; any: all but 0", "any" },
    { OPT_VERIFY, "verify", 0, KIND_NUMBER, "N", "repeat the order that failed so often", "3" },
    { OPT_SCHEDULE, "schedule", 's', KIND_TEXT, "FILE", "write the order that failed there",
      "explore.schedule" },
    { OPT_REPLAY, "replay", 0, KIND_TEXT, "FILE", "run once, in the order of this schedule", NULL },
    PLAIN_FORMAT,
    OUTPUT,
    { OPT_VERBOSE, "verbose", 'v', KIND_FLAG, NULL, "tell each run on stderr", NULL },
    HELP,
    END
};
static const struct option_def gdb_options[] = { OUTPUT, HELP, END };
static const struct option_def diff_options[] = { PLAIN_FORMAT, FAIL_ON, OUTPUT, HELP, END };
static const struct option_def info_options[] = { PLAIN_FORMAT, HELP, END };
static const struct option_def dump_options[] = {
    { OPT_FROM, "from", 0, KIND_NUMBER, "N", "position of the first event to print", "0" },
    { OPT_COUNT, "count", 'n', KIND_NUMBER, "N", "number of events to print (default: all)", NULL },
    { OPT_THREAD, "thread", 't', KIND_TEXT, "NAME", "only events of this thread", NULL },
    { OPT_EXPRESSIONS, "expressions", 0, KIND_FLAG, NULL,
      "full builds: what values were computed from", NULL },
    EXCLUDE,
    HELP,
    END
};
static const struct option_def convert_options[] = {
    { OPT_COMPRESSION, "compression", 0, KIND_CHOICE, "zstd|lz4|none",
      "compression of an .hdl file", "zstd" },
    { OPT_LEVEL, "level", 0, KIND_NUMBER, "N", "zstd level, 1 to 19 (default: fast)", NULL },
    QUIET,
    HELP,
    END
};
static const struct option_def plain_options[] = { HELP, END };
static const struct option_def verify_options[] = { EXCLUDE, HELP, END };
/* clang-format on */

enum { MANY = 1 << 30 };

const struct command commands[] = {
    { "run", "[--] PROG ARGS...", "record a program, analyse, report",
      "Runs a program that was built with heddle-cc, records it and the processes that it starts,\n"
      "and reports races on standard error. Input and output of the program are untouched; unless\n"
      "races are found, heddle ends with its exit code. Modules not built with heddle-cc are "
      "named.\n",
      run_options, 1, MANY, OPTIONS_FIRST, cmd_run },
    { "record", "[--] PROG ARGS...", "run a program and record it",
      "Runs a program and writes a trace of each of its processes, DIR/PID.hdl, for\n"
      "'heddle analyze DIR'. Traces of an earlier run in DIR are removed, nothing else. Input,\n"
      "output and exit code of the program are passed through; 128 + N: signal N ended it.\n",
      record_options, 1, MANY, OPTIONS_FIRST, cmd_record },
    { "ctl", "PID status|start|stop|snapshot", "control a recording that is running",
      "PID is a program that 'heddle record' or 'heddle run' started, or one of its processes.\n"
      "status describes the recording and prints the happens-before races in it so far.\n"
      "snapshot copies it as a complete trace for 'heddle analyze'. stop suspends the recording\n"
      "of accesses until start; synchronisation is still recorded, so that the order stays "
      "known.\n",
      ctl_options, 2, 2, 0, cmd_ctl },
    { "chase", "[--] PROG ARGS...", "catch a race of two sites in the act",
      "Runs a program that was built with 'heddle-cc --production'. Now and then a thread waits\n"
      "before S1; if another thread reaches S2 meanwhile, at the same memory, that is a race, and\n"
      "it is reported with both stacks. Input, output and exit code are as with 'run'.\n",
      chase_options, 0, MANY, OPTIONS_FIRST, cmd_chase },
    { "litehb", "[--] PROG ARGS...",
      "watch two sites by happens-before, from S1 on (for comparison)",
      "Like 'chase' without waiting: follows the program's synchronisation while an access at S1\n"
      "may still race, and reports an S2 that nothing orders after it. Its cost has no bound. A\n"
      "baseline of the RaceChaser paper, to compare 'chase' with.\n",
      hb_options, 0, MANY, OPTIONS_FIRST, cmd_litehb },
    { "fullhb", "[--] PROG ARGS...",
      "watch two sites by happens-before, all the time (for comparison)",
      "Like 'litehb', in both orders, following the program's synchronisation from start to end. "
      "A\n"
      "baseline of the RaceChaser paper, to compare 'chase' with.\n",
      hb_options, 0, MANY, OPTIONS_FIRST, cmd_fullhb },
    { "caper", "[--] PROG ARGS...",
      "collect all pairs of sites that may have raced, over many runs",
      "Runs a program that was built with 'heddle-cc --production' and adds to the state which\n"
      "sites accessed objects that other threads could reach. Every race of the runs is among the\n"
      "static pairs of such sites, under the assumptions of the manual page. Many runs may share\n"
      "a state, and may be killed: nothing that was seen is lost. The program's exit code is\n"
      "passed through.\n",
      caper_options, 0, MANY, OPTIONS_FIRST, cmd_caper },
    { "static", "PROG", "list the pairs of sites that may race, without running the program",
      "Analyses the bitcode in an instrumented program and its instrumented libraries: which\n"
      "accesses may touch the same memory in two threads at the same time, one of them writing.\n"
      "Every possible race is among these pairs, under the assumptions of the manual page.\n",
      static_options, 1, 1, OPTIONS_ANYWHERE, cmd_static },
    { "fleet", "run|status|races|serve|init|import|export|check ...",
      "find races over many runs of production builds",
      "fleet run [--] PROG ARGS...  ask the store what this run should do (caper, or chase a "
      "pair),\n"
      "                             do it, store the result; input, output and exit code are the\n"
      "                             program's own\n"
      "fleet status [PROGRAM]       pairs: static, possible, chased, confirmed (--format json)\n"
      "fleet races [PROGRAM]        the confirmed races; exit code 66 if there are any\n"
      "fleet serve                  the same as a web page\n"
      "fleet init [PROG]            create the store; compute the pairs of a program now\n"
      "fleet export, import FILE... all results, one per line, to merge stores\n"
      "fleet check                  check the store; store the results that wait in the spool\n",
      fleet_options, 1, MANY, OPTIONS_AFTER_WORD, cmd_fleet },
    { "alias", "[--] PROG ARGS...",
      "list pairs of sites that met on the same memory (for comparison)",
      "Runs a program that was built with 'heddle-cc --production' and watches every access: two\n"
      "sites are a pair if two threads touched the same bytes there, one of them writing. Slow "
      "and\n"
      "precise, to compare 'caper' with. The program's exit code is passed through.\n",
      alias_options, 1, MANY, OPTIONS_FIRST, cmd_alias },
    { "cc", "ARGS...", "compile C for recording", "Runs heddle-cc with these arguments.\n",
      no_options, 0, MANY, OPTIONS_NONE, cmd_cc },
    { "c++", "ARGS...", "compile C++ for recording", "Runs heddle-c++ with these arguments.\n",
      no_options, 0, MANY, OPTIONS_NONE, cmd_cc },
    { "analyze", "TRACE", "find races in a trace",
      "Runs engines over the trace and reports the races that they find: one for each pair of\n"
      "locations, with its strength and, where there is one, a schedule that makes it happen.\n"
      "TRACE is a recorded trace (an .hdl file or its directory) or a text trace; '-' is standard\n"
      "input. Ctrl-C stops the analysis and reports what was found so far.\n",
      analyze_options, 1, 1, OPTIONS_ANYWHERE, cmd_analyze },
    { "report", "TRACE|RESULT.json...", "render results again",
      "Renders a result that 'heddle analyze --format json' wrote; the trace is not needed. A\n"
      "trace is analysed first. Several results become one, whose races name the tests that\n"
      "showed them ('heddle run --save').\n",
      report_options, 1, MANY, OPTIONS_ANYWHERE, cmd_report },
    { "explain", "TRACE|RESULT.json RACE", "show one race in full",
      "Shows the two accesses, why nothing orders them, how certain that is, and the schedule\n"
      "step by step. RACE is an id, the beginning of one, or a number in the report.\n",
      explain_options, 2, 2, OPTIONS_ANYWHERE, cmd_explain },
    { "confirm", "[RACE...] [-- PROG ARGS...]", "make races happen on the real program",
      "Runs the program again as it was recorded, without building it anew, and holds its threads\n"
      "up so that two of them stand before the race's accesses at the same time. RACE is a race's\n"
      "id, the start of it, or its number in the report; without one, all are tried. Exit code\n"
      "66: a race was confirmed; 0: none.\n",
      confirm_options, 0, MANY, OPTIONS_ANYWHERE, cmd_confirm },
    { "replay", "SCHEDULE -- PROG ARGS...", "can the race of a schedule still happen?",
      "Makes the race of a race.schedule ('heddle confirm --schedule') happen again in a program\n"
      "that may have been changed since. Exit code 66: it can still happen; 0: it could not be\n"
      "made to happen; 3: the schedule no longer applies, the code is gone or is not reached.\n",
      replay_options, 2, MANY, OPTIONS_ANYWHERE, cmd_replay },
    { "explore", "[--] PROG ARGS...", "run a program in other orders until it fails",
      "For bugs that are no race: an assertion, a crash, a deadlock, a hang. Runs the program, "
      "one\n"
      "thread at a time, sees in each run which other orders are possible, and tries the one that\n"
      "promises most. Stops at the first failure, repeats it, and prints the order. Exit code 66:\n"
      "it failed; 0: it did not.\n",
      explore_options, 1, MANY, OPTIONS_FIRST, cmd_explore },
    { "gdb", "RESULT.json RACE", "write breakpoints for a race",
      "Writes a gdb script with a breakpoint at each of the two accesses; a thread that reaches "
      "one\n"
      "waits there while the others run on. RACE is an id, the beginning of one, or a number in\n"
      "the report.\n",
      gdb_options, 2, 2, OPTIONS_ANYWHERE, cmd_gdb },
    { "diff", "OLD.json NEW.json", "compare two results",
      "Says which races and deadlocks are new, gone, or in both, by their ids. New ones are shown\n"
      "in full. Exit code 66: there are new ones; 0: there are none.\n",
      diff_options, 2, 2, OPTIONS_ANYWHERE, cmd_diff },
    { "suppress", "RESULT.json RACE...", "print rules that suppress races",
      "Prints a rule for each race, for a file that '--suppressions' takes. RACE is an id, the\n"
      "beginning of one, or a number in the report.\n",
      plain_options, 2, MANY, OPTIONS_ANYWHERE, cmd_suppress },
    { "verify", "TRACE RESULT.json", "check the schedules of a result independently",
      "Gives every proof in the result, schedules and observed races, to the witness checker,\n"
      "which shares no code with the engines. Exit code 0: all accepted; 2: one refused, or the\n"
      "result does not belong to the trace.\n",
      verify_options, 2, 2, OPTIONS_ANYWHERE, cmd_verify },
    { "info", "TRACE", "describe a trace",
      "Counts events by operation, threads, variables, locks and sites, and says what was lost\n"
      "or repaired.\n",
      info_options, 1, 1, OPTIONS_ANYWHERE, cmd_info },
    { "dump", "TRACE", "print the events of a trace",
      "Prints one event per line: its position, then the event in the text format.\n", dump_options,
      1, 1, OPTIONS_ANYWHERE, cmd_dump },
    { "check", "TRACE", "validate a trace",
      "Reads all of it and prints whatever is odd, with its position. Exit code 0: nothing\n"
      "impossible and nothing lost; 2: otherwise.\n",
      plain_options, 1, 1, OPTIONS_ANYWHERE, cmd_check },
    { "convert", "IN OUT", "write a trace in another format",
      "The name of OUT determines the format: .hdl, .std, .std.gz, .std.zst; to exchange traces\n"
      "with tools of the literature .rr (RoadRunner), .csv (SSHB prototype), .rvp (RV-Predict);\n"
      "'-' is text on standard output. OUT appears only when it is complete. What the format\n"
      "cannot express is counted.\n",
      convert_options, 2, 2, OPTIONS_ANYWHERE, cmd_convert },
    { "doctor", "", "check that recording works here",
      "Checks the compiler, the plugin, the runtime and the limits of this system by building,\n"
      "recording and analysing a small racy program. Exit code 0: all is well; 2: otherwise.\n",
      doctor_options, 0, 0, OPTIONS_ANYWHERE, cmd_doctor },
    { "completion", "bash|zsh|fish", "print a completion script for a shell",
      "Prints a script that completes commands, options and their values in the given shell.\n",
      plain_options, 1, 1, OPTIONS_ANYWHERE, cmd_completion },
    { "help", "[COMMAND]", "print help",
      "Prints the list of commands, or the options of one of them.\n", plain_options, 0, 1,
      OPTIONS_ANYWHERE, cmd_help },
    { "version", "", "print the version", "Prints the version.\n", plain_options, 0, 0,
      OPTIONS_ANYWHERE, cmd_version },
    { NULL, NULL, NULL, NULL, NULL, 0, 0, OPTIONS_ANYWHERE, NULL },
};

const struct command *command_find(const char *name)
{
    for (const struct command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}
