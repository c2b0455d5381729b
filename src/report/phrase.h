/* phrase.h - a finding in one sentence, and its place in a file
 *
 * For formats that show one line per finding (SARIF, JUnit, GitHub).
 */
#ifndef HEDDLE_REPORT_PHRASE_H
#define HEDDLE_REPORT_PHRASE_H

#include "base/buf.h"
#include "report/findings.h"

/* Where something is, as far as its location says. */
struct file_place {
    const char *file; /* not terminated: file_len bytes; NULL: the location is no file's */
    size_t file_len;
    uint32_t line, column; /* column 0: unknown */
};

/* The location relative to the current directory where it is below that: code hosts want that. */
const char *place_here(const char *location);
struct file_place file_place_of(const char *location);
/* Of an access or request: of the program's own code where the stack tells. */
const char *side_place(const struct side *s);

/* "write by T1 at a.c:3:7 in f" */
void phrase_side(struct buf *b, const struct side *s);
/* "data race on x: write by T1 at a.c:3:7 in f, and read by T2 at b.c:9:1 in g" */
void phrase_race(struct buf *b, const struct finding *r);
/* "deadlock: T1 holds a and waits for b at a.c:3:7 in f; T2 ..." */
void phrase_deadlock(struct buf *b, const struct deadlock_finding *d);

#endif
