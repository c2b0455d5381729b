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
      "how to write the result",                                                                   \
      "text" }
#define PLAIN_FORMAT                                                                               \
    { OPT_FORMAT, "format", 'f', KIND_CHOICE, "text|json", "how to write it", "text" }
#define OUTPUT                                                                                     \
    { OPT_OUTPUT, "output", 'o',                                                                   \
      KIND_TEXT,  "FILE",   "write there, complete or not at all (default: standard output)",      \
      NULL }
#define QUIET { OPT_QUIET, "quiet", 'q', KIND_FLAG, NULL, "no warnings and no progress", NULL }
/* Without it the cascade runs (pipeline.c). */
#define ENGINE                                                                                     \
    { OPT_ENGINE, "engine",   'e',                                                                 \
      KIND_TEXT,  "LIST|all", "engines to run, separated by commas (default: the cascade)",        \
      NULL }
/* What engines leave open after the pass over the trace may take long. A minute is the
 * patience of somebody who waits; all that stays undecided is counted. */
#define EFFORT                                                                                     \
    { OPT_EFFORT, "effort",                                                                        \
      0,          KIND_TEXT,                                                                       \
      "LEVEL",    "quick, normal, thorough or seconds of work, for what cheap engines leave open", \
      "normal" }
/* Somebody who runs a program waits for as long as it runs, and a bit. */
#define EFFORT_AUTO                                                                                \
    { OPT_EFFORT, "effort", 0,                                                                     \
      KIND_TEXT,  "LEVEL",  "auto (a quarter of the run, a second at least), or as for analyze",   \
      "auto" }
/* Of the gist (engines/gist.h); the passes over the trace take what they need. */
#define MEMORY(most)                                                                               \
    { OPT_MEMORY,  "memory", 0,                                                                    \
      KIND_NUMBER, "BYTES",  "rough limit on memory for prediction; 0: none",                      \
      most }
#define JOBS                                                                                       \
    { OPT_JOBS, "jobs", 'j', KIND_NUMBER, "N", "threads to use (default: one per processor)", NULL }
#define WINDOW                                                                                     \
    { OPT_WINDOW,  "window", 0,                                                                    \
      KIND_NUMBER, "N",      "mc, rdit, sb, cp: look at N events at a time; 0: at all",            \
      "0" }
/* 100 to 250 bytes an event. */
#define PART                                                                                       \
    {                                                                                              \
        OPT_PART, "part",                                                                          \
        0,        KIND_NUMBER,                                                                     \
        "N",      "long traces: events to hold in memory at a time (default: 16 million)",         \
        NULL                                                                                       \
    }
#define SOUND                                                                                      \
    { OPT_SOUND, "sound", 0,                                                                       \
      KIND_FLAG, NULL,    "cp, wcp: order a reported pair from there on (default)",                \
      NULL }
#define ALL                                                                                        \
    { OPT_ALL, "all", 0, KIND_FLAG, NULL, "cp, wcp: list every pair they leave unordered", NULL }
/* Z3 is the second opinion, for tests and doubts; it is some 1,000 times slower. */
#define SOLVER                                                                                     \
    { OPT_SOLVER, "solver", 0, KIND_CHOICE, "own|z3", "who decides what can be reordered", "own" }
#define ANALYSIS ENGINE, SOLVER, JOBS, SOUND, ALL, WINDOW, PART, MAX_WITNESS, NO_WITNESS, EXCLUDE
/* What a program that is built with less looks like: its functions become untraced code. */
#define EXCLUDE                                                                                    \
    { OPT_EXCLUDE, "exclude", 'x',                                                                 \
      KIND_LIST,   "GLOB",    "leave out functions, src:FILES, lib:LIBRARIES (repeatable)",        \
      NULL },                                                                                      \
    {                                                                                              \
        OPT_EXCLUDE_FROM, "exclude-from", 0, KIND_LIST, "FILE",                                    \
            "the same, patterns from a file, one a line (repeatable)", NULL                        \
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
      "keep no schedules (they are checked all the same)",                                         \
      NULL }
