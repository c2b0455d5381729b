/* openmp.c - parallel regions, barriers and tasks of LLVM's OpenMP library
 *
 * The library synchronises by futexes and flags of its own; what that orders it tells a tool
 * through OMPT (OpenMP 5.2, chapter 19): it calls ompt_start_tool(), which it finds here, and then
 * a callback at each step. openmp.h says which edges that gives.
 *
 * Called before the step that lets others go on, or after the wait: that holds in libomp for all
 * but locks and doacross loops, which the plugin tells of (openmp_locks.c).
 *
 * Limits: the parts of an untied task belong to the threads that run them. Offloading is not
 * watched.
 */
#include "runtime/openmp/openmp.h"

#include <omp-tools.h>

#include "runtime/untraced/hidden.h"
#include "runtime/core/ignore.h"

static struct openmp_node *task_of(const ompt_data_t *data)
{
    return data ? data->ptr : NULL;
}

/* ---- parallel regions ---- */

/* Regions that this thread has begun. When one ends, libomp's own word may be another thread's
 * already, whose region has got the team. */
enum { BEGUN_MAX = 16 };
static _Thread_local uint64_t begun[BEGUN_MAX] __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned nbegun __attribute__((tls_model("initial-exec")));

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                           unsigned requested, int flags, const void *code)
{
    (void)task, (void)frame, (void)requested, (void)flags;
    parallel->value = openmp_new_id();
    if (nbegun < BEGUN_MAX)
        begun[nbegun] = parallel->value;
    nbegun++;
    rt_sync_number(OP_BEFORE, openmp_key(parallel->value, REGION_FORK), openmp_place(code));
}

static void parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code)
{
    uint64_t region = parallel->value;

    (void)task, (void)flags;
    if (nbegun && --nbegun < BEGUN_MAX)
        region = begun[nbegun];
    rt_sync_number(OP_AFTER, openmp_key(region, REGION_JOIN), openmp_place(code));
}

static void implicit_begin(const ompt_data_t *parallel, ompt_data_t *data, unsigned threads)
{
    struct openmp_node *task = openmp_node();

    data->ptr = task;
    if (!task)
        return;
    task->id = openmp_new_id();
    task->outer = openmp_region;
    task->outer_team = openmp_team;
    openmp_team = threads;
    task->outer_task = openmp_implicit;
    openmp_implicit = task;
    openmp_region = parallel ? parallel->value : 0;
    if (openmp_region)
        rt_sync_number(OP_AFTER, openmp_key(openmp_region, REGION_FORK), openmp_place(NULL));
}

static void implicit_end(ompt_data_t *data)
{
    struct openmp_node *task = task_of(data);

    if (!task)
        return;
    openmp_region = task->outer;
    openmp_team = task->outer_team;
    openmp_implicit = task->outer_task;
    openmp_task_free(task);
    data->ptr = NULL;
}

static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                          unsigned threads, unsigned index, int flags)
{
    (void)index, (void)flags;
    if (endpoint == ompt_scope_begin)
        implicit_begin(parallel, task, threads);
    else
        implicit_end(task);
}

/* ---- barriers, taskwait, taskgroup ---- */

/* The region's last barrier: only the thread that goes on behind it comes after. Others leave it
 * when they are given new work, and that is a fork. */
static void last_barrier(struct openmp_node *task, bool begins, uint64_t where)
{
    if (begins)
        openmp_enter(task, openmp_key(openmp_region, REGION_JOIN), where);
    else
        openmp_waits = task->waited_outside, openmp_after_barrier();
}

static void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                        ompt_data_t *parallel, ompt_data_t *data, const void *code)
{
    struct openmp_node *task = task_of(data);
    bool begins = endpoint == ompt_scope_begin;

    (void)parallel;
    if (!task)
        return;
    switch ((int)kind) {
    case ompt_sync_region_taskwait:
        if (!begins)
            rt_sync_number(OP_AFTER, openmp_key(task->id, TASK_CHILDREN), openmp_place(code));
        break;
    case ompt_sync_region_taskgroup:
        if (!begins && task->groups && task->groups->sums)
            ignore_end();
        openmp_taskgroup(task, begins, openmp_place(code));
        break;
    case ompt_sync_region_reduction:
        break;
    case ompt_sync_region_barrier_implicit_parallel:
    case ompt_sync_region_barrier_teams:
        last_barrier(task, begins, openmp_place(code));
        break;
    default:
        openmp_barrier(task, begins, openmp_place(code));
    }
}

/* The end of a taskgroup's wait: between that and the end of the group the thread adds up what the
 * tasks of a reduction left, of its own or of the whole team (openmp_locks.c). */
static void sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                             ompt_data_t *parallel, ompt_data_t *data, const void *code)
{
    struct openmp_node *task = task_of(data);

    (void)parallel;
    if (kind != ompt_sync_region_taskgroup || !task || !task->groups)
        return;
    if (endpoint == ompt_scope_begin) {
        task->groups->sums = openmp_sums;
        openmp_sums = false;
        return;
    }
    rt_sync_number(OP_AFTER, openmp_key(task->groups->id, TASK_CHILDREN), openmp_place(code));
    if (task->groups->sums)
        ignore_begin();
}

