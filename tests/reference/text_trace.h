/* text_trace.h - a trace from a string of STD lines, for tests
 *
 * Goes the way every trace goes: a file, trace_open(), the checker, memory.
 * Ends the process with a message when the text is no trace.
 */
#ifndef HEDDLE_TESTS_TEXT_TRACE_H
#define HEDDLE_TESTS_TEXT_TRACE_H

#include "trace/trace.h"

struct text_trace {
    struct trace *trace;
    struct trace_mem mem;
};

void text_trace_open(struct text_trace *t, const char *text);
void text_trace_close(struct text_trace *t);

/* A file of this process for scratch use; its name ends in `suffix`. */
void scratch_path(char *out, size_t size, const char *suffix);
/* Write a whole file or end the process. */
void scratch_write(const char *path, const void *data, size_t len);

#endif
