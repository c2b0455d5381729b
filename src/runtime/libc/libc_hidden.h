/* libc_hidden.h - variables that stand for state inside libc (libc_hidden.c, libc_nss.c) */
#ifndef HEDDLE_RUNTIME_LIBC_LIBC_HIDDEN_H
#define HEDDLE_RUNTIME_LIBC_LIBC_HIDDEN_H

#include "runtime/libc/libc.h"

/* The name is what a report shows. strtok's is in libc_string.c. */
#ifdef LIBC_NAMES
#define STATE(name) extern EXPORT char __heddle_hidden_##name[8]
#else
#define STATE(name)                                                                                \
    extern EXPORT char __heddle_hidden_##name[8];                                                  \
    EXPORT char __heddle_hidden_##name[8]
#endif
#define READS_STATE(name)  rt_read(__heddle_hidden_##name, 1, where)
#define WRITES_STATE(name) rt_write(__heddle_hidden_##name, 1, where)

#endif
