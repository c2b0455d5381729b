/* openmp_chunks.c - chunks of a loop, and `single`, which any thread of the team may run
 *
 * With `schedule(dynamic)` a thread asks for one chunk after the other. A short loop is done before
 * the others wake up, and one thread runs it all. So each of its chunks is a thread of the trace,
 * as a task is (openmp_logical.c): after what its thread did before the loop, and before what it
 * does behind it. The plugin finds the loops of which that can be said, and calls here whenever a
 * chunk was asked for (pass/chunks.cpp).
 *
 * The first CHUNKS of a thread and loop; those behind them run in the thread itself, which comes
 * after none of these before the loop's end. Teams of one thread order what they do.
 *
 * What `single` encloses is run by the thread that comes first: it is after the team's last
 * barrier, not after what that thread has done since, and before what the thread does next.
 */
#include "runtime/openmp/openmp.h"

enum { CHUNKS = 64 };
static const char name[] = "OpenMP chunk", single_name[] = "OpenMP single";

/* Loops that this thread is in: the innermost, of the region that it is in, or an outer one's. */
static _Thread_local struct openmp_node *loops __attribute__((tls_model("initial-exec")));

static struct openmp_node *begin_loop(uint64_t where)
{
    struct openmp_node *loop = openmp_task_new(NULL, where);

    if (!loop)
        return NULL;
    loop->next = loops;
    return loops = loop;
}

static void end_loop(struct openmp_node *loop, uint64_t where)
{
    rt_sync_number(OP_AFTER, openmp_key(loop->id, TASK_CHILDREN), where);
    loops = loop->next;
    openmp_task_free(loop);
}

static void end_chunk(struct openmp_node *loop, uint64_t where)
{
    if (!loop->logical)
        return;
    rt_sync_number(OP_BEFORE, openmp_key(loop->id, TASK_CHILDREN), where);
    openmp_logical_leave(loop);
}

static void begin_chunk(struct openmp_node *loop, const void *top, uint64_t where)
{
    if (loop->barriers++ >= CHUNKS)
        return;
    openmp_logical_enter(loop, top, name);
    if (!loop->logical)
        return;
    rt_fiber_frames(loop->before);
    rt_sync_number(OP_AFTER, openmp_key(loop->id, TASK_START), where);
}

EXPORT void __heddle_openmp_chunk(int32_t got, const void *top);
EXPORT void __heddle_openmp_chunk(int32_t got, const void *top)
{
    struct openmp_node *loop = loops && loops->region == openmp_region ? loops : NULL;
    uint64_t where = WHERE_CALLER();

    if (loop)
        end_chunk(loop, where);
    else if (got && openmp_team > 1 && rt_fiber_current())
        loop = begin_loop(where);
    if (loop && got)
        begin_chunk(loop, top, where);
    else if (loop)
        end_loop(loop, where);
}

/* ---- single ---- */

static _Thread_local struct openmp_node *single __attribute__((tls_model("initial-exec")));

EXPORT void __heddle_openmp_single(int32_t got, const void *top);
EXPORT void __heddle_openmp_single(int32_t got, const void *top)
{
    const struct openmp_node *task = openmp_implicit;
    struct openmp_node *part;
    uint64_t where = WHERE_CALLER();

    if (!got || !task || single || openmp_team < 2 || !rt_fiber_current())
        return;
    part = openmp_task_new(NULL, where);
    if (!part)
        return;
    openmp_logical_enter(part, top, single_name);
    if (!part->logical) {
        openmp_task_free(part);
        return;
    }
    rt_fiber_frames(part->before);
    single = part;
    rt_sync_number(OP_AFTER, openmp_behind(task), where);
}

EXPORT void __heddle_openmp_single_ends(void);
EXPORT void __heddle_openmp_single_ends(void)
{
    struct openmp_node *part = single;
    uint64_t where = WHERE_CALLER();

    if (!part || part->region != openmp_region)
        return;
    single = NULL;
    rt_sync_number(OP_BEFORE, openmp_key(part->id, TASK_CHILDREN), where);
    openmp_logical_leave(part);
    rt_sync_number(OP_AFTER, openmp_key(part->id, TASK_CHILDREN), where);
    openmp_task_free(part);
}

void openmp_chunks_forked(void)
{
    loops = single = NULL;
}
