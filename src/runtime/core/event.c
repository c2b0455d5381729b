/* event.c - everything that is not a plain access: synchronisation, memory, frames
 *
 * A synchronisation takes its number from the object's stripe while the thread
 * owns the object: the caller records an acquire after, a release before the
 * operation itself. It carries a stamp, and starts a new epoch of the filter.
 */
#include "abi/rt_stripe.h"
#include "runtime/core/hand.h"
#include "runtime/core/mapped.h"
#include "runtime/core/filter.h"
#include "runtime/untraced/callback.h"
#include "runtime/untraced/hidden.h"
#include "runtime/untraced/objects.h"
#include "runtime/production/prod.h"
#include "runtime/core/state.h"
#include "runtime/core/stripe.h"
#include "runtime/steer/explore_steps.h"
#include "runtime/steer/steer.h"

/* More is forgotten by forgetting everything. */
enum { FORGET_BYTES = 1 << 15 };

uintptr_t rt_library_low, rt_library_bytes;

bool rt_is_full(void)
{
    return rt.full;
}

HIDDEN void *rt_handler_begin(void);
HIDDEN void rt_handler_entered(uint64_t return_address, uint64_t where);
HIDDEN void rt_handler_end(void *saved);

bool rt_recording(void)
{
    if (tls.busy)
        return false;
    if (likely(tls.self && rt.mode == MODE_ON))
        return true;
    if (rt.mode == MODE_RESTART)
        return rt_start() && (tls.self || thread_attach());
    if (unlikely(rt.mode == MODE_OFF && rt.full && tls.self))
        ring_reset_thread(); /* code appends by itself: nothing behind what is left out here */
    return rt.mode == MODE_ON && (tls.self || thread_attach());
}

bool rt_deaf_to_memory, rt_deaf_to_sync;

bool rt_watching(void)
{
    return unlikely(rt_mode) ? !tls.busy : rt_recording();
}

/* Room for a record that must not be lost, with the frames and the time before it. */
static uint64_t *sync_room(struct rt_thread *t)
{
    uint64_t *w;

    frames_flush(t);
    w = room(t, true);
    if (!w)
        return NULL;
    t->since_stamp = 0;
    return w;
}

static void append_sync(struct rt_thread *t, unsigned op, uint64_t object, unsigned op_class,
                        uint64_t key, uint64_t where)
{
    uint64_t *w = sync_room(t);

    if (!w)
        return;
    w[1] = RING_WORD(R_SYNC, op, object);
    w[2] = where;
    w[3] = stripe_take(ring_stripe(op_class, key));
    w[0] = RING_WORD(R_STAMP, 0, t->stamp = clock_publish());
    commit(4);
    epoch_next(t);
    steer_count(op, where);
}

/* Nobody has released it yet: acquiring it orders nothing. Data from another process, mostly. */
static bool is_fresh(enum op op, uint64_t object)
{
    return op == OP_AFTER && !stripe_is_used(ring_stripe(STRIPE_ANNOTATION, object));
}

static void sync_marked(enum op op, uint64_t object, uint64_t mark, uint64_t where)
{
    int saved;

    if (rt_deaf_to_sync)
        return;
    saved = errno;
    object &= (UINT64_C(1) << 47) - 1;
    if (unlikely(rt_mode)) {
        prod_sync(op, object);
        return;
    }
    if (!rt_recording() || is_fresh(op, object))
        return;
    if (unlikely(explore_on))
        explore_sync(op, object, where);
    if (steer_op_releases(op))
        steer_releases(op, object);
    else
        steer_acquires(op, object);
    rt_busy_begin();
    append_sync(tls.self, op, object | mark, ring_class(op), object, where);
    rt_busy_end();
    errno = saved;
}

void rt_sync_number(enum op op, uint64_t object, uint64_t where)
{
    sync_marked(op, object, 0, where);
}

void rt_sync_tried(enum op op, const void *object, uint64_t where)
{
    sync_marked(op, mapped_object((uintptr_t)object), RING_MARK, where);
}

