/* openmp.h - what openmp.c (regions, tasks) and openmp_locks.c (locks, order) share */
#ifndef HEDDLE_RUNTIME_OPENMP_H
#define HEDDLE_RUNTIME_OPENMP_H

#include "runtime/rt.h"

/* Numbers of OpenMP's objects begin here: no address of a program lies just above it. */
#define OPENMP_KEYS (UINT64_C(1) << 46)

/* The object of the `ordered` blocks of the loop that the thread is in. */
HIDDEN uint64_t openmp_ordered(void);

extern HIDDEN struct rt_lock openmp_lock; /* openmp.c: unused nodes */

#endif
