/* buf.c - growing byte buffer */
#include "base/buf.h"
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_release(struct buf *b)
{
    free(b->data);
    *b = (struct buf){ 0 };
}

char *buf_detach(struct buf *b)
{
    char *data;

    buf_reserve(b, 0);
    data = b->data;
    data[b->len] = 0;
    *b = (struct buf){ 0 };
    return data;
}

void buf_reserve(struct buf *b, size_t more)
{
    GROW(b->data, b->cap, b->len + more + 1);
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
    buf_reserve(b, n);
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = 0;
}

void buf_addstr(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addch(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    buf_reserve(b, (size_t)n);
    va_start(ap, fmt);
    vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
}

void buf_add_line(struct buf *b, unsigned line, unsigned column)
{
    if (!line)
        buf_addstr(b, "");
    else if (!column)
        buf_addf(b, ":%u", line);
    else
        buf_addf(b, ":%u:%u", line, column);
}