void rt_semaphore_begins(const void *semaphore, unsigned value, uint64_t where)
{
    if (rt.mode != MODE_ON)
        return;
    sync_marked(OP_SEM_POST, mapped_object((uintptr_t)semaphore), RING_MARK, where);
    for (unsigned i = 0; i < value && i < SEMAPHORE_VALUE_MAX; i++)
        rt_sync(OP_SEM_POST, semaphore, where);
}

void rt_sync(enum op op, const void *object, uint64_t where)
{
    rt_sync_number(op, mapped_object((uintptr_t)object), where);
}

void rt_steer(enum op op, uint64_t where)
{
    steer_before(op, where);
}

/* The frames are told first: the wait may be the last that is heard of the thread. */
static void record_wait(uint64_t word, uint64_t where)
{
    int saved = errno;
    uint64_t *w;

    if (!rt_recording())
        return;
    rt_busy_begin();
    w = sync_room(tls.self);
    if (w) {
        w[0] = word;
        w[1] = where;
        commit(2);
    }
    rt_busy_end();
    errno = saved;
}

void rt_wait_begin(enum op op, const void *lock, uint64_t where)
{
    record_wait(RING_WORD(R_WAIT, op, (uintptr_t)lock), where);
}

void rt_wait_end(void)
{
    record_wait(RING_WORD(R_WAIT, 0, 0), 0);
}

/* Called by thread.c, busy. */
void event_thread(unsigned op, uint32_t thread, uint64_t where)
{
    uint64_t shown = op == OP_BEGIN || op == OP_END ? 0 : thread;

    if (op == OP_FORK)
        steer_thread(tls.self->number, thread);
    append_sync(tls.self, op, shown, STRIPE_THREAD, thread, where);
}

void event_own(struct rt_thread *t, uint64_t where)
{
    uint64_t object = t->own;

    t->own = t->own_bytes = 0;
    append_sync(t, OP_AFTER, object, ring_class(OP_AFTER), object, where);
}

void rt_own(uint64_t where)
{
    int saved = errno;

    if (!tls.self || !tls.self->own || !rt_recording())
        return;
    rt_busy_begin();
    event_own(tls.self, where);
    rt_busy_end();
    errno = saved;
}

void rt_fence(unsigned order, uint64_t where)
{
    struct rt_thread *t;
    uint64_t *w;

    if (!rt_recording())
        return;
    steer_leaves();
    rt_busy_begin();
    t = tls.self;
    w = sync_room(t);
    if (w) {
        w[0] = RING_WORD(R_STAMP, 0, t->stamp = clock_publish());
        w[1] = RING_WORD(R_FENCE, order, 0);
        w[2] = where;
        commit(3);
    }
    epoch_next(t);
    rt_busy_end();
}

EXPORT void __heddle_fence(uint32_t order, uint32_t site);
EXPORT void __heddle_fence(uint32_t order, uint32_t site)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    rt_fence(order, site);
}

/* ---- memory ---- */

void event_memory(unsigned op, uintptr_t a, uint64_t bytes, uint64_t where)
{
    struct rt_thread *t = tls.self;
    uint64_t *w = sync_room(t);

    if (!w)
        return;
    w[1] = RING_WORD(R_MEMORY, op, a);
    w[2] = where;
    w[3] = bytes;
    w[4] = stripe_take(ring_stripe(STRIPE_MEMORY, a));
    w[0] = RING_WORD(R_STAMP, 0, t->stamp = clock_publish());
    commit(5);
    steer_count(op, where);
    if (op == OP_ALLOC && unlikely(steer_on))
        steer_allocated(a, bytes);
}

/* What this thread did to the bytes before is about another variable: the filter must not drop an
 * access to the new one, nor may one lengthen a record that stands before the allocation. */
static void forget_range(uintptr_t a, uint64_t bytes)
{
    runs_forget(tls.self);
    if (bytes > FORGET_BYTES)
        epoch_next(tls.self);
    else
        filter_forget(a, bytes);
}

