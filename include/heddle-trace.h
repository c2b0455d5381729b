/* heddle-trace.h - read Heddle's traces from your own program
 *
 *     struct heddle_trace *t = heddle_trace_open("heddle.data/4711.hdl", error, sizeof(error));
 *     struct heddle_event e;
 *     while ((r = heddle_trace_next(t, &e, error, sizeof(error))) > 0)
 *         printf("%s %s %s\n", heddle_trace_thread(t, e.thread), e.op,
 *                heddle_trace_location(t, e.site));
 *     heddle_trace_close(t);
 *
 * All formats that `heddle analyze` reads (docs/format): ours, STD text, RoadRunner logs, CSV of
 * the SSHB prototype, RV-Predict/C; damaged files are read as far as they are good.
 * Events come in the order of the trace, checked: what is impossible there is marked.
 *
 * Build with `pkg-config --cflags --libs heddle-trace`, or CMake's Heddle::trace.
 * Ownership: strings belong to the trace and live as long as it does, except where said.
 * Concurrency: none; a trace belongs to one thread.
 */
#ifndef HEDDLE_TRACE_H
#define HEDDLE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct heddle_trace;

enum heddle_event_flag {
    HEDDLE_EVENT_VALUE = 1,  /* `value` is what was loaded or stored, or a branch's outcome */
    HEDDLE_EVENT_OLD = 2,    /* `old` is what a read-modify-write replaced */
    HEDDLE_EVENT_IGNORED = 4 /* impossible here: engines leave it out */
};

struct heddle_event {
    uint64_t position; /* from 0: what results call "event" */
    const char *op;    /* "read", "write", "acquire", "fork" ...: docs/format/std.md lists them */
    const char *order; /* an atomic's memory order ("rlx", "acq" ...), else "" */
    uint32_t thread;
    uint32_t site;   /* where in the program; HEDDLE_NO_SITE: unknown */
    uint64_t target; /* address; fork, join: the thread's number; enter, call: the function's */
    uint64_t bytes;  /* accessed, allocated */
    uint64_t value, old;
    unsigned flags; /* enum heddle_event_flag */
};
#define HEDDLE_NO_SITE UINT32_MAX

/* How much there is, as far as it was read. */
struct heddle_trace_counts {
    uint64_t events, threads, lost_bytes;
};

/* NULL: the reason is in `error`. A directory is not a trace: open the files in it. */
struct heddle_trace *heddle_trace_open(const char *path, char *error, size_t error_bytes);
void heddle_trace_close(struct heddle_trace *t);

/* 1 and an event, 0 at the end, -1 and an error. */
int heddle_trace_next(struct heddle_trace *t, struct heddle_event *e, char *error,
                      size_t error_bytes);
void heddle_trace_count(const struct heddle_trace *t, struct heddle_trace_counts *counts);

const char *heddle_trace_thread(const struct heddle_trace *t, uint32_t thread);
const char *heddle_trace_location(const struct heddle_trace *t, uint32_t site); /* "?": unknown */
const char *heddle_trace_function(const struct heddle_trace *t, uint32_t site); /* NULL: unknown */
const char *heddle_trace_format(const struct heddle_trace *t);
/* The name of what the event is about ("x", "0x7f00:4", "T2", "main", ""), valid until the next call
 * with this trace. */
const char *heddle_trace_target(struct heddle_trace *t, const struct heddle_event *e);

#ifdef __cplusplus
}
#endif
#endif
