/* thread.c - threads and fibers of the trace, and their states
 *
 * A state (filter, shadow stack, caches) is got when a thread first records,
 * and is recycled when it ends: 100,000 short threads use as many as live at
 * once. Its epoch goes on, so that what the filter remembers of another
 * thread never matches.
 */
#include "runtime/untraced/objects.h"
#include "runtime/production/prod.h"
#include "runtime/steer/explore_steps.h"
#include "runtime/steer/steer.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Some C libraries have no name for it (Linux 6.1). */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { HUGE_PAGE = 2 << 20 };

static struct rt_thread *spare; /* under spare_lock */
static uint32_t spare_lock;

/* Set when the thread has ended: what still comes is counted, not recorded. */
static _Thread_local bool ended __attribute__((tls_model("initial-exec")));

/* ---- states ---- */

static void *map(size_t bytes)
{
    void *m = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);

    return m == MAP_FAILED ? NULL : m;
}

/* At a multiple of HUGE_PAGE: a table that fills huge pages lies in them. */
static char *map_state(size_t own, size_t rest)
{
    char *m = map(own + rest + HUGE_PAGE);

    return m ? m + (-((uintptr_t)m + own) & (HUGE_PAGE - 1)) : NULL;
}

/* Each access looks into the table, at random: with pages of 4 KiB much of the time goes to finding
 * out where they are. It is full, so it takes no more memory. Where the kernel has none to give, or
 * may not be asked (system.h), nothing changes. */
void filter_has_grown(void *table, size_t bytes)
{
    int saved = errno;

    if (bytes < HUGE_PAGE)
        return;
    syscall(SYS_madvise, table, bytes, MADV_HUGEPAGE);
    if (bytes == HUGE_PAGE) /* half of it stands in small ones; what is added later does not */
        syscall(SYS_madvise, table, bytes, MADV_COLLAPSE);
    errno = saved;
}

static struct rt_thread *new_state(void)
{
    size_t filter = sizeof(struct heddle_filter),
           shadow = sizeof(struct heddle_frame) * (SHADOW_MASK + 1),
           told = sizeof(struct told_frame) * (SHADOW_MASK + 1),
           moves = sizeof(uint64_t) << MOVE_BITS, loads = sizeof(struct load_seen) * LOADS_MOST,
           own = (sizeof(struct rt_thread) + 4095) & ~(size_t)4095;
    char *m = map_state(own, filter + shadow + told + moves + loads);
    struct rt_thread *t = (struct rt_thread *)m;

    if (!t)
        return NULL;
    t->filter = (struct heddle_filter *)(m + own);
    t->shadow = (struct heddle_frame *)(m + own + filter);
    t->told = (struct told_frame *)(m + own + filter + shadow);
    t->moves = (uint64_t *)(m + own + filter + shadow + told);
    t->loads = (struct load_seen *)(m + own + filter + shadow + told + moves);
    t->load_mask = LOADS_FIRST - 1;
    t->unit_mask = FILTER_UNITS_MASK(FILTER_UNITS_FIRST);
    t->line_mask = FILTER_LINES_MASK(FILTER_LINES_FIRST);
    t->epoch = UINT64_C(1) << FILTER_EPOCH_SHIFT;
    return t;
}

static struct rt_thread *state_get(uint32_t number)
{
    struct rt_thread *t;

    spin_lock(&spare_lock);
    t = spare;
    if (t)
        spare = t->next;
    spin_unlock(&spare_lock);
    if (!t && !(t = new_state()))
        return NULL;
    t->number = number;
    t->serial = t->recorded = t->since_stamp = 0;
    t->lost = t->held = t->stamp = t->stack = 0;
    t->fiber = t->too_deep = false;
    t->nannotated = t->nopen = 0;
    t->stack_low = t->stack_bytes = 0;
    t->own = t->own_bytes = 0;
    return t;
}

/* What the filter knows must stay behind: where it looks, and up to which epoch. */
static void state_keep(struct rt_thread *t, const struct heddle_tls *last)
{
    t->epoch = last->epoch;
    t->unit_mask = last->unit_mask;
    t->line_mask = last->line_mask;
}

