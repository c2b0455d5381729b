/* openmp_gomp.c - parallel regions, barriers and tasks of gcc's OpenMP library
 *
 * libgomp has no OMPT, and synchronises by futexes of its own. gcc calls GOMP_parallel(),
 * GOMP_barrier(), GOMP_task() ... for what a program asks for; gomp_names.c stands in front of
 * these and tells us. openmp.h says which edges that gives.
 *
 * libgomp runs a task to its end on one thread, inside a call in which that thread waits: so the
 * current task is a stack. Each thread's implicit task is over when the region's function returns;
 * tasks that are left are run in the last barrier, and come before the join.
 *
 * Limits: all detached tasks share the object of
 * omp_fulfill_event(): more order, never less.
 */
#include "runtime/core/ignore.h"
#include "runtime/openmp/openmp_gomp.h"

#include <link.h>
#include <string.h>

#include "runtime/openmp/openmp.h"

static _Thread_local struct openmp_node *current __attribute__((tls_model("initial-exec")));

/* ---- parallel regions ---- */

void __heddle_gomp_fork(struct gomp_region *r, void (*function)(void *), void *data, uint64_t where)
{
    *r = (struct gomp_region){ .function = function,
                               .data = data,
                               .id = openmp_new_id(),
                               .outer_region = openmp_region,
                               .outer_waits = openmp_waits,
                               .outer_task = current };
    rt_sync_number(OP_BEFORE, openmp_key(r->id, REGION_FORK), where);
}

/* libgomp makes the team's memory of a reduction ready after the fork was recorded, and before the
 * others begin. */
void __heddle_gomp_fork_quietly(struct gomp_region *r)
{
    r->quiet = &current;
    ignore_begin();
}

/* libgomp's own memory goes from thread to thread in an order that only it knows. In static
 * programs its code is not told from the program's. */
static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
    uintptr_t code = (uintptr_t)data, own = (uintptr_t)find_library, at;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];

        at = info->dlpi_addr + h->p_vaddr;
        if (h->p_type != PT_LOAD || code - at >= h->p_memsz)
            continue;
        if (own - at >= h->p_memsz) {
            rt_library_low = at;
            __atomic_store_n(&rt_library_bytes, h->p_memsz, __ATOMIC_RELEASE);
        }
        return 1;
    }
    return 0;
}

static void know_library(void *code)
{
    static bool known;

    if (!__atomic_exchange_n(&known, true, __ATOMIC_RELAXED))
        dl_iterate_phdr(find_library, code);
}

/* On each thread of the team. Other threads than the encountering one keep what they are in until
 * they are given something else to do. */
void __heddle_gomp_body(void *region)
{
    struct gomp_region *r = region;
    struct openmp_node implicit = { .id = openmp_new_id() };
    uint64_t join = openmp_key(r->id, REGION_JOIN);

    know_library(__builtin_return_address(0));
    if (r->quiet == &current)
        ignore_end();
    current = &implicit;
    openmp_region = r->id;
    openmp_waits = 0;
    openmp_after_barrier();
    rt_sync_number(OP_AFTER, openmp_key(r->id, REGION_FORK), openmp_place(NULL));
    r->function(r->data);
    current = NULL;
    openmp_waits_for_own(openmp_place(NULL));
    openmp_waits = join;
    rt_sync_number(OP_BEFORE, join, openmp_place(NULL));
}

void __heddle_gomp_join(const struct gomp_region *r, uint64_t where)
{
    openmp_region = r->outer_region;
    openmp_waits = r->outer_waits;
    current = r->outer_task;
    rt_sync_number(OP_AFTER, openmp_key(r->id, REGION_JOIN), where);
    openmp_after_barrier();
}

/* ---- waiting ---- */

static bool detached; /* there was such a task */

/* The events of detached tasks: number 0 is no region and no task. */
static void after_events(uint64_t where)
{
    if (__atomic_load_n(&detached, __ATOMIC_RELAXED))
        rt_sync_number(OP_AFTER, openmp_key(0, 0), where);
}

/* In between libgomp may free the task, if it has run: nobody else knows of that memory now. */
void __heddle_gomp_fulfil(bool begins, uint64_t where)
{
    if (!begins) {
        ignore_end();
        return;
    }
    rt_sync_number(OP_BEFORE, openmp_key(0, 0), where);
    ignore_begin();
}

void __heddle_gomp_ignore(bool begins)
{
    if (begins)
        ignore_begin();
    else
        ignore_end();
}

