/* prefix_memory.h - inside of trace/: who wrote each byte last
 *
 * For prefix.h: writes go in, in the order of the trace; the latest writer of
 * any byte comes out. Memory is kept in units of 4 bytes, those of which
 * several writers own parts byte by byte.
 * Cost: a look-up for each 256 bytes of a write; 256 bytes of tables for as
 * many bytes that were written, and 56 for each write that still counts.
 */
#ifndef HEDDLE_TRACE_PREFIX_MEMORY_H
#define HEDDLE_TRACE_PREFIX_MEMORY_H

#include <stdbool.h>

#include "base/map.h"
#include "trace/event.h"

struct prefix_writer {
    struct event event;
    uint64_t position;
    uint32_t owns; /* units and bytes; 0: free, `position` is then the next free one */
    bool listed;
};

struct prefix_line;

struct prefix_memory {
    struct prefix_writer *writers; /* from 1 */
    size_t nwriters, writers_cap;
    uint32_t unused; /* first free writer, 0: none */
    struct prefix_line *lines;
    size_t nlines, lines_cap;
    struct map line_of; /* address / 256 -> line */
    uint32_t (*splits)[4];
    size_t nsplits, splits_cap;
    uint32_t unused_split; /* + 1 */
};

void prefix_memory_release(struct prefix_memory *m);

/* The event wrote these bytes. */
void prefix_memory_write(struct prefix_memory *m, const struct event *e, uint64_t position,
                         uint64_t from, uint64_t bytes);
/* What they hold is not known any more. */
void prefix_memory_forget(struct prefix_memory *m, uint64_t from, uint64_t bytes);
/* Call `found` with each writer of these bytes, as often as it owns a part. */
void prefix_memory_owners(struct prefix_memory *m, uint64_t from, uint64_t bytes,
                          void (*found)(void *arg, struct prefix_writer *w), void *arg);

#endif
