/* output.h - a file that appears only when it is complete
 *
 * Bytes go to a temporary file, compressed where NAME ends in ".gz" or ".zst";
 * output_finish() renames it to NAME. Errors of writing (a full disk) stick:
 * the first one is reported by the call that met it and by all after it.
 */
#ifndef HEDDLE_TRACE_TEXT_OUTPUT_H
#define HEDDLE_TRACE_TEXT_OUTPUT_H

#include <stddef.h>

#include "base/error.h"

struct output;

struct output *output_open(const char *path, struct error *err);
int output_write(struct output *o, const void *data, size_t len, struct error *err);
/* Complete the file and free the output, also when it fails (then nothing is left behind). */
int output_finish(struct output *o, struct error *err);
/* Give up: remove what was written and free the output. */
void output_abort(struct output *o);

#endif