static void state_put(struct rt_thread *t)
{
    spin_lock(&spare_lock);
    t->next = spare;
    spare = t;
    spin_unlock(&spare_lock);
}

/* Make the state the calling thread's. */
static void state_use(struct rt_thread *t)
{
    tls.self = t;
    tls.filter = t->filter;
    tls.unit_mask = t->unit_mask;
    tls.line_mask = t->line_mask;
    tls.shadow = t->shadow;
    tls.epoch = t->epoch;
    tls.edge = 0;
    epoch_next(t);
    ring_reset_thread();
}

bool epoch_paused(struct rt_thread *t)
{
    bool paused = rt.ring && __atomic_load_n(&rt.ring->paused, __ATOMIC_RELAXED);

    runs_forget(t);
    if (rt.paused != paused)
        __atomic_store_n(&rt.paused, paused, __ATOMIC_RELAXED);
    return paused;
}

/* The number of epochs is bounded: start again with an empty table. */
void epoch_wrap(struct rt_thread *t)
{
    size_t i;

    for (i = 0; i <= tls.line_mask >> FILTER_LINES_SHIFT; i++)
        if (t->filter->lines[i].tag)
            t->filter->lines[i].tag = 0;
    for (i = 0; i <= tls.unit_mask >> FILTER_UNITS_SHIFT; i++)
        if (t->filter->units[i].tag)
            t->filter->units[i].tag = 0;
    memset(t->loads, 0, sizeof(*t->loads) * (t->load_mask + 1));
    memset(t->runs, 0, sizeof(t->runs));
    tls.epoch = UINT64_C(1) << FILTER_EPOCH_SHIFT;
}

/* The other threads do not exist here, and one of them may have held the lock. */
void threads_forget(void)
{
    spare_lock = 0;
    spare = NULL;
}

/* ---- beginning and ending ---- */

static uint32_t new_number(void)
{
    return __atomic_fetch_add(&rt.ring->threads, 1, __ATOMIC_RELAXED);
}

static void note_begin(uint32_t number)
{
    struct ring_thread *r = ring_thread_at(number);

    r->tid = (uint32_t)syscall(SYS_gettid);
    r->state = THREAD_RUNNING;
}

/* A new thread or fiber of the trace: nothing is on its stack. */
static void state_begin(struct rt_thread *t)
{
    state_use(t);
    tls.depth = tls.low = 0;
    note_begin(t->number);
    event_thread(OP_BEGIN, t->number, WHERE_PC);
}

/* A thread that was not created under our eyes, or the process's first. */
bool thread_attach(void)
{
    struct rt_thread *t;
    int saved = errno;

    if (ended) {
        __atomic_fetch_add(&rt.ring->late, 1, __ATOMIC_RELAXED);
        return false;
    }
    rt_busy_begin();
    t = state_get(new_number());
    if (t) {
        memcpy(t->shadow, tls.shadow,
               sizeof(*t->shadow) * (tls.depth <= SHADOW_MASK ? tls.depth : SHADOW_MASK + 1));
        state_use(t);
        t->recorded = tls.low = tls.depth; /* nothing comes before the begin */
        note_begin(t->number);
        event_thread(OP_BEGIN, t->number, WHERE_PC);
        t->recorded = tls.low = 0; /* all frames are news to the trace */
        if (rt.full)
            frames_flush_slow(t); /* their own records were written before there was a trace */
    }
    rt_busy_end();
    if (t)
        thread_attached();
    errno = saved;
    return t != NULL;
}

uint32_t rt_thread_fork(uint64_t where)
{
    uint32_t number = UINT32_MAX;
    int saved = errno;

    if (unlikely(rt_mode))
        return prod_thread_fork();
    if (!rt_recording())
        return number;
    steer_leaves();
    rt_busy_begin();
    number = new_number();
    event_thread(OP_FORK, number, where);
    rt_busy_end();
    errno = saved;
    return number;
}

void rt_thread_failed(uint32_t number)
{
    int saved = errno;

    if (unlikely(rt_mode))
        prod_thread_failed(number);
    else if (number < RING_THREADS_MAX && rt.mode == MODE_ON)
        ring_thread_at(number)->state = THREAD_ENDED;
    explore_thread_failed(number);
    errno = saved;
}