/* Waiting for the writer keeps every access; a program that must not be held up loses some. */
#define RECORDING                                                                                  \
    {                                                                                              \
        OPT_NO_FILTER, "no-filter", 0,                                                             \
        KIND_FLAG,     NULL,        "also record accesses that cannot add a race",                 \
        NULL                                                                                       \
    },                                                                                             \
        { OPT_LOSE,  "lose", 0,                                                                    \
          KIND_FLAG, NULL,   "lose accesses (counted) rather than wait for the writer",            \
          NULL },                                                                                  \
        { OPT_MAX_SIZE, "max-size", 0,                                                             \
          KIND_NUMBER,  "BYTES",    "stop recording when a trace is so big; k, m, g work",         \
          NULL },                                                                                  \
        { OPT_LAST,  "last",      0,                                                               \
          KIND_TEXT, "TIME|SIZE", "keep only the end of the recording: 60s, 2h, 500m, 2g",         \
          NULL },                                                                                  \
        { OPT_STOPPED, "stopped", 0,                                                               \
          KIND_FLAG,   NULL,      "record no accesses until 'heddle ctl PID start'",               \
          NULL },                                                                                  \
        { OPT_EXIT_WAIT,                                                                           \
          "exit-wait",                                                                             \
          0,                                                                                       \
          KIND_NUMBER,                                                                             \
          "MS",                                                                                    \
          "how long threads that still run at the program's end may go on",                        \
          "1000" },                                                                                \
        { OPT_MAX_MEMORY,                                                                          \
          "max-memory",                                                                            \
          0,                                                                                       \
          KIND_NUMBER,                                                                             \
          "BYTES",                                                                                 \
          "memory for events on their way to the writer",                                          \
          NULL },                                                                                  \
        { OPT_CALLS,                                                                               \
          "calls",                                                                                 \
          0,                                                                                       \
          KIND_CHOICE,                                                                             \
          "once|exact|none",                                                                       \
          "calls of untraced code: what they can reach, logged once or at each call",              \
          "once" },                                                                                \
        { OPT_GLOBALS, "globals",                                                                  \
          0,           KIND_TEXT,                                                                  \
          "FILE",      "lines FUNCTION-GLOB: VARIABLE: what such untraced functions touch, too",   \
          NULL },                                                                                  \
        { OPT_SHARED, "shared", 0, KIND_FLAG, NULL, "let the umask say who may read the traces",   \
          NULL },                                                                                  \
    {                                                                                              \
        OPT_NO_CHILDREN, "no-children", 0, KIND_FLAG, NULL,                                        \
            "do not record the processes it starts", NULL                                          \
    }
#define VERBOSE                                                                                    \
    { OPT_VERBOSE, "verbose", 'v', KIND_FLAG, NULL, "say at the end what was recorded", NULL }
#define NOISE                                                                                      \
    { OPT_SUPPRESSIONS,                                                                            \
      "suppressions",                                                                              \
      0,                                                                                           \
      KIND_LIST,                                                                                   \
      "FILE",                                                                                      \
      "leave out what a rule of the file matches (repeatable)",                                    \
      NULL },                                                                                      \
    {                                                                                              \
        OPT_BASELINE, "baseline", 0, KIND_TEXT, "RESULT.json",                                     \
            "leave out races that this result has", NULL                                           \
    }
/* What is not certain stops no build unless asked to. */
#define FAIL_ON                                                                                    \
    { OPT_FAIL_ON,                                                                                 \
      "fail-on",                                                                                   \
      0,                                                                                           \
      KIND_CHOICE,                                                                                 \
      "confirmed|witnessed|observed|guaranteed|maybe|potential",                                   \
      "the weakest strength that counts for the exit code",                                        \
      "guaranteed" }
#define MPI                                                                                        \
    { OPT_MPI, "mpi", 0, KIND_FLAG, NULL, "decide with the processes that mpirun starts", NULL }
