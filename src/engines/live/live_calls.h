/* live_calls.h - the order that calls of untraced code may bring, as events come by
 *
 * What order/call_pairs.h finds out about a whole trace, for one that is still being recorded, by
 * clocks: each event learns what the rules of docs/design/rdit.md say that it may come after.
 *
 *     live_calls_before(c, e)     before the event's accesses are compared
 *     live_calls_after(c, e)      behind all that the event does
 *
 * Nothing is left out of the rules; where the end of the trace would have to be known, or a thing
 * would have to be split, more is ordered than they say:
 *   - A call that may touch anything, the end of a thread that has not ended, or the beginning of
 *     one, orders all that came before it, all that comes while it lasts, and all that comes
 *     behind.
 *   - The first call does so, too: nothing is followed before.
 *   - Who touched a thing before a call listed it for the first time is known from live_words.h;
 *     all that such a thread has done up to now comes before the call.
 *   - Who touches a byte of a run touches all of it.
 * So what is unordered here is unordered by those rules.
 *
 * Memory: by what calls list, what is allocated and which objects synchronise; live_calls_bytes().
 * Concurrency: none.
 */
#ifndef HEDDLE_ENGINES_LIVE_LIVE_CALLS_H
#define HEDDLE_ENGINES_LIVE_LIVE_CALLS_H

#include "engines/live/live_runs.h"
#include "engines/live/live_words.h"
#include "order/hb.h"
#include "trace/trace.h"

enum { LIVE_LISTED_BITS = 16 };

struct live_pair {
    uint32_t thread;
    uint32_t refs;  /* runs and links, and its own thread's stack */
    bool over, all; /* it has returned; it may touch anything */
    bool lasts;     /* ... when it returns, it is not over before the quiet period is (EV_LASTS) */
    bool returned;  /* and that is where it is now */
    struct clock left; /* what its thread knew then */
    uint32_t *links;   /* pairs of other threads that were open at the call and share a thing */
    uint32_t nlinks, links_cap;
};

/* Open calls that have things in common, or a thread. */
struct live_group {
    struct clock clock; /* what those know that met it, up to the last change of `last` */
    uint32_t last; /* the thread that met it last and is in it; THREAD_NONE: it is in `clock` */
    bool used;
};

struct live_caller {
    uint32_t *stack; /* open calls */
    uint32_t depth, stack_cap;
    uint32_t group; /* where there are any */
    uint64_t met;   /* the last meeting that it knows of */
};

struct live_calls {
    struct hb *hb; /* all borrowed */
    struct live_words *words;
    const struct tables *names; /* or NULL: named objects and variables are different things */
    uint32_t (*thread_at)(void *arg, uint32_t slot); /* who has it now, or had it last */
    void *arg;

    bool on;   /* a call has come */
    bool lost; /* there is too much to follow: everything is ordered */
    struct live_runs runs;
    struct live_pair *pairs;
    size_t npairs, pairs_cap;
    uint32_t *free_pairs;
    size_t nfree, free_cap;
    struct live_group *groups;
    size_t ngroups, groups_cap;
    struct live_caller *threads;
    size_t threads_cap;
    struct clock met;  /* what all knew when they met last */
    uint64_t meetings; /* so many times */
    uint32_t open_all; /* calls that may touch anything */
    uint64_t evicted;  /* of the words, that were answered with a meeting */
    uint64_t listed[(1 << LIVE_LISTED_BITS) / 64]; /* pages with listed runs, by a hash */
    bool listed_all;                               /* a listed range is too large for that */
    uint64_t shared[(1 << LIVE_LISTED_BITS) / 64]; /* locks that somebody shared, by a hash */
    size_t entries;                                /* of the runs' arrays */
};

void live_calls_release(struct live_calls *c);
/* The clocks are gone: all threads met, only what is open now is known of what was. */
void live_calls_forget(struct live_calls *c);

void live_calls_before(struct live_calls *c, const struct event *e, const uint64_t *extra);
void live_calls_after(struct live_calls *c, const struct event *e);

size_t live_calls_bytes(const struct live_calls *c);

/* Is everything ordered now? Then accesses need not be looked at. */
static inline bool live_calls_order_all(const struct live_calls *c)
{
    return c->open_all || c->lost;
}

#endif
