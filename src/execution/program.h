/* program.h - the traced program's code, and its execution rebuilt from a full-mode trace
 *
 *     p = program_open(trace_tables(t), &err);
 *     w = walk_new(p, &options);
 *     while (trace_next(...)) for each event: walk_event(w, position, &event);
 *     walk_finish(w); ... walk_free(w); program_close(p);
 *
 * The walk follows each thread's path through the bitcode inside its executable and
 * libraries and calls `step` for every event that the code made, with expressions
 * (expr.h) for what the record only has values of: addresses, stored values, conditions.
 * Events come in the order of the trace; the walk of a thread goes as far as its events
 * tell. docs/design/program.md says what is exact and what is not.
 *
 * Memory: nodes that nothing needs any more are collected, unless `keep_all`; then all
 * that a step names stays valid, and memory grows with the trace (32 bytes a node).
 * Ownership: a program borrows the tables, a walk borrows the program.
 * Concurrency: none.
 */
#ifndef HEDDLE_EXECUTION_PROGRAM_H
#define HEDDLE_EXECUTION_PROGRAM_H

#include "base/error.h"
#include "execution/expr.h"
#include "trace/event.h"
#include "trace/tables.h"

struct program;
struct walk;
struct flips;

/* Finds the code of the trace's sites. NULL: there is none at all (no full build, files gone). */
struct program *program_open(const struct tables *t, struct error *err);
void program_close(struct program *p);
/* What could not be used, one line each; NULL behind the last. */
const char *program_note(const struct program *p, size_t i);

/* ---- the walk ---- */

enum step_kind {
    STEP_READ,   /* plain or atomic: address, value (the read's, or what it must be) */
    STEP_WRITE,  /* address, value */
    STEP_UPDATE, /* atomic read-modify-write: address, old, value */
    STEP_BRANCH, /* value: the condition, or what a switch looks at; outcome */
    STEP_RESULT, /* value: what untraced code returned */
    STEP_FIXED,  /* no event of its own: `value` must stay as it was for what follows to be the
                    same execution: an index into private memory, the target of a call, a length */
    STEP_OTHER   /* an event that the walk has nothing to say of */
};

struct step {
    uint64_t position;         /* of the event; STEP_FIXED: of the thread's last one */
    const struct event *event; /* NULL: STEP_FIXED */
    uint32_t thread;
    enum step_kind kind;
    expr address, value, old; /* 0: nothing is known */
    uint64_t outcome;         /* branch: as recorded */
    const expr *cases;        /* switch: the values of outcomes 1, 2 ...; NULL: a branch */
    size_t ncases;
    bool private_; /* read: of memory that only this thread touches; value is the last write's */
    const expr *pieces; /* write of a copy or fill, more than 16 bytes: what it writes, piece_bytes
                           each, the last one the rest; 0: not known. Or NULL */
    size_t npieces;
    unsigned piece_bytes; /* 8, 4, 2 or 1 */
};

struct walk_options {
    void (*step)(void *arg, const struct step *s); /* may be NULL */
    void *arg;
    /* Is this memory touched by one thread only, in the whole trace? Its reads are then resolved to
     * the thread's last write. NULL: none is. */
    bool (*is_private)(void *arg, uint64_t address, uint32_t bytes);
    void *private_arg;
    bool keep_all;
    struct flips *flips; /* what branches would do that went the other way (flip.h); or NULL */
    /* Called with a line about each of the first disagreements; may be NULL. */
    void (*complain)(void *arg, const char *line);
};

/* How much was computed. "Wrong" is never expected: the walk or the record has a bug. */
struct walk_tally {
    uint64_t right;   /* computed, and as recorded */
    uint64_t learned; /* not computed: the record told */
    uint64_t wrong;
};

struct walk_stats {
    uint64_t instructions, events;
    uint64_t walked;  /* events that the walk met where it expected them */
    uint64_t outside; /* events of code that has no bitcode: runtime, libraries, locks */
    uint64_t lost;    /* events that could not be placed */
    uint64_t losses;  /* times that a thread's place was lost */
    struct walk_tally addresses, values, branches, results;
    uint64_t private_reads; /* resolved to the thread's own write */
    uint64_t changed;       /* private memory that held something else: written by untraced code */
    uint64_t opaque;        /* values that depend on reads in a way that is not expressed */
    uint64_t unknown;       /* values that nothing tells */
    uint64_t fixed;         /* STEP_FIXED */
    uint64_t forked;        /* fork() returned 0: the process began as a copy of another */
    uint64_t frames, collections;
    uint64_t nodes_most;
};

struct walk *walk_new(struct program *p, const struct walk_options *options);
void walk_free(struct walk *w);
/* Keep the addresses of variables for the next walk of this program, which then knows them from the
 * start. */
void walk_remember(struct walk *w);
void walk_event(struct walk *w, uint64_t position, const struct event *ev);
struct exprs *walk_exprs(struct walk *w);
const struct walk_stats *walk_stats(const struct walk *w);

/* ---- which memory is private to a thread ---- */

struct sharing;
struct sharing *sharing_new(void);
void sharing_free(struct sharing *s);
void sharing_event(struct sharing *s, const struct event *ev); /* all events of the trace */
bool sharing_is_private(void *sharing, uint64_t address, uint32_t bytes);
/* All of it private to this thread; some of it private to another one. */
bool sharing_is_own(const struct sharing *s, uint64_t address, uint32_t bytes, uint32_t thread);
bool sharing_is_others(const struct sharing *s, uint64_t address, uint32_t bytes, uint32_t thread);

#endif