#define END { 0 }

static const struct option_def record_options[] = {
    { OPT_OUTPUT, "output", 'o', KIND_TEXT, "DIR", "for the traces; %p is the program's pid",
      "heddle.data" },
    RECORDING,
    { OPT_ONLY_SITES, "only-sites", 0, KIND_TEXT, "FILE",
      "record plain accesses at these sites only: a list, or a state of caper", NULL },
    VERBOSE,
    HELP,
    END
};
static const struct option_def ctl_options[] = {
    { OPT_OUTPUT, "output", 'o', KIND_TEXT, "FILE",
      "snapshot: the copy (default: PID-snapshot.hdl here)", NULL },
    HELP,
    END
};
static const struct option_def run_options[] = {
    { OPT_TRACE, "trace", 0, KIND_TEXT, "DIR", "for the traces; %p is the program's pid",
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
      "the report, complete or not at all (default: standard error)", NULL },
    { OPT_SAVE, "save", 0, KIND_TEXT, "FILE|DIR/",
      "also write the result as JSON, in DIR/ with a name of its own", NULL },
    { OPT_TEST, "test", 0, KIND_TEXT, "NAME",
      "the test that this run is, for 'heddle report' (default: the command, with --save)", NULL },
    { OPT_ERROR_EXITCODE, "error-exitcode", 0, KIND_NUMBER, "N", "exit code where races are found",
      "66" },
    FAIL_ON,
    QUIET,
    HELP,
    END
};
/* What the commands that watch one pair in a production build share. */
#define PAIR                                                                                       \
    { OPT_PAIR,  "pair",  'p',                                                                     \
      KIND_TEXT, "S1,S2", "the sites: FILE:LINE[:COLUMN] or MODULE:N each, or RESULT.json#RACE",   \
      NULL },                                                                                      \
    {                                                                                              \
        OPT_OBJECT, "object", 0, KIND_LIST, "FILE",                                                \
            "where sites are, too: what a script runs, what is loaded later (repeatable)", NULL    \
    }
#define WATCHING                                                                                   \
    NOISE, FORMAT,                                                                                 \
        { OPT_OUTPUT, "output", 'o',                                                               \
          KIND_TEXT,  "FILE",   "the report, complete or not at all (default: standard error)",    \
          NULL },                                                                                  \
        { OPT_ERROR_EXITCODE,                                                                      \
          "error-exitcode",                                                                        \
          0,                                                                                       \
          KIND_NUMBER,                                                                             \
          "N",                                                                                     \
          "exit code where the race is found",                                                     \
          "66" },                                                                                  \
        { OPT_VERBOSE, "verbose", 'v', KIND_FLAG, NULL, "say at once what is seen", NULL },        \
        { OPT_QUIET, "quiet", 'q', KIND_FLAG, NULL, "without effect", NULL }, HELP, END
