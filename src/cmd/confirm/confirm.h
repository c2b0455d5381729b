/* confirm.h - what `heddle confirm` knows of a race it tries to make happen
 *
 * confirm.c chooses the races and counts the tries, confirm_run.c runs the program once under a
 * plan (confirm_plan.h), confirm_show.c says what came of it.
 */
#ifndef HEDDLE_CMD_CONFIRM_CONFIRM_H
#define HEDDLE_CMD_CONFIRM_CONFIRM_H

#include "abi/rt_steer.h"
#include "cmd/options.h"
#include "cmd/tracedir.h"
#include "report/findings.h"

enum verdict {
    VERDICT_NOT_MET,  /* nothing kept the two apart that we know of, and they did not meet */
    VERDICT_DIVERGED, /* the runs left the schedule */
    VERDICT_CONFIRMED,
    VERDICT_NOT_TRIED /* it cannot be asked for */
};
extern const char *const verdict_names[4]; /* as reports and JSON say it */

struct confirmation {
    const struct finding *race;
    char *trace;             /* owned: the file that its positions are in */
    struct steer_plan *plan; /* owned; of the first try */
    struct steer_plan *met;  /* owned, or NULL: of the try that confirmed it */
    enum verdict verdict;
    char *why;                 /* owned: where the verdict is no confirmation */
    unsigned tries;            /* runs of the program */
    double seconds;            /* of all of them */
    struct steer_done done;    /* of the try that confirmed it, else of the first */
    int code;                  /* the program's exit code in the last run, */
    bool timed_out;            /* which had to be ended, */
    char *crash;               /* owned, or NULL: or where a signal ended it, "f at x.c:12" */
    struct findings seen;      /* confirmed: the meeting as a race, with its stacks */
    struct outcomes *outcomes; /* owned, or NULL (confirm_outcomes.h) */
};

/* What is run; `directory` is for what the runs leave, and is emptied. */
struct confirm_run {
    const struct options *options;
    char **argv; /* borrowed */
    char *scratch;
    uint64_t patience_ns, budget_ns, limit_ns;
};

/* The times that the options and the recording's own say (confirm_setup.c), and a folder. 0, or the
 * exit code after a message; a run that was not opened may be closed if it is zeroed. */
int confirm_open(struct confirm_run *run, const struct options *o, char **argv,
                 uint64_t recorded_ns);
void confirm_close(struct confirm_run *run);
int confirm_times(struct confirm_run *run, const struct options *o); /* only checks and sets them */
void confirm_times_by(struct confirm_run *run, uint64_t recorded_ns);
uint64_t confirm_recorded_ns(const char *trace); /* how long a recording took; 0: not known */

/* Why a try did not meet; owned by the caller. And did it leave the schedule? */
char *confirm_reason(const struct steer_done *d);
bool confirm_diverged(const struct steer_done *d);

/* Record the program once without a plan, into the run's folder; the time that it took. */
int confirm_record(const struct confirm_run *run, struct tracedir *traces, uint64_t *ns);

/* Run the program under the plan: 0, or the exit code after a message. Fills done and code, and
 * `seen` where the race was met. */
int confirm_run_once(const struct confirm_run *run, const struct steer_plan *plan,
                     struct confirmation *c);

/* The race.schedule of a confirmed race; 0, or the exit code after a message (confirm_keep.c). */
int confirm_keep(const struct confirmation *c, FILE *out);

/* All of them, in the format that the options ask for. */
void confirm_show(const struct confirmation *c, size_t n, const struct options *o, FILE *out);

#endif