void rt_stack_fresh(uintptr_t low, uintptr_t high)
{
    int saved = errno;

    if (!rt_recording())
        return;
    if (!rt.full && ~tls.lowest > low) /* code of full builds appends without leaving word */
        low = ~tls.lowest;
    tls.lowest = ~high;
    if (low >= high)
        return;
    rt_busy_begin();
    event_memory(OP_ALLOC, low, high - low, WHERE_PC);
    forget_range(low, high - low);
    rt_busy_end();
    errno = saved;
}

static void allocated(const void *address, uint64_t bytes, bool from_malloc, uint64_t where)
{
    int saved;

    if (!address || rt_deaf_to_memory)
        return;
    saved = errno;
    bytes = bytes ? bytes : 1;
    if (unlikely(rt_mode)) {
        prod_alloc((uintptr_t)address, bytes);
        return;
    }
    if (objects_on) /* also where nothing is recorded: others look at it */
        objects_add((uintptr_t)address, bytes, from_malloc);
    if (!rt_recording())
        return;
    steer_allocates();
    rt_busy_begin();
    event_memory(OP_ALLOC, (uintptr_t)address, bytes, where);
    forget_range((uintptr_t)address, bytes);
    rt_busy_end();
    errno = saved;
}

void rt_begins(const void *thing, uint64_t bytes, uint64_t where)
{
    int saved = errno;

    if (!rt_recording())
        return;
    rt_busy_begin();
    event_memory(OP_ALLOC, (uintptr_t)thing, bytes, where);
    forget_range((uintptr_t)thing, bytes);
    rt_busy_end();
    errno = saved;
}

void rt_ends(const void *thing, uint64_t bytes, uint64_t where)
{
    int saved = errno;

    if (!rt_recording())
        return;
    rt_busy_begin();
    event_memory(OP_FREE, (uintptr_t)thing, bytes, where);
    rt_busy_end();
    errno = saved;
}

void rt_alloc(const void *address, uint64_t bytes, uint64_t where)
{
    allocated(address, bytes, false, where);
}

void rt_malloced(const void *address, uint64_t bytes, uint64_t where)
{
    allocated(address, bytes, true, where);
}

void rt_free(const void *address, uint64_t bytes, uint64_t where)
{
    int saved;

    if (!address || rt_deaf_to_memory)
        return;
    saved = errno;
    if (unlikely(rt_mode)) {
        prod_free((uintptr_t)address, bytes);
        return;
    }
    steer_frees();
    if (unlikely(steer_on) && rt_recording())
        steer_access(address, bytes, OP_FREE, where);
    if (unlikely(rt_hand_locks))
        hand_forget(address, bytes);
    if (objects_on)
        objects_remove((uintptr_t)address, bytes);
    if (!rt_recording() || tls.ignore ||
        rt_is_library(where)) { /* what is allocated there next is a new object anyway */
        if (objects_on)
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } else {
        rt_busy_begin();
        event_memory(OP_FREE, (uintptr_t)address, bytes, where); /* a full barrier */
        rt_busy_end();
    }
    if (objects_on)
        objects_wait((uintptr_t)address);
    errno = saved;
}

/* ---- frames ---- */

/* In full builds each frame has its record; those of the compiler's own are written inline. */
static void record_frame(uint64_t word, uint64_t where, unsigned words)
{
    uint64_t *w;

    if (!rt.full || !rt_recording())
        return;
    rt_busy_begin();
    w = room(tls.self, true);
    if (w) {
        w[0] = word;
        w[1] = where; /* not part of the record if it has one word */
        commit(words);
    }
    rt_busy_end();
}

void rt_enter(uint64_t return_address, uint64_t where)
{
    struct heddle_frame *f = &tls.shadow[tls.depth & SHADOW_MASK];

    if (unlikely(!tls.self))
        return;
    if (unlikely(tls.depth == tls.edge))
        __heddle_edge(true);
    f->return_address = return_address;
    f->site = where;
    tls.depth++;
    record_frame(RING_WORD(R_ENTER, 0, return_address), where, 2);
}

