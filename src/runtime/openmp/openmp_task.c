/* openmp_task.c - objects, tasks and dependences of OpenMP (openmp.h)
 *
 * Nodes of one size from one list. A task's dependences are a chain of further nodes. Nobody else
 * looks at a node: it belongs to the task that runs, or is being created.
 */
#include "runtime/openmp/openmp.h"

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

/* Each task has objects of its own, of which an analysis has as many: not for ever. */
static uint64_t task_id(bool *shares)
{
    enum { OWN_OBJECTS = 1 << 16 };
    static uint32_t count;
    static _Thread_local uint64_t shared __attribute__((tls_model("initial-exec")));

    *shares = __atomic_load_n(&count, __ATOMIC_RELAXED) >= OWN_OBJECTS;
    if (!*shares) {
        __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
        return openmp_new_id();
    }
    if (!shared)
        shared = openmp_new_id();
    return shared;
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
_Thread_local struct openmp_node *openmp_implicit __attribute__((tls_model("initial-exec")));
_Thread_local unsigned openmp_team __attribute__((tls_model("initial-exec")));
_Thread_local uint64_t openmp_waits __attribute__((tls_model("initial-exec")));
_Thread_local bool openmp_allocated __attribute__((tls_model("initial-exec")));
_Thread_local bool openmp_sums __attribute__((tls_model("initial-exec")));

uint64_t openmp_ordered(void)
{
    return openmp_key(openmp_region, REGION_ORDERED);
}

/* ---- barriers, taskgroups ---- */

void openmp_enter(struct openmp_node *task, uint64_t object, uint64_t where)
{
    task->waited_outside = openmp_waits;
    openmp_waits_for_own(where);
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
        openmp_after_barrier();
    }
}

uint64_t openmp_behind(const struct openmp_node *implicit)
{
    unsigned last = REGION_BARRIER + (implicit->barriers + 1) % 2;

    return openmp_key(openmp_region, implicit->barriers ? last : REGION_FORK);
}

void openmp_taskgroup(struct openmp_node *task, bool begins, uint64_t where)
{
    struct openmp_node *group = begins ? openmp_node() : task->groups;

    if (!group)
        return;
    if (begins) {
        *group = (struct openmp_node){ .outer = task->group, .next = task->groups };
        group->id = task_id(&group->shares);
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

/* The object of an address among the children of one task, for readers. */
static uint64_t dependence_key(uint64_t parent, uint64_t address)
{
    uint64_t h = (address ^ parent << 48 ^ parent) * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return OPENMP_KEYS | (h ^ h >> 32) % (OPENMP_KEYS / ACCESSES) * ACCESSES;
}

static void depend(struct openmp_node *task, uint64_t address, enum openmp_access how)
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
    d->on.how[d->on.count] = (uint8_t)how;
    d->on.key[d->on.count++] = dependence_key(task->parent, address);
}

void openmp_depends(struct openmp_node *task, const void *address, enum openmp_access how)
{
    if (how == OPENMP_EXCLUDES && task->shares)
        how = OPENMP_WRITES; /* what it excludes is not known */
    if (address && !task->dependences)
        depend(task, 0, OPENMP_READS); /* all memory */
    depend(task, (uint64_t)(uintptr_t)address, how);
}

/* A task that begins comes after those that access in another way, a writer after writers, too. */
void openmp_depends_begin(const struct openmp_node *task)
{
    for (const struct openmp_node *d = task->dependences; d; d = d->next)
        for (uint32_t i = 0; i < d->on.count; i++) {
            unsigned how = d->on.how[i];
            for (unsigned k = 0; k < ACCESSES; k++)
                if (k != how || how == OPENMP_WRITES)
                    rt_sync_number(OP_AFTER, d->on.key[i] | k, openmp_place(NULL));
            if (how == OPENMP_EXCLUDES)
                rt_sync_tried(OP_ACQUIRE, (void *)(d->on.key[i] | how), openmp_place(NULL));
        }
}

static void dependences_end(const struct openmp_node *task, bool excludes)
{
    for (const struct openmp_node *d = task->dependences; d; d = d->next)
        for (uint32_t i = 0; i < d->on.count; i++) {
            if (d->on.how[i] == OPENMP_EXCLUDES && excludes)
                rt_sync(OP_RELEASE, (void *)(d->on.key[i] | OPENMP_EXCLUDES), openmp_place(NULL));
            rt_sync_number(OP_BEFORE, d->on.key[i] | d->on.how[i], openmp_place(NULL));
        }
}

/* ---- tasks ---- */

const char openmp_task_name[] = "OpenMP task";

struct openmp_node *openmp_task_new(const struct openmp_node *parent, uint64_t where)
{
    struct openmp_node *task = openmp_node();

    if (!task)
        return NULL;
    task->id = task_id(&task->shares);
    task->parent = parent ? parent->id : 0;
    task->shares |= parent && parent->shares;
    task->group = parent ? parent->group : 0;
    task->region = openmp_region;
    task->where = where;
    rt_sync_number(OP_BEFORE, openmp_key(task->id, TASK_START), where);
    return task;
}

static void goes_on(const struct openmp_node *task, uint64_t where)
{
    if (task->parent)
        rt_sync_number(OP_BEFORE, openmp_key(task->parent, TASK_CHILDREN), where);
    if (task->group)
        rt_sync_number(OP_BEFORE, openmp_key(task->group, TASK_CHILDREN), where);
}

void openmp_task_ends(struct openmp_node *task)
{
    uint64_t where = openmp_place(NULL);

    dependences_end(task, true);
    goes_on(task, where);
    if (openmp_waits)
        rt_sync_number(OP_BEFORE, openmp_waits, where);
    else
        openmp_ended_outside(task, where);
    if (task->copied)
        rt_alloc(task->memory, task->bytes, task->where); /* the next one's */
    openmp_logical_leave(task);
}

/* The team's next barrier waits for it: which one that is, its thread may not know. */
void openmp_task_fulfilled(struct openmp_node *task)
{
    static const enum openmp_part waits[] = { REGION_BARRIER, REGION_BARRIER + 1, REGION_JOIN };
    uint64_t where = openmp_place(NULL);

    dependences_end(task, false);
    goes_on(task, where);
    for (int i = 0; i < 3 && task->region; i++)
        rt_sync_number(OP_BEFORE, openmp_key(task->region, waits[i]), where);
}

void openmp_task_begins(struct openmp_node *task, const void *top)
{
    if (!task->started) {
        task->started = true;
        if (!task->undeferred && !task->untied)
            openmp_logical_enter(task, top, openmp_task_name);
        rt_sync_number(OP_AFTER, openmp_key(task->id, TASK_START), openmp_place(NULL));
        openmp_depends_begin(task);
    } else if (task->untied) {
        rt_sync_number(OP_AFTER, openmp_key(task->id, TASK_MOVED), openmp_place(NULL));
    }
}
