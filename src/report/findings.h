/* findings.h - the one model of a result: what was analysed, by whom, the races and deadlocks
 *
 * The races of all engines meet here, one finding per unordered pair of
 * locations, one deadlock per set of locations. Every renderer (text, JSON, and those to come) sees
 * this and nothing else, whether it was built from an analysis or read back from JSON:
 *
 *     findings_set_trace(f, path, trace);
 *     e = findings_add_engine(f, "shb", seconds, complete);
 *     findings_add_races(f, e, &table, trace_tables(trace));
 *     findings_add_deadlocks(f, e, &deadlocks, trace_tables(trace));
 *     findings_finish(f, trace, &err)           names, stacks, locks, ids
 *
 * docs/design/findings.md says how findings merge and what identifies one.
 *
 * Ownership: strings and arrays belong to the findings and live as long as
 * they do; only witnesses are separate blocks (owned too).
 * Strings are clean: no control characters, valid UTF-8 (findings_string()).
 * Concurrency: none.
 */
#ifndef HEDDLE_REPORT_FINDINGS_H
#define HEDDLE_REPORT_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "engines/deadlock.h"
#include "engines/race.h"
#include "trace/trace.h"

/* One level of a call stack; function or location may be unknown (NULL), not both. */
struct frame {
    const char *function; /* readable: demangled */
    const char *location; /* as the trace says it: "14", "a.c:3:7" */
    bool inlined;         /* into the next frame */
};

/* A call stack, innermost frame first. */
struct stack {
    const struct frame *frames;
    size_t count;
    uint64_t omitted; /* outer frames that were left out */
};

struct held_lock {
    const char *name;
    const char *location; /* where it was taken, or NULL */
    uint64_t event;       /* the acquire's position, where location is known */
    uint64_t target;      /* not in JSON */
    bool shared;
    bool only_here; /* it could not be taken at the other access: not yet initialised there, or not
                       any more, or another thread's own */
    struct stack stack; /* of taking it; recorded programs only, the innermost frames */
};

/* Lines of a source file. */
enum { EXCERPT_LINES = 3 };
struct excerpt {
    const char *location;
    uint64_t first; /* line number of lines[0] */
    const char *lines[EXCERPT_LINES];
    size_t count;
    size_t marked; /* the line of the location is lines[marked] */
};

/* One of the two accesses of a race. */
struct side {
    uint64_t event;  /* position in the trace; unexecuted: of the branch (struct finding_flip) */
    bool unexecuted; /* the recorded execution did not come there */
    const char *thread;
    const char *thread_name; /* the program's own name for it, or NULL */
    const char *op;          /* op_info.name: "write", "atomic-load" */
    const char *order;       /* an atomic's memory order ("sc"), else NULL */
    const char *location;
    const char *function;    /* readable, or NULL */
    const char *symbol;      /* the function's linkage name where that differs, or NULL */
    const char *variable;    /* what the code there calls it ("struct q::head"), or NULL */
    uint64_t bytes;          /* accessed; 0 unknown, or a variable of a text trace */
    const char *value;       /* decimal, or NULL */
    const char *old;         /* what a read-modify-write replaced, or NULL */
    struct held_lock *locks; /* in the order they were taken */
    size_t nlocks;
    struct stack stack;
    const struct excerpt *source; /* the first frame of the program's own whose file is there */
    const char *creator;          /* thread that forked this one, or NULL */
    const char *created_at;       /* location of that fork */
    uint64_t created_event;       /* and its position */
    struct stack created_stack;   /* recorded programs only */
    bool locks_unknown;           /* production runs follow none */
};

/* One step of a schedule, readable. */
struct schedule_step {
    uint64_t index; /* in the witness, from 0 */
    uint64_t event;
    const char *thread, *operation, *location;
};

/* Where the memory of a race comes from. */
struct allocation {
    const char *thread, *location;
    uint64_t event;
    uint64_t bytes, offset; /* of the allocation; where in it the race is */
    bool is_stack;          /* the thread's stack, not a block of the heap */
    bool maybe_local;       /* with is_stack: or its thread-local storage, which is beside it */
    struct stack stack;     /* recorded programs only */
};

/* The tests (run --test) that showed it, where several results were put together. */
struct findings_tests {
    const char **names;
    size_t count;
};

