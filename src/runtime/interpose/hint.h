/* hint.h - a modelled function tells the interposer that libc calls for it where the program was
 *
 * strdup's memory comes from malloc, called by libc; __heddle_read records the
 * buffer and calls read, whose interposer records the edge. The inner one is
 * not called by the program, so its return address says nothing: the outer one
 * leaves `where` here, the first interposer reached takes it.
 * A hint that nobody took is dropped by the outer one.
 */
#ifndef HEDDLE_RUNTIME_INTERPOSE_HINT_H
#define HEDDLE_RUNTIME_INTERPOSE_HINT_H

#include "runtime/core/rt.h"

/* where + 1; 0: none; HINT_RECORDED: the event is recorded already */
#define HINT_RECORDED UINT64_MAX
extern EXPORT _Thread_local uint64_t __heddle_hint __attribute__((tls_model("initial-exec")));

static inline void hint_give(uint64_t where)
{
    __heddle_hint = where + 1;
}

static inline void hint_recorded(void)
{
    __heddle_hint = HINT_RECORDED;
}

static inline void hint_drop(void)
{
    __heddle_hint = 0;
}

/* True: the call comes from a modelled function, which records its buffers. */
static inline bool hint_given(void)
{
    return __heddle_hint != 0;
}

static inline uint64_t hint_take(uint64_t caller)
{
    uint64_t given = __heddle_hint;

    if (likely(!given))
        return caller;
    __heddle_hint = 0;
    return given - 1;
}

#endif
