/* libc_at.h - memory functions of libc_memory.c for callers inside the runtime that know `where` */
#ifndef HEDDLE_RUNTIME_LIBC_LIBC_AT_H
#define HEDDLE_RUNTIME_LIBC_LIBC_AT_H

#include "runtime/core/rt.h"

HIDDEN void *libc_at_memcpy(void *d, const void *s, size_t n, uint64_t where);
HIDDEN void *libc_at_memmove(void *d, const void *s, size_t n, uint64_t where);
HIDDEN void *libc_at_memset(void *d, int c, size_t n, uint64_t where);

#endif
