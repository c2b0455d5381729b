/* input.h - a file as a stream of bytes, decompressed on the way
 *
 * gzip and zstd are recognised by their first bytes and decompressed in
 * pieces; concatenated members and frames are one stream. Files are read, not
 * mapped: a window of a fixed size costs 0.1 ns a byte, keeps the memory
 * constant and cannot fault when the file shrinks meanwhile.
 * The caller sees a window [data, data + len) of the stream and says how much
 * of it is used up. INPUT_PADDING bytes behind the window are readable (their
 * content means nothing), so that scanners may load whole words.
 */
#ifndef HEDDLE_TRACE_TEXT_INPUT_H
#define HEDDLE_TRACE_TEXT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { INPUT_PADDING = 64 };

struct input;

/* "-" is standard input. */
struct input *input_open(const char *path, struct error *err);
/* Reads from the caller's memory, which must outlive the input; decompresses too. */
struct input *input_from_memory(const void *data, size_t len, struct error *err);
void input_close(struct input *in);

/* Drop the first `used` bytes of the window and make more of the stream visible: on return
 * the window is longer than what was left, or the end is reached (*eof). -1 on an error. */
int input_more(struct input *in, size_t used, const char **data, size_t *len, bool *eof,
               struct error *err);
/* The window as it is, reading only until it holds `want` bytes or the end is reached. */
int input_peek(struct input *in, size_t want, const char **data, size_t *len, bool *eof,
               struct error *err);
int input_rewind(struct input *in, struct error *err); /* an error for pipes */

uint64_t input_size(const struct input *in);     /* compressed size of the file, 0 for a pipe */
uint64_t input_consumed(const struct input *in); /* of those bytes, for progress */
bool input_is_pipe(const struct input *in);      /* cannot be rewound */

#endif
