/* clean.h - text that is safe to print and valid in JSON
 *
 * Names come from files others wrote. A control character would reach the
 * user's terminal, a byte that is not UTF-8 would make the JSON invalid, and
 * characters that turn the direction of a line make it read as what it is
 * not; all become \xNN. What is already clean stays as it is.
 */
#ifndef HEDDLE_REPORT_CLEAN_H
#define HEDDLE_REPORT_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

bool clean_is(const char *s, size_t len);
void clean_add(struct buf *b, const char *s, size_t len);

#endif
