/* hidden.h - threads that untraced code runs, and what it may order (docs/design/calls.md)
 *
 * A library's pool of threads calls traced functions and synchronises between the calls, unseen.
 * Such a thread's time outside of traced code is call pairs of its own: from its beginning to
 * the first traced function, from the return of that to the next one, and so on to its end. All
 * list one thing, the library's hidden state; so does every call of untraced code once there is
 * such a thread, and the calls that were open when the first was created.
 *
 * Concurrency: what is per thread is thread-local; hidden_threads only ever becomes true.
 */
#ifndef HEDDLE_RUNTIME_UNTRACED_HIDDEN_H
#define HEDDLE_RUNTIME_UNTRACED_HIDDEN_H

#include "runtime/core/rt.h"

extern HIDDEN bool hidden_threads; /* there is, or was, such a thread */
extern HIDDEN uint64_t hidden_thing;

/* Calls that this thread has recorded and not returned from (call.c counts them up). */
extern HIDDEN _Thread_local uint32_t hidden_calls __attribute__((tls_model("initial-exec")));
HIDDEN void hidden_call_begins(const char *callee); /* before it is recorded; NULL: by pointer */
HIDDEN void hidden_call_ends(void);                 /* before its return is */

/* pthread_thread.c: before a thread is created; true: it is one, and the other is its first act. */
HIDDEN bool hidden_thread_created(void *start, uint64_t where);
HIDDEN void hidden_thread_begins(void);
/* From now on any call may order any other: threads that nobody sees (clone()), memory that has
 * two addresses. The thread records. */
HIDDEN void hidden_begins(void);
/* openmp.c: what the library that this code is in orders is heard of. */
HIDDEN void hidden_ignore_openmp(const void *code);

/* The thread's outermost traced function was entered, or is left; it records. */
HIDDEN void hidden_outermost(bool entered);

/* call.c: the records; the thread is busy */
HIDDEN void call_hidden(void);
HIDDEN void return_hidden(void);

#endif
