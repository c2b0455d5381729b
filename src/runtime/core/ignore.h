/* ignore.h - the thread's accesses are not recorded between these two; they nest
 *
 * Code of full builds appends without asking: there the writer is told to leave them out.
 */
#ifndef HEDDLE_RUNTIME_CORE_IGNORE_H
#define HEDDLE_RUNTIME_CORE_IGNORE_H

#include "runtime/core/rt.h"

HIDDEN void ignore_tell(void); /* access.c */

static inline void ignore_begin(void)
{
    if (!__heddle_tls.ignore++)
        ignore_tell();
}

static inline void ignore_end(void)
{
    if (__heddle_tls.ignore && !--__heddle_tls.ignore)
        ignore_tell();
}

#endif
