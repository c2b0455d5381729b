/* schedule.h - the steps of a witness that matter most
 *
 * A short witness is shown as it is. Of a long one a report shows the last few steps of each of the
 * racing (or waiting) threads, and from the end backwards the steps where another thread takes
 * over (with the step before it), from its last SCHEDULE_FAR steps: nearly always from all of it.
 */
#ifndef HEDDLE_REPORT_SCHEDULE_H
#define HEDDLE_REPORT_SCHEDULE_H

#include "report/findings.h"
#include "report/steps.h"

enum {
    SCHEDULE_TAIL = 64,    /* how far back the choice looks at least */
    SCHEDULE_FAR = 20000,  /* at most: a step is 32 bytes, and its text */
    SCHEDULE_ALL = 100000, /* of all schedules together; beyond that SCHEDULE_TAIL of each */
    SCHEDULE_EACH = 5,     /* last steps of each racing thread: lock, access, and what led there */
    SCHEDULE_SHOWN = 20    /* about this many steps in all: two races a screen */
};

struct schedule_choice {
    const struct schedule_step *steps;
    size_t count;
    uint64_t switches; /* in the whole schedule; 0: not known */
};

/* `room` is SCHEDULE_ALL at first. */
void schedule_want(const uint64_t *witness, size_t n, struct steps *s, size_t *room);
/* The last `ends` steps are what the witness is about. Their number; 0: the steps are not there. */
size_t schedule_choose(struct findings *f, const uint64_t *witness, size_t n, size_t ends,
                       const struct steps *s, struct schedule_choice *chosen);

#endif
