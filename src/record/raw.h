/* raw.h - raw records of a thread (abi/rt_ring.h) to events of the trace
 *
 * A raw_thread is what must be remembered of a thread from chunk to chunk. A
 * raw_reader is a worker's tool: events gather in its slice, and go to `take`
 * when the slice is full and at the end of every chunk.
 *
 * Nothing in a chunk is trusted: a record that cannot be ends the chunk, and
 * says why.
 */
#ifndef HEDDLE_RECORD_RAW_H
#define HEDDLE_RECORD_RAW_H

#include "record/stamps.h"
#include "record/handles.h"
#include "record/places.h"
#include "trace/hdl/encode_raw.h"

/* Events at a time: they stay in the first-level cache between decoding and encoding. */
enum { RAW_SLICE = 256 };

struct raw_frame {
    uint32_t function, site; /* the site of the function's entry */
    uint32_t depth;          /* of the program's shadow stack, below the frame */
};

/* A call of code that may be untraced. */
struct raw_call {
    uint32_t site;     /* the process's number */
    uint32_t function; /* of the trace */
    bool all;          /* it may touch anything */
    bool shown;        /* the trace has an event for it */
    uint32_t away;     /* the traced code it called, by a number of the thread's; 0: none */
};

/* A move of the thread's, by the number that its records have. */
struct raw_move {
    uint32_t number; /* of the trace */
    uint8_t left, entered;
    struct raw_frame *frames; /* those entered; owned; NULL: there is no such move */
};

struct raw_thread {
    uint32_t thread;
    bool ended;
    bool ignoring;           /* accesses and branches do not count now */
    uint64_t stamp;          /* nanoseconds, of the last record */
    struct raw_frame *stack; /* innermost last */
    size_t depth, stack_cap; /* frames beyond RAW_DEPTH are counted, not kept */
    struct raw_move *moves;
    size_t moves_cap;
    struct raw_call *calls;
    size_t ncalls, calls_cap;
    uint32_t aways;  /* numbers given */
    bool call_waits; /* the last of calls: shown once it is clear that its function is untraced */
    uint64_t *pointers; /* of that call */
    size_t npointers, pointers_cap;
    uint64_t *objects; /* told before a call: entries D_EXTENT, D_SLOT, two words each */
    size_t nobjects, objects_cap;
    uint64_t lost;     /* accesses */
    uint64_t waits[2]; /* the last R_WAIT */
};

/* The sites of return addresses that were last asked for, direct-mapped: functions are called from
 * few places. */
enum { RAW_CALLERS = 256 };
struct raw_caller {
    uint64_t pc; /* 0: none */
    uint32_t site, generation;
};

struct raw_reader {
    struct places *places;
    const struct clock *clock;
    const struct ring *ring;
    struct pc_cache pcs;
    struct raw_caller callers[RAW_CALLERS];
    struct handles handles;
    /* Called with a slice of the thread's events. */
    void (*take)(void *arg, const struct raw_reader *r);
    /* Called with records that can be encoded as they are; takes some of them. */
    void (*take_run)(void *arg, struct raw_run *run);
    void *arg;

    size_t count;
    struct event events[RAW_SLICE];
    uint64_t sequences[RAW_SLICE], stamps[RAW_SLICE];
    uint64_t *extra; /* D of calls */
    size_t nextra, extra_cap;
};

void raw_reader_release(struct raw_reader *r);
void raw_thread_release(struct raw_thread *t);

/* The records from word `from` to word `to`. NULL, or what is wrong with the record that ended
 * it; a record must not reach beyond `to`. Records are changed on the way to the file. */
const char *raw_decode(struct raw_reader *r, struct raw_thread *t, struct chunk_copy *c,
                       size_t from, size_t to);
/* Words of the record that begins at word `at`, perhaps more than there are; 0: it is none. */
size_t raw_words(const struct chunk_copy *c, size_t at);
/* The word at which the record begins that word `to` is inside of, or `to` where one begins there;
 * records begin at word `from`. */
size_t raw_record_at(const struct chunk_copy *c, size_t from, size_t to);
/* Of the record of a stretch at word `at`, whose first `done` events were taken: those whose data
 * stands before word `to`. How many were taken now in all. */
unsigned raw_decode_part(struct raw_reader *r, struct raw_thread *t, const struct chunk_copy *c,
                         size_t at, unsigned done, size_t to);
/* Nothing more comes of this thread: a call that waits is shown, and the lock it waits for. */
void raw_finish(struct raw_reader *r, struct raw_thread *t);

#endif
