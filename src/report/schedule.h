/* schedule.h - the steps of a witness that matter most
 *
 * A short witness is shown as it is. Of a long one a report shows, from its last
 * SCHEDULE_TAIL steps: the last few of each of the racing (or waiting) threads, and
 * each step where another thread takes over (with the step before it).
 */
#ifndef HEDDLE_REPORT_SCHEDULE_H
#define HEDDLE_REPORT_SCHEDULE_H

#include "report/findings.h"
#include "report/steps.h"

enum {
    SCHEDULE_TAIL = 64, /* how far back the choice looks: what one screen could show at most */
    SCHEDULE_EACH = 5,  /* last steps of each racing thread: lock, access, and what led there */
    SCHEDULE_SHOWN = 20 /* about this many steps in all: two races a screen */
};

void schedule_want(const uint64_t *witness, size_t n, struct steps *s);
/* The last `ends` steps are what the witness is about. Their number; 0: the steps are not there. */
size_t schedule_choose(struct findings *f, const uint64_t *witness, size_t n, size_t ends,
                       const struct steps *s, const struct schedule_step **chosen);

#endif
