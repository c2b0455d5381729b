/* stdio_edges.h - when a FILE's buffer meets the file below, there may be an edge
 *
 * Data that one thread wrote to a file, pipe or socket and another read from it
 * orders the two (fd.c). stdio calls the kernel inside libc, unseen; so where a
 * stream's buffer may be emptied, the writer releases the file, and where it was
 * filled, the reader acquires it. The fields of FILE are those of glibc's public
 * structure.
 */
#ifndef HEDDLE_RUNTIME_INTERPOSE_STDIO_EDGES_H
#define HEDDLE_RUNTIME_INTERPOSE_STDIO_EDGES_H

#include <stdio.h>

#include "runtime/interpose/fd.h"
#include "runtime/core/rt.h"

/* What one call with a format is thought to write at most; more may be sent before it is released,
 * which matters only if another thread reads it from the same file without a flush between. */
#define STDIO_UNKNOWN 128

/* Bytes that can be had without a system call. */
static inline size_t stdio_buffered(const FILE *f)
{
    return (size_t)(f->_IO_read_end - f->_IO_read_ptr);
}

/* True for unbuffered and line buffered streams, which have no room in this sense. */
static inline bool stdio_may_flush(const FILE *f, size_t bytes)
{
    return f->_IO_write_end <= f->_IO_write_ptr ||
           (size_t)(f->_IO_write_end - f->_IO_write_ptr) <= bytes;
}

static inline void stdio_release(FILE *f, uint64_t where)
{
    if (f->_fileno >= 0)
        fd_release(f->_fileno, where);
}

static inline void stdio_acquire(FILE *f, uint64_t where)
{
    if (f->_fileno >= 0)
        fd_acquire(f->_fileno, where);
}

#endif
