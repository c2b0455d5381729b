/* witness_inside.h - what the files of the checker share
 *
 * prepare.c makes a witness_trace, replay_state.c plays events on its scratch memory,
 * witness.c asks what a sequence leads to, changes.c the same where reads see
 * other values.
 */
#ifndef HEDDLE_WITNESS_WITNESS_INSIDE_H
#define HEDDLE_WITNESS_WITNESS_INSIDE_H

#include <stddef.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/map.h"
#include "witness/call_rules.h"
#include "witness/cells.h"
#include "witness/edges.h"
#include "witness/values.h"
#include "witness/witness.h"

#define NONE UINT32_MAX /* no event: initial memory as a writer, no thread, no hold */

/* One cell of one event. */
struct touch {
    uint32_t writer; /* last one in the trace in this lifetime, NONE in a lifetime's first event */
    uint32_t life;   /* index of its lifetime; those below the number of cells: never allocated */
};

struct place {
    uint32_t rank; /* among the events of its thread; NONE for ignored events */
    union {
        uint32_t cell; /* the first it touches */
        uint32_t lock;
        uint32_t semaphore;
    };
    uint32_t count;     /* cells it touches */
    uint32_t quiet_end; /* rank in its thread at which it is surely over, see is_over() */
    bool over;          /* the last of its thread before somebody joins that */
    size_t touch;       /* its touches, one per cell */
};

/* What is in a cell, in one of its lifetimes. */
struct content {
    uint64_t value;
    uint32_t writer; /* an alloc is one, so without any the memory is initial or not there yet */
    bool known, tainted;
    uint32_t reads; /* since then, a list in scratch.reads from 1; only with `quiet` */
    bool behind;    /* a call or return may have written it since */
};

/* A cell that a call or return may write, and what the call must find there. */
struct listed {
    uint32_t life, writer;
};

/* A read of a cell, for the rule on quiet periods. */
struct cell_read {
    uint32_t event, next;
};

/* A loose write of a quiet period that is not over. */
struct loose_write {
    uint32_t event, next;
};

struct lock_state {
    uint32_t owner;   /* thread, or NONE */
    uint32_t sharers; /* holds, not threads */
    uint32_t since;   /* event of the latest acquire, for messages */
};

/* A lock that a thread holds, in a list per thread. */
struct hold {
    uint32_t lock, next;
    bool shared;
};

struct thread_state {
    uint32_t progress; /* events replayed */
    uint32_t holds;
    bool tainted;   /* has read something else than recorded */
    uint32_t loose; /* loose writes of its quiet period, a list in scratch.loose from 1 */
};

/* What something was before an event changed it. */
enum saved_kind { SAVED_CONTENT, SAVED_LOCK, SAVED_POSTS, SAVED_THREAD, SAVED_HOLD, SAVED_LINK };
struct saved {
    enum saved_kind kind;
    uint32_t index; /* in its list in scratch */
    union {
        struct content content;
        struct lock_state lock;
        struct thread_state thread;
        struct hold hold;
        uint32_t number;
    };
};

/* What a check changes; between checks in its initial state, or as witness_check_after() left it.
 */
struct scratch {
    struct content *contents; /* by lifetime */
    struct lock_state *locks;
    uint32_t *posts; /* by semaphore: that are left */
    struct thread_state *threads;
    uint32_t *next; /* forest over members */
    struct hold *holds;
    size_t nholds, holds_cap;
    struct cell_read *reads; /* [0] unused */
    size_t nreads, reads_cap;
    struct loose_write *loose; /* [0] unused */
    size_t nloose, loose_cap;
    uint32_t begun; /* the events before this one have happened, as recorded */
    bool saving;    /* what changes is saved first */
    struct saved *saved;
    size_t nsaved, saved_cap;
};

struct witness_trace {
    const struct trace_mem *trace;
    const struct event *events;
    size_t count;
    size_t nthreads, nlocks;
    uint32_t *posts; /* by semaphore: what it must have had at first, by the waits of the trace */
    size_t nsemaphores, posts_cap;
    bool *handed; /* by lock: some thread releases it that does not hold it */
    size_t handed_cap;
    uint32_t nlives; /* lifetimes of all cells: one each from the beginning, one per alloc */
    bool values, branches, loose;
    bool by_call; /* some read saw what a call of untraced code wrote */
    bool quiet;   /* a plain access stands for all like it up to the next synchronisation */
    enum witness_calls calls;
    struct call_rules call_rules; /* the rest is there where calls count */
    struct listed *listed;        /* beside call_rules.cell */
    bool *behind;                 /* beside touches: what content.behind was in the trace */
    struct changing *changing;    /* the values of witness_check_values(), or NULL */
    bool relaxed;                 /* such a check is under way */
    bool exact;
    const struct tables *names;
    struct cells cells;
    struct edges edges;
    struct place *places;
    struct touch *touches;
    size_t ntouches, touches_cap;
    struct scratch *scratch;
};

static inline bool is_writer(unsigned op)
{
    return op_table[op].writes || op == OP_ALLOC;
}

static inline bool reads_memory(const struct event *e)
{
    return op_table[e->op].reads;
}

static inline bool is_allocated(const struct witness_trace *w, uint32_t life)
{
    return life >= w->cells.count;
}

/* ---- messages (witness.c) ---- */

struct name {
    char text[128];
};

struct name name_thread(const struct witness_trace *w, uint32_t thread);
struct name name_target(const struct witness_trace *w, const struct event *e);
struct name name_function(const struct witness_trace *w, uint32_t call);

/* Refuse an event; always false. */
#define refuse(err, position, ...)                                                                 \
    (error_set((err), __VA_ARGS__), error_prefix((err), "event %" PRIu64, (uint64_t)(position)),   \
     false)

/* ---- preparing (prepare.c) ---- */

/* What a cell holds before anything happens. */
struct content initial_content(const struct witness_trace *w, uint32_t life);

/* ---- the replay (replay_state.c) ---- */

/* Can the event be next: are all there that it needs? */
bool check_next(const struct witness_trace *w, uint64_t position, struct error *err);
/* Let it happen, or say why it cannot. */
bool replay_event(const struct witness_trace *w, uint64_t position, struct error *err);
/* As if it had not happened; in any order. */
void undo_event(const struct witness_trace *w, uint32_t i);
/* From here on what changes is saved, until restore_saved() puts it back. Not with the rules on
 * quiet periods, loose reads and calls. */
void begin_saving(struct scratch *s);
void restore_saved(struct scratch *s);

/* The link that points to a thread's hold of a lock, or NULL. */
uint32_t *find_hold(struct scratch *s, uint32_t thread, uint32_t lock, bool shared);
void add_hold(struct scratch *s, uint32_t thread, uint32_t lock, bool shared);
void drop_all_holds(struct scratch *s, uint32_t thread);
/* The release of a lock, alone. */
void replay_release(const struct witness_trace *w, uint32_t i);

/* The c-th cell of an event, as values.h wants it. */
struct values_cell cell_of(const struct witness_trace *w, uint32_t i, uint32_t c);

/* ---- sequences (witness.c) ---- */

/* Nothing has happened any more: of what witness_check_after() left. */
void leave_beginning(const struct witness_trace *w);

/* Replay the events before the last `end`, ask what those do, put everything back. */
int check_sequence(const struct witness_trace *w, const uint64_t *order, size_t n, size_t end,
                   bool deadlock, struct error *err);

#endif
