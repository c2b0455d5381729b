/* openmp.c - parallel regions, barriers and tasks of OpenMP
 *
 * LLVM's OpenMP library synchronises by futexes and flags of its own; what that orders it tells a
 * tool through OMPT (OpenMP 5.2, chapter 19): it calls ompt_start_tool(), which it finds here, and
 * then a callback at each step. Each becomes edges "before" and "after" of an object that is only a
 * number: never used twice, so an edge cannot come from an older region.
 *
 *   parallel region   fork: encountering thread -> implicit tasks; join: those -> the thread
 *   barrier           all that enter -> all that leave. Two objects take turns: a thread can enter
 *                     the next barrier before others have left this one, but not the one after.
 *                     Tasks that end while their thread waits in a barrier are before it ends.
 *   task              created -> begins; ends -> the parent's taskwait, the taskgroup's end
 *   depend            by address among the children of a task: out -> in and out, in -> out
 *
 * Called before the step that lets others go on, or after the wait: that holds in libomp for all
 * of the above, but not for locks and doacross loops, which are interposed (openmp_locks.c).
 *
 * Limits: tasks that the same thread runs one after the other are in its program order, so a race
 * between them is found only if two threads run them. Offloading is not watched.
 */
#include "runtime/openmp.h"

#include <omp-tools.h>

#include "runtime/hidden.h"
#include "runtime/interpose.h"

/* ---- objects ---- */

/* Parts of a region, a task or a group: the low bits of a key. */
enum part { REGION_FORK, REGION_JOIN, REGION_BARRIER, REGION_ORDERED = 4, PARTS = 8 };
enum { TASK_START, TASK_CHILDREN, TASK_MOVED };

static uint64_t new_id(void)
{
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* No address of a program: those are below or far above. */
static uint64_t key(uint64_t id, unsigned part)
{
    return OPENMP_KEYS | (id * PARTS + part);
}

static uint64_t place(const void *code)
{
    return code ? WHERE_PC | (uint64_t)(uintptr_t)code : where_inside((const void *)place);
}

/* ---- tasks ----
 *
 * Nodes of one size from one list. A task's dependences are a chain of further nodes. Nobody else
 * looks at a node: it belongs to the task that runs, or is being created.
 */

enum { DEPENDENCES = 3 };

struct node {
    union {
        struct {
            uint64_t id;
            uint64_t parent;          /* its id; 0: none, or not waited for */
            uint64_t group;           /* id of the taskgroup it is in */
            struct node *groups;      /* taskgroups that it has begun */
            struct node *dependences; /* a chain */
            uint64_t outer; /* implicit task: region of the thread before; group: outer's */
            uint64_t waited_outside; /* openmp_waits before a barrier */
            uint32_t barriers;       /* that it went through */
            bool started, untied;
        };
        struct {
            uint64_t key[DEPENDENCES]; /* KEY_OUT or not: see depends_on() */
            bool out[DEPENDENCES];
            uint32_t count;
        } on;
    };
    struct node *next; /* in the list, or of a chain */
};

struct rt_lock openmp_lock; /* protects the list */
static struct node *unused;

static bool refill(void)
{
    enum { BYTES = 1 << 16, COUNT = BYTES / sizeof(struct node) };
    struct node *block = rt_pages(BYTES);

    for (unsigned i = 0; block && i < COUNT; i++) {
        block[i].next = unused;
        unused = &block[i];
    }
    return block;
}

static struct node *node_new(void)
{
    struct node *n = NULL;

    rt_lock_take(&openmp_lock);
    if (unused || refill()) {
        n = unused;
        unused = n->next;
    }
    rt_lock_drop(&openmp_lock);
    if (n)
        *n = (struct node){ .id = 0 };
    return n;
}

static void node_free(struct node *n)
{
    rt_lock_take(&openmp_lock);
    n->next = unused;
    unused = n;
    rt_lock_drop(&openmp_lock);
}

static void task_free(struct node *task)
{
    for (struct node *d = task->dependences, *next; d; d = next) {
        next = d->next;
        node_free(d);
    }
    node_free(task);
}

static struct node *task_of(const ompt_data_t *data)
{
    return data ? data->ptr : NULL;
}

/* ---- what this thread is in ---- */

static _Thread_local uint64_t region __attribute__((tls_model("initial-exec")));
/* The object that lets others out of the barrier it waits in. */
static _Thread_local uint64_t waits __attribute__((tls_model("initial-exec")));

uint64_t openmp_ordered(void)
{
    return key(region, REGION_ORDERED);
}

/* ---- parallel regions ---- */

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                           unsigned requested, int flags, const void *code)
{
    (void)task, (void)frame, (void)requested, (void)flags;
    parallel->value = new_id();
    rt_sync_number(OP_BEFORE, key(parallel->value, REGION_FORK), place(code));
}

