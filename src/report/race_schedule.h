/* race_schedule.h - the file race.schedule: how a race was made to happen (docs/format/schedule.md)
 *
 * Everything in it is named by what outlives an edit elsewhere in the program: functions, lines,
 * variables, and occurrences within a function; threads by who created them. No addresses, and no
 * numbers of sites. cmd/confirm/schedule_make.c makes it from a plan, cmd/confirm/remake.c a plan
 * of it.
 *
 * Invariants (of what was parsed): two accesses; threads are created by earlier ones, the first is
 * the root; numbers of threads and events are in range, operations known.
 * Ownership: strings belong to the schedule.
 */
#ifndef HEDDLE_REPORT_RACE_SCHEDULE_H
#define HEDDLE_REPORT_RACE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"

enum {
    SCHEDULE_VERSION = 1,
    SCHEDULE_THREADS_MOST = 4096,
    SCHEDULE_EVENTS_MOST = 16384,
    SCHEDULE_ORDERS_MOST = 4096
};
#define SCHEDULE_MAGIC "heddle-schedule"
#define SCHEDULE_NONE  UINT64_MAX /* no such thread, event */

/* A place in the source; what is unknown is NULL or 0. */
struct schedule_place {
    const char *function; /* linkage name */
    const char *caller;   /* where the function was inlined: the function around it */
    const char *variable; /* as the compiler names it: "counter", "struct q::head" */
    const char *file;
    uint64_t line, column;
    uint64_t nth, of; /* accesses of this kind to this variable in the function, in their order */
};

struct schedule_thread {
    uint64_t by;     /* its creator; SCHEDULE_NONE: the process's first thread */
    uint64_t number; /* of its creator's threads, from 1 */
};

struct schedule_event {
    uint64_t thread, op; /* enum op; OP_LOAD: any atomic operation */
    uint64_t number; /* of its kind in its thread and function (atomics: at its place), from 1 */
    struct schedule_place place;
};

struct schedule_access {
    uint64_t thread; /* SCHEDULE_NONE: any */
    uint64_t op, bytes;
    uint64_t after; /* event that its thread has done; SCHEDULE_NONE: at any time */
    struct schedule_place place;
};

/* `event` waits until `after` is done. */
struct schedule_order {
    uint64_t event, after;
};

/* The memory of the race; with bytes 0: wherever the two accesses overlap. */
struct schedule_memory {
    const char *variable, *image; /* image NULL: the program */
    uint64_t block, stack;        /* the allocation that it is in; SCHEDULE_NONE: none */
    uint64_t offset, bytes;       /* stack: from its end */
};

struct race_schedule {
    const char *id, *variable, *strength, *program; /* for the reader */
    const char *met;                                /* "together" or "behind" */
    uint64_t forked, patient, hasty;                /* enum steer_flags; 1: set */
    uint64_t waits;                                 /* the access that waits: 1, 2; 0: either */
    struct schedule_thread *threads;
    size_t nthreads, threads_cap;
    struct schedule_event *events;
    size_t nevents, events_cap;
    struct schedule_access access[2];
    size_t naccesses;
    struct schedule_memory memory;
    struct schedule_order *orders;
    size_t norders, orders_cap;
    struct arena strings;
};

void race_schedule_release(struct race_schedule *s); /* a zeroed struct is empty */

/* Fill an empty struct. -1 and an error ("line 3: ..."); then it is empty again. */
int race_schedule_parse(struct race_schedule *s, const char *text, size_t n, struct error *err);
int race_schedule_read(struct race_schedule *s, const char *path, struct error *err);

void race_schedule_write(const struct race_schedule *s, FILE *out);

#endif
