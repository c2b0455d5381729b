/* merge_values.h - what memory holds while threads are merged, and whose turn that makes it
 *
 * The clock of plain accesses is coarse, their values are exact. So a read that saw another value
 * than memory holds at its turn waits for that value, for a while; and a write waits while other
 * threads are about to read the value it would destroy. "About to": within VALUES_AHEAD events.
 * docs/format/hdl.md, "Values".
 *
 * Memory is a table of words of 8 bytes, each with the bytes that are known. Only words that two
 * threads touch are looked at closely. Accesses that cross words make them unknown.
 * Bounds: VALUES_WORDS words; then all is forgotten, and learned again.
 */
#ifndef HEDDLE_TRACE_HDL_MERGE_VALUES_H
#define HEDDLE_TRACE_HDL_MERGE_VALUES_H

#include <stddef.h>

#include "trace/event.h"

enum {
    VALUES_AHEAD = 128,
    VALUES_WORDS = 1 << 20,
    VALUES_WAIT = 1 << 16,  /* events for which a read waits */
    VALUES_WAITING_MAX = 16 /* threads that wait at once */
};

struct value_word {
    uint64_t word;         /* address / 8, + 1; 0: free */
    uint64_t value, known; /* masks of bits */
    uint32_t thread;       /* that touched it last, as far as events were decoded */
    bool shared;           /* so did another */
    uint64_t unseen; /* bits that code which was not traced has written since the last write */
    uint32_t owner;  /* the thread that read them */
};

struct values {
    struct value_word *words;
    size_t nwords, count;
    bool on; /* some read has a value */
};

/* Events of a thread that come next. */
struct values_ahead {
    const struct event *events;
    const uint64_t *stamps;
    size_t count;
};

void values_release(struct values *v); /* a zeroed struct is empty */
void values_clear(struct values *v);

/* Events that were decoded and will be delivered. */
void values_decoded(struct values *v, const struct event *events, size_t n);
/* An event is delivered. True: it is a read that contradicts what is known. If only its own thread
 * has touched that memory, code that was not traced has written there, and the read is marked
 * EV_UNSEEN, as are the thread's later ones until the next write. */
bool values_deliver(struct values *v, struct event *ev);

/* Is it a read that saw something else than memory holds now? */
bool values_contradict(const struct values *v, const struct event *ev);
/* Does its order matter: a read that contradicts, or of what is not known; a write that changes
 * what other threads touch? */
bool values_matter(const struct values *v, const struct event *ev);
/* How many of the events ahead should come before it: of a write, up to the last read of what it
 * destroys; of a read, up to the write that gives its value. 0: none. None of them is stamped
 * `limit` or later. */
size_t values_before(const struct values *v, const struct event *ev, struct values_ahead a,
                     uint64_t limit);

#endif