/* ---- dependences ---- */

static void dependences(ompt_data_t *data, const ompt_dependence_t *list, int count)
{
    struct openmp_node *task = task_of(data);

    for (int i = 0; task && i < count; i++) {
        switch ((int)list[i].dependence_type) {
        case ompt_dependence_type_source:
        case ompt_dependence_type_sink:
            break; /* doacross: openmp_locks.c */
        case ompt_dependence_type_out_all_memory:
        case ompt_dependence_type_inout_all_memory:
            openmp_depends(task, NULL, OPENMP_WRITES);
            break;
        case ompt_dependence_type_in:
            openmp_depends(task, list[i].variable.ptr, OPENMP_READS);
            break;
        case ompt_dependence_type_mutexinoutset:
            openmp_depends(task, list[i].variable.ptr, OPENMP_EXCLUDES);
            break;
        case ompt_dependence_type_inoutset:
            openmp_depends(task, list[i].variable.ptr, OPENMP_IN_SET);
            break;
        default:
            openmp_depends(task, list[i].variable.ptr, OPENMP_WRITES);
        }
    }
}

/* ---- tasks ---- */

static void task_create(ompt_data_t *encountering, const ompt_frame_t *frame, ompt_data_t *data,
                        int flags, int has_dependences, const void *code)
{
    struct openmp_node *parent = task_of(encountering), *task;

    (void)frame, (void)has_dependences;
    if ((unsigned)flags & ompt_task_initial) {
        implicit_begin(NULL, data, 1);
        return;
    }
    data->ptr = task = openmp_task_new(parent, openmp_place(code));
    if (!task)
        return;
    task->untied = (unsigned)flags & ompt_task_untied;
    task->undeferred = (unsigned)flags & ompt_task_undeferred;
    task->copied = !openmp_allocated;
    openmp_allocated = false;
}

static ompt_get_task_info_t task_info;
static ompt_get_task_memory_t task_memory;

/* The library calls the task's function from the frame that it calls us from. */
static void begins(struct openmp_node *task)
{
    ompt_frame_t *frame = NULL;
    size_t bytes = 0;

    if (!task->started && task_info)
        task_info(0, NULL, NULL, &frame, NULL, NULL);
    if (!task->started && task->copied && task_memory)
        task_memory(&task->memory, &bytes, 0);
    task->bytes = bytes;
    task->copied &= bytes != 0;
    openmp_task_begins(task, frame ? frame->exit_frame.ptr : NULL);
}

static void task_schedule(ompt_data_t *before, ompt_task_status_t status, ompt_data_t *after)
{
    struct openmp_node *prior = task_of(before), *next = task_of(after);

    switch ((int)status) {
    case ompt_taskwait_complete: /* `prior` stands for a taskwait with dependences */
        if (prior)
            openmp_depends_begin(prior), openmp_task_free(prior), before->ptr = NULL;
        break;
    case ompt_task_complete:
    case ompt_task_cancel:
        if (prior)
            openmp_task_ends(prior), openmp_task_free(prior), before->ptr = NULL;
        break;
    case ompt_task_late_fulfill:
        if (prior)
            openmp_task_fulfilled(prior), openmp_task_free(prior), before->ptr = NULL;
        break;
    case ompt_task_detach: /* its body is done; the event is fulfilled later, by anybody */
        if (prior)
            openmp_task_ends(prior);
        break;
    default:
        if (prior && prior->untied)
            rt_sync_number(OP_BEFORE, openmp_key(prior->id, TASK_MOVED), openmp_place(NULL));
    }
    if (next && next->parent)
        begins(next);
}

/* ---- the tool ---- */

static int initialise(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");

    (void)device, (void)data;
    if (!set)
        return 0;
    hidden_ignore_openmp(*(void **)&lookup);
    task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
    task_memory = (ompt_get_task_memory_t)lookup("ompt_get_task_memory");
    set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin);
    set(ompt_callback_parallel_end, (ompt_callback_t)parallel_end);
    set(ompt_callback_implicit_task, (ompt_callback_t)implicit_task);
    set(ompt_callback_sync_region, (ompt_callback_t)sync_region);
    set(ompt_callback_sync_region_wait, (ompt_callback_t)sync_region_wait);
    set(ompt_callback_task_create, (ompt_callback_t)task_create);
    set(ompt_callback_task_schedule, (ompt_callback_t)task_schedule);
    set(ompt_callback_dependences, (ompt_callback_t)dependences);
    return 1;
}

static void finalise(ompt_data_t *data)
{
    (void)data;
}

/* Called by libomp when it starts. Weak: a program that brings a tool keeps it. */
EXPORT __attribute__((weak)) ompt_start_tool_result_t *ompt_start_tool(unsigned version,
                                                                       const char *library)
{
    static ompt_start_tool_result_t tool = { .initialize = initialise, .finalize = finalise };

    (void)version, (void)library;
    return rt_watching() ? &tool : NULL;
}