static void parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code)
{
    (void)task, (void)flags;
    rt_sync_number(OP_AFTER, key(parallel->value, REGION_JOIN), place(code));
}

static void implicit_begin(const ompt_data_t *parallel, ompt_data_t *data)
{
    struct node *task = node_new();

    data->ptr = task;
    if (!task)
        return;
    task->id = new_id();
    task->outer = region;
    region = parallel ? parallel->value : 0;
    if (region)
        rt_sync_number(OP_AFTER, key(region, REGION_FORK), place(NULL));
}

static void implicit_end(ompt_data_t *data)
{
    struct node *task = task_of(data);

    if (!task)
        return;
    region = task->outer;
    task_free(task);
    data->ptr = NULL;
}

static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                          unsigned threads, unsigned index, int flags)
{
    (void)threads, (void)index, (void)flags;
    if (endpoint == ompt_scope_begin)
        implicit_begin(parallel, task);
    else
        implicit_end(task);
}

/* ---- barriers, taskwait, taskgroup ---- */

static void enter(struct node *task, uint64_t object, uint64_t where)
{
    task->waited_outside = waits;
    waits = object;
    rt_sync_number(OP_BEFORE, object, where);
}

static void barrier(struct node *task, bool begins, uint64_t where)
{
    uint64_t object = key(region, REGION_BARRIER + task->barriers % 2);

    if (begins) {
        enter(task, object, where);
    } else {
        rt_sync_number(OP_AFTER, object, where);
        waits = task->waited_outside;
        task->barriers++;
    }
}

/* The region's last barrier: only the thread that goes on behind it comes after. Others leave it
 * when they are given new work, and that is a fork. */
static void last_barrier(struct node *task, bool begins, uint64_t where)
{
    if (begins)
        enter(task, key(region, REGION_JOIN), where);
    else
        waits = task->waited_outside;
}

static void taskgroup(struct node *task, bool begins, uint64_t where)
{
    struct node *group = begins ? node_new() : task->groups;

    if (!group)
        return;
    if (begins) {
        *group = (struct node){ .id = new_id(), .outer = task->group, .next = task->groups };
        task->groups = group;
        task->group = group->id;
    } else {
        rt_sync_number(OP_AFTER, key(group->id, TASK_CHILDREN), where);
        task->groups = group->next;
        task->group = group->outer;
        node_free(group);
    }
}

static void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                        ompt_data_t *parallel, ompt_data_t *data, const void *code)
{
    struct node *task = task_of(data);
    bool begins = endpoint == ompt_scope_begin;

    (void)parallel;
    if (!task)
        return;
    switch ((int)kind) {
    case ompt_sync_region_taskwait:
        if (!begins)
            rt_sync_number(OP_AFTER, key(task->id, TASK_CHILDREN), place(code));
        break;
    case ompt_sync_region_taskgroup:
        taskgroup(task, begins, place(code));
        break;
    case ompt_sync_region_reduction:
        break;
    case ompt_sync_region_barrier_implicit_parallel:
    case ompt_sync_region_barrier_teams:
        last_barrier(task, begins, place(code));
        break;
    default:
        barrier(task, begins, place(code));
    }
}

/* ---- dependences ---- */

/* The object of an address among the children of one task; `out`: of tasks that write it. */
static uint64_t dependence_key(uint64_t parent, uint64_t address, bool out)
{
    uint64_t h = (address ^ parent << 48 ^ parent) * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return OPENMP_KEYS | (h ^ h >> 32) % (OPENMP_KEYS / 4) * 2 | out;
}

static void depend(struct node *task, uint64_t address, bool out)
{
    struct node *d = task->dependences;

    if (!d || d->on.count == DEPENDENCES) {
        d = node_new();
        if (!d)
            return;
        d->next = task->dependences;
        d->on.count = 0;
        task->dependences = d;
    }
    d->on.out[d->on.count] = out;
    d->on.key[d->on.count++] = dependence_key(task->parent, address, false);
}

