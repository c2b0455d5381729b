/* openmp_chunks.c - chunks of a loop, which any thread of the team may run
 *
 * With `schedule(dynamic)` a thread asks for one chunk after the other. A short loop is done before
 * the others wake up, and one thread runs it all. So each of its chunks is a thread of the trace,
 * as a task is (openmp_logical.c): after what its thread did before the loop, and before what it
 * does behind it. The plugin finds the loops of which that can be said, and calls here whenever a
 * chunk was asked for (pass/chunks.cpp).
 *
 * The first CHUNKS of a thread and loop; those behind them run in the thread itself, which comes
 * after none of these before the loop's end. Teams of one thread order what they do.
 */
#include "runtime/openmp/openmp.h"

enum { CHUNKS = 64 };
static const char name[] = "OpenMP chunk";

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

void openmp_chunks_forked(void)
{
    loops = NULL;
}
