/* engine.h - what every race detection engine implements
 *
 * Engines see the trace as steps (order/step.h): variables, objects and
 * threads are dense numbers, an access that covers several variables is
 * several steps. They never print, exit or open files: they put races into
 * the table and numbers into counters.
 *
 * To add an engine: one file with a `const struct engine engine_x`, one line
 * in registry.c.
 */
#ifndef HEDDLE_ENGINES_ENGINE_H
#define HEDDLE_ENGINES_ENGINE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/map.h"
#include "engines/deadlock.h"
#include "engines/race.h"
#include "order/view.h"
#include "order/step.h"

struct whole;
struct predict_backend;
struct crew;

struct counter {
    const char *name; /* static */
    uint64_t value;
};

/* More than any engine has; one more is an invariant that does not hold, never a number less. */
enum { ENGINE_COUNTERS = 64 };

/* A pair of sites that is left out, because calls of untraced code may order it: functions that are
 * called on a way from one to the other (numbers; none: the calls do it together with locks and
 * values). */
enum { LEFT_MAX = 1000, LEFT_CALLS = 3 };
struct left_pair {
    uint32_t first, second, ncalls;
    uint32_t calls[LEFT_CALLS];
};

/* What an engine leaves behind. */
struct engine_result {
    struct race_table races;
    struct deadlock_table deadlocks;
    struct counter counters[ENGINE_COUNTERS];
    size_t ncounters;
    bool complete;    /* false: something was left undecided, see counters (engine_leave()) */
    bool no_suspects; /* syncp: no two accesses can meet where reads keep their writers */
    bool refutes;     /* mc: what is neither among its races nor in `open` cannot be, for sure */
    struct map open;  /* mc: pairs of sites that it did not decide */
    struct left_pair *left; /* rdit: the first of them (judge.h), owned */
    size_t nleft, left_cap;
};

/* Adds to a counter; `name` is static. */
void engine_count(struct engine_result *r, const char *name, uint64_t value);
/* The same for what was left undecided: where there is any, the result is not complete. The names
 * that users read are explained by report/undecided.h. */
void engine_leave(struct engine_result *r, const char *name, uint64_t value);

/* What a user can ask of engines; each looks at what concerns it. All zero: the defaults. */
struct engine_options {
    bool all;        /* cp, wcp: do not order a reported pair from there on */
    bool no_witness; /* keep no schedules: they are made and checked all the same */
    bool find_only;  /* for measurements: make none, so races stay `maybe` */
    bool cascade;    /* later engines need not decide again what earlier ones have shown */
    bool one_by_one; /* a decoding for each engine: less memory */
    bool see_all;    /* for tests: also what no schedule can hold (showable.h), and engines that
                        follow others (below) look for themselves */
    bool see_safe;   /* for tests: engines that go by hb's races see more than suspects (sieve.h) */
    bool sieve;      /* leave out accesses that matter to no engine (sieve.h); not for lockset */
    uint64_t
        gist_from;   /* events of a trace of which only the gist is held (gist.h); 0: the default */
    uint64_t window; /* cp: only so many significant events at a time; 0: no window */
    uint64_t part;   /* long traces: events to hold at a time (whole_parts.h); 0: the default */
    uint64_t
        memory; /* for prediction, in bytes: of long recordings it looks at the beginning; 0: any */
    uint64_t follow_from; /* for tests: schedules of more events begin as the trace does
                             (observed.c); 0: the default */
    uint64_t max_witness; /* longest schedule to keep, in events; 0: any length */
    uint64_t work;        /* for decide() of all engines together, in units (effort.h); 0: any */
    unsigned jobs;        /* threads that decide() may use; 0: one */
    struct crew *crew;    /* other processes that decide() may use (crew.h), or NULL */
    const struct predict_backend *solver; /* of ordering questions (backend.h); NULL: our own */
};

struct engine {
    const char *name;
    const char *summary;  /* one line for `heddle help` */
    enum strength proves; /* strength of its races before any witness is checked */
    bool on_request;      /* not part of the cascade: it over-approximates, or others contain it */
    bool predicts;        /* also pairs that happens-before orders: without a schedule no proof */
    enum call_rule call_rule; /* how calls of untraced code count in view and checker (whole.h) */
    bool needs_code; /* has nothing to do in the cascade unless the trace is a full recording */
    bool sees_all;   /* alone it sees every access: it is cheap, or its numbers are about all */
    /* In the cascade: this one runs first, and where it proves that there is nothing to find
     * (analysis.c) the engine that follows it sees no step. NULL: none. */
    const struct engine *follows;
    /* Called instead of steps() and finish() with the state of the engine it follows, which has
     * seen the same steps and is finished: take over what it has learned. NULL: it sees them. */
    void (*inherit)(void *state, const void *followed);

    /* Called once before the first step; the result outlives the state. */
    void *(*open)(struct engine_result *result, const struct engine_options *options);
    /* Called with consecutive pieces of the trace; NULL: does all its work in decide(). Other
     * engines may run at the same time, and the next piece may come in another thread. */
    void (*steps)(void *state, const struct span *span);
    /* Called once after the last step: what can only be decided at the end, and counters. NULL:
     * nothing. */
    void (*finish)(void *state);
    /* Called once after finish(), for one engine after the other, unless the analysis was stopped:
     * what needs the events again, such as schedules. -1: the trace cannot be read. NULL: nothing.
     */
    int (*decide)(void *state, struct whole *whole, struct error *err);
    /* Called last, also without finish(). */
    void (*close)(void *state);
};

extern const struct engine engine_fasttrack;
extern const struct engine engine_hb;
extern const struct engine engine_shb;
extern const struct engine engine_lockset;
extern const struct engine engine_sshb;
extern const struct engine engine_deadlock;
extern const struct engine engine_wcp;
extern const struct engine engine_osr;
extern const struct engine engine_mc;
extern const struct engine engine_rdit;
extern const struct engine engine_recipe_s;
extern const struct engine engine_recipe;
extern const struct engine engine_sb;
extern const struct engine engine_syncp;
extern const struct engine engine_cp;

/* All engines, in the order of their cost; ends with NULL. */
extern const struct engine *const engine_registry[];
const struct engine *engine_find(const char *name, size_t len);

/* Let an engine that needs no steps decide() for another one, whose result this is: engines do not
 * include each other. -1: the trace cannot be read. */
int engine_decide(const struct engine *engine, struct engine_result *result, struct whole *whole,
                  struct error *err);

#endif
