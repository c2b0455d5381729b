/* ignore.h - the thread's accesses are not recorded between these two; they nest */
#ifndef HEDDLE_RUNTIME_IGNORE_H
#define HEDDLE_RUNTIME_IGNORE_H

#include "runtime/rt.h"

static inline void ignore_begin(void)
{
    __heddle_tls.ignore++;
}

static inline void ignore_end(void)
{
    if (__heddle_tls.ignore)
        __heddle_tls.ignore--;
}

#endif
