/* callback.h - traced code that untraced code calls back: the untraced code rests meanwhile
 *
 * A call of untraced code is a pair of barriers. While traced code that it called runs, the
 * untraced frame below does not, so the pair ends where that code begins, and another one begins
 * where it returns, with what the call can reach then. So what a callback does is in no pair: an
 * event loop, a test framework, a sort by a function of the program order by what they themselves
 * do (docs/design/calls.md).
 *
 *     __heddle_call()        recorded            tls.edge = the caller's depth
 *         f() at that depth  __heddle_edge(1)    R_RETURN with RETURN_AWAY
 *         f() returns        __heddle_edge(0)    R_CALL with CALL_BACK
 *     __heddle_return()      recorded            tls.edge as before
 *
 * A callback that is left in another way, by an exception or a jump, may have been left into the
 * untraced code: the pair goes on before it is left. A call that is left is found by its depth.
 *
 * Limits: what a callback without a frame does is part of the call, as are signal handlers and
 * callbacks of calls deeper inside each other than OPEN_CALLS.
 *
 * Concurrency: a thread's own; the thread is busy, but in __heddle_edge() and callback_is_left().
 */
#ifndef HEDDLE_RUNTIME_UNTRACED_CALLBACK_H
#define HEDDLE_RUNTIME_UNTRACED_CALLBACK_H

#include "runtime/core/state.h"

/* Where to note what a call passes that is about to be recorded; `sp` as in struct open_call. */
HIDDEN struct open_call *callback_new_call(struct rt_thread *t, uintptr_t sp);
/* It was recorded. */
HIDDEN void callback_call_begins(struct rt_thread *t, struct open_call *o, uint32_t site);
/* Its return is about to be. */
HIDDEN void callback_call_ends(struct rt_thread *t, uint32_t site);

/* By something thrown, or a jump to a frame that has its stack pointer at `sp`. */
HIDDEN void callback_is_left(uintptr_t sp);

/* Instrumented code: a traced function was entered, or is left, at the depth of tls.edge. */
EXPORT __attribute__((preserve_most)) void __heddle_edge(bool entered);

/* call.c: the records; the thread is busy */
HIDDEN void call_goes_away(struct rt_thread *t);
HIDDEN void call_comes_back(struct rt_thread *t, const struct passed *p);

#endif
