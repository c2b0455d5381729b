/* confirm.h - what `heddle confirm` knows of a race it tries to make happen
 *
 * confirm.c chooses the races and counts the tries, confirm_run.c runs the program once under a
 * plan (confirm_plan.h), confirm_show.c says what came of it.
 */
#ifndef HEDDLE_CMD_CONFIRM_H
#define HEDDLE_CMD_CONFIRM_H

#include "base/rt_steer.h"
#include "cmd/options.h"
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
    struct steer_plan *plan; /* owned; of the first try */
    enum verdict verdict;
    char *why;              /* owned: where the verdict is no confirmation */
    unsigned tries;         /* runs of the program */
    double seconds;         /* of all of them */
    struct steer_done done; /* of the try that confirmed it, else of the first */
    int code;               /* the program's exit code then */
    struct findings seen;   /* confirmed: the meeting as a race, with its stacks */
};

/* What is run; `directory` is for what the runs leave, and is emptied. */
struct confirm_run {
    const struct options *options;
    char **argv; /* borrowed */
    char *scratch;
    uint64_t patience_ns, budget_ns, limit_ns;
};

/* Run the program under the plan: 0, or the exit code after a message. Fills done and code, and
 * `seen` where the race was met. */
int confirm_run_once(const struct confirm_run *run, const struct steer_plan *plan,
                     struct confirmation *c);

/* All of them, in the format that the options ask for. */
void confirm_show(const struct confirmation *c, size_t n, const struct options *o, FILE *out);

#endif
