/* changed_reads.h - reads of a schedule that see another value than they did, in words
 *
 *     if T2 reads y = 3 (written at a.c:12) instead of 5, the branch at a.c:40 still holds
 */
#ifndef HEDDLE_REPORT_CHANGED_READS_H
#define HEDDLE_REPORT_CHANGED_READS_H

#include <stdio.h>

#include "base/buf.h"
#include "engines/race.h"
#include "report/findings.h"
#include "report/steps.h"

/* Copies an engine's; positions of new events (flips) from `first` on move by so many. */
void changes_take(struct findings *f, struct finding *to, const struct race *from, uint64_t first,
                  uint64_t shift);
/* Say which events are needed, and fill in what they are. */
void changes_want(const struct finding *r, struct steps *s);
void changes_fill(struct findings *f, struct finding *r, const struct steps *s);

/* "if T2 reads y = 3 (written at a.c:12:3) instead of 5, the branch at a.c:40:7 still holds" */
void changes_phrase(struct buf *b, const struct finding *r, const struct finding_change *c);
/* A line for each of the first few; nothing where there are none. */
void changes_write(FILE *out, const struct finding *r);

#endif