void rt_exit(void)
{
    if (unlikely(!tls.self || !tls.depth))
        return;
    tls.depth--;
    if (tls.depth < tls.low)
        tls.low = tls.depth;
    record_frame(RING_WORD(R_EXIT, EXIT_TO, tls.depth), 0, 1);
    if (unlikely(tls.depth == tls.edge))
        __heddle_edge(false);
}

/* ---- signal handlers ---- */

/* The writer keeps the chunks of handlers until it has the one they belong into. So that these do
 * not become many, a handler goes on in the chunk of the last one if nothing was recorded between
 * them, and after some the chunk around them ends with its next record. */
static struct ring_chunk *handlers_chunk(struct ring_chunk *around)
{
    struct rt_thread *t = tls.self;
    struct ring_chunk *c = t->idle;

    t->idle = NULL;
    if (c && c->insert_serial == around->serial && c->insert_at == (uint32_t)around->cursor &&
        c->cursor < c->limit)
        return c;
    if (c)
        ring_hand_over(c);
    c = ring_take_chunk(t, true);
    if (!c)
        return NULL;
    c->insert_serial = around->serial;
    c->insert_at = (uint32_t)around->cursor;
    if (++t->handlers % HANDLERS_A_CHUNK == 0)
        around->limit = 0;
    return c;
}

/* The handler that has it has ended. */
static void keep_chunk(struct ring_chunk *c)
{
    if (!tls.self || !c->insert_at) {
        ring_hand_over(c);
        return;
    }
    if (tls.self->idle)
        ring_hand_over(tls.self->idle);
    tls.self->idle = c;
}

/* The code interrupted may be about to write to the frame at tls.depth: leave that one alone.
 * In a full build it may be in the middle of an append: the handler gets its own chunk. */
void *rt_handler_begin(void)
{
    struct ring_chunk *old = tls.chunk, *own;

    tls.depth++;
    if (!rt.full || !rt_recording())
        return NULL;
    rt_busy_begin();
    own = handlers_chunk(old);
    if (own) {
        own->handler_depth = tls.depth;
        tls.chunk = own;
    }
    rt_busy_end();
    return own ? old : NULL;
}

/* Full builds: the frame that stands for the interruption. */
void rt_handler_entered(uint64_t return_address, uint64_t where)
{
    record_frame(RING_WORD(R_ENTER, 0, return_address), where, 2);
    if (unlikely(tls.depth == 1) && rt_recording())
        hidden_outermost(true);
}

/* The frames that the handler leaves open, by a jump, and the one of rt_handler_entered(). */
static void leave_frames(uint32_t depth)
{
    uint64_t *w = room(tls.self, true);

    if (!w)
        return;
    w[0] = RING_WORD(R_EXIT, EXIT_TO, depth);
    w[1] = RING_WORD(R_EXIT, 0, 1);
    commit(2);
}

/* The code that was interrupted never goes on. It may have been making its last record longer,
 * before the cursor knows (pass/full/stretch_code.c): nothing may follow that one in its chunk. */
void rt_handler_left(void *saved)
{
    rt_handler_end(saved);
    if (saved && rt.mode == MODE_ON)
        ((struct ring_chunk *)saved)->limit = 0;
}

void rt_handler_end(void *saved)
{
    if (saved) {
        rt_busy_begin();
        if (rt.mode == MODE_ON) {
            if (tls.chunk->insert_at)
                leave_frames(tls.chunk->handler_depth);
            keep_chunk(tls.chunk);
        }
        if (rt.mode == MODE_ON)
            tls.chunk = saved;
        else
            ring_reset_thread();
        rt_busy_end();
    }
    if (tls.depth)
        tls.depth--;
    if (tls.depth < tls.low)
        tls.low = tls.depth;
}
