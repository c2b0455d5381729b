/* ci.h - findings for continuous integration: JUnit XML and GitHub annotations
 *
 * JUnit: a test case per race and deadlock, failed; one that passed where there
 * is none. GitHub: an annotation per access, at its file and line; findings
 * without a file are annotations without a place.
 */
#ifndef HEDDLE_REPORT_CI_H
#define HEDDLE_REPORT_CI_H

#include <stdio.h>

#include "report/findings.h"

void junit_write(const struct findings *f, FILE *out);
void github_write(const struct findings *f, FILE *out);

#endif