/* Entries of threads beyond the table's end would be those of others. */
void rt_life(uint64_t bit, bool set)
{
    const struct rt_thread *t = tls.self;
    uint64_t *life;

    if (rt.mode != MODE_ON || !t || t->number >= RING_THREADS_MAX)
        return;
    life = &ring_thread_at(t->number)->reserved[1];
    __atomic_store_n(life, set ? *life | bit : *life & ~bit, __ATOMIC_RELAXED);
}

_Thread_local size_t rt_stack_asked;

/* The C library's descriptor of the thread is at the end of its stack. */
static bool stack_by_self(uintptr_t *low, size_t *bytes)
{
    uintptr_t high = ((uintptr_t)pthread_self() | 4095) + 1;

    *bytes = rt_stack_asked & ~(size_t)4095;
    *low = high - *bytes;
    return *bytes != 0;
}

bool rt_own_stack(uintptr_t *low, size_t *bytes)
{
    pthread_attr_t attr;
    void *start = NULL;
    bool known;

    if (unlikely(rt_sandbox)) /* the C library asks for the processors, too */
        return stack_by_self(low, bytes);
    if (pthread_getattr_np(pthread_self(), &attr))
        return false;
    known = !pthread_attr_getstack(&attr, &start, bytes) && *bytes;
    *low = (uintptr_t)start;
    pthread_attr_destroy(&attr);
    return known;
}

/* The stack may be one that an ended thread had: from now on it is another thing. */
static void record_stack(uint32_t number)
{
    struct ring_thread *r = ring_thread_at(number);
    uintptr_t low;
    size_t bytes;

    if (!rt_own_stack(&low, &bytes))
        return;
    steer_allocates();
    r->stack_low = low;
    r->stack_high = low + bytes;
    tls.self->stack_low = low;
    tls.self->stack_bytes = bytes;
    if (objects_on)
        stacks_add(low, low + bytes);
    event_memory(OP_ALLOC, low, bytes, WHERE_PC);
}

void rt_thread_begin(uint32_t number)
{
    struct rt_thread *t;

    ended = false;
    if (unlikely(rt_mode))
        prod_thread_begin(number);
    if (number == UINT32_MAX || rt.mode != MODE_ON || tls.busy)
        return;
    rt_busy_begin();
    t = state_get(number);
    if (t) {
        state_begin(t);
        record_stack(number);
    }
    rt_busy_end();
    if (unlikely(explore_on))
        explore_begin();
}

void rt_thread_end(void)
{
    struct rt_thread *t = tls.self;

    if (unlikely(rt_mode))
        prod_thread_end();
    if (!t || t->fiber)
        return;
    openmp_thread_ends();
    steer_leaves();
    if (unlikely(explore_on))
        explore_end();
    rt_busy_begin();
    ended = true;
    if (objects_on && t->number < RING_THREADS_MAX && ring_thread_at(t->number)->stack_low)
        stacks_remove(ring_thread_at(t->number)->stack_low);
    if (rt.mode == MODE_ON) {
        event_thread(OP_END, t->number, WHERE_PC);
        ring_thread_at(t->number)->state = THREAD_ENDED;
        ring_hand_over(tls.chunk);
    }
    state_keep(t, &tls);
    thread_reset_tls(false);
    state_put(t);
    rt_busy_end();
}

void rt_thread_join(uint32_t number, uint64_t where)
{
    int saved = errno;

    if (unlikely(rt_mode) && number != UINT32_MAX)
        prod_thread_join(number);
    if (number == UINT32_MAX || !rt_recording())
        return;
    rt_busy_begin();
    event_thread(OP_JOIN, number, where);
    rt_busy_end();
    errno = saved;
}

uint32_t rt_thread_number(void)
{
    if (unlikely(rt_mode))
        return prod_thread();
    return tls.self ? tls.self->number : UINT32_MAX;
}

void rt_thread_handle(uint32_t number, uint64_t handle)
{
    if (number != UINT32_MAX && rt.mode == MODE_ON)
        ring_thread_at(number)->reserved[0] = handle;
}

