/* seam.h - where the beginning of a recording that is gone ends
 *
 * A flight recorder keeps the end of a recording. What is gone is a prefix of
 * each thread's events, and of each stripe's operations, so that all of it
 * happened before all that is kept or beside it (docs/design/endless.md). A seam
 * says how long these prefixes are, and what memory held: blocks that are
 * allocated, objects that calls have told of, words that hold pointers.
 *
 * Entries stand in no particular order. A zeroed struct is empty: nothing is
 * gone.
 */
#ifndef HEDDLE_TRACE_HDL_SEAM_H
#define HEDDLE_TRACE_HDL_SEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum seam_kind {
    SEAM_EVENTS, /* of all: enum seam_number */
    SEAM_THREAD, /* thread: so many of its events are gone */
    SEAM_STRIPE, /* stripe: the last of its operations that is gone */
    SEAM_BLOCK,  /* address: bytes of the block */
    SEAM_OBJECT, /* address: bytes of what a call has told of */
    SEAM_SLOT,   /* address: the pointer there */
    SEAM_KINDS
};

/* Keys of SEAM_EVENTS: events that are gone, the stamp up to which they are; the last stamp of the
 * file, which the reader adds. */
enum seam_number { SEAM_GONE, SEAM_STAMP, SEAM_LAST };

struct seam {
    struct seam_entry {
        uint64_t key, value;
        enum seam_kind kind;
    } *entries;
    size_t count, cap;
};

void seam_release(struct seam *c);
void seam_add(struct seam *c, enum seam_kind kind, uint64_t key, uint64_t value);
/* 0 where there is none. */
uint64_t seam_number(const struct seam *c, enum seam_number key);

/* Entries from `from` on as bytes, until there are `most` or more; the first that is left. */
size_t seam_encode(const struct seam *c, size_t from, size_t most, struct buf *out);
/* `count` entries are added. -1: damaged. */
int seam_decode(struct seam *c, uint32_t count, const uint8_t *at, const uint8_t *end);

#endif
