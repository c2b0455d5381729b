/* static_threads.h - what static_threads.c and static_joins.c share */
#ifndef HEDDLE_STATIC_STATIC_THREADS_H
#define HEDDLE_STATIC_STATIC_THREADS_H

#include "static/static_inside.h"

struct thread_work {
    uint32_t *at;
    size_t count, cap;
};

struct threads {
    unsigned count;
    bool crowded;                 /* some share the last number */
    uint32_t start[THREADS_MAX];  /* the call that starts it */
    uint64_t below[THREADS_MAX];  /* threads it starts, directly or not */
    uint64_t beside[THREADS_MAX]; /* threads that may run at any time while it does */
    uint64_t *runs;               /* of functions: who runs them */
    uint32_t *first_call;         /* of functions, in statics.calls */
    uint64_t *exit0, *exit1;      /* of functions: the mask at exit if none, all run at entry */
    uint64_t escaped_exit;        /* of all that untraced code may call */
    uint8_t *interesting;         /* of functions: not the identity */
    uint64_t *entry[THREADS_MAX]; /* of functions in a thread; NULL: 0 */
    uint64_t *scratch;            /* of blocks */
    uint64_t *cache;              /* masks of blocks of the last function asked for */
    size_t cache_cap;
    uint32_t cached_thread, cached_function;
};

bool call_starts(const struct call *c);
uint64_t *threads_blocks(struct statics *s, struct threads *t, unsigned thread, uint32_t f);
/* Of the threads it started itself, those that may run when `thread` is at the fact. */
uint64_t threads_mask(const struct statics *s, unsigned thread, uint32_t function, uint32_t fact);

/* static_joins.c: sets `kills` of calls that join a thread for certain... */
void joins_find(struct statics *s);
/* ...and takes back those for which the flow found that several may run. True: some. */
bool joins_refute(struct statics *s);

#endif
