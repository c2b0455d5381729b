/* last.h - the option --last: how much of a recording's end is kept
 *
 * A time ("500ms", "60s", "10min", "2h") or a size ("500m", with k, m, g for thousands, millions
 * and billions of bytes).
 */
#ifndef HEDDLE_CMD_LAST_H
#define HEDDLE_CMD_LAST_H

#include "base/buf.h"
#include "cmd/options.h"

enum { LAST_BYTES_LEAST = 65536, LAST_MS_LEAST = 100 };

/* 0, or the exit code after a message. */
int last_check(const struct options *o);
/* What the writer is told: " --last-ms=60000"; nothing where all is kept. */
void last_add_options(const struct options *o, struct buf *b);

#endif