/* A branch of a witness that goes another way than it did, or a pointer that leads elsewhere, so
 * that code is executed that was not (engines/race.h). Its new events have positions of their own
 * behind those of the trace. */
struct finding_flip {
    uint64_t event; /* the branch */
    const char *thread, *location;
    uint64_t outcome;            /* now */
    bool by_value;               /* of the pointer that is followed or called behind `event` */
    uint64_t path;               /* which of the analysis' ways behind this branch */
    uint64_t first, nevents;     /* positions of the new events */
    uint64_t access;             /* the one that races */
    unsigned side;               /* of the race */
    const struct event *events;  /* NULL where this was read from a file */
    struct schedule_step *steps; /* the new events, readable; `index` counts them */
};

/* A read of a witness that sees another value than it did (engines/race.h, changed_reads.h). */
struct finding_change {
    uint64_t event, writer, branch; /* UINT64_MAX: what was there first; no branch */
    uint64_t value, recorded;
    bool has_value, has_recorded;
    const char *thread, *variable, *location; /* of the read */
    const char *written_at, *branch_at;       /* or NULL */
};

struct finding {
    const char *id;
    const char *trace; /* the file its positions are in; NULL: findings.trace.path */
    const char *variable;
    const char *variable_key; /* the name it has in a text trace, or NULL */
    uint64_t address, bytes;  /* that both accesses touch; 0, 0 for a variable with only a name */
    enum strength strength;
    bool independent;    /* whatever reads saw: it does not follow from another race */
    const char *follows; /* id of the race that it follows from: if that one's accesses were atomic,
                            it would be ordered; or NULL */
    bool may_follow;     /* only if a read of that one saw the write, which is not known */
    uint64_t cause;      /* its number in the list, from 1; 0: none, or it is not listed */
    uint64_t serial;     /* inside, while findings are put in order */
    const char *doubt;   /* why it is not `observed` though no synchronisation orders it; or NULL */
    const char *confirmation;        /* run --confirm: "confirmed", "not met" ..., or NULL */
    uint64_t tries;                  /* runs of the program for it */
    const char *confirmation_reason; /* why it is not confirmed, or NULL */
    bool descriptor;                 /* it is about a file descriptor: used against closed */
    uint64_t count;
    uint64_t engines;              /* bit i: findings.engines[i] found it; the lowest one first */
    const char *decided_by;        /* the engine that its strength, instance and witness are from */
    struct side sides[2];          /* in trace order */
    struct allocation *allocation; /* or NULL */
    const char *thread_local_of;   /* the thread whose thread-local variable it is ("?": one of
                                      several), or NULL: it is none, or that is not known */
    uint64_t *witness;             /* owned, or NULL */
    size_t nwitness;
    uint64_t after;        /* it comes after so many events of the trace, as recorded, */
    uint64_t part;         /* and is about so many behind them (trace/parts.h) */
    uint64_t long_witness; /* events of one that was accepted but not kept; 0: none */
    const struct schedule_step *schedule; /* the steps of the witness that matter most */
    size_t nschedule;
    uint64_t switches; /* of the witness from one thread to another; 0: not known */
    struct findings_tests tests;
    struct finding_flip *flips;
    size_t nflips;
    struct finding_change *changes;
    size_t nchanges;
    bool by_values; /* the witness holds by values, which need the program; also where none changes
                     */
};

/* One of the threads of a deadlock. */
struct waiter {
    struct side request;  /* its locks are those held before */
    const char *lock;     /* that it waits for; the next waiter (of the last: the first) has it */
    const char *lock_key; /* the name it has in a text trace, or NULL */
    /* Where this thread took the lock that the waiter before it wants. */
    uint64_t hold_event;
    const char *hold_location;
};

/* Threads that wait for each other. */
struct deadlock_finding {
    const char *id;
    const char *trace; /* as in a finding */
    enum strength strength;
    uint64_t count;   /* patterns with these locations that were met */
    uint64_t engines; /* bit i: findings.engines[i] found it */
    struct waiter *waiters;
    size_t nwaiters;
    uint64_t *witness; /* owned, or NULL; ends with the requests */
    size_t nwitness;
    uint64_t long_witness; /* events of one that was accepted but not kept; 0: none */
    const struct schedule_step *schedule;
    size_t nschedule;
    uint64_t switches; /* of the witness from one thread to another; 0: not known */
    struct findings_tests tests;
};

