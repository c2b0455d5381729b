/* flip.h - what a thread would do if a branch went the other way (RECIPE, section IV)
 *
 * While a trace is walked, at chosen branches, the state of the thread is copied and the
 * code behind another outcome is executed in the copy, with expressions: reads of memory
 * that others see are new READ leaves. What it does is a path: new events with what the
 * walk knows of recorded ones, and the conditions under which it goes that way. A path
 * starts with the branch itself, taken the other way, or with an instruction whose address or
 * called function is another one. execution_flip() puts a path into
 * an execution in place of what the thread did after the branch.
 *
 * Three walks of one trace: FLIP_LEARN counts which outcomes occur, and learns the
 * addresses of variables; FLIP_TOUCH executes and tells which memory the new accesses
 * touch, so that it does not count as private to another thread; FLIP_KEEP keeps paths.
 *
 * Sound by construction: every decision that depends on reads is a condition, and where
 * something cannot be followed the path ends. docs/design/recipe.md has the rules.
 *
 * Leaves of new reads have numbers from the trace's length on; in the execution that
 * execution_flip() makes they are positions again.
 * Ownership: paths belong to the flips. Concurrency: none while walking; then read only.
 */
#ifndef HEDDLE_EXECUTION_FLIP_H
#define HEDDLE_EXECUTION_FLIP_H

#include "execution/execution.h"

/* Bounds. A path is a piece of code between two synchronisations, mostly: 64 accesses see more than
 * the paper's single branch. Each is counted when it ends a path (struct flip_stats). */
enum {
    FLIP_EVENTS_MAX = 256,        /* new events of a path */
    FLIP_INSTRUCTIONS_MAX = 4096, /* from one new event to the next */
    FLIP_CALLS_MAX = 8,           /* calls inside one another */
    FLIP_PATHS_MAX = 32, /* of one flip: decisions in the other branch that depend on reads */
    FLIP_CONE_MAX = 4096 /* nodes of an expression that are looked at */
};

enum flip_end {             /* why a path ends */
                FLIP_LIMIT, /* events, instructions or calls */
                FLIP_CALL,  /* code that is not followed: untraced, assembly, a lock that would not
                               be free */
                FLIP_ADDRESS, /* of an access: not known */
                FLIP_VALUE,   /* a decision depends on, or a write writes, what is not known */
                FLIP_OVER,    /* the thread's first function returned */
                FLIP_FOREIGN, /* it wrote to memory that the others' expressions take for private */
                FLIP_ENDS
};
extern const char *const flip_end_names[FLIP_ENDS];

struct flip_event {
    struct event event;
    uint64_t id;  /* of its READ leaves */
    uint8_t kind; /* enum step_kind */
    expr address, value, old;
    uint32_t pieces, npieces; /* as in struct execution_event, of the path's */
    uint8_t piece_bytes;
};

struct flip_condition {
    u128 recorded;
    expr value;
    uint32_t event; /* new event that it is a condition of; nevents: of none */
    uint8_t kind;   /* enum condition_kind */
};

struct flip_path {
    uint64_t branch;  /* position */
    uint64_t outcome; /* of it, now */
    /* No branch decides but a value: an address, or the target of a call. `branch` is the thread's
     * last event before the instruction that uses it, `outcome` the value. */
    bool by_value;
    uint32_t thread;
    bool never;      /* no thread has taken this outcome in the trace */
    bool here_never; /* this thread has not */
    uint8_t end;     /* enum flip_end */
    uint32_t joined; /* events before the join point, all if it was not reached */
    struct flip_event *events;
    size_t nevents;
    struct flip_condition *conditions; /* by event; the first is the branch's */
    size_t nconditions;
    expr *pieces;
    size_t npieces;
};

struct flip_stats {
    uint64_t branches; /* outcomes that could be tried */
    uint64_t tried;    /* that were */
    uint64_t paths, events;
    uint64_t ends[FLIP_ENDS];
    uint64_t dropped; /* paths beyond FLIP_PATHS_MAX, or without a new access */
};

struct program;
struct sharing;

enum flip_pass { FLIP_LEARN, FLIP_TOUCH, FLIP_KEEP };

struct flips;
/* Sites of code that was not executed are added to the tables. */
struct flips *flips_new(struct program *p, struct tables *tables, const struct trace_mem *trace);
void flips_free(struct flips *f);
/* Before each walk with walk_options.flips. `sharing` is asked and, in FLIP_TOUCH, told. */
void flips_begin(struct flips *f, enum flip_pass pass, struct sharing *sharing);

size_t flips_count(const struct flips *f);
const struct flip_path *flips_get(const struct flips *f, size_t i);
const struct flip_stats *flips_stats(const struct flips *f);

/* ---- for walk.c and exec.c ---- */
struct walk;
struct thread;
struct frame;
void flips_event(struct flips *f, uint64_t position, const struct event *ev);
/* The branch at hand has gone to `outcome` of `outcomes`. */
void flips_branch(struct flips *f, struct walk *w, struct thread *t, uint64_t position,
                  uint64_t outcome, uint64_t outcomes);

/* The instruction at hand accesses what `e` points to, or calls it; `position` is the thread's last
 * event before it. */
void flips_value(struct flips *f, struct walk *w, struct thread *t, uint64_t position, expr e);

/* ---- flip_splice.c ---- */

/* The execution with the path in it; two paths of different threads where `other` is not NULL. The
 * rest of the thread behind the branch stays, after the new events: so what others need of it is
 * kept from happening. No event of it may be in a witness, which holds for any that ends with a new
 * access. `place` gets the position of each new event of the path, `other_place` of the other's. */
struct execution *execution_flip(const struct execution *e, const struct flip_path *path,
                                 const struct flip_path *other, uint32_t *place,
                                 uint32_t *other_place);
/* How many events that puts in: those of the path, and what takes back its locks. */
size_t flips_shift(const struct flip_path *path);

/* Walks a trace three times. NULL: it has no code. *flips is the caller's to free. Sites of code
 * that was not executed are added to the tables. */
struct execution *execution_with_flips(const struct trace_mem *trace, struct tables *tables,
                                       struct flips **flips, struct error *err);

/* Also frees the events, which are not borrowed there. */
void execution_flip_free(struct execution *e);

#endif
