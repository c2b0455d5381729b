/* gen.h - random traces that could have happened
 *
 * Both generators simulate programs under a random scheduler, so a trace is
 * consistent by construction: locks exclude, joins come after ends, reads see
 * what memory held. The same options give the same trace everywhere.
 *
 * Small traces (gen_small) use every operation of the model, each event at
 * its own site, with a handful of names so that everything collides with
 * everything: for property tests against the exhaustive reference.
 *
 * Large traces (gen_open, gen_next) come as a stream in constant memory from
 * a static program made from the seed: functions are fixed sequences of
 * sites, a site always has the same operation and size. Data is local to a
 * thread, guarded by a lock, constant, or one of a few racy variables, and
 * only those race: for benchmarks. docs/design/generator.md describes both.
 */
#ifndef HEDDLE_TESTS_GEN_H
#define HEDDLE_TESTS_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

/* ---- small traces ---- */

enum { GEN_MAX_THREADS = 8, GEN_MAX_NAMES = 8 };

struct gen_small_options {
    uint64_t seed;
    uint32_t events;
    uint32_t threads;   /* up to GEN_MAX_THREADS */
    uint32_t variables; /* named ones, up to GEN_MAX_NAMES */
    uint32_t locks;     /* and of every other kind of object, up to GEN_MAX_NAMES */
    uint32_t burst;     /* percent: the thread that ran last runs again */

    /* How often an operation is tried, relative to the others; 0 never. A wait comes with
     * its release and acquire; begin is a percentage of the threads. */
    uint8_t weight[OP_COUNT];

    uint32_t values;       /* percent of accesses that record their value */
    uint32_t loose;        /* percent of accesses that are marked (EV_LOOSE) */
    uint32_t wrong_values; /* percent of recorded read values that are made up: inexact traces */
    uint32_t addresses;  /* percent of accesses at literal addresses: sizes 1 to 16, overlapping */
    uint32_t recursive;  /* percent of acquires that may take a lock again */
    uint32_t abandon;    /* percent of ends that do not care for locks still held */
    uint32_t roots;      /* percent of threads that run without having been forked */
    uint32_t odd_blocks; /* percent of allocs and frees that are not of whole words */
    uint32_t use_after_free; /* percent of heap accesses and frees that do not care for lifetimes */
};

struct gen_trace {
    struct trace_mem mem;
    struct trace_info info;
    struct tables tables;
};

/* Everything switched on, no values, 12 events, 3 threads. */
void gen_small_defaults(struct gen_small_options *o);
/* Options drawn from the seed: which operations, how many threads and names, values or not.
 * Event counts are in [4, max_events]. */
void gen_small_random(struct gen_small_options *o, uint64_t seed, uint32_t max_events);
/* Make memory that is allocated, freed and allocated again the main thing. */
void gen_small_heap(struct gen_small_options *o);
/* Make sections inside sections the main thing, by threads that run from the beginning. */
void gen_small_locks(struct gen_small_options *o);
/* Options drawn from the seed for longer traces in which sections, nested or not, and a few
 * accesses inside them are nearly alone. */
void gen_small_sections(struct gen_small_options *o, uint64_t seed, uint32_t events);

/* May end early (all threads blocked). EV_NESTED is set the way check_trace.c would. */
void gen_small(const struct gen_small_options *o, struct gen_trace *out);
void gen_trace_release(struct gen_trace *t);

/* Append the trace as STD text. */
void gen_trace_text(const struct gen_trace *t, struct buf *b);

/* ---- large traces ---- */

struct gen_large_options {
    uint64_t seed;
    uint64_t events;    /* exactly so many */
    uint32_t threads;   /* running at the same time, the main thread included */
    uint32_t locks;     /* each guards its own few variables */
    uint32_t variables; /* about so many */
    uint32_t functions; /* of the static program; about 30 sites each */
    uint32_t racy;      /* variables that are accessed without a lock, two sites each */
    uint32_t racy_ppm;  /* calls of a million that go to a racy function */
    uint32_t burst;     /* mean number of events between two switches of thread */
    uint32_t lifetime;  /* mean events of a thread before it ends and is replaced; 0 = for ever */
    uint32_t lock_percent;    /* acquires and releases among all events */
    uint32_t write_percent;   /* of the accesses */
    uint32_t shared_percent;  /* critical sections taken as reader */
    uint32_t nested_percent;  /* critical sections with another inside */
    uint32_t atomic_percent;  /* accesses outside sections that are atomics on shared counters */
    uint32_t heap_percent;    /* functions that work on a heap block of their own */
    uint32_t branch_percent;  /* sites followed by a branch */
    uint32_t overlap_percent; /* sites in byte arrays that access eight bytes at once */
    uint32_t call_ppm;        /* events of a million that are calls of untraced code */
    uint32_t call_ranges;     /* of 64 bytes in the D of each, most of them the thread's own */
    bool values;
    bool named; /* variables V0, V1 ... as plain STD has them, instead of addresses */
};

struct gen;

/* 10 M events, 8 threads, plain STD operations only. */
void gen_large_defaults(struct gen_large_options *o);

/* `tables` is borrowed, must be empty, and grows while the trace is generated. */
struct gen *gen_open(const struct gen_large_options *o, struct tables *tables);
void gen_close(struct gen *g);
/* The next batch, valid until the next call; false at the end. */
bool gen_next(struct gen *g, struct batch *out);

#endif
