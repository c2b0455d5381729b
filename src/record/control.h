/* control.h - asking the writer of a recording that is running
 *
 * A file beside the trace, PID.ctl for PID.hdl, private as that: who asks writes a request, with a
 * number of its own, and waits until the reply has that number. The writer looks ten times a second
 * at least; it waits for nobody, and removes the file in the end. One asks at a time (flock).
 */
#ifndef HEDDLE_RECORD_CONTROL_H
#define HEDDLE_RECORD_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum control_command { CONTROL_NONE, CONTROL_STATUS, CONTROL_STOP, CONTROL_START, CONTROL_FLUSH };

struct control_request {
    uint32_t serial; /* not 0 */
    uint32_t command;
};

struct control_reply {
    uint32_t serial;
    uint32_t refused; /* what was asked for cannot be done: a full build cannot be stopped */
    uint32_t stopped; /* accesses are not recorded now */
    uint32_t reserved;
    uint64_t began_ns, now_ns, first_ns; /* CLOCK_MONOTONIC; of what is kept */
    uint64_t written, kept;              /* bytes */
    uint64_t lost;                       /* accesses */
};

enum { CONTROL_REPLY_AT = 64, CONTROL_COMPLETE_AT = 192 };

/* Up to which stamp the file is complete (pool_complete()): not known yet, or never. */
#define CONTROL_NOT_YET UINT64_C(0)
#define CONTROL_NEVER   (UINT64_MAX - 1)

/* ---- the writer's side ---- */

struct control {
    char *path; /* NULL: there is none */
    int fd;
    uint32_t done;     /* the last request that was answered */
    uint64_t complete; /* what was told last */
};

/* `trace` is the path of the recording. Where the file cannot be made nobody can ask. */
void control_open(struct control *c, const char *trace);
void control_close(struct control *c);
/* A request that was not answered yet. */
bool control_poll(const struct control *c, struct control_request *out);
void control_answer(struct control *c, struct control_reply *r, uint32_t serial);
/* The file is complete up to this stamp. */
void control_tell(struct control *c, uint64_t complete);

/* ---- the other side ---- */

/* Ask the writer of this trace. -1 and an error where it does not answer. */
int control_ask(const char *trace, enum control_command command, struct control_reply *out,
                struct error *err);
/* Up to which stamp the file is complete at least; CONTROL_NEVER where nobody can tell. To be asked
 * before the file is read. */
uint64_t control_complete(const char *trace);

#endif
