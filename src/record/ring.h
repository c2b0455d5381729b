/* ring.h - the writer's side of the memory that a recorded process shares (abi/rt_ring.h)
 *
 * The process may be out of its mind: anything in the memory may be wrong, and
 * may change while it is looked at. So every number is read once and checked
 * before it is used, chunks are copied before they are decoded, and a chunk
 * that is handed over twice is taken once.
 *
 * Concurrency: one thread collects; any thread may copy and give back.
 */
#ifndef HEDDLE_RECORD_RING_H
#define HEDDLE_RECORD_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "abi/rt_ring.h"

struct ring {
    struct ring_header *header; /* the mapping */
    uint64_t bytes;
    uint32_t pid;
    uint32_t chunks_max;
    uint64_t device, inode; /* of the memory, as /proc/PID/maps shows it */
    bool *taken;            /* chunk -> it is here, not with the process */
};

/* A chunk as it was when it was copied. */
struct chunk_copy {
    struct ring_chunk head;
    size_t words; /* of records */
    size_t room;  /* of data copied: a little more, for a last record that was becoming longer */
    uint64_t data[(RING_CHUNK_BYTES - RING_CHUNK_HEADER) / 8];
};

/* Maps the memory behind fd and checks it. */
int ring_open(struct ring *r, int fd, struct error *err);
void ring_close(struct ring *r);

/* Is a thread with this number possible? */
bool ring_knows_thread(const struct ring *r, uint64_t thread);
/* What the process says of a thread; false where it says nothing. */
bool ring_thread(const struct ring *r, uint32_t thread, struct ring_thread *out);
/* Does the process still have the memory (it may have become another program)? */
bool ring_is_mapped(const struct ring *r);
/* The log entry at an offset: its kind and payload (borrowed from the memory; copy before use),
 * and the offset of the next one. False at the end, or where it is damaged. */
bool ring_log_entry(const struct ring *r, uint64_t *offset, uint32_t *kind, const char **payload,
                    size_t *bytes);

/* The full chunks, in the order they were handed over; how many. `numbers` has room for
 * chunks_max. `fault` counts what was not a list of chunks. */
size_t ring_collect(struct ring *r, uint32_t *numbers, uint64_t *faults);
/* After the process is gone: what its threads were filling. */
size_t ring_collect_rest(struct ring *r, uint32_t *numbers);
/* What a chunk says of itself. */
void ring_peek(const struct ring *r, uint32_t number, struct ring_chunk *head);
uint32_t ring_chunks(const struct ring *r); /* numbers below this were handed out */
/* Is the chunk with the process, and in use? What it says of itself. */
bool ring_is_here(const struct ring *r, uint32_t number, struct ring_chunk *head);
bool ring_is_filling(const struct ring *r, uint32_t number, struct ring_chunk *head);
/* Has the process filled chunks that were not collected, in the list or about to be? */
bool ring_has_full(const struct ring *r);
/* False: its cursor is impossible. */
bool ring_copy(const struct ring *r, uint32_t number, struct chunk_copy *out);
void ring_give_back(struct ring *r, uint32_t number);

/* Sleep until chunks are handed over after `seen` (wake_writer before the last collection), or
 * for so long. */
void ring_wait(const struct ring *r, uint32_t seen, unsigned milliseconds);
void ring_wake_self(struct ring *r); /* end another thread's ring_wait() */
/* Sleep until the process asks for effects, or ring_ask_self(); the number to answer with. */
uint32_t ring_asked(const struct ring *r);
void ring_answer(struct ring *r, uint32_t number);
void ring_ask_self(struct ring *r);
/* Tell the process how the writer is. */
void ring_tell(struct ring *r, enum ring_writer state);
void ring_stop(struct ring *r); /* record no more */
/* Record no accesses for now, or again. False: what this process records cannot be stopped. */
bool ring_pause(struct ring *r, bool paused);
bool ring_is_paused(const struct ring *r);

#endif