static void dependences(ompt_data_t *data, const ompt_dependence_t *list, int count)
{
    struct node *task = task_of(data);

    for (int i = 0; task && i < count; i++) {
        switch ((int)list[i].dependence_type) {
        case ompt_dependence_type_source:
        case ompt_dependence_type_sink:
            break; /* doacross: openmp_locks.c */
        case ompt_dependence_type_out_all_memory:
        case ompt_dependence_type_inout_all_memory:
            depend(task, 0, true);
            break;
        default:
            depend(task, (uint64_t)(uintptr_t)list[i].variable.ptr,
                   list[i].dependence_type != ompt_dependence_type_in);
            depend(task, 0, false); /* of all memory */
        }
    }
}

/* A task that begins comes after the writers, and a writer after the readers. */
static void dependences_begin(const struct node *task)
{
    for (const struct node *d = task->dependences; d; d = d->next)
        for (uint32_t i = 0; i < d->on.count; i++) {
            rt_sync_number(OP_AFTER, d->on.key[i] | 1, place(NULL));
            if (d->on.out[i])
                rt_sync_number(OP_AFTER, d->on.key[i], place(NULL));
        }
}

static void dependences_end(const struct node *task)
{
    for (const struct node *d = task->dependences; d; d = d->next)
        for (uint32_t i = 0; i < d->on.count; i++)
            rt_sync_number(OP_BEFORE, d->on.key[i] | d->on.out[i], place(NULL));
}

/* ---- tasks ---- */

static void task_create(ompt_data_t *encountering, const ompt_frame_t *frame, ompt_data_t *data,
                        int flags, int has_dependences, const void *code)
{
    struct node *parent = task_of(encountering), *task;

    (void)frame, (void)has_dependences;
    if ((unsigned)flags & ompt_task_initial) {
        implicit_begin(NULL, data);
        return;
    }
    data->ptr = task = node_new();
    if (!task)
        return;
    task->id = new_id();
    task->parent = parent ? parent->id : 0;
    task->group = parent ? parent->group : 0;
    task->untied = (unsigned)flags & ompt_task_untied;
    rt_sync_number(OP_BEFORE, key(task->id, TASK_START), place(code));
}

static void task_ends(struct node *task)
{
    uint64_t where = place(NULL);

    dependences_end(task);
    if (task->parent)
        rt_sync_number(OP_BEFORE, key(task->parent, TASK_CHILDREN), where);
    if (task->group)
        rt_sync_number(OP_BEFORE, key(task->group, TASK_CHILDREN), where);
    if (waits)
        rt_sync_number(OP_BEFORE, waits, where);
}

static void task_begins(struct node *task)
{
    if (!task->started) {
        task->started = true;
        rt_sync_number(OP_AFTER, key(task->id, TASK_START), place(NULL));
        dependences_begin(task);
    } else if (task->untied) {
        rt_sync_number(OP_AFTER, key(task->id, TASK_MOVED), place(NULL));
    }
}

static void task_schedule(ompt_data_t *before, ompt_task_status_t status, ompt_data_t *after)
{
    struct node *prior = task_of(before), *next = task_of(after);

    switch ((int)status) {
    case ompt_taskwait_complete: /* `prior` stands for a taskwait with dependences */
        if (prior)
            dependences_begin(prior), task_free(prior), before->ptr = NULL;
        break;
    case ompt_task_complete:
    case ompt_task_cancel:
    case ompt_task_late_fulfill:
        if (prior)
            task_ends(prior), task_free(prior), before->ptr = NULL;
        break;
    case ompt_task_detach: /* its body is done; the event is fulfilled later, by anybody */
        if (prior)
            task_ends(prior);
        break;
    default:
        if (prior && prior->untied)
            rt_sync_number(OP_BEFORE, key(prior->id, TASK_MOVED), place(NULL));
    }
    if (next && next->parent)
        task_begins(next);
}

/* ---- the tool ---- */

static int initialise(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");

    (void)device, (void)data;
    if (!set)
        return 0;
    hidden_ignore_openmp(*(void **)&lookup);
    set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin);
    set(ompt_callback_parallel_end, (ompt_callback_t)parallel_end);
    set(ompt_callback_implicit_task, (ompt_callback_t)implicit_task);
    set(ompt_callback_sync_region, (ompt_callback_t)sync_region);
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
