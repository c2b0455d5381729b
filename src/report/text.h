/* text.h - findings for people
 *
 * Plain text; bold ids and strengths where `colour` is set. Write errors show
 * in ferror(out).
 */
#ifndef HEDDLE_REPORT_TEXT_H
#define HEDDLE_REPORT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/findings.h"
#include "report/steps.h"
#include "report/usage.h"

/* The whole result: tables of all races and deadlocks, each in detail, what was counted. */
void text_report(const struct findings *f, bool colour, FILE *out);

struct explain_options {
    bool full; /* every step of the witness, however many */
    bool colour;
    const char *no_steps;      /* why the steps have positions only, or NULL */
    const struct usage *usage; /* of the memory; NULL: not known */
};

/* Without `full`, a longer witness shows its first and last steps only. */
enum { EXPLAIN_STEPS = 60 };

/* Say which events of a witness explaining shows. */
void text_explain_want(const uint64_t *witness, size_t n, bool full, struct steps *s);
/* One race in full. */
void text_explain(const struct findings *f, const struct finding *r, const struct steps *s,
                  const struct explain_options *options, FILE *out);
void text_explain_deadlock(const struct findings *f, const struct deadlock_finding *d,
                           const struct steps *s, const struct explain_options *options, FILE *out);

#endif