void __heddle_gomp_barrier(bool begins, uint64_t where)
{
    if (current)
        openmp_barrier(current, begins, where);
    if (!begins)
        after_events(where);
}

void __heddle_gomp_taskgroup(bool begins, uint64_t where)
{
    if (current)
        openmp_taskgroup(current, begins, where);
    if (!begins)
        after_events(where);
}

void __heddle_gomp_taskwait(uint64_t where)
{
    if (current)
        rt_sync_number(OP_AFTER, openmp_key(current->id, TASK_CHILDREN), where);
    after_events(where);
}

void __heddle_gomp_turn(bool begins, uint64_t where)
{
    rt_sync_number(begins ? OP_AFTER : OP_BEFORE, openmp_ordered(), where);
}

void __heddle_gomp_lock(bool taken, const void *lock, uint64_t where)
{
    rt_sync(taken ? OP_ACQUIRE : OP_RELEASE, lock, where);
}

void __heddle_gomp_tested(const void *lock, uint64_t where)
{
    rt_sync_tried(OP_ACQUIRE, lock, where);
}

void __heddle_gomp_own(uint64_t where)
{
    rt_own(where);
}

/* ---- dependences ---- */

static enum openmp_access access_of(uintptr_t kind)
{
    enum { KIND_IN = 1, KIND_EXCLUDES = 4, KIND_IN_SET = 5 };

    switch (kind) {
    case KIND_IN:
        return OPENMP_READS;
    case KIND_EXCLUDES:
        return OPENMP_EXCLUDES;
    case KIND_IN_SET:
        return OPENMP_IN_SET;
    default:
        return OPENMP_WRITES;
    }
}

/* Two layouts: count, writers, then the addresses, writers first; or 0, count, writers, exclusive
 * writers, readers, then the addresses in that order and objects { address, kind }. */
static void read_depend(struct openmp_node *task, void **depend)
{
    bool is_long = !depend[0];
    uintptr_t count = (uintptr_t)depend[is_long], out = (uintptr_t)depend[is_long + 1];
    uintptr_t exclude = is_long ? out + (uintptr_t)depend[3] : out;
    uintptr_t plain = is_long ? exclude + (uintptr_t)depend[4] : count;
    void **list = depend + (is_long ? 5 : 2);

    for (uintptr_t i = 0; i < plain; i++)
        openmp_depends(task, list[i],
                       i < out       ? OPENMP_WRITES
                       : i < exclude ? OPENMP_EXCLUDES
                                     : OPENMP_READS);
    for (uintptr_t i = plain; i < count; i++) {
        void **object = list[i];
        openmp_depends(task, object[0], access_of((uintptr_t)object[1]));
    }
}

void __heddle_gomp_taskwait_depend(void **depend, uint64_t where)
{
    struct openmp_node *task = openmp_node();

    if (task) {
        task->parent = current ? current->id : 0;
        read_depend(task, depend);
        openmp_depends_begin(task);
        openmp_task_free(task);
    }
    after_events(where);
}

/* ---- tasks ---- */

/* Called by libgomp where a task is created, for the memory that it has made. */
void __heddle_gomp_copy(void *to, void *from)
{
    struct gomp_task *task = to;
    char *data;

    *task = *(struct gomp_task *)from;
    rt_alloc(to, task->offset + task->bytes, task->where);
    data = (char *)to + task->offset;
    if (task->copy)
        task->copy(data, task->data);
    else
        memcpy(data, task->data, task->bytes);
    task->node = openmp_task_new(current, task->where);
    if (task->node) {
        task->node->undeferred = task->undeferred || !openmp_region || (current && current->final);
        task->node->final = task->final || (current && current->final);
        task->node->copied = true;
        task->node->memory = to;
        task->node->bytes = task->offset + task->bytes;
    }
    if (task->node && task->depend)
        read_depend(task->node, task->depend);
    if (task->detached)
        __atomic_store_n(&detached, true, __ATOMIC_RELAXED);
}

/* (No memcpy here: it is the recorded one in these programs, and this is no access of theirs.) */
void __heddle_gomp_run(void *p)
{
    struct gomp_task *task = p;
    struct openmp_node *node = task->node, *outer = current;
    char *data = (char *)p + task->offset;

    for (unsigned i = 0; i < task->back; i++)
        ((volatile long *)(void *)data)[i] = task->bounds[i];
    current = node;
    if (node)
        openmp_task_begins(node, __builtin_frame_address(0));
    after_events(task->where);
    task->function(data);
    if (node) {
        openmp_task_ends(node);
        openmp_task_free(node);
    }
    current = outer;
}
