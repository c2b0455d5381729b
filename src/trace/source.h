/* source.h - what a trace format implements
 *
 * A source turns one input into batches of events, in one total order. It
 * checks everything that makes an event well formed (numbers in range, sizes,
 * addresses below ADDRESS_LIMIT); whether the sequence makes sense is checked
 * afterwards, once for all formats, by check_trace.c.
 * trace.c opens sources; nobody else calls them.
 */
#ifndef HEDDLE_TRACE_SOURCE_H
#define HEDDLE_TRACE_SOURCE_H

#include <stddef.h>

#include "base/error.h"
#include "trace/tables.h"
#include "trace/trace.h"

struct source {
    const struct source_ops *ops;
    struct tables *tables;   /* borrowed from the trace: add names here */
    struct trace_info *info; /* borrowed from the trace: fill in what is known */
};

struct source_ops {
    const char *format; /* "std", "hdl" ... */

    /* Called for the next batch: 1 and a non-empty batch, 0 at the end, -1 and an error.
     * The batch's memory belongs to the source and is valid until the next call. Events
     * are writable: the caller marks them. */
    int (*next)(struct source *s, struct batch *out, struct error *err);

    /* Called to start again from the first event. Names keep their numbers. */
    int (*rewind)(struct source *s, struct error *err);

    /* Called to go on from another position; NULL where a source can only start again. The
     * next batch starts at the position or before it (its `first` says where), or there is
     * none where the position is behind the last event. */
    int (*seek)(struct source *s, uint64_t position, struct error *err);

    /* Called for a recording that is being written: -1 where it cannot be followed, at the first
     * time, which is before any event is taken, or any more. From then on next() returns 0 where
     * there is nothing more yet, and each call looks whether there is; `over`: nothing comes after
     * it. NULL: a source that cannot be followed. */
    int (*follow)(struct source *s, bool over);

    /* With follow(): no event with a later stamp comes; and what trace_seam() tells, with the
     * number of the first chunk that is still needed. */
    void (*limit)(struct source *s, uint64_t stamp);
    uint32_t (*seam)(const struct source *s, struct seam *c);

    /* As trace_thin(); NULL: all events always come. */
    void (*thin)(struct source *s, const struct trace_thin *thin);

    void (*close)(struct source *s);
};

struct input; /* input.h: a byte stream that decompresses */

/* Each takes over the input, also when it fails. */
struct source *std_open(struct input *in, struct tables *t, struct trace_info *i,
                        struct error *err);
struct source *rr_open(struct input *in, struct tables *t, struct trace_info *i, struct error *err);
struct source *csv_open(struct input *in, struct tables *t, struct trace_info *i,
                        struct error *err);
struct source *rvp_open(struct input *in, struct tables *t, struct trace_info *i,
                        struct error *err);
struct source *hdl_open(const char *path, struct tables *t, struct trace_info *i,
                        struct error *err);

#endif
