/* history.h - what each thread holds and where it is, while a trace is read
 *
 * Follows locks (in the order taken, recursive ones once), call stacks (from
 * enter and exit) and forks, event by event. A look at a thread's state is
 * then a look at the moment after the last event that was followed.
 * Cost: a few nanoseconds an event; memory: what is held and on the stacks.
 */
#ifndef HEDDLE_REPORT_HISTORY_H
#define HEDDLE_REPORT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/* A trace that enters and never exits must not fill the memory. */
enum { HISTORY_DEPTH = 65536 };

struct history_lock {
    uint64_t target;
    uint64_t position;
    uint32_t site;
    bool shared;
};

struct history_call {
    uint32_t function;
    uint32_t site; /* of the enter event */
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
};

struct history {
    struct history_thread *threads;
    size_t cap;
};

void history_release(struct history *h); /* a zeroed struct is empty */
const struct history_thread *history_of(struct history *h, uint32_t thread);
void history_event(struct history *h, const struct event *ev, uint64_t position);

#endif
