/* rt_explore.h - a run in which one thread goes at a time: what `heddle explore` asks for and sees
 *
 * Behind the struct prod_control of a control file (rt_prod.h). The command writes the plan before
 * the program starts and nothing afterwards; the runtime (runtime/steer/explore_steps.h) follows it
 * and logs each step. docs/design/explore.md explains it.
 *
 * A thread is its creation path (rt_steer.h). A step is one thing that other threads can see: an
 * access, an operation on a lock ... "Run thread P for 7 steps" is the same in every run that went
 * the same way before.
 *
 * Little-endian, fixed layout; EXPLORE_VERSION changes with it.
 */
#ifndef HEDDLE_ABI_RT_EXPLORE_H
#define HEDDLE_ABI_RT_EXPLORE_H

#include "abi/rt_prod.h"
#include "abi/rt_steer.h"

#define EXPLORE_MAGIC "HDLEXPL1"
enum {
    EXPLORE_VERSION = 2,
    EXPLORE_THREADS_MAX = 1024,
    EXPLORE_SEGMENTS_MAX = 1 << 15,
    EXPLORE_STEPS_MAX = 1 << 17,
    EXPLORE_QUIET_WORDS = 1 << 13, /* sites / 64 */
    EXPLORE_MODULES_MAX = 64,
    EXPLORE_PRIORITIES_MAX = 64
};

/* Who goes on where the plan says nothing. */
enum explore_policy {
    EXPLORE_STAY,      /* whoever runs, as long as it can; then the one created first */
    EXPLORE_NEWEST,    /* the thread created last */
    EXPLORE_ALTERNATE, /* another one after each write and each unlock */
    EXPLORE_SECTIONS,  /* another one after each unlock; the first thread last */
    EXPLORE_RANDOM,
    EXPLORE_PCT /* by priorities that change `depth` - 1 times (Burckhardt et al., 2010) */
};

enum explore_op {
    EX_READ,
    EX_WRITE,
    EX_LOAD,
    EX_STORE,
    EX_RMW,
    EX_FREE,
    EX_LOCK,
    EX_LOCK_SHARED,
    EX_UNLOCK,
    EX_UNLOCK_SHARED,
    EX_WAIT, /* goes to sleep on a condition */
    EX_WOKEN,
    EX_SIGNAL,
    EX_BROADCAST,
    EX_SEM_WAIT,
    EX_SEM_POST,
    EX_BARRIER,
    EX_JOIN,
    EX_FORK,
    EX_BEGIN,
    EX_END,
    EX_YIELD, /* sched_yield(), sleep() */
    EX_EXIT,  /* main() has returned, or exit() was called */
    EX_OPS
};

enum explore_flags {
    EX_CHOSEN = 1, /* the scheduler decided that this comes next: counts in segments */
    EX_FAILED = 2, /* a try that found the lock taken; a wait that timed out */
    EX_PLACE = 4,  /* `where` is an address of code, not a site */
    EX_OTHERS = 8  /* another thread could have gone instead */
};

struct explore_step {
    uint64_t address; /* or object; EX_JOIN, EX_FORK: number of the other thread */
    uint64_t where;
    uint64_t before, after; /* of accesses of at most 8 bytes: what stood there */
    uint32_t bytes;
    uint16_t thread; /* index in done.thread */
    uint8_t op;      /* enum explore_op */
    uint8_t flags;
};

struct explore_segment {
    uint64_t thread; /* its path */
    uint32_t steps;
    uint32_t unused;
};

enum explore_failure {
    EXPLORE_NO_FAILURE,
    EXPLORE_DEADLOCK, /* no thread can go on */
    EXPLORE_LIVELOCK  /* all that can go on look at the same values again and again */
};

struct explore_thread {
    uint64_t path;
    uint32_t parent;
    uint8_t state; /* at the end: enum explore_state of runtime/steer/explore_steps.h */
    uint8_t op;    /* what it was about to do, or waits in */
    uint16_t unused;
    uint64_t address, where;
};

struct explore_module {
    uint64_t id[2];
    uint32_t base, sites;
};

struct explore_done {
    uint32_t taken_up;
    uint32_t failure;        /* enum explore_failure */
    uint32_t diverged;       /* segments that could not be followed */
    uint32_t diverged_first; /* the first of them */
    uint32_t outside;        /* times that a thread slept in the kernel and others went on */
    uint32_t nthreads, nmodules;
    uint32_t full;   /* there is code that appends its accesses inline: these are no steps */
    uint64_t nsteps; /* may be more than EXPLORE_STEPS_MAX: the rest is not logged */
    uint64_t chosen; /* decisions */
    struct explore_thread thread[EXPLORE_THREADS_MAX];
    struct explore_module module[EXPLORE_MODULES_MAX];
};

struct explore_plan {
    char magic[8];
    uint32_t version;
    uint32_t policy; /* enum explore_policy */
    uint64_t seed;
    uint32_t depth;
    uint32_t nsegments;
    uint64_t length; /* EXPLORE_PCT: steps that are expected */
    struct explore_segment segment[EXPLORE_SEGMENTS_MAX];
    uint64_t quiet[EXPLORE_QUIET_WORDS]; /* sites that only touch what one thread uses */
    struct explore_done done;
    struct explore_step step[EXPLORE_STEPS_MAX];
};

#endif
