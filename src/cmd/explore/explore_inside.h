/* explore_inside.h - what the files that find new orders share
 *
 * explore_next.c keeps the orders that wait and says which comes next; explore_learn.c finds them
 * in the log of a run; explore_rest.c says what remains of a run if threads stop, and which runs
 * are equivalent.
 */
#ifndef HEDDLE_CMD_EXPLORE_EXPLORE_INSIDE_H
#define HEDDLE_CMD_EXPLORE_EXPLORE_INSIDE_H

#include "cmd/explore/explore.h"
#include "base/map.h"

/* Bytes of memory that count as one object. */
enum { EXPLORE_GRANULE = 8 };

struct candidate {
    struct schedule schedule;
    int score;
    uint64_t signature, order;
    char why[48];
};

struct explorer {
    struct candidate *queue;
    size_t count, cap;
    struct map tried;    /* signature -> times it was run */
    struct map prefixes; /* classes of what was put into the queue */
    struct map classes;  /* of runs */
    struct map values;   /* site and value that a read has seen */
    uint64_t same, left_out, order;
    char why[48];
};

static inline uint64_t explore_mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6))) * UINT64_C(0xff51afd7ed558ccd);

    return h ^ h >> 31;
}

/* ---- steps ---- */

static inline bool is_access(const struct explore_step *s)
{
    return s->op <= EX_FREE;
}

static inline bool writes(const struct explore_step *s)
{
    return s->op == EX_WRITE || s->op == EX_STORE || s->op == EX_RMW || s->op == EX_FREE;
}

static inline bool reads(const struct explore_step *s)
{
    return s->op == EX_READ || s->op == EX_LOAD || s->op == EX_RMW;
}

static inline bool locks(const struct explore_step *s)
{
    return s->op == EX_LOCK || s->op == EX_LOCK_SHARED;
}

static inline bool took(const struct explore_step *s)
{
    return locks(s) && !(s->flags & EX_FAILED);
}

static inline bool unlocks(const struct explore_step *s)
{
    return s->op == EX_UNLOCK || s->op == EX_UNLOCK_SHARED;
}

static inline bool overlap(const struct explore_step *a, const struct explore_step *b)
{
    return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

static inline bool conflict(const struct explore_step *a, const struct explore_step *b)
{
    if (a->thread == b->thread)
        return false;
    if (is_access(a) && is_access(b))
        return overlap(a, b) && (writes(a) || writes(b));
    if (a->address != b->address)
        return false;
    if (locks(a) && locks(b))
        return a->op == EX_LOCK || b->op == EX_LOCK;
    if (a->op == EX_SEM_WAIT && b->op == EX_SEM_WAIT)
        return true;
    if (a->op == EX_WAIT)
        return b->op == EX_SIGNAL || b->op == EX_BROADCAST;
    return b->op == EX_WAIT && (a->op == EX_SIGNAL || a->op == EX_BROADCAST);
}

/* ---- explore_rest.c ---- */

/* A hash of happens-before: two runs, or two beginnings, with the same are equivalent. */
struct classifier {
    struct map slots;            /* address -> index */
    struct object_hash *objects; /* owned */
    size_t count, cap;
    uint64_t threads[EXPLORE_THREADS_MAX];
};
void classifier_add(struct classifier *c, const struct explored *e, const struct explore_step *s);
uint64_t classifier_class(const struct classifier *c, size_t nthreads);
void classifier_release(struct classifier *c);

/* Where threads stop. */
struct stops {
    size_t at[EXPLORE_THREADS_MAX]; /* SIZE_MAX: it does not stop */
};

/* A run again, step by step, without what needs those that have stopped. */
struct rest {
    const struct explored *e;
    const struct stops *stops;
    bool *kept;                        /* by step */
    bool late[EXPLORE_THREADS_MAX];    /* it stops, or needs one that does */
    bool changed[EXPLORE_THREADS_MAX]; /* has read something else */
    bool forked[EXPLORE_THREADS_MAX];
    struct map holder; /* lock -> 1 + thread */
    struct map cut;    /* address: a write that is left out, or one that depends on it */
    struct map tokens; /* semaphore -> tokens + 1000 */
    struct map left;   /* condition, barrier: something is left out there */
    uint64_t needs;    /* the lock that made the last thread late */
};
void rest_init(struct rest *w, const struct explored *e, const struct stops *stops);
/* Is the step part of what remains? */
bool rest_step(struct rest *w, size_t k);
/* What remains of the first `end` steps. */
void rest_schedule(const struct rest *w, size_t end, struct schedule *s);
void rest_release(struct rest *w);

/* ---- explore_next.c: the orders that wait ---- */

/* Was such a beginning in the queue before? It is from now on. */
bool explorer_knows(struct explorer *x, const struct rest *w, size_t end, uint64_t how);
/* Takes the schedule over. */
void explorer_put(struct explorer *x, struct schedule *s, int score, uint64_t signature,
                  const char *why);

#endif
