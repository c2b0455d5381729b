/* lines.h - an input as lines of text
 *
 * A line ends with "\n" or "\r\n"; the last one may lack it. A line that is
 * longer than LINE_MAX_BYTES is an error, so hostile input cannot fill the
 * memory. Readers with a fast path of their own look at [p, end) directly
 * and advance p past whole lines, counting them in `number`.
 */
#ifndef HEDDLE_TRACE_TEXT_LINES_H
#define HEDDLE_TRACE_TEXT_LINES_H

#include "trace/text/input.h"

#define LINE_MAX_BYTES ((size_t)1 << 20)

struct lines {
    struct input *in; /* owned */
    const char *start, *p, *end;
    bool eof;
    uint64_t number; /* of the line that was read last, from 1 */
};

void lines_init(struct lines *l, struct input *in); /* takes the input over */
void lines_release(struct lines *l);
int lines_rewind(struct lines *l, struct error *err);

/* The next line without its end: 1, 0 after the last one, -1 and an error. The text is valid
 * until the next call. */
int lines_next(struct lines *l, const char **text, size_t *len, struct error *err);

/* The same for lines that hold text: skips those without any and those that begin with '#',
 * and refuses control characters other than the tab. */
int lines_next_text(struct lines *l, const char **text, size_t *len, struct error *err);

/* Put "line N: " before an error about the line that was read last; returns -1. */
int lines_error(const struct lines *l, struct error *err);

/* Text from a file for use in an error: quoted, control characters as \xNN, shortened to 60
 * bytes. The result lives in one of four static buffers of the thread. */
const char *quote_text(const char *text, size_t len);

#endif
