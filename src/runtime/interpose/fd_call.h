/* fd_call.h - what an interposed call on a descriptor knows about its caller */
#ifndef HEDDLE_RUNTIME_INTERPOSE_FD_CALL_H
#define HEDDLE_RUNTIME_INTERPOSE_FD_CALL_H

#include "runtime/interpose/fd.h"
#include "runtime/interpose/hint.h"

/* True when calls of untraced code count, too: libheddle-rt-libc is linked (libc_names.c). */
extern EXPORT char __heddle_names_linked __attribute__((weak));

/* An interposed call: where it is, and whether its buffers are recorded here. */
struct fd_call {
    uint64_t where;
    bool buffers;
};
static inline struct fd_call fd_call(uint64_t caller)
{
    bool modelled = hint_given();

    return (struct fd_call){ hint_take(caller), !modelled && &__heddle_names_linked };
}
#define FD_CALL() fd_call(WHERE_CALLER())

#endif
