/* openmp_task.c - objects, tasks and dependences of OpenMP (openmp.h)
 *
 * Nodes of one size from one list. A task's dependences are a chain of further nodes. Nobody else
 * looks at a node: it belongs to the task that runs, or is being created.
 */
#include "runtime/openmp.h"

/* ---- objects ---- */

uint64_t openmp_new_id(void)
{
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* No address of a program: those are below or far above. */
uint64_t openmp_key(uint64_t id, unsigned part)
{
    return OPENMP_KEYS | (id * PARTS + part);
}

uint64_t openmp_place(const void *code)
{
    return code ? WHERE_PC | (uint64_t)(uintptr_t)code : where_inside((const void *)openmp_place);
}

/* ---- nodes ---- */

struct rt_lock openmp_lock; /* protects the list */
static struct openmp_node *unused;

static bool refill(void)
{
    enum { BYTES = 1 << 16, COUNT = BYTES / sizeof(struct openmp_node) };
    struct openmp_node *block = rt_pages(BYTES);

    for (unsigned i = 0; block && i < COUNT; i++) {
        block[i].next = unused;
        unused = &block[i];
    }
    return block;
}

struct openmp_node *openmp_node(void)
{
    struct openmp_node *n = NULL;

    rt_lock_take(&openmp_lock);
    if (unused || refill()) {
        n = unused;
        unused = n->next;
    }
    rt_lock_drop(&openmp_lock);
    if (n)
        *n = (struct openmp_node){ .id = 0 };
    return n;
}

static void node_free(struct openmp_node *n)
{
    rt_lock_take(&openmp_lock);
    n->next = unused;
    unused = n;
    rt_lock_drop(&openmp_lock);
}

void openmp_task_free(struct openmp_node *task)
{
    for (struct openmp_node *d = task->dependences, *next; d; d = next) {
        next = d->next;
        node_free(d);
    }
    node_free(task);
}

/* ---- what this thread is in ---- */

_Thread_local uint64_t openmp_region __attribute__((tls_model("initial-exec")));
_Thread_local uint64_t openmp_waits __attribute__((tls_model("initial-exec")));
_Thread_local bool openmp_sums __attribute__((tls_model("initial-exec")));

uint64_t openmp_ordered(void)
{
    return openmp_key(openmp_region, REGION_ORDERED);
}

/* ---- barriers, taskgroups ---- */

void openmp_enter(struct openmp_node *task, uint64_t object, uint64_t where)
{
    task->waited_outside = openmp_waits;
    openmp_waits = object;
    rt_sync_number(OP_BEFORE, object, where);
}

void openmp_barrier(struct openmp_node *task, bool begins, uint64_t where)
{
    uint64_t object = openmp_key(openmp_region, REGION_BARRIER + task->barriers % 2);

    if (begins) {
        openmp_enter(task, object, where);
    } else {
        rt_sync_number(OP_AFTER, object, where);
        openmp_waits = task->waited_outside;
        task->barriers++;
    }
}

void openmp_taskgroup(struct openmp_node *task, bool begins, uint64_t where)
{
    struct openmp_node *group = begins ? openmp_node() : task->groups;

    if (!group)
        return;
    if (begins) {
        *group = (struct openmp_node){ .id = openmp_new_id(),
                                       .outer = task->group,
                                       .next = task->groups };
        task->groups = group;
        task->group = group->id;
    } else {
        rt_sync_number(OP_AFTER, openmp_key(group->id, TASK_CHILDREN), where);
        task->groups = group->next;
        task->group = group->outer;
        node_free(group);
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

static void depend(struct openmp_node *task, uint64_t address, bool out)
{
    struct openmp_node *d = task->dependences;

    if (!d || d->on.count == DEPENDENCES) {
        d = openmp_node();
        if (!d)
            return;
        d->next = task->dependences;
        d->on.count = 0;
        task->dependences = d;
    }
    d->on.out[d->on.count] = out;
    d->on.key[d->on.count++] = dependence_key(task->parent, address, false);
}

void openmp_depends(struct openmp_node *task, const void *address, bool out)
{
    depend(task, (uint64_t)(uintptr_t)address, out);
    if (address)
        depend(task, 0, false); /* of all memory */
}

/* A task that begins comes after the writers, and a writer after the readers. */
void openmp_depends_begin(const struct openmp_node *task)
{
    for (const struct openmp_node *d = task->dependences; d; d = d->next)
        for (uint32_t i = 0; i < d->on.count; i++) {
            rt_sync_number(OP_AFTER, d->on.key[i] | 1, openmp_place(NULL));
            if (d->on.out[i])
                rt_sync_number(OP_AFTER, d->on.key[i], openmp_place(NULL));
        }
}

static void dependences_end(const struct openmp_node *task)
{
    for (const struct openmp_node *d = task->dependences; d; d = d->next)
        for (uint32_t i = 0; i < d->on.count; i++)
            rt_sync_number(OP_BEFORE, d->on.key[i] | d->on.out[i], openmp_place(NULL));
}

/* ---- tasks ---- */

struct openmp_node *openmp_task_new(const struct openmp_node *parent, uint64_t where)
{
    struct openmp_node *task = openmp_node();

    if (!task)
        return NULL;
    task->id = openmp_new_id();
    task->parent = parent ? parent->id : 0;
    task->group = parent ? parent->group : 0;
    rt_sync_number(OP_BEFORE, openmp_key(task->id, TASK_START), where);
    return task;
}

void openmp_task_ends(struct openmp_node *task)
{
    uint64_t where = openmp_place(NULL);

    dependences_end(task);
    if (task->parent)
        rt_sync_number(OP_BEFORE, openmp_key(task->parent, TASK_CHILDREN), where);
    if (task->group)
        rt_sync_number(OP_BEFORE, openmp_key(task->group, TASK_CHILDREN), where);
    if (openmp_waits)
        rt_sync_number(OP_BEFORE, openmp_waits, where);
}

void openmp_task_begins(struct openmp_node *task)
{
    if (!task->started) {
        task->started = true;
        rt_sync_number(OP_AFTER, openmp_key(task->id, TASK_START), openmp_place(NULL));
        openmp_depends_begin(task);
    } else if (task->untied) {
        rt_sync_number(OP_AFTER, openmp_key(task->id, TASK_MOVED), openmp_place(NULL));
    }
}
