/* openmp_gomp.h - what gomp_names.c, which is linked separately, needs of openmp_gomp.c
 *
 * A region and a task are handed to libgomp with a function of ours in the place of the program's:
 * it is called with our data, and calls the program's with its own.
 */
#ifndef HEDDLE_RUNTIME_OPENMP_OPENMP_GOMP_H
#define HEDDLE_RUNTIME_OPENMP_OPENMP_GOMP_H

#include "runtime/core/rt.h"

#include <stddef.h>

/* ---- regions: one is on the stack of the thread that encounters it ---- */

struct gomp_region {
    void *first;       /* of the program's data: libgomp looks at it (task reductions) */
    const void *quiet; /* the encountering thread, if it ignores what it does until its body */
    void (*function)(void *);
    void *data;
    uint64_t id;
    uint64_t outer_region, outer_waits; /* of the thread that encounters it */
    void *outer_task;
};

EXPORT void __heddle_gomp_fork(struct gomp_region *r, void (*function)(void *), void *data,
                               uint64_t where);
EXPORT void __heddle_gomp_fork_quietly(struct gomp_region *r);
EXPORT void __heddle_gomp_body(void *region);
EXPORT void __heddle_gomp_join(const struct gomp_region *r, uint64_t where);

/* ---- waiting ---- */

EXPORT void __heddle_gomp_barrier(bool begins, uint64_t where);
EXPORT void __heddle_gomp_ignore(bool begins); /* accesses, of this thread */
EXPORT void __heddle_gomp_taskgroup(bool begins, uint64_t where);
EXPORT void __heddle_gomp_taskwait(uint64_t where);
EXPORT void __heddle_gomp_taskwait_depend(void **depend, uint64_t where);
EXPORT void __heddle_gomp_turn(bool begins, uint64_t where);
EXPORT void __heddle_gomp_fulfil(bool begins, uint64_t where);
EXPORT void __heddle_gomp_lock(bool taken, const void *lock, uint64_t where);
EXPORT void __heddle_gomp_own(uint64_t where);
EXPORT void __heddle_gomp_tested(const void *lock, uint64_t where);

/* ---- tasks: this, then the program's data at `offset` ---- */

enum {
    GOMP_FLAG_FINAL = 2,
    GOMP_FLAG_DEPEND = 8,
    GOMP_FLAG_IF = 1 << 10, /* of a taskloop: it is true, or there is none */
    GOMP_FLAG_NOGROUP = 1 << 11,
    GOMP_FLAG_DETACH = 1 << 13
};

struct gomp_task {
    long bounds[2];   /* of a taskloop, written by libgomp; [0]: the event of a detached task */
    void *reductions; /* libgomp looks for them here */
    void (*function)(void *);
    void (*copy)(void *to, void *from); /* NULL: memcpy */
    char *data;
    size_t bytes, offset;
    void **depend;
    struct openmp_node *node;
    unsigned back; /* how many of `bounds` the program's data begins with */
    bool detached, undeferred, final;
    uint64_t where;
};

EXPORT void __heddle_gomp_copy(void *to, void *from);
EXPORT void __heddle_gomp_run(void *task);

#endif
