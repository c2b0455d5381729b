/* parts.h - a long trace in parts that fit into memory
 *
 * Each part is a trace_mem: first the events that stand for all that came
 * before it (prefix.h), then its own. Parts overlap by half, so two events at
 * most half a part from each other are in one part together.
 *
 *     parts = parts_new(trace, covered, length, err);
 *     while ((r = parts_next(parts, &err)) > 0) ... parts_now(parts) ...
 *     parts_free(parts);
 *
 * What comes first is as it was recorded and stays so: who looks at a part
 * lets its first `kept` events happen as they are.
 *
 * Memory: a part and a half. Time: one pass over the trace for all parts.
 * Concurrency: none; nobody else may read the trace meanwhile.
 */
#ifndef HEDDLE_TRACE_PARTS_H
#define HEDDLE_TRACE_PARTS_H

#include "trace/trace.h"

struct part {
    uint64_t first;      /* position of its first own event */
    uint64_t new;        /* of the first that no earlier part has */
    size_t kept;         /* events from before, that stand for all there */
    uint64_t *positions; /* of these */
    struct trace_mem mem;
    bool complete; /* false: too much would have to be kept; no schedule of it is sure */
};

struct parts;

/* Told of every event that lies before the part to come, once and in their order. */
struct parts_watcher {
    void (*event)(void *arg, const struct event *e, uint64_t position);
    void *arg;
};

/* Parts of so many own events. The first `covered` events (at least half a part) are known: the
 * first part begins half a part before. The watcher may be NULL. Rewinds the trace; NULL and an
 * error. */
struct parts *parts_new(struct trace *t, uint64_t covered, size_t length,
                        const struct parts_watcher *watcher, struct error *err);
void parts_free(struct parts *p);

/* 1: the next part is there, 0: there are no more, -1 and an error. */
int parts_next(struct parts *p, struct error *err);
/* Until the next parts_next(). */
const struct part *parts_now(const struct parts *p);

/* The one part that begins with that event; `out` is released by part_release(). Rewinds. */
int part_load(struct trace *t, uint64_t first, size_t length, struct part *out, struct error *err);
void part_release(struct part *p);

/* From a part's events to the trace's and back; UINT64_MAX: not one of its own. */
static inline uint64_t part_position(const struct part *p, uint64_t event)
{
    return event < p->kept ? p->positions[event] : p->first + (event - p->kept);
}

static inline uint64_t part_event(const struct part *p, uint64_t position)
{
    return position < p->first || position - p->first >= p->mem.count - p->kept
               ? UINT64_MAX
               : p->kept + (position - p->first);
}

#endif