void rt_thread_name(const char *name)
{
    rt_thread_name_of(rt_thread_number(), name);
}

void rt_thread_name_of(uint32_t number, const char *name)
{
    struct ring_thread *r;
    size_t i;

    if (number == UINT32_MAX || rt.mode != MODE_ON)
        return;
    r = ring_thread_at(number);
    for (i = 0; i + 1 < sizeof(r->name) && name[i]; i++)
        r->name[i] = name[i];
    r->name[i] = 0;
}

/* ---- fibers ---- */

struct rt_thread *rt_fiber_current(void)
{
    return rt_recording() ? tls.self : NULL;
}

static struct rt_thread *fiber(uint32_t number)
{
    struct rt_thread *t;

    if (number == UINT32_MAX)
        return NULL;
    rt_busy_begin();
    t = state_get(number);
    if (t) {
        t->fiber = true;
        if (number < RING_THREADS_MAX)
            ring_thread_at(number)->reserved[1] = RING_FIBER;
        t->saved.depth = t->saved.low = 0;
        t->saved.self = NULL; /* it has not run yet */
    }
    rt_busy_end();
    return t;
}

struct rt_thread *rt_fiber_new(uint64_t where)
{
    return fiber(rt_mode ? UINT32_MAX : rt_thread_fork(where)); /* modes see no fibers */
}

struct rt_thread *rt_fiber_found(const char *name)
{
    struct rt_thread *f = fiber(rt_recording() ? new_number() : UINT32_MAX);

    if (f)
        rt_thread_name_of(f->number, name);
    return f;
}

void rt_fiber_own(struct rt_thread *f, const struct rt_thread *other, uint64_t object,
                  uintptr_t low, size_t bytes)
{
    f->stack_low = other->stack_low;
    f->stack_bytes = other->stack_bytes;
    f->own = object;
    f->own_low = low;
    f->own_bytes = bytes;
}

uint32_t rt_fiber_number(const struct rt_thread *f)
{
    return f->number;
}

bool rt_fiber_owns(const struct rt_thread *f)
{
    return !f->own;
}

/* Its last chunk is handed over; it must not be the one that runs. */
void rt_fiber_free(struct rt_thread *f, uint64_t where)
{
    (void)where;
    if (!f || f == tls.self)
        return;
    rt_busy_begin();
    if (f->saved.self && rt.mode == MODE_ON) {
        ring_thread_at(f->number)->state = THREAD_ENDED;
        if (f->idle)
            ring_hand_over(f->idle);
        f->idle = NULL;
        ring_hand_over(f->saved.chunk);
    }
    if (f->saved.self)
        state_keep(f, &f->saved);
    state_put(f);
    rt_busy_end();
}

/* What goes with the thread of the trace; busy and ignore stay with the system's. */
static void save(struct rt_thread *t)
{
    t->saved = tls;
}

static void load(struct rt_thread *t)
{
    uint32_t busy = tls.busy, ignore = tls.ignore;
    uint64_t lowest = tls.lowest;

    if (!t->saved.self) {
        state_begin(t);
        return;
    }
    tls = t->saved;
    tls.busy = busy;
    tls.ignore = ignore;
    tls.lowest = lowest;
}

void rt_fiber_switch(struct rt_thread *f, bool ordered, uint64_t where)
{
    struct rt_thread *from = rt_fiber_current();

    if (!f || !from || f == from)
        return;
    steer_leaves();
    if (ordered)
        rt_sync(OP_BEFORE, from, where);
    rt_busy_begin();
    save(from);
    load(f);
    rt_busy_end();
    if (ordered)
        rt_sync(OP_AFTER, from, where);
}

void rt_fiber_frames(const struct rt_thread *other)
{
    const struct heddle_tls *from = &other->saved;
    uint32_t n = from->depth <= SHADOW_MASK ? from->depth : SHADOW_MASK + 1;

    if (!tls.self || tls.self == other)
        return;
    memcpy(tls.shadow, other->shadow, sizeof(*tls.shadow) * n);
    tls.depth = from->depth;
    tls.edge = from->edge;
    tls.low = 0; /* all frames are news to the trace */
}
