/* json.h - findings as JSON, and back
 *
 * docs/schema/result.schema.json is the published form (schema 2; reading takes
 * schema 1, too). Writing
 * goes straight to the stream, one race at a time; reading checks the type
 * and range of everything it uses and ignores members it does not know.
 * Reading what was written and writing it again gives the same bytes.
 */
#ifndef HEDDLE_REPORT_JSON_H
#define HEDDLE_REPORT_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "report/findings.h"

enum { JSON_SCHEMA = 2, JSON_SCHEMA_OLDEST = 1 };

/* Write errors show in ferror(out). */
void json_write(const struct findings *f, FILE *out);
/* Without blanks and without the positions of witnesses: for a page that shows it. */
void json_write_brief(const struct findings *f, FILE *out);

/* Fill an empty struct. -1 and an error that names the place ("races[0].accesses[1].event:
 * expected an integer, not a string"); then f is empty again. */
int json_read(struct findings *f, FILE *in, struct error *err);

#endif
