/* prod_libc.h - modelled libc functions in production runs
 *
 * A production build calls __heddle_memcpy() and so on only where the call's no-op is patched
 * (pass/production/production_libc.c). What such a function touches then goes to the mode as hits
 * of the call's site, and is not recorded. Included by libc.h, for which it stands in for rt_read()
 * and rt_write(); other users of these are interposers, whose accesses have no site here.
 */
#ifndef HEDDLE_RUNTIME_PRODUCTION_PROD_LIBC_H
#define HEDDLE_RUNTIME_PRODUCTION_PROD_LIBC_H

#include "runtime/production/prod.h"

/* Where the function was called from: for stacks. What a function tells after its call may come
 * after a signal handler that called another; so each puts back what it found. */
HIDDEN struct prod_entry prod_libc_enter(struct prod_entry from);
HIDDEN void prod_libc_leave(struct prod_entry before);
HIDDEN void prod_libc_access(const void *p, uint64_t bytes, bool write, uint64_t where);

static inline void libc_leave(const struct prod_entry *before)
{
    if (unlikely(rt_mode))
        prod_libc_leave(*before);
}

#define LIBC_ENTER()                                                                               \
    const struct prod_entry before_ __attribute__((cleanup(libc_leave))) =                         \
        unlikely(rt_mode) ? prod_libc_enter(prod_entry(__builtin_frame_address(0)))                \
                          : (struct prod_entry){ 0 }

static inline void libc_read(const void *p, uint64_t bytes, uint64_t where)
{
    if (unlikely(rt_mode))
        prod_libc_access(p, bytes, false, where);
    else
        rt_read(p, bytes, where);
}

static inline void libc_write(const void *p, uint64_t bytes, uint64_t where)
{
    if (unlikely(rt_mode))
        prod_libc_access(p, bytes, true, where);
    else
        rt_write(p, bytes, where);
}

#define rt_recording rt_watching
#define rt_read      libc_read
#define rt_write     libc_write

#endif
