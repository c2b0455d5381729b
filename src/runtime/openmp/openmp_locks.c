/* openmp_locks.c - locks, critical and ordered blocks, reductions, tasks' memory of OpenMP
 *
 * The plugin puts these calls before and after those of OpenMP's functions (pass/openmp_calls.c).
 * OMPT (openmp.c) tells of a release only when others may have the lock already; and interposing
 * would make functions of a library appear in programs that do not have it.
 */
#include "runtime/core/ignore.h"
#include "runtime/openmp/openmp.h"

#define FUNCTION(name, ...)                                                                        \
    EXPORT void name(__VA_ARGS__);                                                                 \
    EXPORT void name(__VA_ARGS__)

/* The lock of a reduction that this thread did by atomic operations: its end is no release. */
static _Thread_local const void *not_taken __attribute__((tls_model("initial-exec")));

/* ---- locks; inner levels of nested ones are told apart by the analyser ---- */

FUNCTION(__heddle_openmp_acquired, void *lock)
{
    rt_sync(OP_ACQUIRE, lock, WHERE_CALLER());
}

FUNCTION(__heddle_openmp_tested, void *lock, int32_t taken)
{
    if (taken)
        rt_sync_tried(OP_ACQUIRE, lock, WHERE_CALLER());
}

FUNCTION(__heddle_openmp_releases, void *lock)
{
    if (lock == not_taken)
        not_taken = NULL;
    else
        rt_sync(OP_RELEASE, lock, WHERE_CALLER());
}

/* ---- ordered: the loop's order, not a lock's ----
 *
 * Also iterations that wait for certain earlier ones (doacross). All of a region share one object:
 * that orders a post before each later wait, also for another iteration: a miss, never a false
 * alarm.
 */

FUNCTION(__heddle_openmp_turn, void)
{
    rt_sync_number(OP_AFTER, openmp_ordered(), WHERE_CALLER());
}

FUNCTION(__heddle_openmp_turn_ends, void)
{
    rt_sync_number(OP_BEFORE, openmp_ordered(), WHERE_CALLER());
}

/* A fence of all threads and variables, also where it names some: more order, never less. */
FUNCTION(__heddle_openmp_flush, void)
{
    rt_fence(ORDER_SEQ_CST, WHERE_CALLER());
}

/* ---- reductions ----
 *
 * Result 1: the thread has the lock, or is the one that adds the sum of all; it ends with
 * end_reduce. 2: it adds by atomic operations, and may end with end_reduce, too. 0: somebody else
 * has added its part; functions of the program did that inside, on memory of several threads,
 * ordered by the library's barrier.
 */

FUNCTION(__heddle_openmp_reduces, void)
{
    ignore_begin();
}

FUNCTION(__heddle_openmp_reduced, void *lock, int32_t result)
{
    ignore_end();
    not_taken = result == 2 ? lock : NULL;
    if (result == 1)
        rt_sync(OP_ACQUIRE, lock, WHERE_CALLER());
}

/* ---- reduction(task, ...) ----
 *
 * One thread of the team initialises the parts of all, by functions of the program; the last one
 * that comes to the end adds them up and frees them. Between, a part is one thread's own. The
 * library's flags order that. At the end only what comes after the wait is ignored: tasks run in
 * it (openmp.c).
 */

FUNCTION(__heddle_openmp_shares, void)
{
    ignore_begin();
}

FUNCTION(__heddle_openmp_shared, void)
{
    ignore_end();
}

FUNCTION(__heddle_openmp_sums, void)
{
    openmp_sums = true;
}

/* ---- memory of tasks: the library reuses it without telling ---- */

FUNCTION(__heddle_openmp_task, void *task, uint64_t bytes, uint64_t shared_bytes)
{
    if (task)
        rt_alloc(task, ((bytes + 7) & ~UINT64_C(7)) + shared_bytes, WHERE_CALLER());
    openmp_allocated = true;
}

/* The library makes copies of the task, one for each part of the loop. */
FUNCTION(__heddle_openmp_taskloop, void)
{
    openmp_allocated = false;
}

/* ---- what belongs to the system's thread ---- */

FUNCTION(__heddle_openmp_own, void)
{
    rt_own(WHERE_CALLER());
}
