/* confirm_outcomes.h - what the two orders of a race's accesses do to the program
 *
 *     outcomes_collect(&o, run, c, 5)     runs the program for each order
 *
 * An outcome is what a user would see: how the program ended, what a sanitizer or an assertion
 * said, its output. Equal ones are counted.
 */
#ifndef HEDDLE_CMD_CONFIRM_CONFIRM_OUTCOMES_H
#define HEDDLE_CMD_CONFIRM_CONFIRM_OUTCOMES_H

#include "cmd/confirm/confirm.h"

/* From the least to the worst, as reports are sorted. */
enum outcome_rank { OUTCOME_SAME, OUTCOME_OUTPUT, OUTCOME_EXIT, OUTCOME_HANG, OUTCOME_CRASH };

struct outcome {
    char *text; /* owned: "exit 0", "SIGSEGV in free() at x.c:12" */
    enum outcome_rank rank;
    unsigned count;
};

enum { OUTCOME_ORDERS = 4, OUTCOME_KINDS = 8 };
struct order_outcomes {
    unsigned first;  /* the side that goes first */
    bool mixed;      /* the other one sees what is old or half old */
    unsigned runs;   /* that the order was asked for, */
    unsigned shown;  /* and that it came about */
    unsigned others; /* outcomes beyond OUTCOME_KINDS */
    struct outcome seen[OUTCOME_KINDS];
    size_t nseen;
    uint64_t output;    /* of all its runs, if they agree */
    bool outputs_agree; /* do they? */
    char *line;         /* owned: the output's first line that other orders do not have, or NULL */
    double seconds;     /* the median */
};

struct outcomes {
    struct order_outcomes order[OUTCOME_ORDERS];
    size_t count;
    enum outcome_rank rank; /* of what differs, or is no clean end */
    bool differs;           /* the orders do not all end alike */
};

int outcomes_collect(struct outcomes *o, const struct confirm_run *run,
                     const struct confirmation *c, unsigned runs);
void outcomes_free(struct outcomes *o); /* NULL is fine */

/* "write at x.c:3:4 before read at x.c:9:1", and for a mixed order what the second sees. */
struct buf;
void outcomes_name_order(const struct order_outcomes *o, const struct finding *race, struct buf *b);
const char *outcome_rank_name(enum outcome_rank r);

#endif
