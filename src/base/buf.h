/* buf.h - growing byte buffer, for text and for encoded data
 *
 * Invariant: data is NUL-terminated once anything was added by a text call.
 * Ownership: buf_release() frees; buf_detach() hands the memory to the caller.
 */
#ifndef HEDDLE_BASE_BUF_H
#define HEDDLE_BASE_BUF_H

#include <stddef.h>

struct buf {
    char *data;
    size_t len;
    size_t cap;
};

void buf_release(struct buf *b);
char *buf_detach(struct buf *b); /* NUL-terminated; the buffer is empty afterwards */

void buf_reserve(struct buf *b, size_t more); /* room for `more` bytes and a NUL */
void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_addstr(struct buf *b, const char *s);
void buf_addch(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* ":line:column" behind a file's name, as far as they are known (not 0). */
void buf_add_line(struct buf *b, unsigned line, unsigned column);

#endif
