/* reach_log.h - what a call of untraced code can reach: the objects, and the pointers in them
 *
 * docs/design/calls.md. An object is logged when it is first reached: R_OBJECT records with its
 * extent and its pointers, and so on for the objects they lead to. What is stored into a logged
 * object later makes that piece of it dirty, and the next call of any thread logs it again. So at
 * each call the trace knows all pointers of all objects that were ever reached. With calls=exact
 * nothing stays logged.
 */
#ifndef HEDDLE_RUNTIME_UNTRACED_REACH_LOG_H
#define HEDDLE_RUNTIME_UNTRACED_REACH_LOG_H

#include "runtime/untraced/effects_lookup.h"
#include "runtime/untraced/objects.h"

/* Pointers were stored to these bytes; cheap where nothing is logged. */
HIDDEN void reach_stored_slow(uintptr_t a, uint64_t bytes);
extern EXPORT uint8_t __heddle_logged[LOGGED_BLOCKS];
static inline void reach_stored(const void *p, uint64_t bytes)
{
    uintptr_t a = (uintptr_t)p;

    if (unlikely(bytes > 16 || __heddle_logged[a >> LOGGED_SHIFT & (LOGGED_BLOCKS - 1)]) &&
        objects_on)
        reach_stored_slow(a, bytes);
}

/* A pointer that a call passes, and the object it leads to. */
struct root {
    uintptr_t pointer;
    struct object object;
    bool own; /* a variable on the calling thread's stack */
};
enum { ROOTS_MAX = RECORD_WORDS - 4 }; /* one more is the set of untraced data */

struct call {
    uint64_t where;
    unsigned flags; /* CALL_BACK */
    struct callee callee;
    unsigned nroots;
    struct root roots[ROOTS_MAX];
};

/* Logs what is reachable and not known yet, and records the call. The thread is busy. */
HIDDEN void reach_call(struct rt_thread *t, const struct call *c);
/* call.c: the record of the call itself, and the time before what belongs to it */
HIDDEN void call_record(struct rt_thread *t, const struct call *c, unsigned flags);
HIDDEN void call_stamp(struct rt_thread *t);

/* A call has returned: what it may have stored pointers in is looked at by the next one. */
HIDDEN void reach_returned(struct rt_thread *t);

HIDDEN bool reach_is_thread(uintptr_t a); /* a pthread_t */
HIDDEN void reach_fork_before(void);
HIDDEN void reach_fork_after(bool child);
HIDDEN void reach_let_go(void); /* the thread was cancelled */

#endif
