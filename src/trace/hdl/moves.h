/* moves.h - moves on a thread's stack: some frames left, some entered
 *
 * Between two recorded events a thread leaves functions and enters others, mostly the same ones
 * again and again. Such a move, a fixed list of `exit` and `enter` events, is in the file once
 * (chunks of kind 12) and has a number; where it happens the file has that number, in one byte
 * if it was expected. Only a reader makes events of it.
 *
 * Ownership: a struct moves owns its arrays. Moves never change once added.
 * Concurrency: none; in the writer the sink's lock protects them.
 */
#ifndef HEDDLE_TRACE_HDL_MOVES_H
#define HEDDLE_TRACE_HDL_MOVES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/map.h"
#include "trace/event.h"

#define MOVE_NONE UINT32_MAX
enum { MOVE_FRAMES_MAX = 64 }; /* in one move */

struct move_frame {
    uint32_t function;
    uint32_t site; /* SITE_NONE: unknown */
};

struct move {
    uint32_t first;        /* of its frames: those left, innermost first, then those entered */
    uint8_t left, entered; /* together 1 to MOVE_FRAMES_MAX */
};

struct moves {
    struct move *at;
    size_t cap;
    uint32_t count;
    struct move_frame *frames;
    size_t nframes, frames_cap;
    struct map index; /* the writer's: hash of the contents -> number + 1 */
};

void moves_release(struct moves *m); /* a zeroed struct is empty */

static inline unsigned move_events(const struct move *m)
{
    return (unsigned)m->left + m->entered;
}

/* The events of move `number`, which exists: move_events() of them. */
void move_expand(const struct moves *m, uint32_t number, uint32_t thread, struct event *out);

/* The number of the move with these frames, a new one where there is none yet. */
uint32_t moves_put(struct moves *m, const struct move_frame *frames, unsigned left,
                   unsigned entered);

/* A move as it stands in a file; back, for functions and sites that exist. */
void moves_encode(const struct moves *m, uint32_t number, struct buf *to);
bool moves_decode(struct moves *m, const uint8_t **at, const uint8_t *end, uint32_t functions,
                  uint32_t sites);

#endif
