/* load.h - inside of trace/: collecting batches into a trace_mem */
#ifndef HEDDLE_TRACE_LOAD_H
#define HEDDLE_TRACE_LOAD_H

#include "trace/trace.h"

struct loader {
    struct trace_mem mem; /* the caller takes it, or releases it */
    size_t events_cap, extra_cap;
};

/* Append the `count` events of the batch from number `from` on. */
void loader_add(struct loader *l, const struct batch *b, size_t from, size_t count);

#endif
