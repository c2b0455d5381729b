/* schedule.h - the steps of a witness that matter most
 *
 * A short witness is shown as it is. Of a long one a report shows, from its last
 * SCHEDULE_TAIL steps: the last few of each of the two racing threads, and
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

void schedule_want(const struct finding *r, struct steps *s);
void schedule_choose(struct findings *f, struct finding *r, const struct steps *s);

#endif