struct findings_counter {
    const char *name;
    uint64_t value;
};

struct findings_engine {
    const char *name;
    double seconds;
    uint64_t races;     /* findings it has a part in */
    uint64_t deadlocks; /* the same */
    bool complete;
    struct findings_counter *counters; /* owned */
    size_t ncounters, counters_cap;
};

struct findings_diagnosis {
    const char *kind; /* diag_kind_name() */
    const char *text;
    uint64_t event;
};

/* Different texts, in the order they came. */
struct findings_names {
    const char **names;
    size_t count, cap;
};

/* How recorded traces were made (recorded.c); all zero for others. */
struct findings_recording {
    uint64_t processes;                     /* whose traces were analysed */
    struct findings_names traced, untraced; /* paths of executables and libraries */
    struct findings_counter *counters;      /* "accesses lost" ...: those that are not 0 */
    size_t ncounters;
    struct findings_names notes; /* of the runtime and the writer, for the user */
};
enum { FINDINGS_RECORDED = 64 };

/* What was analysed. */
struct findings_trace {
    const char *path, *format; /* format may be NULL (foreign JSON) */
    const char *program;       /* absolute path of what was run, or NULL: unknown; not in JSON */
    uint64_t events, threads;
    enum trace_order order;
    bool values, branches, calls;
    uint64_t lost_bytes;
    const char *loss;                     /* NULL: nothing lost */
    uint64_t repaired;                    /* impossible events that were given another reading */
    struct findings_diagnosis *diagnoses; /* the first of each kind */
    size_t ndiagnoses;
    struct findings_counter *diagnosis_totals; /* per kind, all of them */
    size_t ndiagnosis_totals;
    struct findings_recording recording;
};

/* A rule of a suppression file (suppress.h). */
struct findings_rule {
    const char *text, *file;
    uint64_t line;
    uint64_t count; /* findings it took away */
};

enum { FINDINGS_ENGINES = 64 };

struct findings {
    struct findings_trace trace;
    struct findings_engine *engines; /* in the order they ran, which is that of their cost */
    size_t nengines, engines_cap;
    struct finding *races;
    size_t count, cap;
    struct deadlock_finding *deadlocks;
    size_t ndeadlocks, deadlocks_cap;
    enum strength spared; /* findings of this strength and of weaker ones are no failures; 0: all
                             are */
    struct findings_left {
        const char *first, *second; /* locations */
        const char *calls[3];       /* functions to blame; NULL: no more */
    } *left;                        /* pairs that calls of untraced code may order: the first */
    size_t nleft, left_cap;
    uint64_t suppressed;
    struct findings_rule *rules; /* that were in force, in the order of their files */
    size_t nrules;
    uint64_t new_events;  /* of all flips, so far */
    uint64_t known;       /* findings left out because the baseline has them */
    const char *baseline; /* NULL: there is none */
    const char *test;     /* the test that this is the result of (run --test), or NULL */
    /* Called after each batch while findings_finish() reads the trace; may be NULL. True: what was
     * collected so far has to do. */
    bool (*progress)(void *arg, const struct trace_info *info);
    void *progress_arg;
    bool stopped; /* it was true */
    /* Then: what there was no time to collect details of, "a.c:3:4 and b.c:5:6, observed", and the
     * strongest of that (STRENGTH_COUNT: nothing). Not in JSON. */
    struct findings_names untold;
    enum strength untold_strength;
    struct intern strings;
    struct arena memory;
    struct map by_locations; /* pair of string numbers -> index, while races are added */
};

void findings_release(struct findings *f); /* a zeroed struct is empty */

/* How many findings have this strength. */
uint64_t findings_with_strength(const struct findings *f, enum strength s);
/* The race or deadlock a user means: its id, its number (races from 1 on, then deadlocks), or the
 * start of an id. The index, deadlocks behind the races; SIZE_MAX and an error where that is none
 * or several. */
size_t findings_find(const struct findings *f, const char *what, struct error *err);
/* The same for many questions, with the list that findings_list_ids() made: O(1), for the start of
 * an id O(n). */
size_t findings_find_in(const struct findings *f, const struct intern *ids, const char *what,
                        struct error *err);

/* A clean copy of s: control characters and bytes that are not UTF-8 become \xNN. Equal
 * texts are equal pointers. NULL stays NULL. */