static const struct option_def chase_options[] = {
    PAIR,
    { OPT_MAX_OVERHEAD, "max-overhead", 0, KIND_TEXT, "PERCENT",
      "most of the time in which threads may wait", "5%" },
    { OPT_DELAY, "delay", 0, KIND_TEXT, "TIME", "how long a thread waits before S1", "10ms" },
    { OPT_MIN_TIME, "min-time", 0, KIND_TEXT, "TIME",
      "how long the program runs at least: what it may spend early", "1s" },
    { OPT_BOTH_ORDERS, "both-orders", 0, KIND_FLAG, NULL,
      "also wait before S2 for others to come to S1", NULL },
    { OPT_SEED, "seed", 0, KIND_NUMBER, "N", "of the sampling; 0: by the time", "0" },
    { OPT_PID, "pid", 0, KIND_NUMBER, "PID", "give this process, which runs, another pair", NULL },
    { OPT_STOP, "stop", 0, KIND_FLAG, NULL, "with --pid: no pair any more", NULL },
    WATCHING
};
static const struct option_def hb_options[] = { PAIR, WATCHING };
static const struct option_def static_options[] = {
    { OPT_FORMAT, "format", 'f', KIND_CHOICE, "text|json|sites",
      "how to write it; sites: what caper reads", "text" },
    OUTPUT,
    { OPT_LOCKSET, "lockset", 0, KIND_FLAG, NULL,
      "leave out pairs that hold a common lock (not sound)", NULL },
    { OPT_SUMMARY, "summary", 0, KIND_FLAG, NULL, "only counts", NULL },
    { OPT_LIBRARY, "library", 'l', KIND_LIST, "FILE",
      "also analyse this library, which is loaded at run time (repeatable)", NULL },
    { OPT_NO_LIBRARIES, "no-libraries", 0, KIND_FLAG, NULL,
      "only the program itself: its libraries are untraced code", NULL },
    QUIET,
    HELP,
    END
};
static const struct option_def caper_options[] = {
    { OPT_STATE, "state", 's', KIND_TEXT, "FILE", "what is known after all runs; made if need be",
      NULL },
    { OPT_STATIC, "static", 0, KIND_TEXT, "FILE",
      "statically possible pairs ('heddle static --format sites'; default: computed)", NULL },
    { OPT_MAX_OVERHEAD, "max-overhead", 0, KIND_TEXT, "PERCENT",
      "of CPU time for watching; hotter sites are assumed to be escaped (0%: no bound)", "5%" },
    { OPT_ALL_SITES, "all-sites", 0, KIND_FLAG, NULL,
      "watch every access, not only those in static pairs", NULL },
    { OPT_COUNT_ALL, "count", 0, KIND_FLAG, NULL,
      "count all accesses, for the share that the pairs cover (slow)", NULL },
    { OPT_SHOW, "show", 0, KIND_FLAG, NULL, "print the state, run nothing", NULL },
    { OPT_ALL, "all", 0, KIND_FLAG, NULL, "print the static pairs that were not seen, too", NULL },
    { OPT_LIST, "list", 0, KIND_NUMBER, "N", "print at most so many pairs of each set", "1000" },
    PLAIN_FORMAT,
    { OPT_OUTPUT, "output", 'o', KIND_TEXT, "FILE",
      "the state after the run; with --show instead of standard output", NULL },
    { OPT_QUIET, "quiet", 'q', KIND_FLAG, NULL, "no summary", NULL },
    HELP,
    END
};
static const struct option_def fleet_options[] = {
    { OPT_STORE, "store", 0, KIND_TEXT, "FILE|URL",
      "the store: a file, or postgres://... (default: $HEDDLE_FLEET_STORE, else heddle-fleet.db)",
      NULL },
    { OPT_SPOOL, "spool", 0, KIND_TEXT, "DIR",
      "where results wait for the store (default: beside it)", NULL },
    { OPT_MAX_OVERHEAD, "max-overhead", 0, KIND_TEXT, "PERCENT",
      "run: most of the time in which threads may wait, of CPU time for watching", "5%" },
    { OPT_DELAY, "delay", 0, KIND_TEXT, "TIME,...",
      "run: how long a thread waits, by the tries of a pair", "10ms,30ms" },
    { OPT_MIN_TIME, "min-time", 0, KIND_TEXT, "TIME",
      "run: how long the program runs at least: what it may wait early", "1s" },
    { OPT_WAIT, "wait", 0, KIND_TEXT, "TIME",
      "run: how long the program may wait to be told what to do", "700ms" },
    { OPT_LEASE, "lease", 0, KIND_NUMBER, "SECONDS",
      "run: when a run that says nothing any more is given up", "600" },
    { OPT_LISTEN, "listen", 0, KIND_TEXT, "ADDRESS:PORT", "serve: where", "127.0.0.1:8417" },
    NOISE,
    FORMAT,
    OUTPUT,
    { OPT_VERBOSE, "verbose", 'v', KIND_FLAG, NULL, "run: say what is done", NULL },
    { OPT_QUIET, "quiet", 'q', KIND_FLAG, NULL, "import: do not say how many", NULL },
    HELP,
    END
};
static const struct option_def alias_options[] = {
    { OPT_COUNT_ALL, "count", 0, KIND_FLAG, NULL,
      "count all accesses, for the share that the pairs cover", NULL },
    PLAIN_FORMAT,
    { OPT_OUTPUT, "output", 'o', KIND_TEXT, "FILE",
      "the pairs, complete or not at all (default: standard error)", NULL },
    HELP,
    END
};
static const struct option_def no_options[] = { END };
static const struct option_def doctor_options[] = {
    { OPT_KEEP, "keep", 0, KIND_FLAG, NULL, "keep the directory of the trial program", NULL },
    HELP,
    END
};

