/* export_impl.h - what the writers of foreign formats share
 *
 * Each format appends its records to `out`; export.c writes them to the file.
 */
#ifndef HEDDLE_TRACE_TEXT_EXPORT_IMPL_H
#define HEDDLE_TRACE_TEXT_EXPORT_IMPL_H

#include "base/alloc.h"
#include "base/map.h"
#include "trace/text/export.h"

struct exporter {
    const struct export_ops *ops;
    const struct tables *tables; /* borrowed */
    struct output *file;
    struct buf out;
    struct export_lost lost;
    /* csv and rvp */
    struct map numbers; /* (kind, thing) -> small number, in order of appearance */
    uint32_t next_number;
    uint8_t *thread_state; /* per thread, meaning is the format's */
    size_t thread_state_cap;
    /* rvp */
    uint64_t *pc; /* per thread: the last program counter written */
    size_t pc_cap;
    uint32_t current; /* thread of the last record */
};

struct export_ops {
    void (*start)(struct exporter *e); /* called once, before the first event; may be NULL */
    /* Called for each event; `extra` is the batch's. */
    void (*event)(struct exporter *e, const struct event *ev, const uint64_t *extra);
};

extern const struct export_ops export_rr, export_csv, export_rvp;

/* The state of a thread, 0 at first. */
static inline uint8_t *export_thread_state(struct exporter *e, uint64_t thread)
{
    GROW(e->thread_state, e->thread_state_cap, (size_t)thread + 1);
    return &e->thread_state[thread];
}

/* The number of a thing, new ones counted from 0. `kind` is below 8. */
static inline uint32_t export_number(struct exporter *e, unsigned kind, uint64_t thing)
{
    uint32_t *slot = map_put(&e->numbers, thing ^ (uint64_t)kind << 61, UINT32_MAX);

    if (*slot == UINT32_MAX)
        *slot = e->next_number++;
    return *slot;
}

#endif
