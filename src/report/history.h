/* history.h - what each thread holds and where it is, while a trace is read
 *
 * Follows locks (in the order taken, recursive ones once), call stacks (from
 * enter and exit) and forks with the stack they were made in, event by event. A look at a thread's
 * state is then a look at the moment after the last event that was followed. Cost: a few
 * nanoseconds an event; memory: what is held and on the stacks.
 */
#ifndef HEDDLE_REPORT_HISTORY_H
#define HEDDLE_REPORT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/* A trace that enters and never exits must not fill the memory. */
enum { HISTORY_DEPTH = 65536 };
/* Calls kept of each fork: there may be 100,000 of them. */
enum { HISTORY_FORK_CALLS = 24 };

struct history_call {
    uint32_t function;
    uint32_t site; /* of the enter event */
};

/* Innermost calls kept of taking a lock: enough to get out of a library's wrappers, and cheap
 * to copy at every acquire. */
enum { HISTORY_LOCK_CALLS = 8 };

struct history_lock {
    uint64_t target;
    uint64_t position;
    uint32_t site;
    bool shared;
    uint8_t ncalls;
    struct history_call calls[HISTORY_LOCK_CALLS]; /* outermost first */
};

/* A copy of a call stack. */
struct history_calls {
    struct history_call *calls; /* owned; outermost first */
    size_t count;
    uint64_t missing; /* outer calls that were left out */
};

struct history_thread {
    struct history_lock *locks;
    size_t nlocks, locks_cap;
    struct history_call *calls; /* outermost first */
    size_t ncalls, calls_cap;
    uint64_t deeper; /* calls above HISTORY_DEPTH, not kept */
    bool forked;
    uint32_t fork_thread, fork_site;
    uint64_t fork_position;
    struct history_calls fork_calls;
};

struct history {
    struct history_thread *threads;
    size_t cap;
};

void history_release(struct history *h); /* a zeroed struct is empty */
const struct history_thread *history_of(struct history *h, uint32_t thread);
/* Copy the innermost calls of a thread, at most `keep`; the old copy goes. */
void history_copy(struct history_calls *to, const struct history_thread *t, size_t keep);
/* Another history whose thread is where this one is now. */
void history_adopt(struct history *to, const struct history_thread *from, uint32_t thread);
void history_event(struct history *h, const struct event *ev, uint64_t position);

#endif