static const struct option_def analyze_options[] = { EFFORT, MEMORY("0"), ANALYSIS, MPI,
                                                     NOISE,  FORMAT,      FAIL_ON,  OUTPUT,
                                                     QUIET,  HELP,        END };
static const struct option_def report_options[] = { EFFORT,  MEMORY("0"), ANALYSIS, NOISE, FORMAT,
                                                    FAIL_ON, OUTPUT,      QUIET,    HELP,  END };
static const struct option_def explain_options[] = {
    { OPT_FULL, "full", 0, KIND_FLAG, NULL, "every step of the schedule, however many", NULL },
    EFFORT,
    MEMORY("0"),
    ANALYSIS,
    QUIET,
    HELP,
    END
};
static const struct option_def gdb_options[] = { OUTPUT, HELP, END };
static const struct option_def diff_options[] = { PLAIN_FORMAT, FAIL_ON, OUTPUT, HELP, END };
static const struct option_def info_options[] = { PLAIN_FORMAT, HELP, END };
static const struct option_def dump_options[] = {
    { OPT_FROM, "from", 0, KIND_NUMBER, "N", "position of the first event to print", "0" },
    { OPT_COUNT, "count", 'n', KIND_NUMBER, "N", "print so many events (default: all)", NULL },
    { OPT_THREAD, "thread", 't', KIND_TEXT, "NAME", "only events of this thread", NULL },
    { OPT_EXPRESSIONS, "expressions", 0, KIND_FLAG, NULL,
      "full recordings: what values were computed from", NULL },
    EXCLUDE,
    HELP,
    END
};
static const struct option_def convert_options[] = {
    { OPT_COMPRESSION, "compression", 0, KIND_CHOICE, "zstd|lz4|none", "of an .hdl file", "zstd" },
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
      "Runs the program, which was built with heddle-cc, records it and all processes it\n"
      "starts, and reports the races on standard error. Its streams are its own, and where no\n"
      "race was found its exit code is ours. Code that was not built with heddle-cc is named.\n",
      run_options, 1, MANY, OPTIONS_FIRST, cmd_run },
    { "record", "[--] PROG ARGS...", "run a program and record it",
      "Runs the program and leaves a trace for each of its processes, DIR/PID.hdl, for\n"
      "'heddle analyze DIR'. Traces of an earlier run in DIR are removed, nothing else. The\n"
      "program's streams and its exit code are passed through; 128 and more: a signal ended it.\n",
      record_options, 1, MANY, OPTIONS_FIRST, cmd_record },
    { "ctl", "PID status|start|stop|snapshot", "ask about a recording that is running, or stop it",
      "PID is a program that 'heddle record' or 'heddle run' has started, or one of its "
      "processes.\n"
      "status says how its recording is and prints the happens-before races in what is kept of "
      "it.\n"
      "snapshot copies that, as a complete trace for 'heddle analyze'. stop: accesses are not\n"
      "recorded until start; synchronisation is, so that what is recorded later is in order.\n",
      ctl_options, 2, 2, 0, cmd_ctl },
    { "chase", "[--] PROG ARGS...", "catch a race of two sites in the act, within a budget",
      "Runs a program that was built with 'heddle-cc --production'. A thread about to execute S1\n"
      "waits now and then; one that comes to S2 meanwhile, to the same memory, shows a race, "
      "which\n"
      "is reported with both stacks. The program's streams and exit code are its own, as with "
      "'run'.\n",
      chase_options, 0, MANY, OPTIONS_FIRST, cmd_chase },
    { "litehb", "[--] PROG ARGS...", "watch two sites by happens-before, from S1 on",
      "Like 'chase' without waiting: follows the program's synchronisation while an access at S1\n"
      "may still race, and reports S2 where nothing orders it after S1. Without a bound on its "
      "cost.\n",
      hb_options, 0, MANY, OPTIONS_FIRST, cmd_litehb },
    { "fullhb", "[--] PROG ARGS...", "watch two sites by happens-before, all the time",
      "Like 'litehb', in both orders, following the program's synchronisation from start to end.\n",
      hb_options, 0, MANY, OPTIONS_FIRST, cmd_fullhb },
    { "caper", "[--] PROG ARGS...",
      "collect all pairs of sites that may have raced, over many runs",
      "Runs a program that was built with 'heddle-cc --production' and adds to the state which "
      "sites\n"
      "have accessed objects that other threads could reach. A pair of such sites, if it is "
      "statically\n"
      "possible, is dynamically possible: every race of the runs is among these, under the "
      "assumptions of\n"
      "the manual page. Runs may be many at a time, and may be killed: nothing that was seen is "
      "lost. The\n"
      "program's exit code is passed through.\n",
      caper_options, 0, MANY, OPTIONS_FIRST, cmd_caper },
    { "static", "PROG", "list the pairs of sites that may race, without running the program",
      "Analyses the code inside an instrumented program and its instrumented libraries: which\n"
      "accesses may touch the same memory in two threads at the same time, one writing. Every\n"
      "race that can happen is among these pairs, under the assumptions of the manual page.\n",
      static_options, 1, 1, OPTIONS_ANYWHERE, cmd_static },
    { "fleet", "run|status|races|serve|init|import|export|check ...",
      "find races over many runs of production builds",
      "fleet run [--] PROG ARGS...  ask the store what this run should do (caper, or chase which\n"
      "                             pair), do it, put the result back; streams and exit code are\n"
      "                             the program's own\n"
      "fleet status [PROGRAM]       pairs: static, possible, chased, confirmed (--format json)\n"
      "fleet races [PROGRAM]        the confirmed races; exit code 66 where there are any\n"
      "fleet serve                  the same as a page\n"
      "fleet init [PROG]            make the store; make the pairs of a program now\n"
      "fleet export, import FILE... all results, one a line: to merge stores\n"
      "fleet check                  is the store whole? Puts what waits in the spool\n",
      fleet_options, 1, MANY, OPTIONS_AFTER_WORD, cmd_fleet },
    { "alias", "[--] PROG ARGS...", "list pairs of sites that two threads used on the same memory",
      "Runs a program that was built with 'heddle-cc --production' and watches every access: two "
      "sites\n"
      "are a pair if two threads touched the same bytes by them, one writing. The precise and "
      "slow\n"
      "comparison for 'caper'. The program's exit code is passed through.\n",
      alias_options, 1, MANY, OPTIONS_FIRST, cmd_alias },
    { "cc", "ARGS...", "compile C for recording", "Runs heddle-cc with these arguments.\n",
      no_options, 0, MANY, OPTIONS_NONE, cmd_cc },
    { "c++", "ARGS...", "compile C++ for recording", "Runs heddle-c++ with these arguments.\n",
      no_options, 0, MANY, OPTIONS_NONE, cmd_cc },
    { "analyze", "TRACE", "find races in a trace",
      "Runs engines over the trace and reports the races they find: one per pair of\n"
      "locations, each with its strength and, where there is one, a schedule that makes\n"
      "it happen. TRACE is a recorded trace (.hdl file or its directory) or a text trace;\n"
      "'-' is standard input. Ctrl-C stops the analysis and reports what was found so far.\n",
      analyze_options, 1, 1, OPTIONS_ANYWHERE, cmd_analyze },
    { "report", "TRACE|RESULT.json...", "render results again",
      "Renders a result that 'heddle analyze --format json' wrote, without the trace. A\n"
      "trace is analysed first. Several results become one, whose races name the tests\n"
      "that showed them ('heddle run --save').\n",
      report_options, 1, MANY, OPTIONS_ANYWHERE, cmd_report },
    { "explain", "TRACE|RESULT.json RACE", "show one race in full",
      "Shows the two accesses, why nothing orders them, how sure that is, and the schedule\n"
      "step by step. RACE is the race's id, the start of it, or its number in the report.\n",
      explain_options, 2, 2, OPTIONS_ANYWHERE, cmd_explain },
    { "gdb", "RESULT.json RACE", "write breakpoints for a race",
      "Writes a script for gdb with a breakpoint at each of the two accesses; threads that reach\n"
      "one wait there while the others run on. RACE is the race's id, the start of it, or its\n"
      "number in the report.\n",
      gdb_options, 2, 2, OPTIONS_ANYWHERE, cmd_gdb },
    { "diff", "OLD.json NEW.json", "compare two results",
      "Says which races and deadlocks are new, which are gone, and which are in both, by their\n"
      "ids. The new ones are shown in full. Exit code 66: there are new ones; 0: none.\n",
      diff_options, 2, 2, OPTIONS_ANYWHERE, cmd_diff },
    { "suppress", "RESULT.json RACE...", "print rules that suppress races",
      "Prints a rule for each race, for a file that '--suppressions' takes. RACE is the race's\n"
      "id, the start of it, or its number in the report.\n",
      plain_options, 2, MANY, OPTIONS_ANYWHERE, cmd_suppress },
    { "verify", "TRACE RESULT.json", "check the schedules of a result independently",
      "Gives every proof of the result, schedules and observed races, to the witness checker,\n"
      "which uses no code of the engines. Exit code 0: none refused; 2: one is refused, or the\n"
      "result does not belong to the trace.\n",
      verify_options, 2, 2, OPTIONS_ANYWHERE, cmd_verify },
    { "info", "TRACE", "say what a trace holds",
      "Counts events by operation, threads, variables, locks and sites, and says what was\n"
      "lost or repaired.\n",
      info_options, 1, 1, OPTIONS_ANYWHERE, cmd_info },
    { "dump", "TRACE", "print the events of a trace",
      "Prints one event a line: its position, then the event as the text format has it.\n",
      dump_options, 1, 1, OPTIONS_ANYWHERE, cmd_dump },
    { "check", "TRACE", "validate a trace",
      "Reads everything and prints what is odd, with its position. Exit code 0: nothing\n"
      "impossible and nothing lost; 2: otherwise.\n",
      plain_options, 1, 1, OPTIONS_ANYWHERE, cmd_check },
    { "convert", "IN OUT", "write a trace in another format",
      "The name of OUT says the format: .hdl, .std, .std.gz, .std.zst, .rr (RoadRunner),\n"
      ".csv (SSHB prototype), .rvp (RV-Predict); '-' is text on standard output. OUT appears\n"
      "only when it is complete. What the format cannot express is counted.\n",
      convert_options, 2, 2, OPTIONS_ANYWHERE, cmd_convert },
    { "doctor", "", "check that recording works here",
      "Checks the compiler, the plugin, the runtime and the limits of this system by building,\n"
      "recording and analysing a small racy program. Exit code 0: all well; 2: otherwise.\n",
      doctor_options, 0, 0, OPTIONS_ANYWHERE, cmd_doctor },
    { "completion", "bash|zsh|fish", "print a completion script for a shell",
      "Prints a script that completes commands, options and their values in this shell.\n",
      plain_options, 1, 1, OPTIONS_ANYWHERE, cmd_completion },
    { "help", "[COMMAND]", "print help", "Prints the commands, or the options of one of them.\n",
      plain_options, 0, 1, OPTIONS_ANYWHERE, cmd_help },
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
