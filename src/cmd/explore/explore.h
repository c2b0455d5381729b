/* explore.h - what `heddle explore` knows of its runs (docs/design/explore.md)
 *
 * explore.c is the command: it runs the program again and again until it fails. explore_run.c runs
 * it once; explore_learn.c reads the log of a run and says which other orders are possible and new,
 * explore_next.c which of them comes next;
 * explore_show.c prints what failed and how; explore_file.c reads and writes schedules.
 */
#ifndef HEDDLE_CMD_EXPLORE_EXPLORE_H
#define HEDDLE_CMD_EXPLORE_EXPLORE_H

#include "base/buf.h"
#include "base/error.h"
#include "abi/rt_explore.h"
#include "cmd/options.h"
#include "symbol/linked.h"
#include "symbol/symbol.h"

/* Who runs for how many steps, and who goes on behind that. */
struct schedule {
    struct explore_segment *segments; /* owned */
    size_t count, cap;
    uint32_t policy; /* enum explore_policy */
    uint64_t seed, length;
    uint32_t depth;
};
void schedule_add(struct schedule *s, uint64_t thread, uint32_t steps);
void schedule_release(struct schedule *s);

enum outcome { PASSED, EXITED, SIGNALLED, DEADLOCKED, LIVELOCKED, HUNG, SANITIZED, OUTCOMES };
extern const char *const outcome_names[OUTCOMES];

/* One run, and its log. */
struct explored {
    enum outcome outcome;
    int code; /* exit code, or the signal */
    double seconds;
    struct explore_done *done; /* owned */
    struct explore_step *steps;
    size_t nsteps;
    char *output;               /* owned: the end of what it wrote */
    struct symbolizer *symbols; /* owned; may be NULL */
};
void explored_release(struct explored *e);

struct explore_job {
    const struct options *options;
    char **argv;   /* borrowed */
    char *scratch; /* owned: a directory */
    uint64_t limit_ns;
    bool any_code;      /* which exit codes are failures: all but 0, */
    uint8_t codes[256]; /* or these */
    uint64_t quiet[EXPLORE_QUIET_WORDS];
    struct linked files; /* where sites are explained */
    bool has_files;
};

/* 0, or the exit code after a message. */
int explore_run_once(const struct explore_job *job, const struct schedule *s, struct explored *e);

/* What it did, as a schedule that repeats it. */
void explored_schedule(const struct explored *e, struct schedule *s);

/* ---- explore_next.c, explore_learn.c ---- */

struct explorer;
struct explorer *explorer_new(void);
void explorer_free(struct explorer *x);
/* What a run shows: other orders. `depth`: decisions away from a first run. */
void explorer_learn(struct explorer *x, const struct explored *e);
/* The best order that was not tried; false: there is none. The caller owns it. `why` is one of the
 * explorer's, until the next call. */
bool explorer_next(struct explorer *x, struct schedule *s, const char **why);
/* Runs that were equivalent to one before, and orders that were left out for it. */
void explorer_counts(const struct explorer *x, uint64_t *classes, uint64_t *same,
                     uint64_t *waiting);
/* Sites that only touched memory that no other thread did. */
void explorer_quiet(const struct explored *e, uint64_t *quiet);

/* ---- explore_show.c ---- */

/* "write of counter at x.c:3:5 in f". */
void explore_phrase(struct buf *out, const struct explore_job *job, const struct explored *e,
                    const struct explore_step *s);
void explore_place(struct buf *out, const struct explore_job *job, const struct explored *e,
                   const struct explore_step *s);
void explore_failure(struct buf *out, const struct explored *e);
void explore_show(const struct explore_job *job, const struct explored *e, FILE *out);

/* ---- explore_file.c ---- */

int schedule_write(const struct schedule *s, const struct explore_job *job,
                   const struct explored *e, const char *path);
int schedule_read(struct schedule *s, const char *path, struct error *err);

#endif
