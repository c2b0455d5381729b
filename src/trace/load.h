/* load.h - inside of trace/: collecting batches into a trace_mem */
#ifndef HEDDLE_TRACE_LOAD_H
#define HEDDLE_TRACE_LOAD_H

#include "base/map.h"
#include "trace/trace.h"

struct loader {
    struct trace_mem mem; /* the caller takes it, or releases it */
    size_t events_cap, extra_cap;
    struct map lists; /* hash of a list -> where it is in mem.extra, + 1 */
    struct map batch; /* list of the batch at hand -> the same */
};

/* What the caller does not take. */
void loader_release(struct loader *l);

/* Append the `count` events of the batch from number `from` on. */
void loader_add(struct loader *l, const struct batch *b, size_t from, size_t count);

#endif
