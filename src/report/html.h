/* html.h - findings as one HTML page
 *
 * A list with filters, each race with both stacks side by side, source, locks,
 * values, and its schedule as lanes, one per thread, to be played step by step.
 * The page (html/) reads the result, as JSON, from itself; it loads nothing from
 * anywhere. Positions of schedules are left out: the steps that matter are there.
 */
#ifndef HEDDLE_REPORT_HTML_H
#define HEDDLE_REPORT_HTML_H

#include <stdio.h>

#include "report/findings.h"

void html_write(const struct findings *f, FILE *out);

/* The same for a server: script and style are files of their own beside the page, so that it may
 * forbid everything inline. */
#define HTML_SCRIPT "report.js"
#define HTML_STYLE  "report.css"
void html_write_linked(const struct findings *f, FILE *out);
const char *html_script(void);
const char *html_style(void);

#endif
