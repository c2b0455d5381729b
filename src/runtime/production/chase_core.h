/* chase_core.h - who waits where, when to wait, and what waiting has cost
 *
 * The part of chase that neither reads a clock nor blocks: times and random numbers are given to
 * it, so that tests can give it what they like. docs/design/production.md has the argument.
 *
 * Sampling (docs/design/production.md, Biswas et al. CC'17, section 4.2):
 *
 *     P        = P_freq * P_budget
 *     P_freq   = 1 / (times this thread sampled s1, counting from 1), or more if s1 is rare
 *     P_budget = 1 - (t_waited + t_delay) / ((max(t_total, t_min) + t_delay) * r_max)
 *
 * t_waited is the wall time in which one or more threads wait. t_total is the time that has passed
 * less all that we have spent, which is what the program would have taken: r_max is of that, not of
 * what we made of it. A wait is charged when it begins, up to its planned end; what it takes less
 * or more is set right when the last thread stops waiting. So at every moment, also when processes
 * of one run share the sums and when one is killed,
 *
 *     waited - late <= r_max * (max(t_total, t_min) + t_delay)
 *
 * where `late` is what the system added to waits that were over (counted in waited, and so paid
 * for by fewer waits later). What we cost otherwise (`own`; the paper's formula has the waits only)
 * does not change P_budget, but a wait begins only where the same is true of waited + own. All in
 * integers: 2^32 stands for probability 1.
 *
 * Concurrency: the caller holds one lock around every call but chase_may_meet() and chase_waited();
 * the sums are changed by other processes, too, and `waiting` may be read at any time.
 */
#ifndef HEDDLE_RUNTIME_PRODUCTION_CHASE_CORE_H
#define HEDDLE_RUNTIME_PRODUCTION_CHASE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/rt_prod.h"

/* More threads than this do not wait at a time: with r_max 5 % several at once are rare, and 64
 * have been enough in every program. The rest is counted, and does not wait. */
enum { CHASE_WAITERS = 64 };

struct chase_limits {
    uint64_t delay_ns; /* t_delay */
    uint64_t least_ns; /* t_min */
    uint32_t max_ppm;  /* r_max */
    /* Of the time that has passed since t_min, for what we cost and cannot see: the build (up to 4
     * percent of programs that do little but access memory). Runs that are shorter may wait as
     * r_max says: they have little time to meet anybody. */
    uint32_t reserve_ppm;
};

/* At most four percent, and a fifth of any limit is left for waits. */
static inline uint32_t chase_reserve_ppm(uint32_t max_ppm)
{
    return max_ppm / 5 * 4 < 40000 ? max_ppm / 5 * 4 : 40000;
}

/* P_budget, in 2^32nds. */
uint64_t chase_p_budget(const struct chase_limits *l, uint64_t waited_ns, uint64_t total_ns);
/* May a wait begin: the draw with P_budget, and what it and all that we cost otherwise come to is
 * within r_max. The first wait of a run does not ask for the latter: a start that took long (a pair
 * named by lines of a large program) would keep short runs from ever waiting. */
bool chase_may_wait(const struct chase_limits *l, uint64_t waited_ns, uint64_t own_ns,
                    uint64_t passed_ns, uint32_t random);

/* For how long from now on chase_may_wait() says no to every draw, if nothing is given back
 * meanwhile; at least. 0: it may say yes. */
uint64_t chase_refused_for(const struct chase_limits *l, uint64_t waited_ns, uint64_t own_ns,
                           uint64_t passed_ns);

/* Where threads wait at several sites: half of the budget is for those that have not had their
 * share of it, else the hot ones would leave nothing to a site that is executed once a second. */
bool chase_is_fair(const struct chase_limits *l, uint64_t had_ns, uint32_t sites,
                   uint64_t waited_ns, uint64_t total_ns);

/* Waits that the budget pays for in so much time, in 2^16ths. */
static inline uint64_t chase_affordable(const struct chase_limits *l, uint64_t ns)
{
    uint64_t us = ns / 1000 * l->max_ppm / 1000000; /* that may be waited */

    return l->delay_ns ? us * 1000 * 65536 / l->delay_ns : 0;
}
/* Draw with P_freq: `sampled` from 1 on, `random` uniform. The paper's 1 / sampled alone leaves
 * most of the budget unused where s1 is executed once a second: the 100th time it would be sampled
 * once in fourteen. So P_freq is at least what makes a thread's waits as many as could be afforded
 * since it first came to s1, of which this is hit `hits`; a site that is executed less often than
 * that is sampled each time that P_budget lets it. */
static inline bool chase_draw_freq(uint32_t sampled, uint32_t hits, uint64_t affordable,
                                   uint32_t random)
{
    return (uint64_t)random * sampled < UINT64_C(1) << 32 ||
           (uint64_t)random * hits >> 16 < affordable;
}

struct chase_access {
    uint64_t address;
    uint32_t bytes;
    bool write, atomic;
};

/* Do they make a race: bytes in common, one writes, not both atomic. */
static inline bool chase_conflict(const struct chase_access *a, const struct chase_access *b)
{
    return a->address < b->address + b->bytes && b->address < a->address + a->bytes &&
           (a->write || b->write) && !(a->atomic && b->atomic);
}

struct chase_waiter {
    bool used;
    bool is[2];     /* the sides of the pair that its site is on */
    uint32_t woken; /* futex: not 0 ends the wait */
    uint64_t until_ns;
    struct chase_access access;
    struct prod_side side; /* what a sighting says of it */
};

struct chase_core {
    struct chase_limits limits;
    uint64_t *waited_ns, *late_ns, *own_ns; /* shared with other processes of the run */
    uint64_t end_ns;                        /* up to then waiting is charged, while `waiting` */
    uint32_t waiting;                       /* threads */
    uint32_t used;                          /* places that have been taken at some time */
    struct chase_waiter waiter[CHASE_WAITERS];
};

/* What we have spent, other than by waiting. */
static inline uint64_t chase_own_ns(const struct chase_core *c, uint64_t total_ns)
{
    uint64_t least = c->limits.least_ns, late = total_ns > least ? total_ns - least : 0;

    return __atomic_load_n(c->own_ns, __ATOMIC_RELAXED) + late / 1000000 * c->limits.reserve_ppm;
}
/* What has been waited up to now. Without the lock it is off by what others do at this moment. */
uint64_t chase_waited(const struct chase_core *c, uint64_t now_ns);
/* Draw with P_budget, and if that says so take a place; NULL: do not wait. `full`: all places are
 * taken. The wait is to end at until_ns: after t_delay or, half of the time and never the first
 * time, up to a half of it less: threads that do the same wait at the same time, and would also go
 * on together. */
struct chase_waiter *chase_begin(struct chase_core *c, const struct chase_access *a,
                                 uint64_t now_ns, uint64_t total_ns, uint32_t random, bool *full);
/* The thread goes on to its access. */
void chase_end(struct chase_core *c, struct chase_waiter *w, uint64_t now_ns);
/* Might a thread wait for this access? Without the lock, and exact for threads that began to wait
 * before: most accesses that come while somebody waits are of other memory. */
bool chase_may_meet(const struct chase_core *c, const struct chase_access *a);
/* The next thread after `after` (NULL: the first) that waits before an access that makes a race
 * with this one. */
struct chase_waiter *chase_meet(struct chase_core *c, const struct chase_access *a,
                                struct chase_waiter *after);

#endif