const char *findings_string(struct findings *f, const char *s);

/* Copy what the trace says about itself, as far as it was read. */
void findings_set_trace(struct findings *f, const char *path, const struct trace *t);
/* Its parts that concern recorded traces: from the tables, one by one, from another result. */
void findings_set_recording(struct findings *f, const struct tables *t);
void findings_add_module(struct findings *f, const char *path, bool traced);
void findings_add_recorded(struct findings *f, const char *name, uint64_t value);
void findings_add_note(struct findings *f, const char *text);
void findings_join_recording(struct findings *f, const struct findings_recording *from);
/* The engine's number. At most FINDINGS_ENGINES. */
size_t findings_add_engine(struct findings *f, const char *name, double seconds, bool complete);
/* A pair that is left out, once; texts are copied. */
void findings_add_left(struct findings *f, const struct findings_left *left);
void findings_add_counter(struct findings *f, size_t engine, const char *name, uint64_t value);
/* Merge an engine's races; their witnesses move here. */
void findings_add_races(struct findings *f, size_t engine, struct race_table *races,
                        const struct tables *t);
/* The same for its deadlocks (deadlocks.c). */
void findings_add_deadlocks(struct findings *f, size_t engine, struct deadlock_table *deadlocks,
                            const struct tables *t);

/* Called after the last race was added: sort, read the trace once more for all that a report
 * shows, and give each finding its id. */
int findings_finish(struct findings *f, struct trace *t, struct error *err);

/* Sort the deadlocks alone. */
void findings_sort_deadlocks(struct findings *f); /* deadlocks.c */
/* Who holds what a waiter waits for. */
const struct waiter *deadlock_holder(const struct deadlock_finding *d, size_t waiter);

/* The id of a race or, behind them, of a deadlock; all of them, for look-ups in O(1); and is this
 * one of them? The caller releases the list. */
const char *findings_id(const struct findings *f, size_t i);
void findings_list_ids(const struct findings *f, struct intern *ids);
bool findings_listed(const struct intern *ids, const char *id);
/* Leave out the findings that are not to be kept (one of the two is NULL); engines count again what
 * they have a part in. How many went. */
uint64_t findings_keep(struct findings *f,
                       bool (*keep)(void *arg, const struct finding *race,
                                    const struct deadlock_finding *deadlock),
                       void *arg);
/* Leave out what another result has, by ids. How many went. */
uint64_t findings_subtract(struct findings *f, const struct findings *known);

/* Set the numbers of causes (finding.cause) from the ids in finding.follows; and put findings
 * behind their causes first. O(n). */
struct buf;
/* "follows from race 3: if flag were atomic, this would be ordered"; nothing where it follows from
 * none. */
void findings_phrase_cause(const struct findings *f, const struct finding *r, struct buf *b);
void findings_link(struct findings *f);
void findings_group(struct findings *f);

/* The parts of findings_finish(). */
void findings_sort(struct findings *f);                                      /* findings.c */
int findings_enrich(struct findings *f, struct trace *t, struct error *err); /* enrich.c */
void findings_drop_untold(struct findings *f);                               /* untold.c */
/* A race on a descriptor: its sides use it and close it. */
#define FD_RACE "fd-race"
static inline void findings_descriptor(struct finding *r)
{
    r->descriptor = true;
    for (int i = 0; i < 2; i++) {
        r->sides[i].op = strcmp(r->sides[i].op, "free") == 0 ? "close" : "use";
        r->sides[i].bytes = 0;
    }
}
/* What such a side is in the trace. */
static inline const char *findings_access(const struct side *s)
{
    return strcmp(s->op, "close") == 0 ? "free" : strcmp(s->op, "use") == 0 ? "read" : s->op;
}
void findings_identify(struct findings *f); /* identity.c */

/* Split "a.c:3:7" or "a.c:3" into its parts; false where the location is not of that form. */
bool location_split(const char *location, size_t *file_len, uint32_t *line, uint32_t *column);

/* One plain sentence on what a strength means, of a race and of a deadlock. */
const char *strength_meaning(enum strength s);
/* The same for a race, by who found it: one that was only predicted is ordered in the recording. */
const char *race_meaning(const struct findings *f, const struct finding *r);
const char *deadlock_meaning(enum strength s);

#endif
